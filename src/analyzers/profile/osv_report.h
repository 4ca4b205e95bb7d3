/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the reports of OSv's trace tool share: time slicing, how stamps and durations are written,
 * one sample as a line. The text is that tool's, so that scripts made for it go on working.
 */
#ifndef HOSTRACE_OSV_REPORT_H
#define HOSTRACE_OSV_REPORT_H

#include <stdio.h>

#include "analyzers/profile/osv_line.h"
#include "analyzers/profile/osv_pairs.h"

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
 * one point counts, with length 0 (as in OSv's tool); a span that ends before it begins does not.
 */
bool osv_range_trim(const struct osv_range *r, uint64_t start_ns, int64_t duration_ns,
		    double *ret_ns);

/* Seconds as "%12.9f", exact: computed from integers. buf has at least 32 bytes. */
const char *osv_stamp(uint64_t ns, char *buf, size_t size);

/* Milliseconds as "%4.3f". */
const char *osv_ms(double ns, char *buf, size_t size);

/* The first unit of h, m, s, ms, us, ns that the time reaches: "2.47 ms"; below 1 ns the bare
 * number. */
const char *osv_pretty(double ns, char *buf, size_t size);

/* Where a report's rows go: lines of text, or a JSON object with an array of them, begun by the first. */
struct osv_sink {
	FILE *out;
	bool json;
	uint64_t limit, nr; /* limit 0: all */
};

/* Writes a row of the JSON array; takes the reference over. */
void osv_sink_row(struct osv_sink *sink, json_t *row);
/* Ends the array and the object, with the members of `head`, whose reference is taken over. */
void osv_sink_end(struct osv_sink *sink, json_t *head);
static inline bool osv_sink_full(const struct osv_sink *sink)
{
	return sink->limit && sink->nr >= sink->limit;
}

/* {"thread":"0x..","comm","cpu"}: who a row is about. New reference. */
json_t *osv_who_json(const struct osv_sample *s);
/* Text that may not be UTF-8. New reference. */
json_t *osv_text_json(const char *text);

struct osv_list_options {
	struct osv_range range;
	struct osv_line_options line;
	const char *prefix; /* -t: of the tracepoint's name; NULL: all */
	bool tcpdump;	    /* packets as tcpdump tells them, TCP states by name */
};

/* `list`. All reports: 0 or -errno with the sentence set; the trace is read from its start. */
int osv_list(struct osv_trace *t, const struct osv_list_options *opt, struct osv_sink *sink);

enum osv_timed_sort { OSV_UNSORTED, OSV_BY_DURATION, OSV_BY_TIME };

struct osv_list_timed_options {
	struct osv_range range;
	struct osv_line_options line;
	enum osv_timed_sort sort;
};

/* `list-timed`: pairs in the order in which they ended, unless sorted. */
int osv_list_timed(struct osv_trace *t, const struct osv_list_timed_options *opt,
		   struct osv_sink *sink);

struct osv_wakeup_options {
	struct osv_range range; /* of the end of the wait; --compat ignores it */
	struct osv_line_options line;
	bool header;
};

/* `wakeup-latency`: from the wake-up to the return of the wait. */
int osv_wakeup_latency(struct osv_trace *t, const struct osv_wakeup_options *opt,
		       struct osv_sink *sink);

struct osv_cpu_load_options {
	struct osv_range range; /* --compat ignores it */
	bool csv, compat;
	uint64_t cpus; /* -c: rows only once so many CPUs were seen; 0: at once */
};

/* `cpu-load`: the run queue's length by CPU, a row per sample. */
int osv_cpu_load(struct osv_trace *t, const struct osv_cpu_load_options *opt,
		 struct osv_sink *sink);

/* `prof-flame`: "outer;inner N", the text that flame graphs are made of. */
struct osv_flame_options {
	struct osv_range range;
	const char *tracepoint; /* exact name; NULL: all */
	bool compat;
	uint64_t min_hits;
	struct osv_symbols_options symbols;
	struct osv_frames_options frames;
};
int osv_flame(struct osv_trace *t, const struct osv_flame_options *opt, struct osv_sink *sink);

struct osv_summary_options {
	struct osv_range range;
	bool timed, compat;
};

/* `summary`; with JSON one object. */
int osv_summary(struct osv_trace *t, const struct osv_summary_options *opt,
		struct osv_sink *sink);

#endif
