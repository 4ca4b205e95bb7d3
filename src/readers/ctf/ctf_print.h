/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_CTF_PRINT_H
#define HOSTRACE_CTF_PRINT_H

#include "readers/ctf/ctf.h"

struct ctf_line {
	char text[32768]; /* < TEXT_LINE_MAX */
	size_t len;
};

/* Append the line of the stream's event, and those of what was lost before it. */
void ctf_event_print(struct ctf_line *l, const struct ctf_stream *s);
void ctf_lost_print(struct ctf_line *l, const struct ctf_stream *s, uint64_t until_ns);

#endif
