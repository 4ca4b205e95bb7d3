/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An event type as a tracepoint of ftrace: where its fields are, and its format as tracefs has it. */
#ifndef HOSTRACE_TRACEDAT_FORMAT_H
#define HOSTRACE_TRACEDAT_FORMAT_H

#include <stdio.h>

#include "output/event_rows.h"

/* common_type is the type's index in the registry, and this: 0 is not an event. */
enum { TRACEDAT_FIRST_ID = 1 };

/*
 * Writes the record of an event: the common fields, its own one after the other, its vCPU if the kernel's tracepoint
 * has it, and its texts of any length. Returns its length, a multiple of 4; 0: it is longer than `size`.
 */
size_t tracedat_record(const struct event_row *row, uint8_t *to, size_t size);

/* "kvm", "sched", "hostrace", or what is before the ':' in the type's name. */
void tracedat_system(const struct event_type *type, char system[EVENT_NAME_MAX]);
void tracedat_format(const struct event_type *type, FILE *out);

#endif
