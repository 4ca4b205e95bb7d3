// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows of samples, in the layout of OSv's tool or as JSON: `list` (a sample), `list-timed` (a pair), `wakeup-latency`
 * (a wait) and `cpu-load`. All but the last begin with the thread, CPU and time of a sample and end with its backtrace.
 */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "output/json_rows.h"
#include "output/samples/samples_output.h"

/* ---- the sink ---- */

void row_sink_add(struct row_sink *sink, json_t *row)
{
	if (sink->rows) {
		sink->nr++;
		sink->shown = true;
		json_array_append_new(sink->rows, row ?: json_null());
		return;
	}
	if (!sink->nr)
		json_rows_begin(sink->out);
	json_rows_next(sink->out, sink->nr++);
	sink->shown = true;
	if (row)
		json_text_put(row, sink->out, JSON_COMPACT);
	json_decref(row);
}

void row_sink_end(struct row_sink *sink, json_t *head)
{
	if (!sink->nr)
		json_rows_begin(sink->out);
	json_rows_end(sink->out, head);
}

json_t *text_json(const char *text)
{
	json_t *value = json_string(text);

	if (value)
		return value;
	_cleanup_free_ char *copy = strdup(text); /* broken UTF-8 */

	if (copy)
		text_sanitize(copy);
	return json_string(copy ? copy : "");
}

const char *sample_timestamp(uint64_t ns, char *buf, size_t size)
{
	char text[32];

	snprintf(buf, size, "%12s", seconds_print(ns, text, sizeof(text)));
	return buf;
}

const char *sample_ms(double ns, char *buf, size_t size)
{
	return decimal_print(ns / 1e6, 3, buf, size);
}

/* ---- what rows have in common ---- */

struct rows {
	struct row_sink *sink;
	struct sample_lines *lines;
	struct text_out text;
	bool backtrace;
	const struct sample_list_options *list; /* of `list`, as are the others */
	struct packet_texts *packets;		/* with --tcpdump */
	bool *wanted;				/* by tracepoint index */
};

static int rows_open(struct rows *r, struct sample_trace *t, const struct sample_line_options *line)
{
	int err = sample_lines_open(t, line, &r->lines);

	r->backtrace = line->backtrace;
	return err ? err : text_out_open(&r->text, r->sink->out);
}

static int rows_close(struct rows *r, int err)
{
	text_out_close(&r->text);
	packet_texts_close(r->packets);
	sample_lines_close(r->lines);
	free(r->wanted);
	return err;
}

static char *row_begin(struct rows *r, const struct sample *s, unsigned int cpu_width,
		       unsigned int time_width)
{
	text_out_reserve(&r->text);
	char *p = sample_put_thread(r->lines, r->text.pos, s);

	*p++ = ' ';
	p = s->cpu == RECORD_CPU_UNKNOWN ? put_right(p, "-", cpu_width)
					 : put_dec_right(p, s->cpu, cpu_width);
	*p++ = ' ';
	p = put_timestamp(p, s->time_ns, time_width);
	*p++ = ' ';
	return p;
}

/* p NULL: the row failed, and the error message is set. */
static int row_end(struct rows *r, const struct sample *s, char *p)
{
	if (p)
		p = sample_put_backtrace(r->lines, p, s);
	if (!p)
		return -EBADMSG;
	*p++ = '\n';
	r->text.pos = p;
	r->sink->nr++;
	return 0;
}

static char *put_ms(char *p, double ns, unsigned int width)
{
	char ms[32];

	p = put_right(p, sample_ms(ns, ms, sizeof(ms)), width);
	*p++ = ' ';
	return p;
}

/* The arguments, or what --tcpdump shows in their place. */
static char *put_data(struct rows *r, char *p, const struct sample *s)
{
	char buf[PACKET_TEXT_MAX];

	if (r->packets && sample_is_packet(s))
		return packet_text(r->packets, buf, sizeof(buf))
			       ? NULL
			       : sample_put_args_text(r->lines, p, buf);
	char *end = sample_put_args(r->lines, p, s);

	return end && r->packets && !strcmp(s->tp->name, "tcp_state")
		       ? tcp_state_text(p, end, r->list->line.compat)
		       : end;
}

static json_t *cpu_json(uint32_t cpu)
{
	return cpu == RECORD_CPU_UNKNOWN ? json_null() : json_integer(cpu);
}

/* The thread of a row, its own members before, its backtrace behind. */
static int row_json(struct rows *r, json_t *row, const struct sample *s, json_t *more)
{
	json_object_update_new(row, json_pack("{s:o, s:o, s:o, s:o}", "thread",
					      json_sprintf("0x%" PRIx64, s->thread), "comm",
					      text_json(s->thread_name), "cpu", cpu_json(s->cpu),
					      "vcpu", cpu_json(s->cpu)));
	if (more)
		json_object_update_new(row, more);
	if (r->backtrace)
		json_object_set_new(row, "backtrace", sample_backtrace_json(r->lines, s));
	row_sink_add(r->sink, row);
	return 0;
}

/* Its name, fields (or NULL) and text; NULL with the error message set where the text fails. */
static json_t *event_json(struct rows *r, const struct sample *s, json_t *fields)
{
	text_out_reserve(&r->text);
	char *end = put_data(r, r->text.pos, s);

	if (!end) {
		json_decref(fields);
		return NULL;
	}
	*end = 0;
	json_t *event = json_pack("{s:o, s:o*}", "event", text_json(s->tp->name), "fields", fields);

	json_object_set_new(event, "text", text_json(r->text.pos));
	return event;
}

/* ---- list ---- */

static json_t *arg_json(const struct sample_arg *a)
{
	char text[2 * 64 + 1];

	switch (a->type) {
	case 'P':
		return json_sprintf("0x%" PRIx64, a->u);
	case 'f':
	case 'd':
		return isfinite(a->d) ? json_real(a->d) : json_null();
	case '?':
		return json_boolean(a->u);
	case 'p':
		snprintf(text, sizeof(text), "%.*s", (int)a->len, (const char *)a->bytes);
		text_sanitize(text);
		return json_string(text);
	case '*': {
		_cleanup_free_ char *hex = malloc(2ull * a->len + 1);

		for (unsigned int i = 0; hex && i < a->len; i++)
			sprintf(hex + 2ull * i, "%02x", a->bytes[i]);
		if (hex)
			hex[2ull * a->len] = 0;
		return json_string(hex ? hex : "");
	}
	default:
		return strchr("bhiq", a->type) ? json_integer(a->i) : json_u64(a->u);
	}
}

static json_t *args_json(const struct sample *s)
{
	struct sample_arg args[SAMPLE_ARGS_MAX];
	json_t *fields = json_object();
	size_t len;
	int nr = sample_args(s->tp, s->args, s->args_len, args, &len);

	for (int i = 0; i < nr; i++) {
		char name[16];

		snprintf(name, sizeof(name), "a%d", i);
		json_object_set_new(fields, name, arg_json(&args[i]));
	}
	return fields;
}

static bool is_listed(const struct rows *r, const struct sample *s)
{
	return r->wanted[s->tp->index] && time_range_has(&r->list->range, s->time_ns);
}

static int sample_row(void *rows, const struct sample *s)
{
	struct rows *r = rows;

	if (!is_listed(r, s))
		return 0;
	if (row_sink_refuses(r->sink))
		return 1;
	if (r->sink->json) {
		json_t *event = event_json(r, s, args_json(s));

		return event ? row_json(r,
					json_pack("{s:o, s:s}", "time_ns", json_u64(s->time_ns),
						  "source", "guest"),
					s, event)
			     : -EBADMSG;
	}
	char *p = sample_put_name(r->lines, row_begin(r, s, 2, 19), s);

	if (p)
		p = put_data(r, put_text(p, " "), s);
	return row_end(r, s, p);
}

static int packet_read(void *rows, const struct sample *s)
{
	struct rows *r = rows;

	return is_listed(r, s) && sample_is_packet(s) ? packet_texts_add(r->packets, s) : 0;
}

static int list_write(struct rows *r, struct sample_trace *t)
{
	const char *prefix = r->list->prefix ? r->list->prefix : "";
	int err = 0;

	r->wanted = calloc(t->nr_types + 1u, sizeof(*r->wanted));
	if (!r->wanted)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->nr_types; i++)
		r->wanted[i] = !strncmp(t->types[i].name, prefix, strlen(prefix));
	if (r->list->tcpdump) { /* once for all packets that will be listed; the listing reports errors */
		err = packet_texts_open(r->list->line.compat, &r->packets);
		if (!err) {
			sample_each(t, packet_read, r);
			err = packet_texts_run(r->packets);
		}
	}
	if (!err)
		err = row_sink_result(r->sink, sample_each(t, sample_row, r));
	return err < 0 ? err : 0;
}

int samples_print(struct sample_trace *t, const struct sample_list_options *opt,
		  struct row_sink *sink)
{
	struct rows r = {.sink = sink, .list = opt};
	int err = rows_open(&r, t, &opt->line);

	return rows_close(&r, err ? err : list_write(&r, t));
}

/* ---- list-timed ---- */

static int pair_row(void *arg, const struct sample_pair *pair)
{
	struct rows *r = arg;
	const struct sample *s = &pair->entry;

	if (row_sink_refuses(r->sink))
		return 0;
	if (r->sink->json) {
		json_t *event = event_json(r, s, NULL);

		return event ? row_json(r,
					json_pack("{s:o, s:I, s:b}", "time_ns",
						  json_u64(s->time_ns), "duration_ns",
						  (json_int_t)pair->duration_ns, "open",
						  pair->open),
					s, event)
			     : -EBADMSG;
	}
	char *p = put_ms(row_begin(r, s, 2, 20), (double)pair->duration_ns, 7);

	p = sample_put_name(r->lines, p, s);
	return row_end(r, s, p ? sample_put_args(r->lines, put_text(p, " "), s) : NULL);
}

int pairs_print(struct sample_trace *t, const struct pair_list_options *opt,
		const struct sample_line_options *line, struct row_sink *sink)
{
	struct rows r = {.sink = sink};
	int err = rows_open(&r, t, line);

	return rows_close(&r, err ? err : pair_list(t, opt, pair_row, &r));
}

/* ---- wakeup-latency ---- */

static int wakeup_row(void *arg, const struct wakeup *x)
{
	struct rows *r = arg;
	const struct sample *s = x->end;
	int64_t wakeup_ns = (int64_t)(s->time_ns - x->wake_ns), /* negative: the clock stepped back */
		wait_ns = (int64_t)(s->time_ns - x->since_ns);
	char ms[32];

	if (row_sink_refuses(r->sink))
		return 1;
	if (r->sink->json)
		return row_json(r,
				json_pack("{s:o, s:I, s:I}", "time_ns", json_u64(s->time_ns),
					  "wakeup_ns", (json_int_t)wakeup_ns, "wait_ns",
					  (json_int_t)wait_ns),
				s, NULL);
	snprintf(ms, sizeof(ms), "%4.6f", (double)wakeup_ns / 1e6);
	return row_end(r, s,
		       put_ms(put_text(put_right(row_begin(r, s, 3, 20), ms, 13), " "),
			      (double)wait_ns, 9));
}

int wakeups_print(struct sample_trace *t, const struct time_range *range,
		  const struct sample_line_options *line, bool header, struct row_sink *sink)
{
	struct rows r = {.sink = sink};
	int err = rows_open(&r, t, line);

	if (!err && header && !sink->json)
		fprintf(sink->out, "%-18s %-15s %3s %20s %13s %9s %s\n", "THREAD", "THREAD-NAME",
			"CPU", "TIMESTAMP[s]", "WAKEUP[ms]", "WAIT[ms]", "BACKTRACE");
	if (!err)
		err = wakeups_find(t, range, wakeup_row, &r);
	err = row_sink_result(sink, rows_close(&r, err));
	return err < 0 ? err : 0;
}

/* ---- cpu-load ---- */

struct load_rows {
	struct row_sink *sink;
	bool csv;
};

static int load_row(void *arg, uint64_t time_ns, const struct cpu_loads *l)
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
	int err = cpu_loads_find(t, opt, load_row, &(struct load_rows){sink, csv});

	err = row_sink_result(sink, err);
	return err < 0 ? err : 0;
}
