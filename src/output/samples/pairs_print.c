// SPDX-License-Identifier: GPL-2.0-or-later
/* `list-timed`: a line per pair, with the sample that began it. */
#include <errno.h>

#include "base/json_text.h"
#include "output/samples/samples_output.h"

struct list {
	const struct sample_line_options *line;
	struct row_sink *sink;
	struct sample_lines *lines;
	struct text_out text;
};

static int put_text_row(struct list *l, const struct sample_pair *pair)
{
	const struct sample *s = &pair->entry;
	char ms[32];

	text_out_reserve(&l->text);
	char *p = sample_put_thread(l->lines, l->text.pos, s);

	*p++ = ' ';
	p = put_dec_right(p, s->cpu, 2);
	*p++ = ' ';
	p = put_timestamp(p, s->time_ns, 20);
	*p++ = ' ';
	p = put_right(p, sample_ms((double)pair->duration_ns, ms, sizeof(ms)), 7);
	*p++ = ' ';
	p = sample_put_name(l->lines, p, s);
	if (!p)
		return -ENOMEM;
	*p++ = ' ';
	p = sample_put_args(l->lines, p, s);
	if (p)
		p = sample_put_backtrace(l->lines, p, s);
	if (!p)
		return -EBADMSG; /* the error message is set */
	*p++ = '\n';
	l->text.pos = p;
	l->sink->nr++;
	return 0;
}

static int put_json(struct list *l, const struct sample_pair *pair)
{
	text_out_reserve(&l->text);
	const char *text = l->text.pos;
	char *end = sample_put_args(l->lines, l->text.pos, &pair->entry);

	if (!end)
		return -EBADMSG; /* the error message is set */
	*end = 0;
	json_t *row = json_pack("{s:o, s:I, s:b}", "time_ns", json_u64(pair->entry.time_ns),
				"duration_ns", (json_int_t)pair->duration_ns, "open", pair->open);

	json_object_update_new(row, sample_who_json(&pair->entry));
	json_object_set_new(row, "event", text_json(pair->entry.tp->name));
	json_object_set_new(row, "text", text_json(text));
	if (l->line->backtrace)
		json_object_set_new(row, "backtrace",
				    sample_backtrace_json(l->lines, &pair->entry));
	row_sink_add(l->sink, row);
	return 0;
}

static int put(void *arg, const struct sample_pair *pair)
{
	struct list *l = arg;

	if (row_sink_refuses(l->sink))
		return 0;
	return l->sink->json ? put_json(l, pair) : put_text_row(l, pair);
}

int pairs_print(struct sample_trace *t, const struct pair_list_options *opt,
		const struct sample_line_options *line, struct row_sink *sink)
{
	struct list l = {.line = line, .sink = sink};
	int err = sample_lines_open(t, line, &l.lines);

	if (!err)
		err = text_out_open(&l.text, sink->out);
	if (!err)
		err = pair_list(t, opt, put, &l);
	text_out_close(&l.text);
	sample_lines_close(l.lines);
	return err;
}
