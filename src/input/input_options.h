/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selected inputs: files, guests, clock, time window, filters. Filled by the commands' option table. */
#ifndef HOSTRACE_INPUT_OPTIONS_H
#define HOSTRACE_INPUT_OPTIONS_H

#include "base/options.h"

#define INPUT_DEFAULT "hostrace.hrt"

struct input_options {
	struct text_list files;	 /* the host's traces; none: hostrace.hrt */
	struct text_list guests; /* guests' own traces */
	bool no_guest;		 /* ignore the companion files */
	const char *clock;	 /* "read", "fit" or "OFFSET[,SCALE]"; NULL: the first that passes verification */
	uint64_t tsc_khz;	 /* rate of the host's timestamps if they are ticks; 0: as the file shows */
	bool allow_ticks;	 /* the command can print times in ticks; else such an input is an error */
	struct time_arg since, until, period;
	bool is_absolute; /* since and until are, whatever their size */
	struct text_list vms; /* PID, NAME, UUID or glob; each may list several, see vm_filter.h */
	struct number_list vcpus, tids;
	struct text_list globs, reasons;
	bool strict;
};

bool input_options_have_window(const struct input_options *o);

/* Is anything filtered out other than by time: by VM, vCPU, thread, event or exit reason? */
bool input_options_have_filter(const struct input_options *o);

/* The input, if there is exactly one and nothing but times was given; else NULL. */
const char *input_options_only_file(const struct input_options *o);

/* How many files were named. */
unsigned int input_options_nr_files(const struct input_options *o);

/* Does it depend on the end of a trace that starts at start_ns whether a time of the window is absolute? */
bool input_options_window_needs_end(const struct input_options *o, uint64_t start_ns,
				    uint64_t end_ns);

/*
 * The time window of a trace from start to end, absolute: 0 and UINT64_MAX where it is open. False: no window was
 * given.
 */
bool input_options_window(const struct input_options *o, uint64_t start_ns, uint64_t end_ns,
			  uint64_t *ret_since, uint64_t *ret_until);

#endif
