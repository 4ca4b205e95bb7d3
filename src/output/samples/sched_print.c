// SPDX-License-Identifier: GPL-2.0-or-later
/* `wakeup-latency` and `cpu-load`. */
#include <errno.h>
#include <inttypes.h>

#include "base/json_text.h"
#include "output/samples/samples_output.h"

/* ---- wakeup-latency ---- */

struct wakeups {
	const struct sample_line_options *line;
	struct row_sink *sink;
	struct sample_lines *lines;
	struct text_out text;
};

static int wakeup_put(void *arg, const struct wakeup *x)
{
	struct wakeups *w = arg;
	const struct sample *s = x->end;
	int64_t wakeup_ns = (int64_t)(s->time_ns - x->wake_ns), /* negative: the clock stepped back */
		wait_ns = (int64_t)(s->time_ns - x->since_ns);

	if (row_sink_refuses(w->sink))
		return 1;
	if (w->sink->json) {
		json_t *row =
			json_pack("{s:o, s:I, s:I}", "time_ns", json_u64(s->time_ns), "wakeup_ns",
				  (json_int_t)wakeup_ns, "wait_ns", (json_int_t)wait_ns);

		json_object_update_new(row, sample_who_json(s));
		if (w->line->backtrace)
			json_object_set_new(row, "backtrace", sample_backtrace_json(w->lines, s));
		row_sink_add(w->sink, row);
		return 0;
	}
	text_out_reserve(&w->text);
	char *p = sample_put_thread(w->lines, w->text.pos, s), ms[32], us[32];

	*p++ = ' ';
	p = put_dec_right(p, s->cpu, 3);
	*p++ = ' ';
	p = put_timestamp(p, s->time_ns, 20);
	snprintf(us, sizeof(us), "%4.6f", (double)wakeup_ns / 1e6);
	*p++ = ' ';
	p = put_right(p, us, 13);
	*p++ = ' ';
	p = put_right(p, sample_ms((double)wait_ns, ms, sizeof(ms)), 9);
	*p++ = ' ';
	p = sample_put_backtrace(w->lines, p, s);
	if (!p)
		return -EBADMSG; /* the error message is set */
	*p++ = '\n';
	w->text.pos = p;
	w->sink->nr++;
	return 0;
}

int wakeups_print(struct sample_trace *t, const struct time_range *range,
		  const struct sample_line_options *line, bool header, struct row_sink *sink)
{
	struct wakeups w = {.line = line, .sink = sink};
	int err = sample_lines_open(t, line, &w.lines);

	if (!err)
		err = text_out_open(&w.text, sink->out);
	if (!err && header && !sink->json)
		fprintf(sink->out, "%-18s %-15s %3s %20s %13s %9s %s\n", "THREAD", "THREAD-NAME",
			"CPU", "TIMESTAMP[s]", "WAKEUP[ms]", "WAIT[ms]", "BACKTRACE");
	if (!err)
		err = wakeups_find(t, range, wakeup_put, &w);
	text_out_close(&w.text);
	sample_lines_close(w.lines);
	err = row_sink_result(sink, err);
	return err < 0 ? err : 0;
}

/* ---- cpu-load ---- */

struct load_rows {
	struct row_sink *sink;
	bool csv;
};

static int load_put(void *arg, uint64_t time_ns, const struct cpu_loads *l)
{
	const struct load_rows *rows = arg;
	struct row_sink *sink = rows->sink;
	char time[32];

	if (row_sink_refuses(sink))
		return 1;
	if (sink->json) {
		json_t *list = json_array();

		for (uint32_t i = 0; i < l->nr; i++)
			json_array_append_new(list,
					      l->known[i] ? json_integer(l->load[i]) : json_null());
		row_sink_add(sink,
			     json_pack("{s:o, s:o}", "time_ns", json_u64(time_ns), "load", list));
		return 0;
	}
	sample_timestamp(time_ns, time, sizeof(time));
	fprintf(sink->out, rows->csv ? "%s" : "%-20s", time);
	for (uint32_t i = 0; i < l->nr; i++) {
		if (rows->csv)
			fputc(',', sink->out);
		if (l->known[i])
			fprintf(sink->out, rows->csv ? "%" PRId64 : "%3" PRId64, l->load[i]);
		else if (!rows->csv)
			fputs("   ", sink->out);
	}
	fputc('\n', sink->out);
	sink->nr++;
	return 0;
}

int cpu_loads_print(struct sample_trace *t, const struct cpu_load_options *opt, bool csv,
		    struct row_sink *sink)
{
	int err = cpu_loads_find(t, opt, load_put, &(struct load_rows){sink, csv});

	err = row_sink_result(sink, err);
	return err < 0 ? err : 0;
}
