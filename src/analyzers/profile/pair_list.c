// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/pair_list.h"
#include "base/array.h"
#include "base/error.h"

enum { SORTED_MAX = 32 << 20 };

struct list {
	const struct pair_list_options *opt;
	int (*put)(void *arg, const struct sample_pair *pair);
	void *arg;
	struct sample_pair *kept; /* to be sorted */
	size_t nr;
	bool copies_args; /* of `kept`, because the trace does not keep them */
};

static int args_keep(struct sample *s)
{
	uint8_t *copy = malloc(s->args_len + 1u);

	if (copy && s->args_len)
		memcpy(copy, s->args, s->args_len);
	s->args = copy;
	return copy ? 0 : fail(-ENOMEM, "out of memory");
}

static int pair_add(struct list *l, const struct sample_pair *timed)
{
	double ns;

	if (!time_range_trim(&l->opt->range, timed->entry.time_ns, timed->duration_ns, &ns))
		return 0;
	if (l->opt->sort == PAIRS_UNSORTED)
		return l->put(l->arg, timed);
	if (l->nr == SORTED_MAX)
		return fail(-E2BIG, "more than %d pairs to sort; narrow the time with --since and "
				    "--until", SORTED_MAX);
	if (array_room(l->kept, l->nr))
		return -ENOMEM;
	l->kept[l->nr] = *timed;
	return l->copies_args ? args_keep(&l->kept[l->nr++].entry) : (l->nr++, 0);
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
		err = r > 0 ? pair_add(l, &timed) : r;
	}
	while (!err && (r = sample_pairs_rest(pairs, &timed)) != 0)
		err = r > 0 ? pair_add(l, &timed) : r;
	return err;
}

/* Stable: entries with equal keys are ordered by their position in the array. */
struct sort_place {
	uint64_t key;
	size_t at;
};

static int by_key(const void *a, const void *b)
{
	const struct sort_place *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

static uint64_t key_of(const struct list *l, const struct sample_pair *timed)
{
	return l->opt->sort == PAIRS_BY_TIME ? timed->entry.time_ns
					     : UINT64_MAX - (uint64_t)timed->duration_ns;
}

static int put_sorted(struct list *l)
{
	_cleanup_free_ struct sort_place *order = calloc(l->nr + 1, sizeof(*order));
	int err = order ? 0 : fail(-ENOMEM, "out of memory");

	for (size_t i = 0; i < l->nr && !err; i++)
		order[i] = (struct sort_place){key_of(l, &l->kept[i]), i};
	if (!err)
		qsort(order, l->nr, sizeof(*order), by_key);
	for (size_t i = 0; i < l->nr && !err; i++)
		err = l->put(l->arg, &l->kept[order[i].at]);
	return err;
}

int pair_list(struct sample_trace *t, const struct pair_list_options *opt,
	      int (*put)(void *arg, const struct sample_pair *pair), void *arg)
{
	_cleanup_(sample_pairs_cleanup_) struct sample_pairs *pairs = NULL;
	struct list l = {.opt = opt, .put = put, .arg = arg, .copies_args = !t->keeps_args};
	int err = sample_pairs_open(t, opt->compat, &pairs);

	if (!err)
		err = read_all(&l, t, pairs);
	if (!err && opt->sort != PAIRS_UNSORTED)
		err = put_sorted(&l);
	for (size_t i = 0; l.copies_args && i < l.nr; i++)
		free((void *)l.kept[i].entry.args);
	free(l.kept);
	return err;
}
