// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "clock/align_rows.h"

struct rows {
	struct align_row *row;
	size_t nr;
};

static double scale_of(const struct clock_segment *s)
{
	return s->scale_bits && s->scale ? ldexp((double)s->scale, -(int)s->scale_bits) : 1;
}

/* The verification of one segment: of its timestamps, from `first` on. */
static struct clock_proof segment_proof(struct clock_vcpu *v, const struct clock_input *in,
					size_t segment, size_t *first, struct clock_cursor *cursor)
{
	struct clock_vcpu one = {
		.segment = &v->segment[segment], .nr_segments = 1, .error_ticks = v->error_ticks};
	struct clock_relation rel = {.vcpu = &one, .nr_vcpus = 1};
	struct clock_input part = *in;
	size_t end = *first;

	while (end < in->nr_stamps) {
		struct clock_cursor c = *cursor;

		clock_vcpu_host(v, &c, in->stamp[end]);
		if (c.segment > segment)
			break;
		*cursor = c;
		end++;
	}
	part.nr_stamps = end - *first;
	part.stamp = part.nr_stamps ? in->stamp + *first : NULL;
	*first = end;
	return clock_check(&rel, &part, 1, NULL);
}

static int64_t rounded(double v)
{
	return v > 9e18 ? INT64_MAX : v < -9e18 ? INT64_MIN : (int64_t)llround(v);
}

static int row_add(struct rows *rows, const struct align *a, const struct align_guest *g,
		   unsigned int vcpu, size_t segment, const struct clock_proof *p)
{
	const struct clock_vcpu *v = &g->relation.vcpu[vcpu];
	const struct clock_segment *seg = &v->segment[segment];
	double rate = align_guest_ticks_per_ns(a, g), scale = scale_of(seg);

	if (array_room(rows->row, rows->nr))
		return -ENOMEM;
	rows->row[rows->nr++] = (struct align_row){
		.vcpu = vcpu,
		.method = g->relation.protocol->name,
		.from_ns = segment ? align_guest_ns(a, g, vcpu, seg->from) : 0,
		.offset = (int64_t)seg->offset,
		.offset_ns = rounded((double)seg->offset / (rate * scale)),
		.scale = scale,
		.drift_ppb = v->drift_ppb,
		.error_ns = rounded(ceil(v->error_ticks / rate)),
		.proof = *p,
		.worst_ns = rounded((double)p->worst_ticks / rate),
		.repaired = segment ? 0 : g->input[vcpu].repaired,
	};
	return 0;
}

static int vcpu_rows(struct rows *rows, const struct align *a, const struct align_guest *g,
		     unsigned int vcpu)
{
	struct clock_vcpu *v = &g->relation.vcpu[vcpu];
	const struct clock_input *in = &align_input(g)[vcpu];
	struct clock_cursor cursor = {0};
	size_t first = 0;
	int err = 0;

	if (g->path && !in->nr_stamps)
		return 0;
	for (size_t i = 0; i < v->nr_segments && !err; i++) {
		struct clock_proof p = segment_proof(v, in, i, &first, &cursor);

		err = row_add(rows, a, g, vcpu, i, &p);
	}
	return err;
}

int align_rows(const struct align *a, const struct align_guest *g, struct align_row **ret,
	       size_t *ret_nr)
{
	struct rows rows = {0};
	int err = 0;

	for (unsigned int v = 0; v < g->relation.nr_vcpus && !err; v++)
		err = vcpu_rows(&rows, a, g, v);
	if (err) {
		free(rows.row);
		return err;
	}
	*ret = rows.row;
	*ret_nr = rows.nr;
	return 0;
}
