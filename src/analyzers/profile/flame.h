/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stacks with their number of hits, in order of appearance: the data of flame graphs. */
#ifndef HOSTRACE_FLAME_H
#define HOSTRACE_FLAME_H

#include "analyzers/profile/frames.h"
#include "analyzers/profile/time_range.h"

struct flame_options {
	struct time_range range;
	const char *tracepoint; /* exact name; NULL: all */
	bool compat;
	struct symbols_options symbols;
	struct frames_options frames;
};

struct flame_stack {
	unsigned int nr;
	uint64_t hits;
	const uint32_t *frames; /* for flame_frame(), outermost first */
};

struct flame;

/* Reads the trace, which must outlive it. 0 or -errno with the error message set. */
int flame_open(struct sample_trace *t, const struct flame_options *opt, struct flame **ret);
void flame_close(struct flame *f);
DEFINE_CLEANUP(flame, struct flame *, flame_close);

uint32_t flame_nr_stacks(const struct flame *f);
struct flame_stack flame_stack(const struct flame *f, uint32_t i);
const char *flame_frame(const struct flame *f, uint32_t frame);

#endif
