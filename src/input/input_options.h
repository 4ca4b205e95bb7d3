/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Selected inputs: files, guests, clock, time window, filters. Filled by the commands' option table. */
#ifndef HOSTRACE_INPUT_OPTIONS_H
#define HOSTRACE_INPUT_OPTIONS_H

#include "base/options.h"
#include "event/losses.h"
#include "event/thread_names.h"
#include "input/input_set.h"

#define INPUT_DEFAULT "hostrace.hrt"

struct input_options {
	struct text_list files;	 /* the host's traces; none: hostrace.hrt */
	struct text_list guests; /* guests' own traces */
	bool no_guest;		 /* ignore the companion files */
	const char *clock;	 /* "read", "fit" or "OFFSET[,SCALE]"; NULL: the first that passes verification */
	uint64_t tsc_khz;	 /* rate of the host's timestamps if they are ticks; 0: as the file shows */
	bool allow_ticks;	 /* the command can print times in ticks; else such an input is an error */
	bool allow_order;	 /* the order of events is enough: an input without any times will do */
	struct time_arg since, until, period;
	bool is_absolute; /* since and until are, whatever their size */
	struct text_list vms; /* PID, NAME, UUID or glob; each may list several, see vm_filter.h */
	struct number_list vcpus, tids;
	struct text_list globs, reasons;
	const char *where;  /* a condition, base/condition.h; NULL: none */
	bool where_events;  /* it selects events; else the report applies it to its rows */
	bool strict;
	bool follow; /* the only input is read once, while it is written */
	struct host_code { /* what names a host's code */
		const char *root; /* files are looked for below it; NULL: in system folders */
		int kallsyms; /* this host's, opened before the privileges that show addresses were given up; 0: not */
	} code;
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

struct input_events {
	const struct input_set *set; /* borrowed */
	struct thread_names *names;
	uint64_t lost; /* how many lost events are known so far */
	struct batch *batch;
	unsigned int at;
	int more; /* 1; what the reader returned last, once that is 0 or an error */
	void (*before_read)(void *arg); /* called when events have to be read, and perhaps waited for; NULL: not */
	void *arg;
};

/* 0 or -errno with the error message set. To be closed in both cases. */
int input_events_open(const struct input_set *set, struct input_events *ret);
void input_events_close(struct input_events *events);
#define _cleanup_input_events_ _cleanup_(input_events_close)

/*
 * 1 and the event, which is valid until the next call; 0 and NULL at the end; -errno with the error message set. A call
 * after that returns the same.
 */
int input_events_next(struct input_events *events, const struct event **ret);

/*
 * What our own recordings in the set say of the events that they lost, within the time window. `set` was read to its
 * end, and stays as it is; only recordings with losses are read again, and of them only the reports of losses. Other
 * formats do not store the type. *ret is empty if nothing can be read again. -errno with the error message set if a
 * recording cannot be read again.
 */
int input_losses(const struct input_set *set, struct loss_sums *ret);

#endif
