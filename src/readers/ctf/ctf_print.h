/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_CTF_PRINT_H
#define HOSTRACE_CTF_PRINT_H

#include "readers/ctf/ctf.h"
#include "readers/text/source_line.h"

/* Append the line of the stream's event, and those of what was lost before it. */
void ctf_event_print(struct source_line *l, const struct ctf_stream *s);
void ctf_lost_print(struct source_line *l, const struct ctf_stream *s, uint64_t until_ns);

#endif
