// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/blame_filter.h"

#include <fnmatch.h>

#include "event/exit_reason.h"
#include "event/reader.h"

static bool number_selected(const struct number_list *l, uint32_t value)
{
	for (unsigned int i = 0; i < l->nr; i++)
		if (l->item[i] == value)
			return true;
	return !l->nr;
}

static bool reason_selected(const struct text_list *globs, const struct blame_exit *x)
{
	char name[64];
	const char *others;

	blame_reason_print(x->reason, x->isa, name, sizeof(name));
	others = exit_reason_synonyms(name);
	for (unsigned int i = 0; i < globs->nr; i++)
		if (trim_glob_matches(globs->item[i], name, FNM_CASEFOLD) ||
		    (others && trim_glob_matches(others, globs->item[i], FNM_CASEFOLD)))
			return true;
	return !globs->nr;
}

bool blame_exit_selected(void *arg, const struct blame_exit *x)
{
	const struct input_options *given = arg;

	return number_selected(&given->vcpus, x->vcpu) && number_selected(&given->tids, x->tid) &&
	       reason_selected(&given->reasons, x);
}

void blame_unfilter(struct input_options *options)
{
	options->vcpus.nr = options->tids.nr = 0;
	options->reasons.nr = options->globs.nr = 0;
}
