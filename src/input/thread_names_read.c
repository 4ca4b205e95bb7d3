// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of threads, from all of the inputs: whether one from the metadata holds depends on later events, too. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "clock/align.h"
#include "event/thread_names.h"
#include "input/input_set.h"
#include "readers/readers.h"

/* Opens input i alone, with all events that name threads. */
static int names_open(const struct input_set *set, unsigned int i, struct reader **ret)
{
	struct read_hint hint = {.until_ns = UINT64_MAX,
				 .tsc_khz = set->options->tsc_khz,
				 .wants = thread_names_wants};
	const struct input *in = &set->input[i];
	const struct align_guest *guest;
	struct align *align;
	int err;

	if (!in->is_guest)
		return reader_open(in->path, &hint, ret);
	err = input_set_align(set, (int)(i - set->nr_hosts), &align, &guest);
	return err ? err : align_open(align, in->path, &hint, ret);
}

static int input_look(const struct input_set *set, unsigned int i, struct thread_names *names)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	_cleanup_reader_ struct reader *r = NULL;
	int err = batch ? names_open(set, i, &r) : fail(-ENOMEM, "out of memory"), more = 0;

	if (err)
		r = NULL;
	while (!err && (more = reader_next(r, batch)) > 0)
		for (unsigned int k = 0; k < batch->nr; k++) {
			batch->ev[k].source = (uint16_t)i;
			thread_names_look(names, &batch->ev[k]);
		}
	if (!err && !more)
		thread_names_looked(names, i);
	return err ? err : more;
}

int input_set_thread_names(const struct input_set *set, struct thread_names *names)
{
	int err = 0;

	for (unsigned int i = 0; i < input_set_nr(set) && !err; i++) {
		const json_t *meta = set->input[i].reader->info.meta;
		struct stat st;

		thread_names_meta(names, i, meta);
		if (!json_object_size(json_object_get(meta, "threads")))
			continue;
		if (stat(set->input[i].path, &st))
			err = fail(-errno, "%s: %s", set->input[i].path, strerror(errno));
		else if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
			err = input_look(set, i, names);
	}
	return err;
}
