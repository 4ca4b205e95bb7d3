// SPDX-License-Identifier: GPL-2.0-or-later
/* The only function that reallocates arrays of arbitrary type. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

/* `array` is the address of a pointer to any type, so it is read and written as bytes. */
int array_double_(void *array, size_t nr, size_t size)
{
	void *old, *more;

	memcpy(&old, array, sizeof(old));
	more = reallocarray(old, nr ? 2 * nr : 1, size);
	if (!more)
		return fail(-ENOMEM, "out of memory");
	memcpy(array, &more, sizeof(more));
	return 0;
}
