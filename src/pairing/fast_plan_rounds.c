// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pieces of the input become rounds and segments. Of a .hrt file the chunk headers are checked before any chunk is
 * read: no record may be older than an earlier watermark, and no round may be so large that the slow path would deliver
 * a part of it early.
 */
#include <stdlib.h>
#include <unistd.h>

#include "event/pending.h"
#include "pairing/fast_plan.h"

enum {
	ROUND_BYTES = 4 << 20,	   /* of records: a larger round ends at the next watermark */
	SEGMENT_BYTES = 8 << 20,   /* at least: below, starting costs too much */
	SEGMENT_ROUNDS = 3,	   /* the largest round's bytes, at least: its tail is read twice */
	SEGMENTS_PER_WORKER = 6,   /* so that all end at about the same time */
};

/* ---- pieces ---- */

bool fast_chunks_plan(struct fast_plan *plan, struct reader *r)
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

/* ---- rounds ---- */

/* Chunks whose newest records are kept for the next round; their number and bytes stay small. */
struct tails {
	size_t *piece, nr, max;
	uint64_t bytes;
};

static bool tails_add(struct tails *t, const struct fast_plan *plan, size_t i)
{
	if (t->nr == t->max) {
		size_t max = t->max ? 2 * t->max : 64;
		void *more = realloc(t->piece, max * sizeof(*t->piece));

		if (!more)
			return false;
		t->piece = more;
		t->max = max;
	}
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
	size_t max = 0;
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
		fine = round_add(plan, &max, &round);
		round = (struct fast_round){.first = i + 1, .from_ns = watermark_ns};
	}
	/* What no watermark covers is paired at the end. */
	round.end = plan->nr_pieces;
	round.watermark_ns = UINT64_MAX;
	fine = fine && round_add(plan, &max, &round);
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

bool fast_rounds_plan(struct fast_plan *plan, const struct pairing_options *opt)
{
	unsigned int jobs = opt->jobs ? opt->jobs : (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	if (!rounds_plan(plan))
		return false;
	round_bytes_find(plan);
	plan->jobs = jobs_limit(plan, jobs < FAST_JOBS_MAX ? jobs : FAST_JOBS_MAX);
	return segments_plan(plan, opt->segment_bytes);
}
