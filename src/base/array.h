/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bisection of sorted arrays, and arrays that grow by one element at a time: their capacity is their length rounded up
 * to a power of two, so that only the length is stored.
 *
 *	err = array_add(t->list, t->nr, element);
 *
 * Where the element is made in place: reserve memory, then append.
 *
 *	err = array_room(t->list, t->nr);
 *	if (!err)
 *		t->list[t->nr++] = (struct element){...};
 */
#ifndef HOSTRACE_ARRAY_H
#define HOSTRACE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>

/*
 * How many elements at the front of a sorted array satisfy the condition, in which `i` is an element's index; none
 * after them does. By bisection.
 *
 *	nr_before = array_prefix(t->nr, i, t->list[i].time < time);
 */
#define array_prefix(nr, i, condition)                                                             \
	({                                                                                         \
		size_t from_ = 0, to_ = (nr);                                                      \
		while (from_ < to_) {                                                              \
			size_t i = from_ + (to_ - from_) / 2;                                      \
			if (condition)                                                             \
				from_ = i + 1;                                                     \
			else                                                                       \
				to_ = i;                                                           \
		}                                                                                  \
		from_;                                                                             \
	})

/* Does any of the elements satisfy the condition, in which `i` is its index? */
#define array_any(nr, i, condition)                                                                \
	({                                                                                         \
		bool any_ = false;                                                                 \
		for (size_t i = 0; i < (size_t)(nr) && !any_; i++)                                 \
			any_ = (condition);                                                        \
		any_;                                                                              \
	})

/* The first element that does; NULL: there is none. */
#define array_find(array, nr, i, condition)                                                        \
	({                                                                                         \
		size_t found_ = 0;                                                                 \
		for (size_t i = 0; i < (size_t)(nr) && !(condition); i++)                          \
			found_++;                                                                  \
		found_ < (size_t)(nr) ? &(array)[found_] : NULL;                                   \
	})

/* 0, or -ENOMEM with the error message set and the array unchanged. An empty array is NULL with length 0; free() it. */
#define array_room(array, nr) array_room_(&(array), (nr), sizeof(*(array)))

/* Appends an element, which is evaluated after that. 0 or -ENOMEM, as above. */
#define array_add(array, nr, element)                                                              \
	({                                                                                         \
		int err_ = array_room(array, nr);                                                  \
		if (!err_)                                                                         \
			(array)[(nr)++] = (element);                                               \
		err_;                                                                              \
	})

/* The same for an array that is emptied and filled again in its memory: `max`, 0 at first, is its capacity. */
#define array_room_kept(array, nr, max)                                                            \
	({                                                                                         \
		int err_ = (nr) < (max) ? 0 : array_room(array, nr);                               \
		if (!err_ && (nr) >= (max))                                                        \
			(max) = (nr) ? 2 * (nr) : 1;                                               \
		err_;                                                                              \
	})

/* Space for `nr` elements in all, of an array whose capacity `max`, 0 at first, doubles. 0 or -ENOMEM, as above. */
#define array_reserve(array, nr, max)                                                              \
	({                                                                                         \
		size_t max_ = (max);                                                               \
		int err_ = (nr) <= max_ ? 0                                                        \
					: array_extend_(&(array), (nr), &max_, sizeof(*(array)));  \
		(max) = max_;                                                                      \
		err_;                                                                              \
	})

int array_double_(void *array, size_t nr, size_t size);
int array_extend_(void *array, size_t nr, size_t *max, size_t size);

static inline int array_room_(void *array, size_t nr, size_t size)
{
	return nr & (nr - 1) ? 0 : array_double_(array, nr, size);
}

#endif
