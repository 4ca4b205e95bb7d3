/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples, pairs and profiles as text and JSON. The text is that of OSv's trace tool, so that scripts made for it go on
 * working; `compat` makes it the same byte for byte.
 */
#ifndef HOSTRACE_SAMPLES_OUTPUT_H
#define HOSTRACE_SAMPLES_OUTPUT_H

#include <inttypes.h>
#include <jansson.h>

#include "analyzers/profile/calltree.h"
#include "analyzers/profile/frames.h"
#include "analyzers/profile/host_profile.h"
#include "analyzers/profile/profile.h"
#include "analyzers/profile/sample_pairs.h"
#include "analyzers/profile/sample_summary.h"
#include "analyzers/profile/samples_sched.h"
#include "output/samples/packets.h"
#include "output/samples/text_out.h"

/* Seconds as "%12.9f", exact: computed from integers. buf has at least 32 bytes. */
const char *sample_timestamp(uint64_t ns, char *buf, size_t size);

/* Milliseconds as "%4.3f". */
const char *sample_ms(double ns, char *buf, size_t size);

/* Where a report's rows go: lines of text, or a JSON object with an array of them, begun by the first. */
struct row_sink {
	FILE *out;
	bool json;
	json_t *rows; /* array that the rows are added to instead; NULL: they are written */
	uint64_t limit, nr; /* limit 0: all */
	bool cut;	    /* there may be more rows than the limit */
	bool shown;	    /* a row of JSON, or one object or tree that is not empty; lines of text only count in nr */
};

/* Writes a row of the JSON array; takes the reference. */
void row_sink_add(struct row_sink *sink, json_t *row);
/* Ends the array and the object, with the members of `head`; takes the reference. */
void row_sink_end(struct row_sink *sink, json_t *head);
static inline bool row_sink_empty(const struct row_sink *sink)
{
	return !sink->shown && (sink->json || !sink->nr);
}
static inline bool row_sink_full(const struct row_sink *sink)
{
	return sink->limit && sink->nr >= sink->limit;
}
/* To be asked before each row. True: it is one more than the limit. */
static inline bool row_sink_refuses(struct row_sink *sink)
{
	sink->cut |= row_sink_full(sink);
	return sink->cut;
}
/* What reading ended with: an error after the last requested row is ignored. */
static inline int row_sink_result(struct row_sink *sink, int err)
{
	return err < 0 && row_sink_refuses(sink) ? 0 : err;
}

/* Text that may not be UTF-8. New reference. */
json_t *text_json(const char *text);

/*
 * ---- a sample as the line that OSv's tool prints ----
 *
 * What depends on the tracepoint or on the backtrace only is prepared once: formats are parsed, backtraces are kept as
 * text.
 */

struct sample_line_options {
	bool backtrace, multiline; /* -b -l */
	bool compat;
	struct frames_options frames;
};

struct sample_lines;

/* Symbols are opened only where backtraces are wanted. */
int sample_lines_open(struct sample_trace *t, const struct sample_line_options *opt,
		      struct sample_lines **ret);
void sample_lines_close(struct sample_lines *l);
DEFINE_CLEANUP(sample_lines, struct sample_lines *, sample_lines_close);

/* Parts of a line; each returns the end of what it wrote. */
char *sample_put_thread(struct sample_lines *l, char *p, const struct sample *s);
char *sample_put_name(const struct sample_lines *l, char *p, const struct sample *s);

/* The arguments; NULL with the error message set where the format does not fit them. */
char *sample_put_args(struct sample_lines *l, char *p, const struct sample *s);
char *sample_put_args_text(const struct sample_lines *l, char *p, const char *text);

/* The backtrace as asked, nothing without -b; NULL with the error message set on failure. */
char *sample_put_backtrace(struct sample_lines *l, char *p, const struct sample *s);

/* Frames of the sample's backtrace as -b shows them, an array of texts; NULL on failure. */
json_t *sample_backtrace_json(struct sample_lines *l, const struct sample *s);

/* ---- reports ---- */

struct sample_list_options {
	struct time_range range;
	struct sample_line_options line;
	const char *prefix; /* -t: of the tracepoint's name; NULL: all */
	bool tcpdump;	    /* packets as tcpdump prints them, TCP states by name */
};

/*
 * The reports. Those that get a trace read it from its start; they return 0 or -errno with the error message set, and
 * what was read before stays printed.
 */

/* `list`. */
int samples_print(struct sample_trace *t, const struct sample_list_options *opt,
		  struct row_sink *sink);

/* `list-timed`. */
int pairs_print(struct sample_trace *t, const struct pair_list_options *opt,
		const struct sample_line_options *line, struct row_sink *sink);

/* `wakeup-latency`; `header`: a line of headings. */
int wakeups_print(struct sample_trace *t, const struct time_range *range,
		  const struct sample_line_options *line, bool header, struct row_sink *sink);

/* `cpu-load`: the run queue's length by CPU, a row per sample. */
int cpu_loads_print(struct sample_trace *t, const struct cpu_load_options *opt, bool csv,
		    struct row_sink *sink);

/* `summary`; with JSON one object. */
void summary_print(const struct sample_summary *s, struct row_sink *sink);

/* `prof` and its variants, `memory-analyzer`: one tree, or one under a header per group. */
int call_trees_print(const struct calltree *t, bool grouped, struct row_sink *sink);

/*
 * The same folded, for flame graphs: "a;b;c N", N the hits that end there, for paths that begin with the outermost
 * frame; the group's title before each. Filters are not applied. times: N is the time in ns instead.
 */
void call_trees_fold(const struct calltree *t, bool grouped, bool times, FILE *out);

/* `prof-flame`: "outer;inner N", in order of appearance. */
void call_stacks_print(const struct calltree *t, struct row_sink *sink);

/*
 * a, b: lines "outermost;...;innermost COUNT", changed here. Writes "outermost;...;innermost COUNT_A COUNT_B", as
 * difffolded.pl does and flamegraph.pl reads, in order of the stacks; 0 if a profile lacks one. *ret_nr: lines written.
 * 0 or -ENOMEM with the error message set.
 */
int folded_diff(char *a, char *b, FILE *out, uint64_t *ret_nr);

/* Of sample_trace.refused, as the format of a note or an error message. */
#define SAMPLES_REFUSED "%" PRIu64 " spans were dropped: too many were open at once"

/* What is to be known of a profile's figures: lines under its text, caveats of its JSON. New arrays of texts. */
json_t *wait_profile_notes(const struct wait_sums *sums);
json_t *host_profile_notes(enum host_profile_of of, const struct host_profile_totals *t);

#endif
