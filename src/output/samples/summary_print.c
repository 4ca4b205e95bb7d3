// SPDX-License-Identifier: GPL-2.0-or-later
/* `summary [--timed]` of samples. */

#include "base/json_text.h"
#include "base/saturate.h"
#include "base/units.h"
#include "output/samples/samples_output.h"

static void print_cpus(const struct sample_summary *s, FILE *out)
{
	char cpu[16], from[32], to[32], span[32];

	fprintf(out, "\nTime ranges:\n\n");
	for (uint32_t i = 0; i < s->nr_cpus; i++) {
		const struct cpu_span *c = &s->cpus[i];

		snprintf(cpu, sizeof(cpu), c->cpu == RECORD_CPU_UNKNOWN ? "-" : "0x%02u", c->cpu);
		fprintf(out, "  CPU %s: %s - %s = %10s\n", cpu,
			sample_timestamp(c->first_ns, from, sizeof(from)),
			sample_timestamp(c->last_ns, to, sizeof(to)),
			duration_print_wide((double)c->last_ns - (double)c->first_ns, span,
					    sizeof(span)));
	}
}

/* A guest's name is filled by characters, and must not move the cursor. */
static void put_name(const struct sample_summary *s, const char *name, size_t width, FILE *out)
{
	_cleanup_free_ char *safe = s->opt.compat ? NULL : strdup(name);

	if (safe)
		text_sanitize(safe);
	const char *text = safe ? safe : name;
	size_t len = utf8_length(text, strlen(text));

	fprintf(out, "  %s%*s", text, len < width ? (int)(width - len) : 0, "");
}

static void print_counts(const struct sample_summary *s, FILE *out)
{
	size_t width = 0;

	for (uint32_t i = 0; i < s->nr_seen; i++) {
		const char *name = s->trace->types[s->by_name[i]].name;
		size_t len = utf8_length(name, strlen(name));

		width = len > width ? len : width;
	}
	fprintf(out, "\nTracepoint statistics:\n\n");
	put_name(s, "name", width, out);
	fprintf(out, " %8s\n", "count");
	put_name(s, "----", width, out);
	fprintf(out, " %8s\n", "-----");
	for (uint32_t i = 0; i < s->nr_seen; i++) {
		put_name(s, s->trace->types[s->by_name[i]].name, width, out);
		fprintf(out, " %8llu\n", (unsigned long long)s->counts[s->by_name[i]]);
	}
}

static void print_durations(const struct sample_summary *s, const struct pair_durations *d,
			    FILE *out)
{
	static const double quantiles[] = {0, .5, .9, .99, .999, 1};
	char ms[32];

	put_name(s, s->trace->types[d->name].name, 20, out);
	fprintf(out, " %8zu", d->nr);
	for (size_t i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++)
		fprintf(out, " %8s",
			sample_ms(pair_durations_quantile(d, quantiles[i]), ms, sizeof(ms)));
	fprintf(out, " %15s\n", sample_ms(d->total_ns, ms, sizeof(ms)));
}

static void print_timed(const struct sample_summary *s, FILE *out)
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

static void print_all(const struct sample_summary *s, FILE *out)
{
	char span[32];

	if (!s->total) {
		fprintf(out, "No samples\n");
		return;
	}
	fprintf(out, "Collected %llu samples spanning %s\n", (unsigned long long)s->total,
		duration_print_wide((double)s->last_ns - (double)s->first_ns, span, sizeof(span)));
	print_cpus(s, out);
	print_counts(s, out);
	if (s->opt.timed)
		print_timed(s, out);
	fputc('\n', out);
}

/* ---- JSON ---- */

static json_t *durations_json(const struct sample_trace *t, const struct pair_durations *d)
{
	static const struct {
		const char *name;
		double q;
	} columns[] = {{"min_ns", 0},	{"p50_ns", .5},	   {"p90_ns", .9},
		       {"p99_ns", .99}, {"p999_ns", .999}, {"max_ns", 1}};
	json_t *o = json_pack("{s:o, s:I}", "name", text_json(t->types[d->name].name), "count",
			      (json_int_t)d->nr);

	for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
		json_object_set_new(
			o, columns[i].name,
			json_integer(int64_of_double(pair_durations_quantile(d, columns[i].q))));
	json_object_set_new(o, "total_ns", json_integer(int64_of_double(d->total_ns)));
	return o;
}

static json_t *summary_json(const struct sample_summary *s)
{
	json_t *cpus = json_array(), *counts = json_array(), *timed = json_array();

	for (uint32_t i = 0; i < s->nr_cpus; i++)
		json_array_append_new(
			cpus,
			json_pack("{s:o, s:o, s:o}", "cpu",
				  s->cpus[i].cpu == RECORD_CPU_UNKNOWN
					  ? json_null()
					  : json_integer(s->cpus[i].cpu),
				  "first_ns", json_u64(s->cpus[i].first_ns), "last_ns",
				  json_u64(s->cpus[i].last_ns)));
	for (uint32_t i = 0; i < s->nr_seen; i++) {
		uint32_t type = s->by_name[i];

		json_array_append_new(counts, json_pack("{s:o, s:I}", "name",
							text_json(s->trace->types[type].name),
							"count", (json_int_t)s->counts[type]));
	}
	for (uint32_t i = 0; i < s->nr_timed; i++)
		json_array_append_new(timed, durations_json(s->trace, &s->timed[i]));
	json_t *o = json_pack("{s:I, s:o, s:o, s:o}", "samples", (json_int_t)s->total, "span_ns",
			      json_u64(s->last_ns - s->first_ns), "cpus", cpus, "tracepoints",
			      counts);

	if (s->opt.timed)
		json_object_set_new(o, "timed", timed);
	else
		json_decref(timed);
	return o;
}

void summary_print(const struct sample_summary *s, struct row_sink *sink)
{
	if (sink->json)
		row_sink_add(sink, summary_json(s));
	else
		print_all(s, sink->out);
	sink->shown = !sink->json || s->total;
}
