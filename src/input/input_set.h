/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A set of inputs that are read together: the host's traces and the guests', their clocks aligned, merged into one
 * reader in time order and trimmed to what the options select. Sets are independent of each other.
 */
#ifndef HOSTRACE_INPUT_SET_H
#define HOSTRACE_INPUT_SET_H

#include <stdint.h>

#include "base/cleanup.h"
#include "event/reader.h"
#include "input/input_options.h"

struct align;
struct region_names;
struct vm_names;
struct align_guest;
struct thread_names;

enum { INPUTS_MAX = 2 * OPTION_LIST_MAX + 1 };

struct input {
	const char *path;
	char name[16]; /* "host", "host2", ..., "guest", "guest2", ... */
	bool is_guest;
	struct reader *reader; /* owned by the set's reader; NULL before the set is opened */
};

/* All members are for reading only. */
struct input_set {
	const struct input_options *options; /* borrowed */
	struct input input[INPUTS_MAX];	     /* by event.source: first the hosts, then the guests */
	unsigned int nr_hosts, nr_guests;
	struct reader *reader; /* merged and trimmed; owned; NULL before the set is opened */
	struct vm_names *vms;  /* of all hosts' traces; owned; NULL before the set is opened */
	struct region_names *regions; /* likewise */
	unsigned int nr_pids;  /* VMs that --vm selects; 0: all */
	bool is_trimmed;       /* events are filtered by trim_open() */
	bool thread_names;     /* input_set_want_thread_names() */
	bool (*where_on)(const char *event); /* input_set_where_on() */
	bool stacks;	       /* input_set_want_stacks() */
	bool other_threads;    /* input_set_want_other_threads() */
	uint64_t since_ns;     /* start of the time window, absolute; 0: none */
	uint64_t until_ns;     /* its end; UINT64_MAX: none */

	char *companion[OPTION_LIST_MAX]; /* owned: paths of the first guests, from input_set_add_companions() */
	unsigned int nr_companions;
	void (*note)(const char *fmt, ...); /* for them; may be NULL */
	char *left_out[OPTION_LIST_MAX];    /* owned: paths of companions that are not merged */
	unsigned int nr_left_out;
	struct input_clocks *clocks; /* how guests relate to the host; shared by input_set_copy() */
};

/* The inputs that the options name; nothing is opened. The options must outlive the set. 0 or -ENOMEM. */
int input_set_new(const struct input_options *options, struct input_set **ret);

/* The files that the set and its copies keep open. */
struct open_files *input_set_files(const struct input_set *set);

/* A further, independent set of the same inputs, which are not aligned again. 0 or -ENOMEM. */
int input_set_copy(const struct input_set *set, struct input_set **ret);

/* The same for options that differ in the time window and the filters only, and outlive the set. */
int input_set_copy_for(const struct input_set *set, const struct input_options *options,
		       struct input_set **ret);

/* Closes the reader as well. */
void input_set_close(struct input_set *set);
DEFINE_CLEANUP(input_set, struct input_set *, input_set_close);
#define _cleanup_input_set_ _cleanup_(input_set_cleanup_)

/*
 * Adds the companion files of the only recording, unless the options name guests or disable them.
 * note() is called for each one that is missing or does not match. To be called before the set is opened. One that
 * turns out then to be unreadable or whose clock cannot be determined is left out, unless --clock was given: what the
 * guest writes must not keep the host's events from being reported.
 */
void input_set_add_companions(struct input_set *set, void (*note)(const char *fmt, ...));

/*
 * Opens set->reader. `wants` selects events by name, as in struct read_hint; NULL: all. A set that is open is closed
 * first, so that it can be read several times. Errors: -errno with the error message set.
 */
int input_set_open(struct input_set *set, bool (*wants)(const char *event, void *arg), void *arg);

/* The same for all times: the caller itself applies input_options_window(). */
int input_set_open_all_times(struct input_set *set, bool (*wants)(const char *event, void *arg),
			     void *arg);

/*
 * The same for a caller that itself applies set->since_ns and until_ns: events of other times may come, too. All those
 * from before the window do if `before`: from them the caller knows what is open when it begins.
 */
int input_set_open_window(struct input_set *set, bool before,
			  bool (*wants)(const char *event, void *arg), void *arg);

static inline unsigned int input_set_nr(const struct input_set *set)
{
	return set->nr_hosts + set->nr_guests;
}

/* The name of event.source; "?" if there is no such source. */
const char *input_set_name(const struct input_set *set, unsigned int source);
bool input_set_is_guest(const struct input_set *set, unsigned int source);

/* Its path, as it was given; NULL if there is no such source. */
const char *input_set_path(const struct input_set *set, unsigned int source);

/* How many VMs the open inputs have, of those that --vm selects; 0: they do not say. */
unsigned int input_set_nr_vms(const struct input_set *set);

/*
 * To be called before the set is opened: events that name threads come, too, if `wants` selects them and the options do
 * not. The caller must not show or count events that input_set_selects() rejects.
 */
void input_set_want_thread_names(struct input_set *set);

/*
 * The same: a backtrace that is an event of its own comes if the event before it does, whatever the filters; see
 * trim_is_stack().
 */
void input_set_want_stacks(struct input_set *set);

/* The same: --where is only about these events, by name; others come as without it. NULL: about all. */
void input_set_where_on(struct input_set *set, bool (*where_on)(const char *event));

/* Does the event pass the options' filters, or is it only there because it names others? */
bool input_set_selects(const struct input_set *set, const struct event *ev);

/*
 * The same: events that only --vcpu and --tid reject come, too, as one thread's event may be about another one: a
 * wake-up. input_set_selects_any_thread() tells them.
 */
void input_set_want_other_threads(struct input_set *set);
bool input_set_selects_any_thread(const struct input_set *set, const struct event *ev);

/*
 * How the clock of guest 0, 1, ... is related to the host's, computed on first use; -1: the relation of the vCPUs
 * according to the host's recording, without a guest's trace. Owned by the set.
 * -errno with the error message set; see clock/align.h.
 */
int input_set_align(const struct input_set *set, int guest, struct align **ret,
		    const struct align_guest **ret_guest);

/*
 * Whoever reads all events of the set can make the relation of the vCPUs at the same time, so that it takes no pass of
 * its own: input_set_align_begin() if input_set_can_align(), align_host_event() for each event that align_wants(), and
 * input_set_align_end(), which takes ownership unless it fails.
 */
bool input_set_can_align(const struct input_set *set);
int input_set_align_begin(const struct input_set *set, struct align **ret);
int input_set_align_end(const struct input_set *set, struct align *align);

/* Where the report begins: the first event, or the start of the time window if that is later. */
uint64_t input_set_start_ns(const struct input_set *set);

/* Where the input ends: the last event, or the end of the time window if that is earlier. After the reader's end. */
uint64_t input_set_end_ns(const struct input_set *set);

/*
 * The same of the hosts' recordings, for what is only in them: a guest's own trace may begin earlier and end later.
 * Of a set without hosts that of all.
 */
uint64_t input_set_host_start_ns(const struct input_set *set);
uint64_t input_set_host_end_ns(const struct input_set *set);

/*
 * For what converts the set, if the options cut or filter it: adds to the new recording's metadata where it begins,
 * and after the reader's end where it ends (trace_info_window()). Else its first and last event say it.
 */
void input_set_put_start(const struct input_set *set, json_t *meta);
void input_set_put_end(const struct input_set *set, json_t *meta);

/*
 * Reads what names threads in the open set: the metadata, and where that has names of threads, once all events that
 * name some (thread_names_look()). An input that cannot be read twice is not.
 */
int input_set_thread_names(const struct input_set *set, struct thread_names *names);

/* Are the hosts' traces those of other tools, whether converted or not? */
bool input_set_foreign(const struct input_set *set);

/* According to its metadata, did a recording of ours record this event, whether it occurred or not? */
bool input_set_recorded(const struct input_set *set, const char *event);

/* Was --strict given, and did any input lose events, or is one truncated? */
bool input_set_strict_failed(const struct input_set *set);

enum { SURVEY_REASONS_MAX = 64, SURVEY_TIDS_MAX = 64, SURVEY_VCPUS = 1 << 16 };

/* Filters that are judged alone; --vm is not, as it is an error if it matches nothing. */
enum survey_filter {
	SURVEY_TIME,
	SURVEY_VCPU,
	SURVEY_TID,
	SURVEY_EVENT,
	SURVEY_REASON,
	SURVEY_WHERE, /* on events */
	SURVEY_FILTERS
};

struct survey_reason {
	char name[64];
	uint64_t count;
};

/* Events that only name others (threads, devices, losses) are not counted. */
struct survey {
	uint64_t nr;
	uint64_t nr_timed, start_ns, end_ns; /* without a guest's own trace: first and last event; 0 if nr_timed is 0 */
	uint64_t nr_naming;			/* events that are not counted */
	uint64_t matches[SURVEY_FILTERS];	/* events that pass this filter, whatever the others */
	uint64_t *counts;			/* by registry index: all events */
	uint64_t *selected;			/* the same of those that pass all filters */
	struct survey_reason reason[SURVEY_REASONS_MAX]; /* of kvm_exit, else of kvm_userspace_exit */
	unsigned int nr_reasons;
	uint32_t tid[SURVEY_TIDS_MAX];
	unsigned int nr_tids; /* up to the limit */
	bool *vcpu;	      /* SURVEY_VCPUS */
	json_t *probes;	      /* of a recording of ours, doc/format.md; NULL: none */
	bool ring;	      /* and it has the newest events only: trace_info_is_ring() */
};

/*
 * Reads the inputs of `set`, which stays as it is, once: *ret is owned by the set. -errno: an input cannot be read
 * again (a pipe), or memory is short; the error message is set.
 */
int input_survey(const struct input_set *set, struct survey **ret);
void survey_free(struct survey *s);
DEFINE_CLEANUP(survey, struct survey *, survey_free);

/*
 * Events of these names (comma-separated globs), with or without the part before a colon ("guest:", a system of
 * ftrace); selected: that pass all filters.
 */
uint64_t survey_count(const struct survey *s, const char *names, bool selected);

#define SPOOL_BYTES_MAX (UINT64_C(16) << 30)

/*
 * Makes an input readable more than once, since every trace is read at least twice. "-" becomes "/dev/stdin". If the
 * path names a descriptor that is a pipe or a socket (/dev/stdin, /dev/fd/N, /proc/self/fd/N), everything in it, or
 * what comes until SIGINT, is copied to an unlinked temporary file, which then has that descriptor's number: the path
 * names this file. Other paths remain as they are. 0; -EFBIG: more than max_bytes; -EINVAL: a named pipe; or another
 * -errno; with the error message set.
 */
int input_spool(const char **path, uint64_t max_bytes);

#endif
