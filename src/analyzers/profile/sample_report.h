/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the reports of OSv's trace tool share: time slicing, how stamps and durations are written,
 * one sample as a line. The text is that tool's, so that scripts made for it go on working.
 */
#ifndef HOSTRACE_SAMPLE_REPORT_H
#define HOSTRACE_SAMPLE_REPORT_H

#include <stdio.h>

#include "analyzers/profile/sample_line.h"
#include "analyzers/profile/sample_pairs.h"

/* [since, until) in ns; has_* false: not given. */
struct time_range {
	bool has_since, has_until;
	double since_ns, until_ns;
};

static inline bool time_range_has(const struct time_range *r, uint64_t time_ns)
{
	return (!r->has_since || (double)time_ns >= r->since_ns) &&
	       (!r->has_until || (double)time_ns < r->until_ns);
}

/*
 * The part of [start, start + duration] within the range; false if they do not touch. A touch at
 * one point counts, with length 0 (as in OSv's tool); a span that ends before it begins does not.
 */
bool time_range_trim(const struct time_range *r, uint64_t start_ns, int64_t duration_ns,
		     double *ret_ns);

/* Seconds as "%12.9f", exact: computed from integers. buf has at least 32 bytes. */
const char *sample_timestamp(uint64_t ns, char *buf, size_t size);

/* Milliseconds as "%4.3f". */
const char *sample_ms(double ns, char *buf, size_t size);

/* Where a report's rows go: lines of text, or a JSON object with an array of them, begun by the first. */
struct row_sink {
	FILE *out;
	bool json;
	uint64_t limit, nr; /* limit 0: all */
};

/* Writes a row of the JSON array; takes the reference over. */
void row_sink_add(struct row_sink *sink, json_t *row);
/* Ends the array and the object, with the members of `head`, whose reference is taken over. */
void row_sink_end(struct row_sink *sink, json_t *head);
static inline bool row_sink_full(const struct row_sink *sink)
{
	return sink->limit && sink->nr >= sink->limit;
}

/* {"thread":"0x..","comm","cpu"}: who a row is about. New reference. */
json_t *sample_who_json(const struct sample *s);
/* Text that may not be UTF-8. New reference. */
json_t *text_json(const char *text);

struct sample_list_options {
	struct time_range range;
	struct sample_line_options line;
	const char *prefix; /* -t: of the tracepoint's name; NULL: all */
	bool tcpdump;	    /* packets as tcpdump tells them, TCP states by name */
};

/* `list`. All reports: 0 or -errno with the sentence set; the trace is read from its start. */
int sample_list(struct sample_trace *t, const struct sample_list_options *opt,
		struct row_sink *sink);

enum list_timed_sort { LIST_TIMED_UNSORTED, LIST_TIMED_BY_DURATION, LIST_TIMED_BY_TIME };

struct list_timed_options {
	struct time_range range;
	struct sample_line_options line;
	enum list_timed_sort sort;
};

/* `list-timed`: pairs in the order in which they ended, unless sorted. */
int list_timed(struct sample_trace *t, const struct list_timed_options *opt, struct row_sink *sink);

struct wakeup_options {
	struct time_range range; /* of the end of the wait; --compat ignores it */
	struct sample_line_options line;
	bool header;
};

/* `wakeup-latency`: from the wake-up to the return of the wait. */
int wakeup_latency(struct sample_trace *t, const struct wakeup_options *opt, struct row_sink *sink);

struct cpu_load_options {
	struct time_range range; /* --compat ignores it */
	bool csv, compat;
	uint64_t cpus; /* -c: rows only once so many CPUs were seen; 0: at once */
};

/* `cpu-load`: the run queue's length by CPU, a row per sample. */
int cpu_load(struct sample_trace *t, const struct cpu_load_options *opt, struct row_sink *sink);

/* `prof-flame`: "outer;inner N", the text that flame graphs are made of. */
struct flame_options {
	struct time_range range;
	const char *tracepoint; /* exact name; NULL: all */
	bool compat;
	uint64_t min_hits;
	struct symbols_options symbols;
	struct frames_options frames;
};
int sample_flame(struct sample_trace *t, const struct flame_options *opt, struct row_sink *sink);

struct sample_summary_options {
	struct time_range range;
	bool timed, compat;
};

/* `summary`; with JSON one object. */
int sample_summary(struct sample_trace *t, const struct sample_summary_options *opt,
		   struct row_sink *sink);

#endif
