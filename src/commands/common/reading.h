/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options that every command which reads traces has (-i, --guest, --since, --vcpu, --event, ...), and from
 * them one reader: opened, merged, trimmed. Also the head that every JSON answer carries.
 */
#ifndef HOSTRACE_READING_H
#define HOSTRACE_READING_H

#include <jansson.h>

#include "base/options.h"
#include "event/reader.h"

extern const struct option_row reading_options[];

/*
 * Opens what the options name (default hostrace.hrt) and trims it. `wants` as in struct read_hint: events by name
 * that the command will look at; NULL for all. Errors: -errno with the sentence set.
 */
int reading_open(bool (*wants)(const char *event, void *arg), void *arg, struct reader **ret);

/*
 * The same without --since, --until and --period, which the command looks at itself: between which times of a trace
 * from start to end they say, absolute. False: none of them is given.
 */
int reading_open_all_times(bool (*wants)(const char *event, void *arg), void *arg,
			   struct reader **ret);
bool reading_window(uint64_t start_ns, uint64_t end_ns, uint64_t *ret_since, uint64_t *ret_until);

/*
 * "host" or "guest" for event.source, with a number from the second input of a side on: "host", "guest", "guest2".
 * Valid until the program ends.
 */
const char *reading_source_name(unsigned int source);
bool reading_is_guest(unsigned int source);

/*
 * The command looks at guests' events: what `record --guest` put beside the only recording is merged, unless --guest or
 * --no-guest was given, and it says so. After reading_take_args(), before anything is opened or asked of guests.
 */
void reading_want_guests(void);

/* Is anything left out by the options (--since, --vm, --event, ...)? */
bool reading_trimmed(void);

/* Is the event of the reader that reading_open() made itself asked for, or is it there to name others? */
bool reading_asked(struct reader *r, const struct event *ev);

/* The input behind event.source, owned by the reader of reading_open(); NULL beyond the last. */
struct reader *reading_input(unsigned int source);

/* event.source of the first guest (--guest), 0 if there is none; and the input that was named last. */
unsigned int reading_first_guest(void);
const char *reading_last_path(void);

/*
 * How guest 0, 1, ... (--guest) is related to the host's clock; -1: what the host's recording says of its vCPUs
 * without any guest's trace. Owned by this module. See align/align.h.
 */
struct align;
struct align_guest;
unsigned int reading_guests(void);
int reading_align(int guest, struct align **ret, const struct align_guest **ret_guest);

/*
 * The bare arguments of a command that takes them as inputs; "-i" and they may be mixed. Returns 0, or -EINVAL with
 * the sentence set if there are more than `max`.
 */
int reading_take_args(int argc, char **argv, int max);

/*
 * The input, if there is exactly one and nothing but times is asked of it; else NULL. And how many inputs were named,
 * and the times as they were given (NULL: not). For commands that have another way with some kinds of file.
 */
const char *reading_only_file(void);
unsigned int reading_nr_files(void);
void reading_times(const char **since, const char **until, const char **period);

/* --vm as it was given; NULL: not. */
const char *reading_vm(void);

/* Adds an input as if -i FILE had been given (for commands whose file may be a bare argument). */
void reading_add_input(const char *path);

/*
 * {"hostrace":{"version","command"},"inputs":[{"file","kind","events","lost"}],"clock":{...},"caveats":[..]} of the
 * reader that reading_open() made, after its end was reached. New reference. Adds `more` (array of sentences,
 * borrowed, may be NULL) to the caveats.
 */
json_t *reading_head(const struct reader *r, const json_t *more);

/* Prints the same as comment lines under a text report: losses, caveats, clock; nothing if there is nothing. */
void reading_foot(const struct reader *r, const json_t *more, FILE *out);

/* Where what was read ends: the trace's end, or --until if that is earlier. After the reader's end. */
uint64_t reading_end_ns(const struct reader *r);

/* --until, absolute; UINT64_MAX: none. After reading_open(). */
uint64_t reading_until_ns(void);

/* Was --strict given, and did any input lose events? Then the exit status is 3. */
bool reading_strict_failed(const struct reader *r);

#endif
