/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_INPUT_CONVERT_H
#define HOSTRACE_INPUT_CONVERT_H

#include "input/input_set.h"
#include "tracefile/tracefile.h"

/* What the new file holds. */
struct converted {
	uint64_t nr;	 /* events */
	uint64_t placed; /* lost events that `lost` records report */
	uint64_t flags;	 /* events with latency flags, which a record has no place for */
};

/*
 * Writes the events of a set, which is open, to a new recording. bytes_max: -EFBIG when it becomes larger, by at most a
 * chunk; 0: it may have any size. *written: zeroed. 0 or -errno with the error message set.
 */
int input_set_convert(const struct input_set *in, const char *path,
		      const struct trace_writer_options *opt, uint64_t bytes_max,
		      struct converted *written);

#endif
