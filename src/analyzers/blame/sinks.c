// SPDX-License-Identifier: GPL-2.0-or-later
/* Passes each exit, and each restart, on to several sinks. */
#include "analyzers/blame/blame.h"

static int ended(void *arg, const struct blame_exit *x)
{
	const struct blame_sinks *s = arg;
	int err = 0;

	for (unsigned int i = 0; i < s->nr && !err; i++)
		err = s->to[i].ended(s->to[i].arg, x);
	return err;
}

static void restart(void *arg)
{
	const struct blame_sinks *s = arg;

	for (unsigned int i = 0; i < s->nr; i++)
		s->to[i].restart(s->to[i].arg);
}

struct blame_sink blame_sinks_sink(struct blame_sinks *s)
{
	return (struct blame_sink){.ended = ended, .restart = restart, .arg = s};
}
