/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays that grow by one element at a time: their capacity is their length rounded up to a power of two, so that only
 * the length is stored. Reserve memory, then append:
 *
 *	err = array_room(t->list, t->nr);
 *	if (!err)
 *		t->list[t->nr++] = element;
 */
#ifndef HOSTRACE_ARRAY_H
#define HOSTRACE_ARRAY_H

#include <stddef.h>

/* 0, or -ENOMEM with the error message set and the array unchanged. An empty array is NULL with length 0; free() it. */
#define array_room(array, nr) array_room_(&(array), (nr), sizeof(*(array)))

int array_double_(void *array, size_t nr, size_t size);

static inline int array_room_(void *array, size_t nr, size_t size)
{
	return nr & (nr - 1) ? 0 : array_double_(array, nr, size);
}

#endif
