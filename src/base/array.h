/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arrays that grow by one element at a time: their room is the next power of two of their length, so that only the
 * length is kept. Ask for room, then append:
 *
 *	err = array_room(t->list, t->nr);
 *	if (!err)
 *		t->list[t->nr++] = element;
 */
#ifndef HOSTRACE_ARRAY_H
#define HOSTRACE_ARRAY_H

#include <stddef.h>

/* 0 or -ENOMEM with the sentence set, and the array is as it was. It begins as NULL with length 0; free() it. */
#define array_room(array, nr) array_room_(&(array), (nr), sizeof(*(array)))

int array_double_(void *array, size_t nr, size_t size);

static inline int array_room_(void *array, size_t nr, size_t size)
{
	return nr & (nr - 1) ? 0 : array_double_(array, nr, size);
}

#endif
