/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the reports of OSv's trace tool share: time slicing, how stamps and durations are written,
 * one sample as a line. The text is that tool's, so that scripts made for it go on working.
 */
#ifndef HOSTRACE_OSV_REPORT_H
#define HOSTRACE_OSV_REPORT_H

#include <stdio.h>

#include "guestside/osv/osv.h"
#include "guestside/osv/osv_pairs.h"

/* [since, until) in ns; has_* false: not given. */
struct osv_range {
	bool has_since, has_until;
	double since_ns, until_ns;
};

static inline bool osv_range_has(const struct osv_range *r, uint64_t time_ns)
{
	return (!r->has_since || (double)time_ns >= r->since_ns) &&
	       (!r->has_until || (double)time_ns < r->until_ns);
}

/*
 * The part of [start, start + duration] within the range; false if they do not touch. A touch at
 * one point counts, with length 0 (as in OSv's tool).
 */
bool osv_range_trim(const struct osv_range *r, uint64_t start_ns, uint64_t duration_ns,
		    double *ret_ns);

/* Seconds as "%12.9f", exact: computed from integers. buf has at least 32 bytes. */
const char *osv_stamp(uint64_t ns, char *buf, size_t size);

/* Milliseconds as "%4.3f". */
const char *osv_ms(double ns, char *buf, size_t size);

/* The first unit of h, m, s, ms, us, ns that the time reaches: "2.47 ms"; below 1 ns the bare
 * number. */
const char *osv_pretty(double ns, char *buf, size_t size);

struct osv_summary_options {
	struct osv_range range;
	bool timed, compat;
};

/* 0, or -errno with the sentence set. The trace is read from its start. */
int osv_summary(struct osv_trace *t, const struct osv_summary_options *opt, FILE *out);

#endif
