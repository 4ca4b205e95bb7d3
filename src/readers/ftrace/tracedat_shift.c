// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The option TIME_SHIFT: how far the guest's clock was from the host's when trace-cmd recorded both, see
 * trace-cmd.dat.v7(5); the fractions came later and follow everything that older readers know:
 *
 *   u64 the peer's id, u32 flags, u32 CPUs
 *   for each CPU:  u32 nr, u64 time[nr], offset[nr], scale[nr]
 *   for each CPU:  u64 fraction[nr]
 *
 * With the protocol "kvm" offset is minus KVM's offset, scale its ratio (debugfs tsc-scaling-ratio) and fraction the
 * ratio's fixed point; 1 or 0 stand for no scaling.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "readers/ftrace/tracedat_internal.h"

enum { SHIFT_LINEAR = 1 }; /* flags: TRACECMD_TSYNC_FLAG_INTERPOLATE */

enum { AMD_BITS = 32, INTEL_BITS = 48, BITS_BETWEEN = 40, RATIO_MAX = 1024 };

/* One CPU's part. Too many or too few bytes: cut. */
static void shift_take(struct tracedat_file *f, struct buffer *b, unsigned int cpu)
{
	uint32_t nr = buffer_u32(b);
	struct tracedat_shift *s = &f->shift[f->nr_shifts];

	if (nr > TRACEDAT_SHIFTS_MAX - f->nr_shifts) {
		b->cut = true;
		return;
	}
	for (uint32_t i = 0; i < nr && !b->cut; i++)
		s[i] = (struct tracedat_shift){.cpu = cpu, .time = buffer_u64(b)};
	for (uint32_t i = 0; i < nr && !b->cut; i++)
		s[i].offset = (int64_t)buffer_u64(b);
	for (uint32_t i = 0; i < nr && !b->cut; i++)
		s[i].scale = buffer_u64(b);
	f->nr_shifts += nr;
}

/* Where a file has no fractions the ratio itself tells which of KVM's two fixed points it is in. */
static uint64_t fraction_guess(uint64_t scale)
{
	return scale >> BITS_BETWEEN ? INTEL_BITS : AMD_BITS;
}

/* False: no TSC runs so much faster or slower. */
static bool scale_settle(struct tracedat_shift *s, uint64_t fraction)
{
	uint64_t one;

	s->scale_bits = 0;
	if (s->scale <= 1)
		return fraction == 0;
	fraction = fraction ? fraction : fraction_guess(s->scale);
	if (fraction > INTEL_BITS)
		return false;
	one = 1ull << fraction;
	if (s->scale / RATIO_MAX > one || s->scale < one / RATIO_MAX)
		return false;
	if (s->scale != one)
		s->scale_bits = (uint32_t)fraction;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct tracedat_shift *x = a, *y = b;

	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->scale != y->scale ? order_u64(x->scale, y->scale)
				    : order_u64(x->scale_bits, y->scale_bits);
}

int tracedat_shifts_take(struct tracedat_file *f, struct buffer *b)
{
	uint32_t nr, cpu = 0;
	bool fractions;

	if (f->shift)
		return 0;
	f->shift = calloc(TRACEDAT_SHIFTS_MAX, sizeof(*f->shift));
	if (!f->shift)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	buffer_u64(b);
	f->shift_linear = buffer_u32(b) & SHIFT_LINEAR;
	nr = buffer_u32(b);
	for (; cpu < nr && !b->cut && cpu < TRACEDAT_CPUS_MAX; cpu++)
		shift_take(f, b, cpu);
	fractions = buffer_left(b) > 0;
	f->shift_broken = cpu < nr;
	for (unsigned int i = 0; i < f->nr_shifts && !b->cut; i++)
		f->shift_broken |= !scale_settle(&f->shift[i], fractions ? buffer_u64(b) : 0);
	f->shift_broken |= b->cut;
	if (f->shift_broken)
		f->nr_shifts = 0;
	qsort(f->shift, f->nr_shifts, sizeof(*f->shift), by_time);
	return 0;
}
