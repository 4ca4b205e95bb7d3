// SPDX-License-Identifier: GPL-2.0-or-later
/* `summary [--timed]` of OSv's tool: counts by tracepoint, the time that each CPU's ring spans,
 * percentiles of pairs. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analyzers/profile/sample_report.h"
#include "base/array.h"
#include "base/error.h"
#include "base/utf8.h"
#include "event/event.h"

enum { CPUS_MAX = 65536, DURATIONS_MAX = 64 << 20 };

struct cpu_span {
	uint32_t cpu;
	uint64_t first_ns, last_ns;
};

struct durations {
	double *ns;
	size_t nr;
	unsigned int name; /* tracepoint index of the first entry of this name */
};

struct summary {
	struct sample_trace *trace;
	const struct sample_summary_options *opt;
	uint64_t total, first_ns, last_ns;
	uint64_t *counts;     /* by tracepoint index */
	uint32_t *seen_order; /* by tracepoint index: place among those seen, from 1 */
	uint32_t nr_seen;
	struct cpu_span *cpus;
	uint32_t nr_cpus, *cpu_at;    /* cpu -> place + 1 in cpus */
	struct durations *timed;      /* in the order in which each name first completed a pair */
	uint32_t nr_timed, *timed_at; /* by tracepoint index of a name -> place + 1 */
	size_t nr_durations;
};

static int summary_init(struct summary *s, struct sample_trace *t,
			const struct sample_summary_options *opt)
{
	size_t nr = t->nr_types + 1u;

	*s = (struct summary){.trace = t, .opt = opt};
	s->counts = calloc(nr, sizeof(*s->counts));
	s->seen_order = calloc(nr, sizeof(*s->seen_order));
	s->timed = calloc(nr, sizeof(*s->timed));
	s->timed_at = calloc(nr, sizeof(*s->timed_at));
	s->cpus = calloc(CPUS_MAX, sizeof(*s->cpus));
	s->cpu_at = calloc(CPUS_MAX, sizeof(*s->cpu_at));
	if (s->counts && s->seen_order && s->timed && s->timed_at && s->cpus && s->cpu_at)
		return 0;
	return fail(-ENOMEM, "out of memory");
}

static void summary_deinit(struct summary *s)
{
	for (uint32_t i = 0; i < s->nr_timed; i++)
		free(s->timed[i].ns);
	free(s->counts);
	free(s->seen_order);
	free(s->timed);
	free(s->timed_at);
	free(s->cpus);
	free(s->cpu_at);
}

static void count_sample(struct summary *s, const struct sample *p)
{
	uint32_t cpu = p->cpu % CPUS_MAX;

	s->total++;
	if (!s->counts[p->tp->index]++)
		s->seen_order[p->tp->index] = ++s->nr_seen;
	if (!s->cpu_at[cpu]) {
		s->cpus[s->nr_cpus] = (struct cpu_span){p->cpu, p->time_ns, p->time_ns};
		s->cpu_at[cpu] = ++s->nr_cpus;
	}
	struct cpu_span *span = &s->cpus[s->cpu_at[cpu] - 1];

	if (p->time_ns < span->first_ns)
		span->first_ns = p->time_ns;
	if (p->time_ns > span->last_ns)
		span->last_ns = p->time_ns;
	if (!p->time_ns && !s->opt->compat)
		return; /* the original forgets what was the least until then */
	if (!s->first_ns || p->time_ns < s->first_ns)
		s->first_ns = p->time_ns;
	if (p->time_ns > s->last_ns)
		s->last_ns = p->time_ns;
}

/* The index that stands for all tracepoints of this name. */
static uint32_t name_index(const struct sample_trace *t, const struct sample_type *tp)
{
	for (uint32_t i = 0; i < tp->index; i++)
		if (!strcmp(t->types[i].name, tp->name))
			return i;
	return tp->index;
}

static int add_duration(struct summary *s, const struct sample_pair *timed)
{
	uint32_t name = name_index(s->trace, timed->entry.tp);
	double ns;

	if (!time_range_trim(&s->opt->range, timed->entry.time_ns, timed->duration_ns, &ns))
		return 0;
	if (!s->timed_at[name]) {
		s->timed[s->nr_timed] = (struct durations){.name = name};
		s->timed_at[name] = ++s->nr_timed;
	}
	struct durations *d = &s->timed[s->timed_at[name] - 1];

	if (s->nr_durations++ == DURATIONS_MAX)
		return fail(-E2BIG, "more than %d pairs; narrow the time with --since and --until",
			    DURATIONS_MAX);
	if (array_room(d->ns, d->nr))
		return -ENOMEM;
	d->ns[d->nr++] = ns;
	return 0;
}

static int read_all(struct summary *s, struct sample_pairs *pairs)
{
	struct sample sample;
	struct sample_pair timed;
	int r, err = 0;

	sample_rewind(s->trace);
	while (!err && (r = sample_next(s->trace, &sample)) != 0) {
		if (r < 0)
			return r;
		if (time_range_has(&s->opt->range, sample.time_ns))
			count_sample(s, &sample);
		r = pairs ? sample_pairs_next(pairs, &sample, &timed) : 0;
		err = r > 0 ? add_duration(s, &timed) : r;
	}
	while (pairs && !err && (r = sample_pairs_rest(pairs, &timed)) != 0)
		err = r > 0 ? add_duration(s, &timed) : r;
	return err;
}

static int by_first(const void *a, const void *b)
{
	const struct cpu_span *x = a, *y = b;

	return x->first_ns < y->first_ns ? -1 : x->first_ns > y->first_ns;
}

static void print_cpus(struct summary *s, FILE *out)
{
	char from[32], to[32], span[32];

	fprintf(out, "\nTime ranges:\n\n");
	qsort(s->cpus, s->nr_cpus, sizeof(*s->cpus), by_first);
	for (uint32_t i = 0; i < s->nr_cpus; i++) {
		const struct cpu_span *c = &s->cpus[i];

		fprintf(out, "  CPU 0x%02u: %s - %s = %10s\n", c->cpu,
			sample_timestamp(c->first_ns, from, sizeof(from)),
			sample_timestamp(c->last_ns, to, sizeof(to)),
			calltree_duration((double)c->last_ns - (double)c->first_ns, span,
					  sizeof(span)));
	}
}

static const struct summary *sorting; /* qsort has no argument */

static int by_name(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int c = strcmp(sorting->trace->types[x].name, sorting->trace->types[y].name);

	return c ? c : (int)sorting->seen_order[x] - (int)sorting->seen_order[y];
}

/* Tracepoints that were seen, by name; room for nr_seen. */
static uint32_t rows_by_name(struct summary *s, uint32_t *rows)
{
	uint32_t nr = 0;

	for (uint32_t i = 0; i < s->trace->nr_types; i++)
		if (s->counts[i])
			rows[nr++] = i;
	sorting = s;
	qsort(rows, nr, sizeof(*rows), by_name);
	return nr;
}

/* A guest's name is filled by characters, and must not move the cursor. */
static void put_name(const struct summary *s, const char *name, size_t width, FILE *out)
{
	_cleanup_free_ char *safe = s->opt->compat ? NULL : strdup(name);

	if (safe)
		text_neutralise(safe);
	const char *text = safe ? safe : name;
	size_t len = utf8_length(text, strlen(text));

	fprintf(out, "  %s%*s", text, len < width ? (int)(width - len) : 0, "");
}

static int print_counts(struct summary *s, FILE *out)
{
	_cleanup_free_ uint32_t *rows = calloc(s->nr_seen + 1u, sizeof(*rows));
	size_t width = 0;

	if (!rows)
		return fail(-ENOMEM, "out of memory");
	uint32_t nr = rows_by_name(s, rows);

	for (uint32_t i = 0; i < nr; i++) {
		const char *name = s->trace->types[rows[i]].name;
		size_t len = utf8_length(name, strlen(name));

		width = len > width ? len : width;
	}
	fprintf(out, "\nTracepoint statistics:\n\n");
	put_name(s, "name", width, out);
	fprintf(out, " %8s\n", "count");
	put_name(s, "----", width, out);
	fprintf(out, " %8s\n", "-----");
	for (uint32_t i = 0; i < nr; i++) {
		put_name(s, s->trace->types[rows[i]].name, width, out);
		fprintf(out, " %8llu\n", (unsigned long long)s->counts[rows[i]]);
	}
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void print_durations(const struct summary *s, struct durations *d, FILE *out)
{
	static const double quantiles[] = {0, .5, .9, .99, .999, 1};
	char ms[32];
	double total = 0;

	for (size_t i = 0; i < d->nr; i++)
		total += d->ns[i];
	qsort(d->ns, d->nr, sizeof(*d->ns), by_value);
	put_name(s, s->trace->types[d->name].name, 20, out);
	fprintf(out, " %8zu", d->nr);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		fprintf(out, " %8s",
			sample_ms(d->ns[(size_t)ceil((double)(d->nr - 1) * quantiles[i])], ms,
				  sizeof(ms)));
	fprintf(out, " %15s\n", sample_ms(total, ms, sizeof(ms)));
}

static void print_timed(struct summary *s, FILE *out)
{
	static const char *const heads[2][9] = {
		{"name", "count", "min", "50%", "90%", "99%", "99.9%", "max", "total"},
		{"----", "-----", "---", "---", "---", "---", "-----", "---", "-----"},
	};

	fprintf(out, "\nTimed tracepoints [ms]:\n\n");
	if (!s->nr_timed) {
		fprintf(out, "  None\n");
		return;
	}
	for (int i = 0; i < 2; i++) {
		fprintf(out, "  %-20s", heads[i][0]);
		for (int j = 1; j < 8; j++)
			fprintf(out, " %8s", heads[i][j]);
		fprintf(out, " %15s\n", heads[i][8]);
	}
	for (uint32_t i = 0; i < s->nr_timed; i++)
		print_durations(s, &s->timed[i], out);
}

static int print_all(struct summary *s, FILE *out)
{
	char span[32];

	if (!s->total) {
		fprintf(out, "No samples\n");
		return 0;
	}
	fprintf(out, "Collected %llu samples spanning %s\n", (unsigned long long)s->total,
		calltree_duration((double)s->last_ns - (double)s->first_ns, span, sizeof(span)));
	print_cpus(s, out);
	int err = print_counts(s, out);

	if (err)
		return err;
	if (s->opt->timed)
		print_timed(s, out);
	fputc('\n', out);
	return 0;
}

/* ---- JSON ---- */

static json_t *durations_json(const struct sample_trace *t, struct durations *d)
{
	static const struct {
		const char *name;
		double q;
	} columns[] = {{"min_ns", 0},	   {"p50_ns", .5},    {"p90_ns", .9},
		       {"p99_ns", .99}, {"p999_ns", .999}, {"max_ns", 1}};
	json_t *o = json_pack("{s:o, s:I}", "name", text_json(t->types[d->name].name), "count",
			      (json_int_t)d->nr);
	double total = 0;

	for (size_t i = 0; i < d->nr; i++)
		total += d->ns[i];
	qsort(d->ns, d->nr, sizeof(*d->ns), by_value);
	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		json_object_set_new(o, columns[i].name,
				    json_integer((json_int_t)d->ns[(size_t)ceil(
					    (double)(d->nr - 1) * columns[i].q)]));
	json_object_set_new(o, "total_ns", json_integer((json_int_t)total));
	return o;
}

static int json_all(struct summary *s, struct row_sink *sink)
{
	_cleanup_free_ uint32_t *rows = calloc(s->nr_seen + 1u, sizeof(*rows));
	json_t *cpus = json_array(), *counts = json_array(), *timed = json_array();
	int nr = rows ? (int)rows_by_name(s, rows) : 0;

	qsort(s->cpus, s->nr_cpus, sizeof(*s->cpus), by_first);
	for (uint32_t i = 0; i < s->nr_cpus; i++)
		json_array_append_new(cpus, json_pack("{s:I, s:I, s:I}", "cpu",
						      (json_int_t)s->cpus[i].cpu, "first_ns",
						      (json_int_t)s->cpus[i].first_ns, "last_ns",
						      (json_int_t)s->cpus[i].last_ns));
	for (int i = 0; i < nr; i++)
		json_array_append_new(counts, json_pack("{s:o, s:I}", "name",
							text_json(s->trace->types[rows[i]].name),
							"count", (json_int_t)s->counts[rows[i]]));
	for (uint32_t i = 0; i < s->nr_timed; i++)
		json_array_append_new(timed, durations_json(s->trace, &s->timed[i]));
	json_t *o = json_pack("{s:I, s:I, s:o, s:o}", "samples", (json_int_t)s->total, "span_ns",
			      (json_int_t)(s->last_ns - s->first_ns), "cpus", cpus, "tracepoints",
			      counts);

	if (s->opt->timed)
		json_object_set_new(o, "timed", timed);
	else
		json_decref(timed);
	row_sink_add(sink, o);
	return rows ? 0 : fail(-ENOMEM, "out of memory");
}

int sample_summary(struct sample_trace *t, const struct sample_summary_options *opt,
		   struct row_sink *sink)
{
	_cleanup_(sample_pairs_cleanup_) struct sample_pairs *pairs = NULL;
	struct summary s;
	int err = summary_init(&s, t, opt);

	if (!err && opt->timed)
		err = sample_pairs_open(t, opt->compat, &pairs);
	if (!err)
		err = read_all(&s, pairs);
	if (!err)
		err = sink->json ? json_all(&s, sink) : print_all(&s, sink->out);
	summary_deinit(&s);
	return err;
}
