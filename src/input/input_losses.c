// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "input/input_losses.h"
#include "readers/readers.h"

static bool wants_lost(const char *event, void *arg)
{
	(void)arg;
	return !strcmp(event, "lost");
}

struct window {
	uint64_t since_ns, until_ns;
	struct loss_sums *sums;
};

static int loss_add(void *arg, const struct event *ev)
{
	const struct window *w = arg;

	if (ev->time_ns >= w->since_ns && ev->time_ns < w->until_ns)
		losses_add(w->sums, ev);
	return 0;
}

static bool is_ours(const struct input *in)
{
	const struct trace_info *info = &in->reader->info;

	return !in->is_guest && info->lost &&
	       (!strcmp(info->kind, "hrt") || !strcmp(info->kind, "text"));
}

static int losses_read(const char *path, const struct read_hint *hint, struct window *window)
{
	_cleanup_reader_ struct reader *r = NULL;
	struct stat st;
	int err;

	if (stat(path, &st))
		return fail(-errno, "%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return 0;
	err = reader_open(path, hint, &r);
	if (err) {
		r = NULL;
		return err;
	}
	return reader_each(r, loss_add, window);
}

int input_losses(const struct input_set *set, struct loss_sums *ret)
{
	struct read_hint hint = {
		.since_ns = set->since_ns, .until_ns = set->until_ns, .wants = wants_lost};

	struct window window = {set->since_ns, set->until_ns, ret};
	int err = 0;

	*ret = (struct loss_sums){.nr = 0};
	for (unsigned int i = 0; i < input_set_nr(set) && !err; i++)
		if (set->input[i].reader && is_ours(&set->input[i]))
			err = losses_read(set->input[i].path, &hint, &window);
	return err < 0 ? err : 0;
}
