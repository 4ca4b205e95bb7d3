// SPDX-License-Identifier: GPL-2.0-or-later
/* `list`: a line per sample. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "output/samples/packets.h"
#include "output/samples/samples_output.h"

struct list {
	const struct sample_list_options *opt;
	struct row_sink *sink;
	struct sample_lines *lines;
	struct packet_texts *packets; /* with --tcpdump */
	bool *wanted;		      /* by tracepoint index */
	struct text_out text;
};

/* The arguments, or what --tcpdump shows in their place. */
static char *put_data(struct list *l, char *p, const struct sample *s)
{
	char buf[PACKET_TEXT_MAX];

	if (!l->opt->tcpdump)
		return sample_put_args(l->lines, p, s);
	if (sample_is_packet(s)) {
		int err = packet_text(l->packets, buf, sizeof(buf));

		return err ? NULL : sample_put_args_text(l->lines, p, buf);
	}
	if (strcmp(s->tp->name, "tcp_state"))
		return sample_put_args(l->lines, p, s);
	char *end = sample_put_args(l->lines, p, s);

	return end ? tcp_state_text(p, end, l->opt->line.compat) : NULL;
}

static int put_text_row(struct list *l, const struct sample *s)
{
	text_out_reserve(&l->text);
	char *p = sample_put_thread(l->lines, l->text.pos, s);

	*p++ = ' ';
	p = put_dec_right(p, s->cpu, 2);
	*p++ = ' ';
	p = put_timestamp(p, s->time_ns, 19);
	*p++ = ' ';
	p = sample_put_name(l->lines, p, s);
	if (!p)
		return -ENOMEM;
	*p++ = ' ';
	p = put_data(l, p, s);
	if (p)
		p = sample_put_backtrace(l->lines, p, s);
	if (!p)
		return -EBADMSG; /* the error message is set */
	*p++ = '\n';
	l->text.pos = p;
	l->sink->nr++;
	return 0;
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
		json_object_set_new(fields, name, sample_arg_json(&args[i]));
	}
	return fields;
}

static int put_json(struct list *l, const struct sample *s)
{
	json_t *row = json_pack("{s:o, s:s}", "time_ns", json_u64(s->time_ns), "source", "guest");
	text_out_reserve(&l->text);
	const char *text = l->text.pos;
	char *end = put_data(l, l->text.pos, s);

	if (!end) {
		json_decref(row);
		return -EBADMSG;
	}
	*end = 0;
	json_object_update_new(row, sample_who_json(s));
	json_object_set_new(row, "event", text_json(s->tp->name));
	json_object_set_new(row, "fields", args_json(s));
	json_object_set_new(row, "text", text_json(text));
	if (l->opt->line.backtrace)
		json_object_set_new(row, "backtrace", sample_backtrace_json(l->lines, s));
	row_sink_add(l->sink, row);
	return 0;
}

static bool listed(const struct list *l, const struct sample *s)
{
	return l->wanted[s->tp->index] && time_range_has(&l->opt->range, s->time_ns);
}

static int list_open(struct list *l, struct sample_trace *t)
{
	const char *prefix = l->opt->prefix ? l->opt->prefix : "";
	int err = sample_lines_open(t, &l->opt->line, &l->lines);

	if (!err)
		err = text_out_open(&l->text, l->sink->out);
	if (err)
		return err;
	l->wanted = calloc(t->nr_types + 1u, sizeof(*l->wanted));
	if (!l->wanted)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->nr_types; i++)
		l->wanted[i] = !strncmp(t->types[i].name, prefix, strlen(prefix));
	return 0;
}

/* tcpdump runs once for all packets that will be listed. */
static int packets_read(struct list *l, struct sample_trace *t)
{
	struct sample s;
	int r, err = packet_texts_open(l->opt->line.compat, &l->packets);

	while (!err && (r = sample_next(t, &s)) != 0) {
		if (r < 0)
			break; /* reported when the samples are listed */
		if (listed(l, &s) && sample_is_packet(&s) &&
		    packet_texts_add(l->packets, &s) == -EPROTO)
			break;
	}
	return err ? err : packet_texts_run(l->packets);
}

static int list_run(struct list *l, struct sample_trace *t)
{
	struct sample s;
	int r = 0, err = 0;

	sample_rewind(t);
	if (l->opt->tcpdump)
		err = packets_read(l, t);
	sample_rewind(t);
	while (!err && !l->sink->cut && (r = sample_next(t, &s)) > 0)
		if (listed(l, &s) && !row_sink_refuses(l->sink))
			err = l->sink->json ? put_json(l, &s) : put_text_row(l, &s);
	return err ? err : r < 0 ? row_sink_result(l->sink, r) : 0;
}

int samples_print(struct sample_trace *t, const struct sample_list_options *opt,
		  struct row_sink *sink)
{
	struct list l = {.opt = opt, .sink = sink};
	int err = list_open(&l, t);

	if (!err)
		err = list_run(&l, t);
	text_out_close(&l.text);
	packet_texts_close(l.packets);
	sample_lines_close(l.lines);
	free(l.wanted);
	return err;
}
