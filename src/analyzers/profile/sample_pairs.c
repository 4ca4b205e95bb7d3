// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a tracepoint begins or ends is decided once, when the trace is opened: by its kind, or by OSv's names. While the
 * trace is read, begins are open by thread (or CPU, or key) and base name; entries of one name nest.
 */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/profile/sample_pairs.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/order.h"
#include "pairing/open_table.h"

/* Begins without an end yet; CPU numbers that are checked; pairs that are sorted. */
enum { OPEN_MAX = 1 << 17, CPUS_MAX = 65536, SORTED_MAX = 16 << 20 };

struct timed_name {
	uint32_t base;	    /* index of the first tracepoint of that base name, or its own */
	bool ends, per_cpu; /* this tracepoint ends its base; its pairs belong to a CPU */
	bool keyed, in_thread; /* ... or to the sample's key, in its thread only */
	bool single, keeps_first; /* they cannot nest: a second begin means that an end was lost */
};

struct open_entry { /* its key: id, base and, if that counts, thread */
	struct open_begin begin;
	struct sample_pair timed;
	uint8_t *args; /* a copy if the trace does not keep them */
	uint64_t refused; /* begins above it that were dropped, and whose ends have not come yet */
};

struct sample_pairs {
	struct sample_trace *trace;
	bool compat;
	struct timed_name *names; /* by tracepoint index */
	bool *timed;		  /* by base: an end of it is known */
	uint64_t *earliest_ns;	  /* by CPU: its first timestamp, 0 if none yet */
	struct open_table open; /* of struct open_entry */
	uint64_t last_ns;
	int (*put)(void *arg, const struct sample_pair *pair);
	void *arg;
	struct hash_index by_name; /* the first of the trace's types of each name */
	struct hash_index by_base; /* the first type of each kind's base */
};

/* Length of the base name of an end, 0 if the name ends nothing. */
static size_t base_length(const char *name, bool compat)
{
	size_t len = strlen(name);

	if (!compat)
		return len > 4 && (!strcmp(name + len - 4, "_ret") ||
				   !strcmp(name + len - 4, "_err"))
			       ? len - 4
			       : 0;
	for (size_t i = len; i-- > 0;)
		if (!strncmp(name + i, "_ret", 4) || !strncmp(name + i, "_err", 4))
			return i;
	return 0;
}

/* The first one of this name. */
static uint32_t tracepoint_named(const struct sample_pairs *p, const char *name, size_t len,
				 uint32_t none)
{
	const struct sample_trace *t = p->trace;
	uint64_t probe = 0, hash = hash_keyed_bytes(name, len);

	for (uint32_t i; (i = hash_index_next(&p->by_name, hash, &probe)) != HASH_NONE;)
		if (!strncmp(t->types[i].name, name, len) && !t->types[i].name[len])
			return i;
	return none;
}

/* The first type whose kind has this base: i itself, if none before it has. */
static uint32_t kind_based(struct sample_pairs *p, uint32_t i, const char *base)
{
	uint64_t probe = 0, hash = hash_keyed_text(base);

	for (uint32_t k; (k = hash_index_next(&p->by_base, hash, &probe)) != HASH_NONE;)
		if (!strcmp(p->trace->types[k].kind->base, base))
			return k;
	hash_index_add(&p->by_base, hash, i);
	return i;
}

/* For samples of other events, the sample's kind defines it. */
static void kind_init(struct sample_pairs *p, uint32_t i, const struct sample_kind *kind)
{
	struct timed_name *n = &p->names[i];
	uint32_t first = kind_based(p, i, kind->base);

	*n = (struct timed_name){.base = first,
				 .ends = kind->ends,
				 .per_cpu = kind->per_cpu,
				 .keyed = kind->keyed,
				 .in_thread = kind->in_thread,
				 .single = !kind->nests,
				 .keeps_first = kind->keeps_first};
	p->timed[first] |= kind->ends;
}

static void name_init(struct sample_pairs *p, uint32_t i)
{
	const struct sample_trace *t = p->trace;
	const char *name = t->types[i].name;
	struct timed_name *n = &p->names[i];
	size_t len = base_length(name, p->compat);
	const char *base = name;

	if (t->types[i].kind && t->types[i].kind->base &&
	    !(p->compat && t->types[i].kind->function)) {
		kind_init(p, i, t->types[i].kind);
		return;
	}
	n->ends = len || !strcmp(name, "mutex_lock_wake");
	if (!strcmp(name, "mutex_lock_wake")) {
		base = "mutex_lock_wait";
		len = strlen(base);
	}
	if (!len)
		len = strlen(name);
	n->base = tracepoint_named(p, base, len, i);
	n->per_cpu = len == strlen("sched_idle") && !strncmp(base, "sched_idle", len);
	if (n->ends && (!p->compat || !strcmp(base, "mutex_lock_wait")))
		p->timed[n->base] = true;
	if (!strcmp(name, "mutex_lock_wait"))
		p->timed[n->base] = true;
}

int sample_pairs_open(struct sample_trace *t, bool compat,
		      int (*put)(void *arg, const struct sample_pair *pair), void *arg,
		      struct sample_pairs **ret)
{
	_cleanup_(sample_pairs_cleanup_) struct sample_pairs *p = calloc(1, sizeof(*p));
	size_t nr = t->nr_types + 1u;

	if (!p)
		return fail(-ENOMEM, "out of memory");
	p->trace = t;
	t->refused = 0;
	p->compat = compat;
	p->put = put;
	p->arg = arg;
	p->open = OPEN_TABLE(struct open_entry, 3, OPEN_MAX);
	p->names = calloc(nr, sizeof(*p->names));
	p->timed = calloc(nr, sizeof(*p->timed));
	p->earliest_ns = calloc(CPUS_MAX, sizeof(*p->earliest_ns));
	if (!p->names || !p->timed || !p->earliest_ns)
		return fail(-ENOMEM, "out of memory");
	p->by_name = p->by_base = HASH_INDEX((uint32_t)nr);
	for (uint32_t i = 0; i < t->nr_types; i++) {
		const char *name = t->types[i].name;

		if (tracepoint_named(p, name, strlen(name), i) == i &&
		    !hash_index_add(&p->by_name, hash_keyed_text(name), i))
			return fail(-ENOMEM, "out of memory");
	}
	for (uint32_t i = 0; i < t->nr_types; i++)
		name_init(p, i);
	if (p->by_base.refused)
		return fail(-ENOMEM, "out of memory");
	*ret = take_ptr(p);
	return 0;
}

void sample_pairs_close(struct sample_pairs *p)
{
	if (!p)
		return;
	free(p->names);
	free(p->timed);
	free(p->earliest_ns);
	for (struct open_entry *e = open_oldest(&p->open); e; e = open_newer(&p->open, e))
		free(e->args);
	hash_index_deinit(&p->by_name);
	hash_index_deinit(&p->by_base);
	open_table_deinit(&p->open);
	free(p);
}

/* ---- matching ---- */

static uint64_t earliest(const struct sample_pairs *p, uint32_t cpu)
{
	return cpu < CPUS_MAX ? p->earliest_ns[cpu] : 0;
}

static int nested_fail(const struct sample *old, const struct sample *s)
{
	return fail(-EBADMSG,
		    "nested entry: %s of thread 0x%" PRIx64 " at %" PRIu64
		    " ns while that of %" PRIu64 " ns is still open; without --compat entries nest",
		    s->tp->name, s->thread, s->time_ns, old->time_ns);
}

/* Gives the sample a copy of its arguments. */
static int args_keep(struct sample *s)
{
	uint8_t *copy = malloc(s->args_len + 1u);

	if (copy && s->args_len)
		memcpy(copy, s->args, s->args_len);
	s->args = copy;
	return copy ? 0 : fail(-ENOMEM, "out of memory");
}

/* Its end will come while the entry that it is nested in is open. */
static int begin_refuse(struct sample_pairs *p, struct open_entry *outer)
{
	p->trace->refused++;
	if (outer)
		outer->refused++;
	return 0;
}

static int pair_begin(struct sample_pairs *p, const struct sample *s, struct pair_key key,
		 const struct timed_name *name)
{
	struct open_entry *e = open_find(&p->open, key);
	bool overwritten; /* the end of the open entry may have been overwritten in this CPU's ring */

	if (e && name->keeps_first)
		return 0;
	overwritten = e && (name->single || e->timed.entry.time_ns < earliest(p, s->cpu));
	if (e && !overwritten && p->compat)
		return nested_fail(&e->timed.entry, s);
	if (overwritten) {
		free(e->args);
		open_remove(&p->open, e);
		e = NULL;
	}
	if (p->open.nr == OPEN_MAX)
		return begin_refuse(p, e);
	e = open_add(&p->open, key);
	if (!e)
		return fail(-ENOMEM, "out of memory");
	e->timed.entry = *s;
	e->timed.duration_ns = 0;
	e->timed.open = false;
	e->refused = 0;
	e->args = NULL;
	if (p->trace->keeps_args)
		return 0;
	int err = args_keep(&e->timed.entry);

	e->args = (uint8_t *)e->timed.entry.args;
	return err;
}

static int pair_end(struct sample_pairs *p, const struct sample *s, struct pair_key key)
{
	struct open_entry *e = open_find(&p->open, key);

	if (!e)
		return 0;
	if (e->refused) {
		e->refused--;
		return 0;
	}
	struct sample_pair *pair = &e->timed;
	int stop = 0;

	/* Else the samples in between were overwritten on the other CPU. */
	if (p->trace->whole || pair->entry.cpu == s->cpu ||
	    earliest(p, s->cpu) <= pair->entry.time_ns) {
		pair->duration_ns = (int64_t)(s->time_ns - pair->entry.time_ns);
		stop = p->put(p->arg, pair);
	}
	free(e->args);
	open_remove(&p->open, e);
	return stop;
}

int sample_pairs_add(void *pairs, const struct sample *s)
{
	struct sample_pairs *p = pairs;
	const struct timed_name *n = &p->names[s->tp->index];
	struct pair_key key = {{n->per_cpu ? s->cpu : n->keyed ? s->key : s->thread, n->base,
				 n->in_thread ? s->thread : 0}};

	if (!s->time_ns)
		return 0;
	if (s->cpu < CPUS_MAX && !p->earliest_ns[s->cpu])
		p->earliest_ns[s->cpu] = s->time_ns;
	if (p->last_ns < s->time_ns)
		p->last_ns = s->time_ns;
	if (n->ends) {
		p->timed[n->base] = true;
		return pair_end(p, s, key);
	}
	return p->timed[n->base] ? pair_begin(p, s, key, n) : 0;
}

int sample_pairs_end(struct sample_pairs *p)
{
	int stop = 0;

	for (struct open_entry *e = open_oldest(&p->open); e && !stop;
	     e = open_newer(&p->open, e)) {
		e->timed.duration_ns = (int64_t)(p->last_ns - e->timed.entry.time_ns);
		e->timed.open = true;
		stop = p->put(p->arg, &e->timed);
	}
	return stop;
}

/* ---- all of a trace, in the order asked for ---- */

struct pair_sorter {
	const struct pair_list_options *opt;
	int (*put)(void *arg, const struct sample_pair *pair);
	void *arg;
	struct sample_pair *kept; /* to be sorted */
	size_t nr;
	bool copies_args; /* of `kept`, because the trace does not keep them */
};

static int pair_add(void *sorter, const struct sample_pair *timed)
{
	struct pair_sorter *l = sorter;
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

/* Stable: entries with equal keys are ordered by their position in the array. */
struct sort_place {
	uint64_t key;
	size_t at;
};

ORDER_BY(by_key, struct sort_place, key, at)

static uint64_t sort_key_of(const struct pair_sorter *l, const struct sample_pair *timed)
{
	return l->opt->sort == PAIRS_BY_TIME ? timed->entry.time_ns
					     : UINT64_MAX - (uint64_t)timed->duration_ns;
}

static int pairs_put_sorted(struct pair_sorter *l)
{
	_cleanup_free_ struct sort_place *order = calloc(l->nr + 1, sizeof(*order));
	int err = order ? 0 : fail(-ENOMEM, "out of memory");

	for (size_t i = 0; i < l->nr && !err; i++)
		order[i] = (struct sort_place){sort_key_of(l, &l->kept[i]), i};
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
	struct pair_sorter l = {.opt = opt, .put = put, .arg = arg, .copies_args = !t->keeps_args};
	int err = sample_pairs_open(t, opt->compat, pair_add, &l, &pairs);

	if (!err)
		err = sample_each(t, sample_pairs_add, pairs);
	if (!err)
		err = sample_pairs_end(pairs);
	if (!err && opt->sort != PAIRS_UNSORTED)
		err = pairs_put_sorted(&l);
	for (size_t i = 0; l.copies_args && i < l.nr; i++)
		free((void *)l.kept[i].entry.args);
	free(l.kept);
	return err;
}
