// SPDX-License-Identifier: GPL-2.0-or-later
/* `list` of OSv's tool: a line per sample. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/osv_packets.h"
#include "analyzers/profile/osv_report.h"
#include "base/error.h"

struct list {
	const struct osv_list_options *opt;
	struct osv_sink *sink;
	struct osv_lines *lines;
	struct osv_packet_texts *packets; /* with --tcpdump */
	bool *wanted;			  /* by tracepoint index */
	struct osv_text text;
};

/* The arguments, or what --tcpdump shows in their place. */
static char *put_data(struct list *l, char *p, const struct osv_sample *s)
{
	char buf[OSV_PACKET_TEXT_MAX];

	if (!l->opt->tcpdump)
		return osv_put_args(l->lines, p, s);
	if (osv_is_packet(s)) {
		int err = osv_packet_text(l->packets, buf, sizeof(buf));

		return err ? NULL : osv_put_args_text(l->lines, p, buf);
	}
	if (strcmp(s->tp->name, "tcp_state"))
		return osv_put_args(l->lines, p, s);
	char *end = osv_put_args(l->lines, p, s);

	return end ? osv_tcp_state(p, end, l->opt->line.compat) : NULL;
}

static int put_text(struct list *l, const struct osv_sample *s)
{
	osv_text_room(&l->text);
	char *p = osv_put_thread(l->lines, l->text.pos, s);

	*p++ = ' ';
	p = put_dec_right(p, s->cpu, 2);
	*p++ = ' ';
	p = put_stamp(p, s->time_ns, 19);
	*p++ = ' ';
	p = osv_put_name(l->lines, p, s);
	if (!p)
		return -ENOMEM;
	*p++ = ' ';
	p = put_data(l, p, s);
	if (p)
		p = osv_put_backtrace(l->lines, p, s);
	if (!p)
		return -EBADMSG; /* the sentence is set */
	*p++ = '\n';
	l->text.pos = p;
	l->sink->nr++;
	return 0;
}

static json_t *args_json(const struct osv_sample *s)
{
	struct osv_arg args[OSV_ARGS_MAX];
	json_t *fields = json_object();
	size_t len;
	int nr = osv_args(s->tp, s->args, s->args_len, args, &len);

	for (int i = 0; i < nr; i++) {
		char name[16];

		snprintf(name, sizeof(name), "a%d", i);
		json_object_set_new(fields, name, osv_arg_json(&args[i]));
	}
	return fields;
}

static int put_json(struct list *l, const struct osv_sample *s)
{
	json_t *row = json_pack("{s:I, s:s}", "time_ns", (json_int_t)s->time_ns, "source", "guest");
	static char text[384 << 10];
	char *end = put_data(l, text, s);

	if (!end) {
		json_decref(row);
		return -EBADMSG;
	}
	*end = 0;
	json_object_update_new(row, osv_who_json(s));
	json_object_set_new(row, "event", osv_text_json(s->tp->name));
	json_object_set_new(row, "fields", args_json(s));
	json_object_set_new(row, "text", osv_text_json(text));
	if (l->opt->line.backtrace)
		json_object_set_new(row, "backtrace", osv_backtrace_json(l->lines, s));
	osv_sink_row(l->sink, row);
	return 0;
}

static bool listed(const struct list *l, const struct osv_sample *s)
{
	return l->wanted[s->tp->index] && osv_range_has(&l->opt->range, s->time_ns);
}

static int list_open(struct list *l, struct osv_trace *t)
{
	const char *prefix = l->opt->prefix ? l->opt->prefix : "";
	int err = osv_lines_open(t, &l->opt->line, &l->lines);

	if (!err)
		err = osv_text_open(&l->text, l->sink->out);
	if (err)
		return err;
	l->wanted = calloc(t->nr_tracepoints + 1u, sizeof(*l->wanted));
	if (!l->wanted)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->nr_tracepoints; i++)
		l->wanted[i] = !strncmp(t->tracepoints[i].name, prefix, strlen(prefix));
	return 0;
}

/* tcpdump is asked once for all packets that will be listed. */
static int packets_read(struct list *l, struct osv_trace *t)
{
	struct osv_sample s;
	int r, err = osv_packet_texts_open(l->opt->line.compat, &l->packets);

	while (!err && (r = osv_next(t, &s)) != 0) {
		if (r < 0)
			break; /* said again when the samples are listed */
		if (listed(l, &s) && osv_is_packet(&s) &&
		    osv_packet_texts_add(l->packets, &s) == -EPROTO)
			break;
	}
	return err ? err : osv_packet_texts_run(l->packets);
}

static int list_run(struct list *l, struct osv_trace *t)
{
	struct osv_sample s;
	int r = 0, err = 0;

	osv_rewind(t);
	if (l->opt->tcpdump)
		err = packets_read(l, t);
	osv_rewind(t);
	while (!err && !osv_sink_full(l->sink) && (r = osv_next(t, &s)) > 0)
		if (listed(l, &s))
			err = l->sink->json ? put_json(l, &s) : put_text(l, &s);
	return err ? err : r < 0 ? r : 0;
}

int osv_list(struct osv_trace *t, const struct osv_list_options *opt, struct osv_sink *sink)
{
	struct list l = {.opt = opt, .sink = sink};
	int err = list_open(&l, t);

	if (!err)
		err = list_run(&l, t);
	osv_text_close(&l.text);
	osv_packet_texts_close(l.packets);
	osv_lines_close(l.lines);
	free(l.wanted);
	return err;
}
