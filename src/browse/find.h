/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The next item that has a text. */
#ifndef HOSTRACE_BROWSE_FIND_H
#define HOSTRACE_BROWSE_FIND_H

#include "browse/internal.h"

struct browse_search {
	const char *text; /* in its name or its state's, in any case */
	uint64_t from_ns; /* absolute: it begins then or later */
	uint64_t track;	  /* UINT64_MAX: any */
};

struct browse_found {
	bool is_found;
	uint32_t track; /* of the index */
	struct band_item item;
};

/* 0, or -errno with the error message set. */
int browse_find(struct browse *b, const struct browse_search *s, struct browse_found *ret);

#endif
