/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record --trigger: what its files share. record_trigger.c decides when to dump, record_dump.c
 * writes dumps. */
#ifndef HOSTRACE_RECORD_TRIGGER_H
#define HOSTRACE_RECORD_TRIGGER_H

#include "commands/live/record.h"
#include "reports/dump.h"

/* A dump on the disk. */
struct dump_file {
	char *path;
};

struct dump_files {
	char *prefix; /* --output without ".hrt" */
	uint64_t keep, max_bytes;
	struct dump_file *list;
	size_t nr;
	pid_t child; /* writes one; 0: none does */
	uint64_t child_triggers; /* for how many triggers */
	uint64_t written, failed;
	uint64_t suppressed; /* triggers whose dump would have exceeded max_bytes */
	bool logged;	     /* that triggers are suppressed for that reason */
};

/* Looks for the dumps of earlier runs. To be called before the process is confined. */
int dumps_open(struct dump_files *d);
void dumps_close(struct dump_files *d);

/* Is there space for another one? */
bool dumps_have_room(struct dump_files *d);

/*
 * Starts a child that writes the dump and its report, and logs it; without space, its triggers are
 * counted as suppressed. `always`: whatever --keep says, and not for a trigger. 0 or -errno with
 * the error message set.
 */
int dumps_start(struct dump_files *d, struct recording *r, const struct dump_cause *cause,
		bool always);

/* Has the child ended? `wait`: waits for that. */
void dumps_reap(struct dump_files *d, bool wait);

/* As command_note(), but also with --quiet, and with this priority for the journal where stderr is
 * one. */
void journal_note(int priority, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
