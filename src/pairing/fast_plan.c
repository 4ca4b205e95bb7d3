// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Is it certain that the fast path gives the result of the slow path? The analyzer is checked once; of the file, the
 * chunk headers are checked before any chunk is read: no record may be older than an earlier watermark, and no round
 * may be so large that the slow path would deliver a part of it early.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "event/pending.h"
#include "pairing/fast_plan.h"

enum {
	ROUND_BYTES = 4 << 20,	   /* of records: a larger round ends at the next watermark */
	SEGMENT_BYTES = 8 << 20,   /* at least: below, starting costs too much */
	SEGMENT_ROUNDS = 3,	   /* the largest round's bytes, at least: its tail is read twice */
	SEGMENTS_PER_WORKER = 6,   /* so that all end at about the same time */
};

/* The reason, for `HOSTRACE_DEBUG=read`. */
static bool no(const char *why)
{
	debug("read", "fast path not used: %s", why);
	return false;
}

/* ---- the analyzer ---- */

static bool is_suited(const struct pairing *p)
{
	const struct analyzer *a = p->a;

	if (a->feed || a->reset || a->keep_first || a->access)
		return false;
	return !a->end || (p->nr_keys == 1 && !strcmp(p->keys[0], "tid"));
}

static bool value_plan(const struct from *f, struct fast_value *v)
{
	static const int sources[] = {
		[FROM_FIELD] = FAST_FIELD, [FROM_PID] = FAST_PID,   [FROM_VM] = FAST_PID,
		[FROM_TID] = FAST_TID,
		[FROM_VCPU] = FAST_VCPU,   [FROM_CPU] = FAST_CPU,   [FROM_DIR] = FAST_DIR,
		[FROM_PAGE] = FAST_PAGE,   [FROM_NOTHING] = FAST_ZERO,
	};

	if (f->source == FROM_DEVICE || f->source == FROM_TEXT ||
	    f->source == FROM_EXIT_RIP || f->source == FROM_ACCESS)
		return false; /* their meaning depends on other events, or on the order */
	v->source = sources[f->source];
	v->field = f->field;
	v->high = f->source == FROM_FIELD ? f->isa : NULL;
	if (v->source == FAST_DIR && strcmp(f->field->name, "type"))
		v->source = FAST_FIELD;
	return true;
}

static bool begin_plan(struct fast_plan *plan, const struct pairing *p, const struct binding *b,
		       const struct event_type *type)
{
	if (plan->begin)
		return no("more than one event begins a span");
	plan->begin = type;
	plan->weight = b->weight;
	plan->size = b->size;
	plan->duration = p->a->end ? NULL : b->duration;
	plan->skip_zero = b->skip_zero;
	plan->nr_labels = p->nr_labels;
	for (unsigned int i = 0; i < p->nr_labels; i++)
		if (!value_plan(&b->label[i], &plan->label[i]))
			return no("labels depend on other events");
	return true;
}

/* The role of a type that occurs. */
static bool type_plan(struct fast_plan *plan, struct pairing *p, const struct event_type *type,
		      uint8_t *ret_role)
{
	const struct binding *b = p->binding[type->index];

	if (!b && !(b = pair_bind(p, type)))
		return no("out of memory");
	if (b->roles & (ROLE_FED | ROLE_RESET | ROLE_GAP))
		return no("the analyzer needs other events");
	*ret_role = b->roles & (ROLE_BEGIN | ROLE_END | ROLE_MARK | ROLE_LOST);
	plan->has_lost |= *ret_role & ROLE_LOST;
	if (*ret_role == ROLE_LOST)
		return true;
	if (*ret_role & ROLE_LOST)
		return no("it pairs lost events");
	if (*ret_role && p->a->end && b->key[0].source != FROM_TID)
		return no("spans are not paired by thread");
	return !(*ret_role & ROLE_BEGIN) || begin_plan(plan, p, b, type);
}

/* Types that do not occur according to the file are foreign. */
static bool types_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (!counts || !r->ops->counts || r->ops->counts(r, counts))
		return no("events are not counted");
	for (unsigned int id = 0; id < 1 << 16; id++) {
		const struct event_type *type = plan->src.types[id];

		if (!type || !plan->src.wanted[id])
			continue;
		plan->role[id] = ROLE_FOREIGN;
		if (counts[type->index] && !type_plan(plan, p, type, &plan->role[id]))
			return false;
	}
	plan->point = !p->a->end;
	return plan->begin || no("it has no begin event");
}

/* ---- the file ---- */

/* Chunks whose newest records are kept for the next round; their number and bytes stay small. */
struct tails {
	size_t *chunk, nr, max;
	uint64_t bytes;
};

static bool tails_add(struct tails *t, const struct fast_plan *plan, size_t i)
{
	if (t->nr == t->max) {
		size_t max = t->max ? 2 * t->max : 64;
		void *more = realloc(t->chunk, max * sizeof(*t->chunk));

		if (!more)
			return false;
		t->chunk = more;
		t->max = max;
	}
	t->chunk[t->nr++] = i;
	t->bytes += plan->src.refs[i].h.raw;
	return true;
}

/* Removes those that are older than the watermark. */
static void tails_cut(struct tails *t, const struct fast_plan *plan, uint64_t watermark_ns)
{
	size_t kept = 0;

	t->bytes = 0;
	for (size_t i = 0; i < t->nr; i++) {
		const struct chunk_header *h = &plan->src.refs[t->chunk[i]].h;

		if (h->last_ns < watermark_ns)
			continue;
		t->chunk[kept++] = t->chunk[i];
		t->bytes += h->raw;
	}
	t->nr = kept;
}

static bool round_add(struct fast_plan *plan, size_t *max, const struct fast_round *round)
{
	if (plan->nr_rounds == *max) {
		void *more;

		*max = *max ? 2 * *max : 256;
		more = realloc(plan->rounds, *max * sizeof(*plan->rounds));
		if (!more)
			return false;
		plan->rounds = more;
	}
	plan->rounds[plan->nr_rounds++] = *round;
	return true;
}

static bool chunk_plan(struct fast_plan *plan, struct reader *r, size_t i, uint64_t from_ns,
		       struct tails *tails)
{
	const struct chunk_header *h = &plan->src.refs[i].h;

	plan->wanted[i] = tracefile_wants_chunk(r, i);
	if (!plan->wanted[i])
		return true;
	if (h->first_ns < from_ns)
		return no("a chunk has events older than the previous watermark");
	if (h->last_ns == UINT64_MAX || !tails_add(tails, plan, i))
		return no("a chunk has no end time");
	plan->bytes += h->raw;
	return tails->bytes <= PENDING_BYTES_MAX || no("a round is too large");
}

static uint64_t fast_round_bytes(const struct fast_plan *plan, const struct fast_round *round)
{
	uint64_t bytes = 0;

	for (size_t i = round->first; i < round->end; i++)
		bytes += plan->wanted[i] ? plan->src.refs[i].h.raw : 0;
	return bytes;
}

/*
 * Several of the file's rounds may be paired at once: each thread's events are then put in order over all of them, with
 * the same result. That is done where a watermark divides a chunk and most of its events would have to be kept.
 */
static bool round_ends(const struct fast_plan *plan, const struct fast_round *round, size_t end,
		       uint64_t watermark_ns)
{
	const struct chunk_header *h = &plan->src.refs[end - 1].h;
	struct fast_round so_far = {.first = round->first, .end = end};

	return watermark_ns >= h->last_ns ||
	       h->last_ns - watermark_ns <= (h->last_ns - h->first_ns) / 4 ||
	       fast_round_bytes(plan, &so_far) >= ROUND_BYTES;
}

static bool rounds_plan(struct fast_plan *plan, struct reader *r)
{
	struct fast_round round = {0};
	struct tails tails = {0};
	uint64_t watermark_ns = 0;
	size_t max = 0;
	bool fine = true;

	plan->wanted = calloc(plan->src.nr + 1, sizeof(*plan->wanted));
	for (size_t i = 0; i < plan->src.nr && fine && plan->wanted; i++) {
		const struct chunk_header *h = &plan->src.refs[i].h;

		if (h->kind != CHUNK_RECORDS)
			continue;
		fine = chunk_plan(plan, r, i, watermark_ns, &tails);
		if (!fine || h->watermark_ns <= watermark_ns)
			continue;
		watermark_ns = h->watermark_ns;
		tails_cut(&tails, plan, watermark_ns);
		if (!round_ends(plan, &round, i + 1, watermark_ns))
			continue;
		round.end = i + 1;
		round.watermark_ns = watermark_ns;
		fine = round_add(plan, &max, &round);
		round = (struct fast_round){.first = i + 1, .from_ns = watermark_ns};
	}
	/* What no watermark covers is paired at the end. */
	round.end = plan->src.nr;
	round.watermark_ns = UINT64_MAX;
	fine = fine && plan->wanted && round_add(plan, &max, &round);
	free(tails.chunk);
	return fine;
}

/* ---- segments ---- */

/* As many workers as memory allows. */
static unsigned int jobs_limit(const struct fast_plan *plan, unsigned int jobs)
{
	size_t fit = PENDING_BYTES_MAX / (plan->round_bytes_max + 1);

	return jobs <= fit ? jobs : fit ? (unsigned int)fit : 1;
}

static void round_bytes_find(struct fast_plan *plan)
{
	for (size_t i = 0; i < plan->nr_rounds; i++) {
		size_t bytes = fast_round_bytes(plan, &plan->rounds[i]);

		if (bytes > plan->round_bytes_max)
			plan->round_bytes_max = bytes;
	}
}

static bool segments_plan(struct fast_plan *plan, size_t segment_bytes)
{
	uint64_t target = plan->jobs > 1 ? plan->bytes / plan->jobs / SEGMENTS_PER_WORKER
					 : UINT64_MAX,
		 bytes = 0;

	if (target < SEGMENT_BYTES)
		target = SEGMENT_BYTES;
	if (target < SEGMENT_ROUNDS * plan->round_bytes_max)
		target = SEGMENT_ROUNDS * plan->round_bytes_max;
	if (segment_bytes)
		target = segment_bytes;
	plan->segments = calloc(plan->nr_rounds, sizeof(*plan->segments));
	for (size_t i = 0; i < plan->nr_rounds && plan->segments; i++) {
		if (!bytes)
			plan->segments[plan->nr_segments++].first = i;
		plan->segments[plan->nr_segments - 1].end = i + 1;
		bytes += fast_round_bytes(plan, &plan->rounds[i]) + 1;
		bytes = bytes < target ? bytes : 0;
	}
	if (plan->jobs > plan->nr_segments)
		plan->jobs = (unsigned int)plan->nr_segments;
	return plan->segments;
}

bool fast_plan_make(struct fast_plan *plan, struct reader *r, struct pairing *p,
		    const struct span_fold *fold, const struct pairing_options *opt)
{
	unsigned int jobs = opt->jobs ? opt->jobs : (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	plan->fold = fold;
	if (!fold->spans || !fold->merge)
		return no("the view depends on the order of spans");
	if (!is_suited(p))
		return no("spans are not paired by thread");
	if (!tracefile_source(r, &plan->src))
		return no("the input is not one complete .hrt file");
	if (!types_plan(plan, r, p) || !rounds_plan(plan, r))
		return false;
	round_bytes_find(plan);
	plan->jobs = jobs_limit(plan, jobs < FAST_JOBS_MAX ? jobs : FAST_JOBS_MAX);
	return segments_plan(plan, opt->segment_bytes);
}

void fast_plan_free(struct fast_plan *plan)
{
	if (!plan)
		return;
	for (size_t i = 0; i < plan->nr_segments; i++)
		free(plan->segments[i].border);
	free(plan->segments);
	free(plan->rounds);
	free(plan->losses);
	free(plan->wanted);
	free(plan);
}
