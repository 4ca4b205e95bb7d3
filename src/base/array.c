// SPDX-License-Identifier: GPL-2.0-or-later
/* The only function that reallocates arrays of arbitrary type. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

enum { FIRST_MAX = 16 };

/* `array` is the address of a pointer to any type, so it is read and written as bytes. */
static int array_resize(void *array, size_t nr, size_t size)
{
	void *old, *more;

	memcpy(&old, array, sizeof(old));
	more = reallocarray(old, nr, size);
	if (!more)
		return fail(-ENOMEM, "out of memory");
	memcpy(array, &more, sizeof(more));
	return 0;
}

int array_double_(void *array, size_t nr, size_t size)
{
	return array_resize(array, nr ? 2 * nr : 1, size);
}

int array_extend_(void *array, size_t nr, size_t *max, size_t size)
{
	size_t more = *max ? *max : FIRST_MAX;
	int err;

	while (more < nr)
		more *= 2;
	err = array_resize(array, more, size);
	if (!err)
		*max = more;
	return err;
}
