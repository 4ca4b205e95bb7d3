/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `trace-cmd report` of several files, or of one with several buffers: the lines of all in order of time. It begins
 * with a line "cpus=2" for each. In front of a line is the name of the file or buffer, right-aligned to the longest:
 *
 *    host.dat: cpus=2
 *   guest.dat: cpus=1
 *    host.dat:  qemu-system-x86-145   [001] 22949.020073: kvm_entry: vcpu 0
 *
 * Buffers are of one machine, and the main buffer's lines have blanks in place of a name. Files are traces of their
 * own, with CPUs and threads of their own: one of them is read (tracetext.c). A line without a name belongs to the name
 * above: the event after "CPU:0 [LOST 3 EVENTS]", the functions of a backtrace. Source: print_handle_file() of
 * trace-cmd's trace-read.c.
 */
#ifndef HOSTRACE_TEXT_PARTS_H
#define HOSTRACE_TEXT_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TEXT_PARTS_MAX = 8, TEXT_PART_NAME_MAX = 128 };

struct text_parts {
	char name[TEXT_PARTS_MAX][TEXT_PART_NAME_MAX];
	unsigned int nr;  /* 0: the lines have no names */
	unsigned int now; /* of the current line */
	size_t width;	  /* of the name's column */
	bool known;	  /* the lines "cpus=" are over */
};

/* Are the parts traces of their own? */
static inline bool text_parts_are_files(const struct text_parts *p)
{
	return p->nr > 1 && *p->name[0];
}

char *text_parts_find(struct text_parts *p, char *s, const char *end);

/*
 * Where the line from s to its newline at end begins after the name, and p->now. To be called for each line, from the
 * first one on, with a struct that was zeroed before.
 */
static inline char *text_parts_skip(struct text_parts *p, char *s, const char *end)
{
	return p->known && !p->nr ? s : text_parts_find(p, s, end);
}

#endif
