// SPDX-License-Identifier: GPL-2.0-or-later
/* One pass adds each sample, pair or idle time to the sums of its call path, below the root of its group. */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/profile/backtraces.h"
#include "analyzers/profile/sample_pairs.h"
#include "analyzers/profile/profile.h"
#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/saturate.h"

enum { GROUPS_MAX = 65536, CPUS_MAX = 4096, WAITING_MAX = 1 << 17 };

struct group {
	uint64_t id;
	uint32_t root;
	char name[17]; /* of the thread, the last one seen */
};

struct profile {
	struct sample_trace *trace;
	const struct profile_options *opt;
	struct frames *frames;
	struct calltree *tree;
	struct backtraces *functions; /* that stand for missing backtraces; NULL: none yet */
	struct group *group;
	uint32_t nr_groups;
	struct hash_table group_by_id;
};

struct known_group {
	uint64_t id;
	uint32_t index;
};

static void profile_deinit(struct profile *p)
{
	frames_close(p->frames);
	calltree_close(p->tree);
	backtraces_close(p->functions);
	free(p->group);
	hash_deinit(&p->group_by_id);
}

static int profile_init(struct profile *p, struct sample_trace *t,
			const struct profile_options *opt)
{
	int err;

	*p = (struct profile){.trace = t, .opt = opt};
	p->group_by_id = HASH_TABLE(struct known_group, 1, GROUPS_MAX);
	err = calltree_open(&opt->tree, &p->tree);
	return err ? err : frames_open(t, &opt->frames, p->tree, &p->frames);
}

static int group_new(struct profile *p, uint64_t id)
{
	uint32_t i = p->nr_groups;
	struct known_group *known;

	if (i == GROUPS_MAX)
		return fail(-E2BIG, "more than %d groups", GROUPS_MAX);
	if (array_room(p->group, i))
		return -ENOMEM;
	known = hash_add_u64(&p->group_by_id, id, NULL);
	if (!known)
		return fail(-ENOMEM, "out of memory");
	known->index = i;
	p->group[i] = (struct group){.id = id};
	p->nr_groups++;
	return calltree_root(p->tree, &p->group[i].root);
}

/* The root of a sample's group; created at its first sample. */
static int root_of(struct profile *p, const struct sample *s, uint32_t *ret)
{
	uint64_t id = p->opt->group == PROFILE_GROUP_THREAD ? s->thread
		      : p->opt->group == PROFILE_GROUP_CPU  ? s->cpu
							    : 0;

	if (p->opt->group == PROFILE_GROUP_NONE && p->nr_groups) {
		*ret = p->group[0].root;
		return 0;
	}
	const struct known_group *known = hash_find_u64(&p->group_by_id, id);
	uint32_t i = known ? known->index : p->nr_groups;
	int err = known ? 0 : group_new(p, id);

	if (err)
		return err;
	memcpy(p->group[i].name, s->thread_name, sizeof(p->group[i].name));
	*ret = p->group[i].root;
	return 0;
}

/* Adds a weight to the sample's path. */
static int sample_add(struct profile *p, const struct sample *s, uint64_t hits, double time_ns)
{
	uint32_t path, root = 0;
	int r = frames_path(p->frames, s, &path);

	if (r <= 0)
		return r;
	r = root_of(p, s, &root);
	return r ? r : calltree_weigh(p->tree, root, path, hits, time_ns);
}

/* The hit is counted in the largest part, so that hits add up. */
static int add_parts(struct profile *p, const struct sample *s, const struct profile_part *part,
		     unsigned int nr_parts)
{
	uint32_t path, root = 0;
	unsigned int largest = 0;

	for (unsigned int i = 0; i < nr_parts; i++)
		largest = part[i].ns > part[largest].ns ? i : largest;
	for (unsigned int i = 0; i < nr_parts; i++) {
		int r = frames_path_to(p->frames, s, part[i].name, &path);

		if (r <= 0)
			return r;
		r = root_of(p, s, &root);
		if (!r)
			r = calltree_weigh(p->tree, root, path, i == largest, part[i].ns);
		if (r)
			return r;
	}
	return 0;
}

static int add_split(struct profile *p, const struct sample *s, uint64_t start_ns, double ns)
{
	const struct time_range *range = &p->opt->range;
	double start = (double)start_ns;
	struct profile_part part[PROFILE_PARTS_MAX];

	if (range->has_since && start < range->since_ns)
		start = range->since_ns;
	return add_parts(p, s, part, p->opt->split(p->opt->split_arg, s, start, ns, part));
}

static int add_trimmed(struct profile *p, const struct sample *s, uint64_t start_ns,
		       int64_t duration_ns)
{
	double ns;

	if (!time_range_trim(&p->opt->range, start_ns, duration_ns, &ns))
		return 0;
	return p->opt->split ? add_split(p, s, start_ns, ns) : sample_add(p, s, 1, ns);
}

/* ---- hits: every sample with a backtrace ---- */

static int hit_sample(void *profile, const struct sample *s)
{
	struct profile *p = profile;
	const struct time_range *range = &p->opt->range;
	/* OSv's tool treats a hit as a span of length 0, which may also touch the range's end. */
	bool in = p->opt->compat ? time_range_trim(range, s->time_ns, 0, &(double){0})
				 : time_range_has(range, s->time_ns);

	if (!in || !s->nr_backtrace || (s->tp->kind && s->stands_in) ||
	    (p->opt->tracepoint && !sample_type_is(s->tp, p->opt->tracepoint)))
		return 0;
	return sample_add(p, s, 1, 0);
}

static int fold_hits(struct profile *p)
{
	return sample_each(p->trace, hit_sample, p);
}

/* ---- timed: pairs by their entry's backtrace ---- */

/* Without a backtrace: the function and its caller. */
static int add_function(struct profile *p, const struct sample_pair *pair)
{
	struct sample entry = pair->entry;
	uint64_t address[2];
	unsigned int nr = sample_function(&entry, address);
	int err;

	for (unsigned int i = 0; i < nr; i++)
		address[i]++; /* as return addresses are stored */
	err = nr && !p->functions ? backtraces_open(&p->functions) : 0;
	if (!err)
		err = nr ? backtrace_set(p->functions, &entry, address, nr) : 0;
	return err || !nr ? err : add_trimmed(p, &entry, entry.time_ns, pair->duration_ns);
}

static int add_pair(void *arg, const struct sample_pair *pair)
{
	struct profile *p = arg;

	if (!sample_type_is(pair->entry.tp, p->opt->tracepoint))
		return 0;
	if (pair->entry.nr_backtrace)
		return add_trimmed(p, &pair->entry, pair->entry.time_ns, pair->duration_ns);
	return p->opt->compat ? 0 : add_function(p, pair);
}

static int fold_timed(struct profile *p)
{
	const struct pair_list_options opt = {.range = p->opt->range, .compat = p->opt->compat};

	return pair_list(p->trace, &opt, add_pair, p);
}

/* ---- idle: where threads waited while their CPU was idle ---- */

/*
 * An idle period is added to each wait that is open in it. Only waits that began since the last one
 * are visited, as their first period may be a part; of the others, what their CPU's periods add up
 * to is added when the wait ends.
 */
struct waiting {
	struct sample s;
	uint64_t position;		 /* in order of insertion */
	struct waiting *previous, *next; /* in idle_cpu.recent, unless it is counted */
	bool counted;
	uint64_t nr_periods; /* of the CPU, up to where they were added to the wait */
	double periods_ns;
};

struct known_wait {
	uint64_t thread, cpu;
	struct waiting *waiting;
};

struct idle_cpu {
	uint64_t since_ns;
	bool idle, seen;
	struct waiting *recent; /* began since the last period; the latest one first */
	uint32_t nr_recent;
	uint64_t nr_periods; /* so far, in the report's range of time */
	double periods_ns;
};

struct idle {
	struct profile *profile;
	uint64_t last_ns; /* the last sample's time */
	struct idle_cpu cpu[CPUS_MAX];
	struct hash_table waits;
	uint64_t nr_waits;		  /* ever */
	uint32_t nr_seen, seen[CPUS_MAX]; /* CPUs in order of appearance */
};

static void recent_add(struct idle_cpu *c, struct waiting *w)
{
	w->counted = false;
	w->previous = NULL;
	w->next = c->recent;
	if (w->next)
		w->next->previous = w;
	c->recent = w;
	c->nr_recent++;
}

static void recent_remove(struct idle_cpu *c, struct waiting *w)
{
	*(w->previous ? &w->previous->next : &c->recent) = w->next;
	if (w->next)
		w->next->previous = w->previous;
	c->nr_recent--;
	w->counted = true;
	w->nr_periods = c->nr_periods;
	w->periods_ns = c->periods_ns;
}

/* The wait is over: adds the periods that it was open in, and is in no list then. */
static int wait_close(struct profile *p, struct idle_cpu *c, struct waiting *w)
{
	uint64_t nr = w->counted ? c->nr_periods - w->nr_periods : 0;

	if (!w->counted)
		recent_remove(c, w);
	return nr && w->s.nr_backtrace ? sample_add(p, &w->s, nr, c->periods_ns - w->periods_ns)
				       : 0;
}

static int wait_end(struct profile *p, struct idle *x, struct idle_cpu *c, const struct sample *s)
{
	struct known_wait *known =
		hash_find_words(&x->waits, (uint64_t[]){s->thread, s->cpu % CPUS_MAX});
	_cleanup_free_ struct waiting *w = known ? known->waiting : NULL;

	if (!known)
		return 0;
	hash_remove(&x->waits, known);
	return wait_close(p, c, w);
}

/* A thread that waits again keeps its position, as a key in the dictionary of OSv's tool does. */
static int wait_begin(struct profile *p, struct idle *x, struct idle_cpu *c, const struct sample *s)
{
	bool is_new;
	struct known_wait *known =
		hash_add_words(&x->waits, (uint64_t[]){s->thread, s->cpu % CPUS_MAX}, &is_new);
	int err = 0;

	if (!known) {
		p->trace->refused++;
		return 0;
	}
	if (is_new) {
		known->waiting = calloc(1, sizeof(*known->waiting));
		if (!known->waiting)
			return fail(-ENOMEM, "out of memory");
		known->waiting->position = x->nr_waits++;
	} else {
		err = wait_close(p, c, known->waiting);
	}
	known->waiting->s = *s;
	recent_add(c, known->waiting);
	return err;
}

static int by_position(const void *a, const void *b)
{
	const struct waiting *const *x = a, *const *y = b;

	return order_u64((*x)->position, (*y)->position);
}

/* In the order of insertion, which is that of paths of equal weight. */
static int recent_count(struct profile *p, struct idle_cpu *c, uint64_t now_ns)
{
	_cleanup_free_ struct waiting **list = calloc(c->nr_recent + 1u, sizeof(*list));
	uint32_t nr = 0;
	int err = list ? 0 : fail(-ENOMEM, "out of memory");

	for (struct waiting *w = c->recent; list && w; w = w->next)
		list[nr++] = w;
	if (list)
		qsort(list, nr, sizeof(*list), by_position);
	for (size_t i = 0; i < nr && !err; i++) {
		struct waiting *w = list[i];
		uint64_t from = w->s.time_ns > c->since_ns ? w->s.time_ns : c->since_ns;

		if (w->s.nr_backtrace)
			err = add_trimmed(p, &w->s, from, (int64_t)(now_ns - from));
		recent_remove(c, w);
	}
	return err;
}

static int idle_end(struct profile *p, struct idle_cpu *c, uint64_t now_ns)
{
	double ns;

	c->idle = false;
	if (time_range_trim(&p->opt->range, c->since_ns, (int64_t)(now_ns - c->since_ns), &ns)) {
		c->nr_periods++;
		c->periods_ns += ns;
	}
	return c->recent ? recent_count(p, c, now_ns) : 0;
}

static int idle_sample(void *idle, const struct sample *s)
{
	struct idle *x = idle;
	struct profile *p = x->profile;
	struct idle_cpu *c = &x->cpu[s->cpu % CPUS_MAX];
	const char *name = s->tp->name;

	if (!c->seen)
		x->seen[x->nr_seen++] = s->cpu % CPUS_MAX;
	c->seen = true;
	x->last_ns = s->time_ns;
	if (!strcmp(name, "sched_idle")) {
		c->idle = true;
		c->since_ns = s->time_ns;
	} else if (!strcmp(name, "sched_idle_ret")) {
		return c->idle ? idle_end(p, c, s->time_ns) : 0;
	} else if (!strcmp(name, "sched_wait")) {
		return wait_begin(p, x, c, s);
	} else if (!strcmp(name, "sched_wait_ret")) {
		return wait_end(p, x, c, s);
	}
	return 0;
}

/* At the end of the trace: CPUs are still idle, and threads wait. */
static int idle_close(struct profile *p, struct idle *x)
{
	size_t nr;
	_cleanup_free_ struct known_wait **known = hash_sorted(&x->waits, NULL, &nr);
	int err = known ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < x->nr_seen && !err; i++)
		if (x->cpu[x->seen[i]].idle)
			err = idle_end(p, &x->cpu[x->seen[i]], x->last_ns);
	for (size_t i = 0; i < nr && !err; i++)
		err = wait_close(p, &x->cpu[known[i]->cpu], known[i]->waiting);
	return err;
}

static void idle_free(struct idle *x)
{
	struct known_wait *known;

	for (uint32_t at = 0; (known = hash_next(&x->waits, &at));)
		free(known->waiting);
	hash_deinit(&x->waits);
	free(x);
}

static int fold_idle(struct profile *p)
{
	struct idle *x = calloc(1, sizeof(*x));

	if (!x)
		return fail(-ENOMEM, "out of memory");
	x->profile = p;
	p->trace->refused = 0;
	x->waits = HASH_TABLE(struct known_wait, 2, WAITING_MAX);
	int err = sample_each(p->trace, idle_sample, x);

	if (!err)
		err = idle_close(p, x);
	idle_free(x);
	return err;
}

/* ---- the profile ---- */

/* Roots carry their header as text; the tree prints "All". */
int sample_profile(struct sample_trace *t, const struct profile_options *opt, struct calltree **ret)
{
	static int (*const fold[])(struct profile *) = {fold_hits, fold_timed, fold_idle};
	struct profile p;
	int err = profile_init(&p, t, opt);

	if (!err)
		err = fold[opt->of](&p);
	for (uint32_t i = 0; i < p.nr_groups && !err && opt->group != PROFILE_GROUP_NONE; i++) {
		char header[64];

		if (opt->group == PROFILE_GROUP_THREAD)
			snprintf(header, sizeof(header),
				 t->has_thread_addresses ? "Thread %s (0x%" PRIx64 ")"
							 : "Thread %s (%" PRIu64 ")",
				 p.group[i].name, p.group[i].id);
		else
			snprintf(header, sizeof(header), "CPU 0x%02" PRIx64, p.group[i].id);
		text_sanitize(header);
		err = calltree_title(p.tree, p.group[i].root, header);
	}
	if (!err)
		err = calltree_finish(p.tree);
	if (!err)
		*ret = take_ptr(p.tree);
	profile_deinit(&p);
	return err;
}

/* ---- waits, each split by what its vCPU did ---- */

struct wait_profile {
	struct wait_causes *causes;
	struct wait_sums *sums;
};

static unsigned int wait_split(void *arg, const struct sample *s, double start_ns, double ns,
			  struct profile_part ret[PROFILE_PARTS_MAX])
{
#define FRAME(id, name) "[" name "]",
	static const char *const frames[CAUSES] = {WAIT_CAUSES(FRAME)};
#undef FRAME
	struct wait_profile *p = arg;
	uint64_t part[CAUSES], start = uint64_of_double(start_ns);
	unsigned int nr = 0;

	wait_causes_of(p->causes, s->cpu, start, start + uint64_of_double(ns), part);
	for (int i = 0; i < CAUSES; i++) {
		p->sums->ns[i] += part[i];
		if (part[i])
			ret[nr++] = (struct profile_part){frames[i], (double)part[i]};
	}
	if (!nr) /* a wait of length 0 */
		ret[nr++] = (struct profile_part){frames[CAUSE_UNKNOWN], 0};
	return nr;
}

int wait_profile(struct sample_trace *t, const struct profile_options *opt,
		 const struct wait_causes_input *host, struct calltree **ret,
		 struct wait_sums *ret_sums)
{
	_cleanup_(wait_causes_cleanup_) struct wait_causes *causes = NULL;
	struct wait_profile p = {.sums = ret_sums};
	struct profile_options with_causes = *opt;
	int err = wait_causes_open(host, &causes);

	*ret_sums = (struct wait_sums){0};
	p.causes = causes;
	with_causes.split = wait_split;
	with_causes.split_arg = &p;
	if (!err)
		err = sample_profile(t, &with_causes, ret);
	if (err)
		return err;
	ret_sums->sees_devices = wait_causes_sees_devices(causes);
	ret_sums->refused = wait_causes_refused(causes);
	return 0;
}
