// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest TSC to host TSC: segments of (offset, scale), and the segment that a timestamp belongs to. KVM computes
 * guest = (host * ratio >> frac_bits) + offset (kvm_scale_tsc(), Intel SDM 25.6.5, AMD APM 15.30.5).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "clock/clock.h"
#include "clock/protocols.h"

typedef unsigned __int128 wide; /* the one typedef: the language has no other name for it */

uint64_t clock_segment_guest(const struct clock_segment *s, uint64_t host_tsc)
{
	if (!s->scale_bits || !s->scale)
		return host_tsc + (uint64_t)s->offset;
	return (uint64_t)((wide)host_tsc * s->scale >> s->scale_bits) + (uint64_t)s->offset;
}

/* The earliest host tick that gives this guest tick or a later one. */
uint64_t clock_segment_host(const struct clock_segment *s, uint64_t guest_tsc)
{
	uint64_t scaled = guest_tsc - (uint64_t)s->offset;
	wide host;

	if (scaled >> 63) /* before the host's TSC began: a wrong offset or a wrong timestamp */
		return 0;
	if (!s->scale_bits || !s->scale)
		return scaled;
	host = (((wide)scaled << s->scale_bits) + s->scale - 1) / s->scale;
	return host >> 64 ? UINT64_MAX : (uint64_t)host;
}

/*
 * Timestamps of one vCPU may step back this far without a jump: an interrupted writer timestamps first and is
 * recorded last, or the other way round.
 */
enum { DISORDER_TICKS = 1 << 18 };

static uint64_t segment_end(const struct clock_vcpu *v, size_t i)
{
	uint64_t end = i + 1 < v->nr_segments ? v->segment[i + 1].from : UINT64_MAX;

	return v->segment[i].until && v->segment[i].until < end ? v->segment[i].until : end;
}

uint64_t clock_implausible(const struct clock_vcpu *v, size_t i, uint64_t host, uint64_t last)
{
	uint64_t cost = 0, end = segment_end(v, i);

	if (i && host < v->segment[i].from)
		cost = v->segment[i].from - host;
	else if (end != UINT64_MAX && host >= end)
		cost = host - end + 1;
	if (host < last && last - host > DISORDER_TICKS && last - host > cost)
		cost = last - host;
	return cost;
}

uint64_t clock_vcpu_host(const struct clock_vcpu *v, struct clock_cursor *c, uint64_t guest_tsc)
{
	uint64_t best_cost = UINT64_MAX, best_host = guest_tsc;
	size_t best = c->segment;

	/* Earlier segments never apply again; the first that matches is used. */
	for (size_t i = c->segment; i < v->nr_segments && best_cost; i++, c->steps++) {
		uint64_t host = clock_segment_host(&v->segment[i], guest_tsc);
		uint64_t cost = clock_implausible(v, i, host, c->last);

		if (cost < best_cost) {
			best_cost = cost;
			best_host = host;
			best = i;
		}
	}
	c->segment = best;
	c->last = best_host > c->last ? best_host : c->last;
	return best_host;
}

static bool same_relation(const struct clock_segment *a, const struct clock_segment *b)
{
	return a->offset == b->offset && a->scale == b->scale && a->scale_bits == b->scale_bits;
}

static int segment_add(struct clock_vcpu *v, const struct clock_segment *s)
{
	struct clock_segment *grown;

	if (v->nr_segments && same_relation(&v->segment[v->nr_segments - 1], s))
		return 0;
	if (v->nr_segments >= CLOCK_SEGMENTS_MAX)
		return fail(-E2BIG, "a vCPU's TSC offset was changed more than %d times",
			    CLOCK_SEGMENTS_MAX);
	grown = realloc(v->segment, (v->nr_segments + 1) * sizeof(*grown));
	if (!grown)
		return fail(-ENOMEM, "clock: out of memory");
	v->segment = grown;
	v->segment[v->nr_segments++] = *s;
	return 0;
}

int clock_vcpu_read(struct clock_vcpu *v, const struct clock_report *report, size_t nr,
		    bool in_effect)
{
	struct clock_segment s = {0};
	int err = 0;

	if (!in_effect)
		return segment_add(v, &s);
	for (size_t i = 0; !err && i < nr; i++) {
		const struct clock_report *r = &report[i];
		bool first = v->nr_segments == 0;

		/* A change of the offset does not contain the scale, which is kept. */
		if (r->scale_bits && r->scale_bits <= CLOCK_SCALE_BITS_MAX) {
			s.scale = r->scale;
			s.scale_bits = r->scale_bits;
		}
		s.from = 0;
		s.offset = r->before;
		if (first && r->change)
			err = segment_add(v, &s);
		s.from = first && !r->change ? 0 : r->host_tsc;
		s.offset = r->offset;
		if (!err)
			err = segment_add(v, &s);
	}
	return err;
}
