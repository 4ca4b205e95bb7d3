// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups and parts in hash tables, texts kept once by number, and the longest exits in a heap of their number. */
#include "analyzers/blame/summary.h"

#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/saturate.h"

/* ---- the longest exits: a heap, the shortest of them first ---- */

static uint64_t length_of(const struct blame_exit *x)
{
	return x->end_ns - x->start_ns;
}

/* Of equally long ones the earliest is first. */
static int longest_exit(const void *va, const void *vb)
{
	const struct blame_exit *a = va, *b = vb;

	return order_u64(length_of(b), length_of(a)) ?: order_u64(a->start_ns, b->start_ns) ?:
	       order_u64(a->pid, b->pid) ?: order_u64(a->vcpu, b->vcpu) ?:
	       order_u64(a->tid, b->tid);
}

static bool is_shorter(const struct blame_exit *a, const struct blame_exit *b)
{
	return longest_exit(a, b) > 0;
}

static void swap(struct blame_exit *a, struct blame_exit *b)
{
	struct blame_exit old = *a;

	*a = *b;
	*b = old;
}

static void heap_up(struct blame_exit *heap, size_t i)
{
	for (; i && is_shorter(&heap[i], &heap[(i - 1) / 2]); i = (i - 1) / 2)
		swap(&heap[i], &heap[(i - 1) / 2]);
}

static void heap_down(struct blame_exit *heap, size_t nr)
{
	for (size_t i = 0, child; (child = 2 * i + 1) < nr; i = child) {
		if (child + 1 < nr && is_shorter(&heap[child + 1], &heap[child]))
			child++;
		if (!is_shorter(&heap[child], &heap[i]))
			return;
		swap(&heap[child], &heap[i]);
	}
}

static int exit_copy(const struct blame_exit *x, struct blame_exit *ret)
{
	struct blame_part *part = malloc((x->nr_parts ? x->nr_parts : 1) * sizeof(*part));

	if (!part)
		return fail(-ENOMEM, "out of memory");
	copy_array(part, x->part, x->nr_parts * sizeof(*part));
	*ret = *x;
	ret->part = part;
	return 0;
}

static int keep_exit(struct blame_summary *s, const struct blame_exit *x)
{
	size_t max = s->keep < BLAME_KEPT_MAX ? s->keep : BLAME_KEPT_MAX;
	int err;

	if (s->nr_kept == max) {
		s->not_kept += s->keep > max;
		if (!max || length_of(x) < length_of(&s->kept[0]) || !is_shorter(&s->kept[0], x))
			return 0;
		free((void *)s->kept[0].part);
		err = exit_copy(x, &s->kept[0]);
		if (err) {
			s->kept[0] = s->kept[--s->nr_kept];
			return err;
		}
		heap_down(s->kept, s->nr_kept);
		return 0;
	}
	err = array_room(s->kept, s->nr_kept);
	if (!err)
		err = exit_copy(x, &s->kept[s->nr_kept]);
	if (!err)
		heap_up(s->kept, s->nr_kept++);
	return err;
}

/* ---- groups and totals ---- */

struct numbered_text {
	const char *text;
	uint32_t number;
};

/* From 1 on, the same for equal texts; 0: there are too many. */
static uint32_t text_number(struct blame_summary *s, const char *text)
{
	bool first;
	struct numbered_text *t = hash_add_text(&s->texts, text, &first);

	if (first)
		t->number = s->texts.nr;
	return t ? t->number : 0;
}

/* Of struct blame_summary's groups, which are large and mostly few: the table has only their places. */
struct group_place {
	uint64_t key[3];
	struct blame_group *group;
};

static struct blame_group *group_new(struct blame_summary *s, const struct blame_exit *x)
{
	struct blame_group *g = array_room(s->group, s->nr_groups) ? NULL : calloc(1, sizeof(*g));

	if (!g) {
		s->groups.refused++;
		return NULL;
	}
	s->group[s->nr_groups] = g;
	g->index = ++s->nr_groups;
	g->pid = x->pid;
	g->vcpu = x->vcpu;
	g->reason = x->reason;
	g->isa = x->isa;
	return g;
}

static struct blame_group *group_of(struct blame_summary *s, const struct blame_exit *x)
{
	uint64_t key[3] = {0, 0, 0};
	const char *code = s->by.code && x->rip ? addresses_name(s->by.code, x->rip) : NULL;
	struct group_place *place;
	bool first;

	if (s->by.vm || s->by.vcpu) /* vCPUs of two VMs may have the same number */
		key[0] = (uint64_t)x->pid << 32 | (s->by.vcpu ? x->vcpu : 0);
	if (s->by.reason)
		key[1] = (uint64_t)x->isa << 32 | x->reason;
	if (code)
		key[2] = text_number(s, code);
	place = hash_add_recent(&s->groups, &s->recent_groups, key, 3, &first);
	if (first && (place->group = group_new(s, x))) {
		copy_array(place->group->key, key, sizeof(key));
		place->group->code = code;
	}
	return place ? place->group : NULL;
}

static bool region_is_named(const struct blame_who *who)
{
	return who->region && *who->region;
}

/* What totals are the same: a device by its region, a task that ran instead by its name and VM, a thread by its id. */
static void total_key(struct blame_summary *s, const struct blame_group *g,
		      const struct blame_part *p, uint64_t key[6])
{
	const struct blame_who *who = &p->who;
	bool named = region_is_named(who);

	key[0] = g->index;
	key[1] = (uint64_t)named << 32 | (uint64_t)who->kind << 8 | p->cause;
	key[2] = who->number;
	key[3] = who->tid;
	key[4] = named ? text_number(s, who->region) : who->access;
	key[5] = s->by.stack ? who->stack : 0;
	if (p->cause == BLAME_PREEMPTED || p->cause == BLAME_RUNQUEUE) { /* who has no access */
		key[2] = !who->tid;
		memset(&key[3], 0, sizeof(who->comm));
		if (who->tid)
			memcpy(&key[3], who->comm, strnlen(who->comm, sizeof(who->comm)));
		key[5] = who->vm ? text_number(s, who->vm) : 0;
	}
}

/* Most parts are such; those of other tasks that ran have a key of their own. */
static bool names_nothing(const struct blame_part *p)
{
	const struct blame_who *who = &p->who;

	return !(who->kind | who->tid | who->stack | who->number | who->access) && !*who->comm &&
	       p->cause != BLAME_PREEMPTED && p->cause != BLAME_RUNQUEUE;
}

static void total_add(struct blame_summary *s, const struct blame_group *g,
		      const struct blame_part *p)
{
	struct blame_total *t;
	uint64_t key[6];
	bool first;

	total_key(s, g, p, key);
	t = hash_add_recent(&s->totals, &s->recent_totals, key, 6, &first);
	if (!t)
		return; /* counted by the table */
	if (first) {
		t->cause = p->cause;
		t->who = p->who;
	}
	if (t->who.tid != p->who.tid)
		t->who.tid = BLAME_SEVERAL;
	t->who.several |= t->who.access != p->who.access;
	t->time_ns += p->end_ns - p->start_ns;
	t->exits += t->last_exit != s->exits;
	t->last_exit = s->exits;
}

static void part_sum(struct blame_summary *s, struct blame_group *g, const struct blame_part *p)
{
	struct blame_plain *plain = &g->plain[p->cause];

	g->causes[p->cause] += p->end_ns - p->start_ns;
	if (!names_nothing(p)) {
		total_add(s, g, p);
		return;
	}
	plain->time_ns += p->end_ns - p->start_ns;
	plain->exits += plain->last_exit != s->exits;
	plain->last_exit = s->exits;
}

static void part_add_from(struct blame_summary *s, struct blame_group *g, struct blame_part p)
{
	if (p.start_ns < s->since_ns)
		p.start_ns = p.end_ns < s->since_ns ? p.end_ns : s->since_ns;
	if (p.end_ns > p.start_ns || !s->since_ns)
		part_sum(s, g, &p);
}

static int summary_exit(void *arg, const struct blame_exit *x)
{
	struct blame_summary *s = arg;
	struct blame_group *g;
	uint64_t ns = x->end_ns - (x->start_ns > s->since_ns ? x->start_ns : s->since_ns);

	if (length_of(x) < s->min_ns || (s->selects && !s->selects(s->arg, x)))
		return 0;
	s->exits++;
	s->nested += x->nested;
	s->in_run += x->reason == BLAME_IN_RUN && !x->isa;
	s->time_ns += ns;
	g = group_of(s, x);
	if (g) {
		g->exits++;
		g->time_ns += ns;
		g->max_ns = ns > g->max_ns ? ns : g->max_ns;
		for (unsigned int i = 0; i < x->nr_parts; i++)
			part_add_from(s, g, x->part[i]);
	}
	return keep_exit(s, x);
}

static void kept_free(struct blame_summary *s)
{
	for (size_t i = 0; i < s->nr_kept; i++)
		free((void *)s->kept[i].part);
	s->nr_kept = 0;
}

static void groups_free(struct blame_summary *s)
{
	for (uint32_t i = 0; i < s->nr_groups; i++)
		free(s->group[i]);
	free(s->group);
	s->group = NULL;
	s->nr_groups = 0;
}

static void summary_restart(void *arg)
{
	struct blame_summary *s = arg;

	s->exits = s->in_run = s->nested = s->time_ns = s->not_kept = 0;
	groups_free(s);
	hash_clear(&s->groups);
	hash_clear(&s->totals);
	hash_clear(&s->texts);
	s->recent_groups = s->recent_totals = (struct hash_recent){0};
	kept_free(s);
}

struct blame_sink blame_summary_sink(struct blame_summary *s)
{
	s->groups = HASH_TABLE(struct group_place, 3, BLAME_GROUPS_MAX);
	s->totals = HASH_TABLE(struct blame_total, 6, BLAME_TOTALS_MAX);
	s->texts = HASH_TABLE_OF_TEXTS(struct numbered_text, BLAME_TOTALS_MAX);
	return (struct blame_sink){.ended = summary_exit, .restart = summary_restart, .arg = s};
}

void blame_summary_free(struct blame_summary *s)
{
	kept_free(s);
	free(s->kept);
	groups_free(s);
	hash_deinit(&s->groups);
	hash_deinit(&s->totals);
	hash_deinit(&s->texts);
}

/* ---- results ---- */

static void plain_end(struct blame_summary *s, struct blame_group *g)
{
	for (unsigned int i = 0; i < BLAME_CAUSES; i++) {
		struct blame_part p = {.cause = i};
		struct blame_total *t;
		uint64_t key[6];

		if (!g->plain[i].exits)
			continue;
		total_key(s, g, &p, key);
		t = hash_add_words(&s->totals, key, NULL);
		if (!t)
			continue; /* counted by the table */
		t->cause = p.cause;
		t->time_ns += g->plain[i].time_ns;
		t->exits += g->plain[i].exits;
		g->plain[i] = (struct blame_plain){0};
	}
}

int blame_summary_end(struct blame_summary *s)
{
	struct blame_total *t;

	if (s->nr_kept)
		qsort(s->kept, s->nr_kept, sizeof(*s->kept), longest_exit);
	for (uint32_t i = 0; i < s->nr_groups; i++)
		plain_end(s, s->group[i]);
	for (uint32_t at = 0; (t = hash_next(&s->totals, &at));)
		t->group = s->group[t->key[0] - 1];
	return 0;
}

/* Equal times: by key, so that the order is the same in every run. */
static int by_time(uint64_t a_ns, uint64_t b_ns, const void *a, const void *b, size_t size)
{
	if (a_ns != b_ns)
		return a_ns < b_ns ? 1 : -1;
	return memcmp(a, b, size);
}

static int longest_group(const void *a, const void *b)
{
	const struct blame_group *x = *(const struct blame_group *const *)a;
	const struct blame_group *y = *(const struct blame_group *const *)b;

	return by_time(x->time_ns, y->time_ns, x->key, y->key, sizeof(x->key));
}

static int longest_total(const void *a, const void *b)
{
	const struct blame_total *x = *(const struct blame_total *const *)a;
	const struct blame_total *y = *(const struct blame_total *const *)b;

	return by_time(x->time_ns, y->time_ns, x->key, y->key, sizeof(x->key));
}

const struct blame_group **blame_summary_groups(const struct blame_summary *s, size_t *ret_nr)
{
	struct blame_group **all = calloc(s->nr_groups + 1ul, sizeof(*all));

	*ret_nr = all ? s->nr_groups : 0;
	if (*ret_nr) {
		copy_array(all, s->group, *ret_nr * sizeof(*all));
		qsort(all, *ret_nr, sizeof(*all), longest_group);
	}
	return (const struct blame_group **)all;
}

const struct blame_total **blame_summary_totals(const struct blame_summary *s, size_t *ret_nr)
{
	return hash_sorted(&s->totals, longest_total, ret_nr);
}

/* One whose stack is known is preferred. */
const struct blame_part *blame_exit_holder(const struct blame_exit *x)
{
	const struct blame_part *best = NULL;

	for (unsigned int i = 0; i < x->nr_parts; i++) {
		const struct blame_part *p = &x->part[i];

		if (p->cause != BLAME_GLOBAL_MUTEX || !p->who.tid)
			continue;
		if (!best || (!best->who.stack && p->who.stack) ||
		    (!best->who.stack == !p->who.stack &&
		     p->end_ns - p->start_ns > best->end_ns - best->start_ns))
			best = p;
	}
	return best;
}
