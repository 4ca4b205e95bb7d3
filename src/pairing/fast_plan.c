// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * First stage of the fast path, the plan: is it certain that it gives the result of the slow path, by the analyzer, by
 * the event types that occur and by the input? Then what the workers do: which columns they read, in which rounds, and
 * which rounds are one piece of work (a segment). At the end what workers ask of the plan: losses.
 *
 * Of a .hrt file the chunk headers are checked before any chunk is read: no record may be older than an earlier
 * watermark, and no round may be so large that the slow path would deliver a part of it early.
 */
#include <errno.h>

#include "base/array.h"
#include "base/log.h"
#include "base/order.h"
#include "event/pending.h"
#include "pairing/fast_internal.h"

enum {
	ROUND_BYTES = 4 << 20,	   /* of records: a larger round ends at the next watermark */
	SEGMENT_BYTES = 8 << 20,   /* at least: below, starting costs too much */
	SEGMENT_ROUNDS = 3,	   /* the largest round's bytes, at least: its tail is read twice */
	SEGMENTS_PER_WORKER = 6,   /* so that all end at about the same time */
};

/* Returns false; the reason is for `HOSTRACE_DEBUG=read`. */
static bool fast_unsuited(const char *why)
{
	debug("read", "fast path not used: %s", why);
	return false;
}

/* ---- the analyzer ---- */

static bool is_suited(const struct pairing *p)
{
	const struct analyzer *a = p->a;

	if (a->feed || a->elements || a->access)
		return false;
	return !a->end || (p->nr_keys == 1 && !strcmp(p->keys[0], "tid"));
}

static bool value_plan(const struct from *f, struct fast_value *v)
{
	static const int sources[] = {
		[FROM_FIELD] = FAST_FIELD, [FROM_PID] = FAST_PID,   [FROM_VM] = FAST_PID,
		[FROM_TID] = FAST_TID,
		[FROM_VCPU] = FAST_VCPU,   [FROM_CPU] = FAST_CPU,   [FROM_DIR] = FAST_DIR,
		[FROM_PAGE] = FAST_PAGE,   [FROM_NOTHING] = FAST_LACKING,
	};

	if (f->source == FROM_DEVICE || f->source == FROM_TEXT || f->source == FROM_EXIT_RIP ||
	    f->source == FROM_ACCESS || f->source == FROM_GUEST_TASK || f->source == FROM_LEVEL ||
	    f->source == FROM_HANDLER)
		return false; /* their meaning depends on other events, or on the order */
	if (f->source == FROM_FIELD && !strcmp(f->field->fmt, "event"))
		return false; /* a number of the file, which its reader converts */
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
		return fast_unsuited("more than one event begins a span");
	if (!p->a->end && ((p->a->weight && !b->weight) || (p->a->size && !b->size) ||
			   (p->a->duration && !b->duration)))
		return fast_unsuited("the event lacks fields");
	plan->begin = type;
	plan->weight = b->weight;
	plan->size = b->size;
	plan->duration = p->a->end ? NULL : b->duration;
	plan->skip_zero = b->skip_zero;
	plan->nr_labels = p->nr_labels;
	for (unsigned int i = 0; i < p->nr_labels; i++)
		if (!value_plan(&b->label[i], &plan->label[i]) ||
		    (b->label[i].source == FROM_FIELD && record_fields_vary(type->id)))
			return fast_unsuited("labels depend on other events or fields");
	return true;
}

/* The role of a type that occurs. */
static bool fast_type_plan(struct fast_plan *plan, struct pairing *p, const struct event_type *type,
			   uint8_t *ret_role)
{
	const struct binding *b = p->binding[type->index];

	if (!b && !(b = pair_bind(p, type)))
		return fast_unsuited("out of memory");
	if (b->roles & (ROLE_FED | ROLE_ELEMENTS | ROLE_GAP))
		return fast_unsuited("the analyzer needs other events");
	if (b->roles & (ROLE_NESTED | ROLE_REFLECTED))
		return fast_unsuited("exits of nested guests are told apart");
	*ret_role = b->roles & (ROLE_BEGIN | ROLE_END | ROLE_MARK | ROLE_LOST);
	plan->has_lost |= *ret_role & ROLE_LOST;
	if (*ret_role == ROLE_LOST)
		return true;
	if (*ret_role & ROLE_LOST)
		return fast_unsuited("it pairs lost events");
	if (*ret_role && p->a->end && b->key[0].source != FROM_TID)
		return fast_unsuited("spans are not paired by thread");
	return !(*ret_role & ROLE_BEGIN) || begin_plan(plan, p, b, type);
}

/* Types that do not occur according to the file are foreign. */
static bool types_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (!counts || !r->ops->counts || r->ops->counts(r, counts))
		return fast_unsuited("events are not counted");
	for (unsigned int id = 0; id < 1 << 16; id++) {
		const struct event_type *type = plan->src.types[id];

		if (!type || !plan->src.wanted[id])
			continue;
		plan->role[id] = ROLE_FOREIGN;
		if (counts[type->index] && !fast_type_plan(plan, p, type, &plan->role[id]))
			return false;
	}
	return true;
}

/* ---- pieces ---- */

/* Pieces: of a .hrt file; of another reader, also their roles and what to read of them. */
static bool fast_chunks_plan(struct fast_plan *plan, struct reader *r)
{
	plan->pieces = calloc(plan->src.nr + 1, sizeof(*plan->pieces));
	for (size_t i = 0; i < plan->src.nr && plan->pieces; i++) {
		const struct chunk_header *h = &plan->src.refs[i].h;

		if (h->kind == CHUNK_RECORDS)
			plan->pieces[i] = (struct fast_piece){
				h->first_ns, h->last_ns, h->watermark_ns, h->raw,
				tracefile_wants_chunk(r, i)};
	}
	plan->nr_pieces = plan->src.nr;
	return plan->pieces;
}

/* ---- a reader with rows: what is asked of it ---- */

static bool kind_add(struct fast_plan *plan, const struct event_type *type, uint8_t role)
{
	struct rows_request *r = &plan->request;

	if (!type->id || r->nr_kinds == ROWS_KINDS_MAX)
		return fast_unsuited("it pairs events that are not ours, or too many");
	plan->role[r->nr_kinds] = role;
	r->kind[r->nr_kinds++] = type;
	return true;
}

static bool kinds_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (!counts || plan->rows->counts(r, counts))
		return fast_unsuited("events are not counted");
	for (unsigned int i = 0; i < event_types_count(); i++) {
		const struct event_type *type = event_type_at(i);
		uint8_t role = 0;

		if (!counts[i])
			continue;
		if (!fast_type_plan(plan, p, type, &role))
			return false;
		if (role && role != ROLE_LOST && !kind_add(plan, type, role))
			return false;
	}
	return true;
}

static bool value_add(struct rows_request *r, unsigned int kind, const struct field *f)
{
	for (unsigned int i = 0; f && i < r->nr_values; i++)
		if (r->value[i].field == f)
			return true;
	if (!f)
		return true;
	if (r->nr_values == ROWS_VALUES_MAX)
		return false;
	r->value[r->nr_values].kind = kind;
	r->value[r->nr_values++].field = f;
	return true;
}

/* All fields of the begin that are needed. */
static bool values_plan(struct fast_plan *plan)
{
	struct rows_request *r = &plan->request;
	unsigned int kind = 0;
	bool fine;

	while (kind < r->nr_kinds && r->kind[kind] != plan->begin)
		kind++;
	if (kind == r->nr_kinds)
		return fast_unsuited("it has no begin event");
	fine = value_add(r, kind, plan->weight) && value_add(r, kind, plan->size) &&
	       value_add(r, kind, plan->duration) && value_add(r, kind, plan->skip_zero);
	for (unsigned int i = 0; i < plan->nr_labels && fine; i++)
		if (plan->label[i].source >= FAST_FIELD)
			fine = value_add(r, kind, plan->label[i].field) &&
			       value_add(r, kind, plan->label[i].high);
	return fine || fast_unsuited("it groups by too many fields");
}

/* What comes after a piece is not older than the next one's first event, since they are sorted by it. */
static bool pieces_plan(struct fast_plan *plan)
{
	const struct rows_source *s = &plan->rows_source;

	plan->pieces = calloc(s->nr_pieces + 1, sizeof(*plan->pieces));
	for (size_t i = 0; i < s->nr_pieces && plan->pieces; i++)
		plan->pieces[i] = (struct fast_piece){
			.first_ns = s->piece[i].first_ns,
			.last_ns = s->piece[i].last_ns,
			.watermark_ns = i + 1 < s->nr_pieces ? s->piece[i + 1].first_ns : 0,
			.bytes = s->piece[i].bytes,
			.wanted = s->piece[i].first_ns < plan->until_ns,
		};
	plan->nr_pieces = s->nr_pieces;
	return plan->pieces;
}

static bool fast_rows_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	plan->rows = r->ops->rows;
	plan->reader = r;
	if (!plan->rows->open(r, &plan->rows_source))
		return fast_unsuited("the reader has no rows of this input");
	if (!kinds_plan(plan, r, p) || !values_plan(plan) || !pieces_plan(plan))
		return false;
	plan->rows_plan = plan->rows->plan(r, &plan->request);
	return plan->rows_plan || fast_unsuited("the reader has no rows of these fields");
}

/* ---- rounds ---- */

/* Chunks whose newest records are kept for the next round; their number and bytes stay small. */
struct tails {
	size_t *piece, nr, max;
	uint64_t bytes;
};

static bool tails_add(struct tails *t, const struct fast_plan *plan, size_t i)
{
	if (array_room_kept(t->piece, t->nr, t->max))
		return false;
	t->piece[t->nr++] = i;
	t->bytes += plan->pieces[i].bytes;
	return true;
}

/* Removes those that are older than the watermark. */
static void tails_cut(struct tails *t, const struct fast_plan *plan, uint64_t watermark_ns)
{
	size_t kept = 0;

	t->bytes = 0;
	for (size_t i = 0; i < t->nr; i++) {
		const struct fast_piece *piece = &plan->pieces[t->piece[i]];

		if (piece->last_ns < watermark_ns)
			continue;
		t->piece[kept++] = t->piece[i];
		t->bytes += piece->bytes;
	}
	t->nr = kept;
}

static bool round_add(struct fast_plan *plan, const struct fast_round *round)
{
	return !array_add(plan->rounds, plan->nr_rounds, *round);
}

static bool piece_check(const struct fast_plan *plan, size_t i, uint64_t from_ns,
			struct tails *tails)
{
	const struct fast_piece *piece = &plan->pieces[i];

	if (!piece->wanted)
		return true;
	if (piece->first_ns < from_ns)
		return fast_unsuited("a chunk has events older than the previous watermark");
	if (piece->last_ns == UINT64_MAX || !tails_add(tails, plan, i))
		return fast_unsuited("a chunk has no end time");
	return tails->bytes <= PENDING_BYTES_MAX || fast_unsuited("a round is too large");
}

static uint64_t fast_round_bytes(const struct fast_plan *plan, const struct fast_round *round)
{
	uint64_t bytes = 0;

	for (size_t i = round->first; i < round->end; i++)
		bytes += plan->pieces[i].wanted ? plan->pieces[i].bytes : 0;
	return bytes;
}

/*
 * Several of the file's rounds may be paired at once: each thread's events are then put in order over all of them, with
 * the same result. That is done where a watermark divides a chunk and most of its events would have to be kept.
 */
static bool round_ends(const struct fast_plan *plan, const struct fast_round *round, size_t end,
		       uint64_t watermark_ns)
{
	const struct fast_piece *h = &plan->pieces[end - 1];
	struct fast_round so_far = {.first = round->first, .end = end};

	return watermark_ns >= h->last_ns ||
	       h->last_ns - watermark_ns <= (h->last_ns - h->first_ns) / 4 ||
	       fast_round_bytes(plan, &so_far) >= ROUND_BYTES;
}

static bool rounds_plan(struct fast_plan *plan)
{
	struct fast_round round = {0};
	struct tails tails = {0};
	uint64_t watermark_ns = 0;
	bool fine = true;

	for (size_t i = 0; i < plan->nr_pieces && fine; i++) {
		const struct fast_piece *h = &plan->pieces[i];

		fine = piece_check(plan, i, watermark_ns, &tails);
		plan->bytes += h->wanted ? h->bytes : 0;
		if (!fine || h->watermark_ns <= watermark_ns)
			continue;
		watermark_ns = h->watermark_ns;
		tails_cut(&tails, plan, watermark_ns);
		if (!round_ends(plan, &round, i + 1, watermark_ns))
			continue;
		round.end = i + 1;
		round.watermark_ns = watermark_ns;
		fine = round_add(plan, &round);
		round = (struct fast_round){.first = i + 1, .from_ns = watermark_ns};
	}
	/* What no watermark covers is paired at the end. */
	round.end = plan->nr_pieces;
	round.watermark_ns = UINT64_MAX;
	fine = fine && round_add(plan, &round);
	free(tails.piece);
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

/* Rounds and segments from the pieces; the number of workers. */
static bool fast_rounds_plan(struct fast_plan *plan, const struct pairing_options *opt)
{
	unsigned int jobs = opt->jobs ? opt->jobs : (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	if (!rounds_plan(plan))
		return false;
	round_bytes_find(plan);
	plan->jobs = jobs_limit(plan, jobs < FAST_JOBS_MAX ? jobs : FAST_JOBS_MAX);
	return segments_plan(plan, opt->segment_bytes);
}

/* ---- all of it ---- */

static bool hrt_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	return (tracefile_source(r, &plan->src) ||
		fast_unsuited("the input is not one complete recording")) &&
	       types_plan(plan, r, p) && fast_chunks_plan(plan, r);
}

bool fast_plan_make(struct fast_plan *plan, struct reader *r, struct pairing *p,
		    const struct span_fold *fold, const struct pairing_options *opt)
{
	plan->fold = fold;
	plan->since_ns = p->since_ns;
	plan->until_ns = p->until_ns;
	if (!fold->spans || !fold->merge)
		return fast_unsuited("the view depends on the order of spans");
	if (!is_suited(p))
		return fast_unsuited("spans are not paired by thread");
	if (!(r->ops->rows ? fast_rows_plan(plan, r, p) : hrt_plan(plan, r, p)))
		return false;
	plan->point = !p->a->end;
	return (plan->begin || fast_unsuited("it has no begin event")) &&
	       fast_rounds_plan(plan, opt);
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
	free(plan->pieces);
	free(plan->rows_plan);
	free(plan);
}

/* ---- losses, as workers ask for them ---- */

/* Does a report of the event's own time come before it? The order is only known within one CPU. */
static bool loss_is_before(struct fast_worker *w, size_t i)
{
	const struct fast_plan *p = w->plan;
	bool is_only = i + 1 == p->nr_losses || p->losses[i + 1].time_ns != p->losses[i].time_ns;

	if (w->cpu == FAST_CPU_UNKNOWN || p->losses[i].cpu != w->cpu || !is_only)
		w->doubt = true;
	return p->losses[i].first;
}

uint64_t fast_losses(struct fast_worker *w, uint64_t time_ns)
{
	const struct fast_plan *p = w->plan;
	size_t lo = array_prefix(p->nr_losses, i, p->losses[i].time_ns < time_ns);

	if (lo < p->nr_losses && p->losses[lo].time_ns == time_ns)
		lo += loss_is_before(w, lo);
	w->now.after_ns = lo ? p->losses[lo - 1].time_ns : 0;
	w->now.before_ns = lo < p->nr_losses ? p->losses[lo].time_ns : UINT64_MAX;
	w->now.blind_until_ns = lo ? p->losses[lo - 1].blind_until_ns : 0;
	w->now.losses = lo;
	return lo;
}
