// SPDX-License-Identifier: GPL-2.0-or-later
/* `list-timed` of OSv's tool: a line per pair, with the sample that began it. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/sample_report.h"
#include "base/array.h"
#include "base/error.h"

enum { SORTED_MAX = 32 << 20 };

struct list {
	const struct list_timed_options *opt;
	struct row_sink *sink;
	struct sample_lines *lines;
	struct text_out text;
	struct sample_pair *kept; /* with --sort */
	size_t nr;
	bool keeps_args; /* copies of them: the trace does not */
};

static int args_keep(struct sample *s)
{
	uint8_t *copy = malloc(s->args_len + 1u);

	if (copy && s->args_len)
		memcpy(copy, s->args, s->args_len);
	s->args = copy;
	return copy ? 0 : fail(-ENOMEM, "out of memory");
}

static int put_text(struct list *l, const struct sample_pair *timed)
{
	const struct sample *s = &timed->entry;
	char ms[32];

	text_out_reserve(&l->text);
	char *p = sample_put_thread(l->lines, l->text.pos, s);

	*p++ = ' ';
	p = put_dec_right(p, s->cpu, 2);
	*p++ = ' ';
	p = put_timestamp(p, s->time_ns, 20);
	*p++ = ' ';
	p = put_right(p, sample_ms((double)timed->duration_ns, ms, sizeof(ms)), 7);
	*p++ = ' ';
	p = sample_put_name(l->lines, p, s);
	if (!p)
		return -ENOMEM;
	*p++ = ' ';
	p = sample_put_args(l->lines, p, s);
	if (p)
		p = sample_put_backtrace(l->lines, p, s);
	if (!p)
		return -EBADMSG; /* the sentence is set */
	*p++ = '\n';
	l->text.pos = p;
	l->sink->nr++;
	return 0;
}

static int put_json(struct list *l, const struct sample_pair *timed)
{
	static char text[384 << 10];
	char *end = sample_put_args(l->lines, text, &timed->entry);

	if (!end)
		return -EBADMSG;
	*end = 0;
	json_t *row = json_pack("{s:I, s:I, s:b}", "time_ns", (json_int_t)timed->entry.time_ns,
				"duration_ns", (json_int_t)timed->duration_ns, "open", timed->open);

	json_object_update_new(row, sample_who_json(&timed->entry));
	json_object_set_new(row, "event", text_json(timed->entry.tp->name));
	json_object_set_new(row, "text", text_json(text));
	if (l->opt->line.backtrace)
		json_object_set_new(row, "backtrace",
				    sample_backtrace_json(l->lines, &timed->entry));
	row_sink_add(l->sink, row);
	return 0;
}

static int put(struct list *l, const struct sample_pair *timed)
{
	if (row_sink_full(l->sink))
		return 0;
	return l->sink->json ? put_json(l, timed) : put_text(l, timed);
}

static int take(struct list *l, const struct sample_pair *timed)
{
	double ns;

	if (!time_range_trim(&l->opt->range, timed->entry.time_ns, timed->duration_ns, &ns))
		return 0;
	if (l->opt->sort == LIST_TIMED_UNSORTED)
		return put(l, timed);
	if (l->nr == SORTED_MAX)
		return fail(-E2BIG, "more than %d pairs to sort; narrow the time with --since and "
				    "--until", SORTED_MAX);
	if (array_room(l->kept, l->nr))
		return -ENOMEM;
	l->kept[l->nr] = *timed;
	return l->keeps_args ? args_keep(&l->kept[l->nr++].entry) : (l->nr++, 0);
}

static int read_all(struct list *l, struct sample_trace *t, struct sample_pairs *pairs)
{
	struct sample s;
	struct sample_pair timed;
	int r, err = 0;

	sample_rewind(t);
	while (!err && (r = sample_next(t, &s)) != 0) {
		if (r < 0)
			return r;
		r = sample_pairs_next(pairs, &s, &timed);
		err = r > 0 ? take(l, &timed) : r;
	}
	while (!err && (r = sample_pairs_rest(pairs, &timed)) != 0)
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

static uint64_t key_of(const struct list *l, const struct sample_pair *timed)
{
	return l->opt->sort == LIST_TIMED_BY_TIME ? timed->entry.time_ns
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

int list_timed(struct sample_trace *t, const struct list_timed_options *opt, struct row_sink *sink)
{
	_cleanup_(sample_pairs_cleanup_) struct sample_pairs *pairs = NULL;
	struct list l = {.opt = opt, .sink = sink, .keeps_args = !t->keeps_args};
	int err = sample_lines_open(t, &opt->line, &l.lines);

	if (!err)
		err = text_out_open(&l.text, sink->out);
	if (!err)
		err = sample_pairs_open(t, opt->line.compat, &pairs);
	if (!err)
		err = read_all(&l, t, pairs);
	if (!err && opt->sort != LIST_TIMED_UNSORTED)
		err = put_sorted(&l);
	text_out_close(&l.text);
	sample_lines_close(l.lines);
	for (size_t i = 0; l.keeps_args && i < l.nr; i++)
		free((void *)l.kept[i].entry.args);
	free(l.kept);
	return err;
}
