/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --vcpu and --tid where they select rows and not events. */
#ifndef HOSTRACE_REPORTS_SELECT_H
#define HOSTRACE_REPORTS_SELECT_H

#include "base/options.h"

/* An empty list selects all. */
static inline bool number_selected(const struct number_list *l, uint32_t value)
{
	for (unsigned int i = 0; i < l->nr; i++)
		if (l->item[i] == value)
			return true;
	return !l->nr;
}

#endif
