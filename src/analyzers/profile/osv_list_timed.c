// SPDX-License-Identifier: GPL-2.0-or-later
/* `list-timed` of OSv's tool: a line per pair, with the sample that began it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/osv_report.h"
#include "base/array.h"
#include "base/error.h"

enum { SORTED_MAX = 32 << 20 };

struct list {
	const struct osv_list_timed_options *opt;
	struct osv_sink *sink;
	struct osv_lines *lines;
	struct osv_text text;
	struct osv_timed *kept; /* with --sort */
	size_t nr;
	bool keeps_args; /* copies of them: the trace does not */
};

static int args_keep(struct osv_sample *s)
{
	uint8_t *copy = malloc(s->args_len + 1u);

	if (copy && s->args_len)
		memcpy(copy, s->args, s->args_len);
	s->args = copy;
	return copy ? 0 : fail(-ENOMEM, "out of memory");
}

static int put_text(struct list *l, const struct osv_timed *timed)
{
	const struct osv_sample *s = &timed->entry;
	char ms[32];

	osv_text_room(&l->text);
	char *p = osv_put_thread(l->lines, l->text.pos, s);

	*p++ = ' ';
	p = put_dec_right(p, s->cpu, 2);
	*p++ = ' ';
	p = put_stamp(p, s->time_ns, 20);
	*p++ = ' ';
	p = put_right(p, osv_ms((double)timed->duration_ns, ms, sizeof(ms)), 7);
	*p++ = ' ';
	p = osv_put_name(l->lines, p, s);
	if (!p)
		return -ENOMEM;
	*p++ = ' ';
	p = osv_put_args(l->lines, p, s);
	if (p)
		p = osv_put_backtrace(l->lines, p, s);
	if (!p)
		return -EBADMSG; /* the sentence is set */
	*p++ = '\n';
	l->text.pos = p;
	l->sink->nr++;
	return 0;
}

static int put_json(struct list *l, const struct osv_timed *timed)
{
	static char text[384 << 10];
	char *end = osv_put_args(l->lines, text, &timed->entry);

	if (!end)
		return -EBADMSG;
	*end = 0;
	json_t *row = json_pack("{s:I, s:I, s:b}", "time_ns", (json_int_t)timed->entry.time_ns,
				"duration_ns", (json_int_t)timed->duration_ns, "open", timed->open);

	json_object_update_new(row, osv_who_json(&timed->entry));
	json_object_set_new(row, "event", osv_text_json(timed->entry.tp->name));
	json_object_set_new(row, "text", osv_text_json(text));
	if (l->opt->line.backtrace)
		json_object_set_new(row, "backtrace", osv_backtrace_json(l->lines, &timed->entry));
	osv_sink_row(l->sink, row);
	return 0;
}

static int put(struct list *l, const struct osv_timed *timed)
{
	if (osv_sink_full(l->sink))
		return 0;
	return l->sink->json ? put_json(l, timed) : put_text(l, timed);
}

static int take(struct list *l, const struct osv_timed *timed)
{
	double ns;

	if (!osv_range_trim(&l->opt->range, timed->entry.time_ns, timed->duration_ns, &ns))
		return 0;
	if (l->opt->sort == OSV_UNSORTED)
		return put(l, timed);
	if (l->nr == SORTED_MAX)
		return fail(-E2BIG, "more than %d pairs to sort; narrow the time with --since and "
				    "--until", SORTED_MAX);
	if (array_room(l->kept, l->nr))
		return -ENOMEM;
	l->kept[l->nr] = *timed;
	return l->keeps_args ? args_keep(&l->kept[l->nr++].entry) : (l->nr++, 0);
}

static int read_all(struct list *l, struct osv_trace *t, struct osv_pairs *pairs)
{
	struct osv_sample s;
	struct osv_timed timed;
	int r, err = 0;

	osv_rewind(t);
	while (!err && (r = osv_next(t, &s)) != 0) {
		if (r < 0)
			return r;
		r = osv_pairs_next(pairs, &s, &timed);
		err = r > 0 ? take(l, &timed) : r;
	}
	while (!err && (r = osv_pairs_rest(pairs, &timed)) != 0)
		err = r > 0 ? take(l, &timed) : r;
	return err;
}

/* Equal ones stay as they came: an entry's place in the array decides last. */
struct place {
	uint64_t key;
	size_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static uint64_t key_of(const struct list *l, const struct osv_timed *timed)
{
	return l->opt->sort == OSV_BY_TIME ? timed->entry.time_ns
					   : UINT64_MAX - (uint64_t)timed->duration_ns;
}

static int put_sorted(struct list *l)
{
	_cleanup_free_ struct place *order = calloc(l->nr + 1, sizeof(*order));
	int err = order ? 0 : fail(-ENOMEM, "out of memory");

	for (size_t i = 0; i < l->nr && !err; i++)
		order[i] = (struct place){key_of(l, &l->kept[i]), i};
	if (!err)
		qsort(order, l->nr, sizeof(*order), by_key);
	for (size_t i = 0; i < l->nr && !err; i++)
		err = put(l, &l->kept[order[i].at]);
	return err;
}

int osv_list_timed(struct osv_trace *t, const struct osv_list_timed_options *opt,
		   struct osv_sink *sink)
{
	_cleanup_(osv_pairs_cleanup_) struct osv_pairs *pairs = NULL;
	struct list l = {.opt = opt, .sink = sink, .keeps_args = t->source};
	int err = osv_lines_open(t, &opt->line, &l.lines);

	if (!err)
		err = osv_text_open(&l.text, sink->out);
	if (!err)
		err = osv_pairs_open(t, opt->line.compat, &pairs);
	if (!err)
		err = read_all(&l, t, pairs);
	if (!err && opt->sort != OSV_UNSORTED)
		err = put_sorted(&l);
	osv_text_close(&l.text);
	osv_lines_close(l.lines);
	for (size_t i = 0; l.keeps_args && i < l.nr; i++)
		free((void *)l.kept[i].entry.args);
	free(l.kept);
	return err;
}
