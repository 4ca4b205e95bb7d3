/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --where of blame. */
#ifndef HOSTRACE_REPORTS_BLAME_WHERE_H
#define HOSTRACE_REPORTS_BLAME_WHERE_H

#include "analyzers/blame/blame.h"
#include "base/condition.h"

struct vm_names;

struct blame_where {
	struct condition *condition; /* owned; NULL: --where was not given */
	const struct condition_field *field;
	unsigned int of[CONDITION_FIELDS_MAX]; /* where each field comes from */
	const struct vm_names *vms; /* set by the caller */
};

/* -EINVAL with the error message set: the condition is wrong, or exits have no such field. */
int blame_where_init(struct blame_where *w, const char *text);

bool blame_where_holds(const struct blame_where *w, const struct blame_exit *x);

#endif
