/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distinct backtraces, numbered from 0 in order of appearance: a trace has many samples and few
 * backtraces, so data derived from one (frames, text) is computed once and stored by its number.
 */
#ifndef HOSTRACE_STACKS_H
#define HOSTRACE_STACKS_H

#include "event/sample.h"

enum { STACKS_MAX = 1 << 20 };

struct stacks;

int stacks_open(struct stacks **ret);
void stacks_close(struct stacks *s);
DEFINE_CLEANUP(stacks, struct stacks *, stacks_close);

/*
 * The number of the sample's backtrace: 1 if it is new, 0 if it was seen before, -errno with the
 * error message set. The trace must stay open as long as this lives: its bytes are not copied.
 */
int stacks_number(struct stacks *s, const struct sample *sample, uint32_t *ret);

/*
 * For backtraces whose bytes do not live that long: stacks_place(), called right after a new one was numbered, sets a
 * permanent copy of the same bytes; stacks_raw() returns the bytes.
 */
void stacks_place(struct stacks *s, uint32_t number, const uint8_t *raw);
const uint8_t *stacks_raw(const struct stacks *s, uint32_t number);

#endif
