/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Statistics of a trace: samples by type, the time that each CPU's samples span, durations of pairs by name. */
#ifndef HOSTRACE_SAMPLE_SUMMARY_H
#define HOSTRACE_SAMPLE_SUMMARY_H

#include "analyzers/profile/sample_pairs.h"

struct sample_summary_options {
	struct time_range range;
	bool timed; /* durations, too */
	bool compat;
};

struct cpu_span {
	uint32_t cpu;
	uint64_t first_ns, last_ns;
};

/* The durations of all pairs of one name, shortest first. */
struct pair_durations {
	double *ns, total_ns;
	size_t nr;
	unsigned int name; /* the first type of this name */
};

struct sample_summary {
	struct sample_trace *trace;
	struct sample_summary_options opt;
	uint64_t total, first_ns, last_ns;
	uint64_t *counts;	    /* by type */
	uint32_t *by_name, nr_seen; /* types that were seen, by name */
	struct cpu_span *cpus;	    /* by first_ns */
	uint32_t nr_cpus;
	struct pair_durations *timed; /* in the order in which each name first completed a pair */
	uint32_t nr_timed;
};

/*
 * Reads the trace, which must outlive the summary. 0, or -errno with the error message set;
 * sample_summary_deinit() either way.
 */
int sample_summary_make(struct sample_trace *t, const struct sample_summary_options *opt,
			struct sample_summary *ret);
void sample_summary_deinit(struct sample_summary *s);

/* The least duration that is not exceeded by the part q of them, by nearest rank as in OSv's tool; d->nr > 0. */
double pair_durations_quantile(const struct pair_durations *d, double q);

#endif
