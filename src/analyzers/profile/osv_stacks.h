/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Distinct backtraces, numbered from 0 in order of appearance: a trace has many samples and few
 * backtraces, so whatever is made of one (frames, text) is made once and kept by its number.
 */
#ifndef HOSTRACE_OSV_STACKS_H
#define HOSTRACE_OSV_STACKS_H

#include "readers/osv/osv.h"

enum { OSV_STACKS_MAX = 1 << 20 };

struct osv_stacks;

int osv_stacks_open(struct osv_stacks **ret);
void osv_stacks_close(struct osv_stacks *s);
DEFINE_CLEANUP(osv_stacks, struct osv_stacks *, osv_stacks_close);

/*
 * The number of the sample's backtrace: 1 if it is new, 0 if it was seen before, -errno with the
 * sentence set. The trace must stay open as long as this lives: its bytes are not copied.
 */
int osv_stacks_number(struct osv_stacks *s, const struct osv_sample *sample, uint32_t *ret);

/*
 * For those whose bytes do not live that long: right after a new one was numbered, its place from now on (the same
 * bytes); and where the bytes of one lie.
 */
void osv_stacks_place(struct osv_stacks *s, uint32_t number, const uint8_t *raw);
const uint8_t *osv_stacks_raw(const struct osv_stacks *s, uint32_t number);

#endif
