/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Has a text the logs of two QEMUs, such as source and destination of a migration? */
#ifndef HOSTRACE_QEMU_TWO_H
#define HOSTRACE_QEMU_TWO_H

#include "readers/qemu/qemu_line.h"

struct qemu_two {
	uint64_t newest_ns;
	unsigned int behind;	/* events in a row that are far older than the newest */
	uint64_t back_ns, line; /* of the first of these, how far and where */
	bool words;		/* lines that are no events precede it */
	bool was_source;	/* of a migration */
	uint64_t destination_line; /* after events of the source; 0: none */
};

/*
 * Each event in turn, with the number of its line; words: lines that are no events are between it and the event before.
 * Then the end. -EINVAL with the error message set: there are two.
 */
int qemu_two_event(struct qemu_two *t, const char *file, const struct qemu_line *l, uint64_t line,
		   bool words);
int qemu_two_end(const struct qemu_two *t, struct trace_info *info);

#endif
