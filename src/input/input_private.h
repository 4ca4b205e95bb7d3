/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that make an input set: input_set.c opens it, these are its parts. */
#ifndef HOSTRACE_INPUT_PRIVATE_H
#define HOSTRACE_INPUT_PRIVATE_H

#include "input/input_set.h"

/* What is read of the inputs besides their events, once for a set and its copies: made when first needed. */
struct input_clocks {
	struct align *align;
	struct survey *survey;
	struct open_files files;
	struct loss_sums losses; /* from since_ns to until_ns */
	uint64_t since_ns, until_ns;
	bool has_losses;
	bool where_checked; /* some event has each field of --where */
	unsigned int nr_users;
};

/* "a,b,c"; NULL: the list is empty, or out of memory. Owned by the caller. */
char *input_join(const struct text_list *list);

/* ---- input_times.c: the inputs are open ---- */

/*
 * A command that prints times in ns must not be given ticks; and ns cannot be merged with ticks. 0 or -EINVAL with the
 * error message set.
 */
int input_units_check(const struct input_set *set);

/*
 * Sets the time window of the hint, over all inputs. They may be read to their ends for it, and cannot be read again. 0
 * or -errno with the error message set.
 */
int input_window_make(struct input_set *set, struct read_hint *hint);

/* ---- input_trim.c ---- */

/*
 * What --vm selects of the VMs that the inputs list, as far as they are open; none: all. *ret is allocated. 0 or -errno
 * with the error message set.
 */
int input_pids(const struct input_set *set, uint32_t **ret, unsigned int *ret_nr);

/* --where on events. *ret: NULL if it was not given. 0 or -errno with the error message set. */
int input_where_make(const struct input_set *set, struct event_where **ret);

/*
 * Trims the merged reader `all`, of which it takes ownership, also on failure, to what the options select; `globs`: of
 * --event, or NULL. *ret is the trimmed reader. Sets set->nr_pids. 0 or -errno with the error message set.
 */
int input_trim_open(struct input_set *set, struct reader *all, const struct read_hint *hint,
		    const char *globs, struct reader **ret);

/*
 * Paths of the recording's guest traces: at most `max`, each to be freed. A file matches if it has the recorded size,
 * and either the recorded name, in the recording's present folder, or the name that it would get if both were renamed
 * (VM.guest for VM.hrt). note() is called for each one that is missing or does not match, and once for those beyond the
 * first `max`, which are not looked for. Returns how many were
 * found; 0 as well if the recording cannot be opened, is not in our format, or can be read only once.
 */
unsigned int companions_find(const char *recording, void (*note)(const char *fmt, ...), char **ret,
			     unsigned int max, struct open_files *files);

#endif
