// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "analyzers/profile/sample_pairs.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

enum {
	OPEN_MAX = 1 << 20,
	CPUS_MAX = 65536
}; /* begins without an end yet; CPU numbers that are looked at */

struct timed_name {
	uint32_t base;	    /* index of the first tracepoint of that base name, or its own */
	bool ends, per_cpu; /* this tracepoint ends its base; its pairs belong to a CPU */
	bool keyed;	    /* ... or to the sample's key */
	bool single, keeps_first; /* they cannot nest: the end of one was not seen */
};

struct open_entry {
	uint32_t below; /* index + 1 of the entry that it is nested in; 0: none */
	uint64_t order; /* begins so far */
	struct sample_pair timed;
	uint8_t *args; /* a copy, where the trace does not keep them */
	bool used;
};

struct innermost {
	uint64_t key[2]; /* id and base */
	uint32_t index;	 /* of the innermost open entry; the others are reached through `below` */
};

struct sample_pairs {
	const struct sample_trace *trace;
	bool compat;
	struct timed_name *names; /* by tracepoint index */
	bool *timed;		  /* by base: an end of it is known */
	uint64_t *earliest_ns;	  /* by CPU: its first timestamp, 0 if none yet */
	struct open_entry *open;
	struct hash_table innermost;
	uint32_t nr_open, free_list;
	uint64_t order, last_ns;
	uint32_t *rest, nr_rest, at_rest;
	uint8_t *handed; /* arguments of the pair handed out last, see open_entry.args */
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

static uint32_t tracepoint_named(const struct sample_trace *t, const char *name, size_t len,
				 uint32_t none)
{
	for (uint32_t i = 0; i < t->nr_types; i++)
		if (!strncmp(t->types[i].name, name, len) && !t->types[i].name[len])
			return i;
	return none;
}

/* A view over other events says it itself. */
static void kind_init(struct sample_pairs *p, uint32_t i, const struct sample_kind *kind)
{
	const struct sample_trace *t = p->trace;
	struct timed_name *n = &p->names[i];
	uint32_t first = 0;

	while (!t->types[first].kind || !t->types[first].kind->base ||
	       strcmp(t->types[first].kind->base, kind->base))
		first++; /* ends at i */
	*n = (struct timed_name){.base = first,
				 .ends = kind->ends,
				 .per_cpu = kind->per_cpu,
				 .keyed = kind->keyed,
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

	if (t->types[i].kind && t->types[i].kind->base) {
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
	n->base = tracepoint_named(t, base, len, i);
	n->per_cpu = len == strlen("sched_idle") && !strncmp(base, "sched_idle", len);
	if (n->ends && (!p->compat || !strcmp(base, "mutex_lock_wait")))
		p->timed[n->base] = true;
	if (!strcmp(name, "mutex_lock_wait"))
		p->timed[n->base] = true;
}

int sample_pairs_open(const struct sample_trace *t, bool compat, struct sample_pairs **ret)
{
	_cleanup_(sample_pairs_cleanup_) struct sample_pairs *p = calloc(1, sizeof(*p));
	size_t nr = t->nr_types + 1u;

	if (!p)
		return fail(-ENOMEM, "out of memory");
	p->trace = t;
	p->compat = compat;
	p->innermost = HASH_TABLE(struct innermost, 2, OPEN_MAX);
	p->names = calloc(nr, sizeof(*p->names));
	p->timed = calloc(nr, sizeof(*p->timed));
	p->earliest_ns = calloc(CPUS_MAX, sizeof(*p->earliest_ns));
	if (!p->names || !p->timed || !p->earliest_ns)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t i = 0; i < t->nr_types; i++)
		name_init(p, i);
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
	for (uint32_t i = 0; i < p->nr_open; i++)
		if (p->open[i].used)
			free(p->open[i].args);
	free(p->handed);
	free(p->open);
	hash_deinit(&p->innermost);
	free(p->rest);
	free(p);
}

/* ---- the table of open entries ---- */

static int entry_new(struct sample_pairs *p, uint32_t *ret)
{
	if (p->free_list) {
		*ret = p->free_list - 1;
		p->free_list = p->open[*ret].below;
		return 0;
	}
	if (p->nr_open == OPEN_MAX)
		return fail(-E2BIG, "more than %d begins without an end", OPEN_MAX);
	if (array_room(p->open, p->nr_open))
		return -ENOMEM;
	*ret = p->nr_open++;
	return 0;
}

static void entry_free(struct sample_pairs *p, uint32_t index)
{
	free(p->handed);
	p->handed = p->open[index].args;
	p->open[index].used = false;
	p->open[index].below = p->free_list;
	p->free_list = index + 1;
}

/* ---- matching ---- */

static uint64_t earliest(const struct sample_pairs *p, uint32_t cpu)
{
	return cpu < CPUS_MAX ? p->earliest_ns[cpu] : 0;
}

static int nested(const struct sample *old, const struct sample *s)
{
	return fail(-EBADMSG,
		    "nested entry: %s of thread 0x%" PRIx64 " at %" PRIu64
		    " ns while that of %" PRIu64 " ns is still open; without --compat entries nest",
		    s->tp->name, s->thread, s->time_ns, old->time_ns);
}

static int args_keep(struct open_entry *e)
{
	struct sample *s = &e->timed.entry;

	e->args = malloc(s->args_len + 1u);
	if (!e->args)
		return fail(-ENOMEM, "out of memory");
	if (s->args_len)
		memcpy(e->args, s->args, s->args_len);
	s->args = e->args;
	return 0;
}

static int begin(struct sample_pairs *p, const struct sample *s, uint64_t id,
		 const struct timed_name *name)
{
	const uint64_t key[2] = {id, name->base};
	struct innermost *known = hash_find_words(&p->innermost, key);
	uint32_t below = 0, index = 0;

	if (known && name->keeps_first)
		return 0;
	if (known) {
		const struct sample *old = &p->open[known->index].timed.entry;
		bool overwritten = name->single || old->time_ns < earliest(p, s->cpu);

		if (!overwritten && p->compat)
			return nested(old, s);
		below = known->index + 1;
		if (overwritten) { /* its end may have been overwritten in this CPU's ring */
			uint32_t under = p->open[below - 1].below;

			entry_free(p, below - 1);
			below = under;
		}
	}
	int err = entry_new(p, &index);

	if (err)
		return err;
	p->open[index] = (struct open_entry){.below = below,
					     .order = p->order++,
					     .timed = {.entry = *s},
					     .used = true};
	if (!known)
		known = hash_add_words(&p->innermost, key, NULL);
	if (!known)
		return fail(-ENOMEM, "out of memory");
	known->index = index;
	return p->trace->keeps_args ? 0 : args_keep(&p->open[index]);
}

static int end(struct sample_pairs *p, const struct sample *s, uint64_t id, uint32_t base,
	       struct sample_pair *ret)
{
	struct innermost *known = hash_find_words(&p->innermost, (uint64_t[]){id, base});

	if (!known)
		return 0;
	uint32_t index = known->index, below = p->open[index].below;

	*ret = p->open[index].timed;
	entry_free(p, index);
	if (below)
		known->index = below - 1;
	else
		hash_remove(&p->innermost, known);
	if (!p->trace->whole && ret->entry.cpu != s->cpu &&
	    earliest(p, s->cpu) > ret->entry.time_ns)
		return 0; /* what lay between was overwritten on the other CPU */
	ret->duration_ns = (int64_t)(s->time_ns - ret->entry.time_ns);
	return 1;
}

int sample_pairs_next(struct sample_pairs *p, const struct sample *s, struct sample_pair *ret)
{
	const struct timed_name *n = &p->names[s->tp->index];
	uint64_t id = n->per_cpu ? s->cpu : n->keyed ? s->key : s->thread;

	if (!s->time_ns)
		return 0;
	if (s->cpu < CPUS_MAX && !p->earliest_ns[s->cpu])
		p->earliest_ns[s->cpu] = s->time_ns;
	if (p->last_ns < s->time_ns)
		p->last_ns = s->time_ns;
	if (n->ends) {
		p->timed[n->base] = true;
		return end(p, s, id, n->base, ret);
	}
	return p->timed[n->base] ? begin(p, s, id, n) : 0;
}

static int by_order(const void *a, const void *b, void *pairs)
{
	const struct sample_pairs *p = pairs;
	uint64_t x = p->open[*(const uint32_t *)a].order, y = p->open[*(const uint32_t *)b].order;

	return x < y ? -1 : x > y;
}

int sample_pairs_rest(struct sample_pairs *p, struct sample_pair *ret)
{
	if (!p->rest) {
		p->rest = calloc(p->nr_open + 1u, sizeof(*p->rest));
		if (!p->rest)
			return fail(-ENOMEM, "out of memory");
		for (uint32_t i = 0; i < p->nr_open; i++)
			if (p->open[i].used)
				p->rest[p->nr_rest++] = i;
		qsort_r(p->rest, p->nr_rest, sizeof(*p->rest), by_order, p);
	}
	if (p->at_rest == p->nr_rest)
		return 0;
	*ret = p->open[p->rest[p->at_rest++]].timed;
	ret->duration_ns = (int64_t)(p->last_ns - ret->entry.time_ns);
	ret->open = true;
	return 1;
}
