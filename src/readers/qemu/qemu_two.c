// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * People paste the logs of a migration's source and destination, or of two runs, one below the other. Their events
 * would be those of one VM. Two logs are seen from
 *
 *   - times that go back by more than a thread may be late, and stay there: this is an error;
 *   - an event of the destination after one of the source: a QEMU that sent its VM away does not receive one. The
 *     phases of a migration may still be right, so this is a note.
 *
 * A log whose lines have the process is not examined: its VMs are told apart.
 */
#include "readers/qemu/qemu_two.h"

#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/units.h"

enum {
	LATE_NS = 10000000, /* a thread that is preempted before it writes its line */
	BEHIND_MIN = 3,
	BEHIND_MIN_WORDS = 2, /* after "on the destination:", at the end of the text */
};

static int back_fail(const struct qemu_two *t, const char *file)
{
	char back[16];

	fail(-EINVAL,
	     "%s: the times go back by %s at line %" PRIu64
	     ": these are the logs of two QEMUs or two runs",
	     file, duration_print(t->back_ns, back, sizeof(back)), t->line);
	return fail_hint(-EINVAL, "put each in a file of its own");
}

static bool two_begins(struct text_slice s, const char *with)
{
	return s.len >= strlen(with) && !memcmp(s.at, with, strlen(with));
}

static bool two_has(struct text_slice s, const char *what)
{
	return memmem(s.at, s.len, what, strlen(what)) != NULL;
}

/* Names of trace events of QEMU's migration/trace-events and system/trace-events. */
static bool is_source(const struct qemu_line *l)
{
	return two_begins(l->name, "migration_thread_") ||
	       two_begins(l->name, "migration_completion") ||
	       two_begins(l->name, "migration_set_outgoing") ||
	       (two_begins(l->name, "vmstate_downtime_checkpoint") &&
		two_begins(l->args, "src-")) ||
	       (two_begins(l->name, "runstate_set") && two_has(l->args, "(postmigrate)"));
}

static bool is_destination(const struct qemu_line *l)
{
	return two_begins(l->name, "process_incoming_migration") ||
	       two_begins(l->name, "migration_set_incoming") ||
	       (two_begins(l->name, "vmstate_downtime_checkpoint") &&
		two_begins(l->args, "dst-")) ||
	       (two_begins(l->name, "runstate_set") && two_has(l->args, "(inmigrate)"));
}

static int times_check(struct qemu_two *t, const char *file, uint64_t time_ns, uint64_t line,
		       bool words)
{
	if (time_ns + LATE_NS >= t->newest_ns) {
		t->newest_ns = time_ns > t->newest_ns ? time_ns : t->newest_ns;
		t->behind = 0;
		return 0;
	}
	if (!t->behind++) {
		t->back_ns = t->newest_ns - time_ns;
		t->line = line;
		t->words = words;
	}
	return t->behind < BEHIND_MIN ? 0 : back_fail(t, file);
}

int qemu_two_event(struct qemu_two *t, const char *file, const struct qemu_line *l, uint64_t line,
		   bool words)
{
	bool has_time = l->form == QEMU_LOG || l->form == QEMU_LOG_ISO || l->form == QEMU_LOG_MONO;

	if (!has_time && l->form != QEMU_LOG_BARE)
		return 0;
	if (t->was_source && !t->destination_line && is_destination(l))
		t->destination_line = line;
	t->was_source |= is_source(l);
	return has_time ? times_check(t, file, l->head.time_ns, line, words) : 0;
}

int qemu_two_end(const struct qemu_two *t, struct trace_info *info)
{
	if (t->destination_line)
		trace_info_caveat(info,
				  "%s: line %" PRIu64
				  " is of a migration's destination, lines before it are of its "
				  "source: the logs of two QEMUs are shown as of one VM (put each "
				  "in a file of its own)",
				  info->file, t->destination_line);
	return t->behind >= BEHIND_MIN_WORDS && t->words ? back_fail(t, info->file) : 0;
}
