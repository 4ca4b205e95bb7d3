// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The second pass: a guest's events with their times converted. A reader gives a vCPU's events in the order in which
 * it recorded them, and all vCPUs by their raw timestamps. Where every vCPU has the same relation that is also the
 * host's order; else each vCPU is read by a reader of its own, and these are merged.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "clock/align_internal.h"
#include "readers/readers.h"

struct lane {
	struct reader reader;
	struct reader *inner;
	const struct align *align;
	const struct align_guest *guest;
	int only;
	struct clock_cursor cursor[ALIGN_VCPUS_MAX];
};

static const struct reader_ops lane_ops, aligned_ops;

static uint64_t convert(struct lane *l, unsigned int cpu, uint64_t stamp)
{
	const struct clock_relation *rel = &l->guest->relation;

	if (cpu >= rel->nr_vcpus)
		return l->reader.info.end_ns;
	return align_guest_ns(l->align, l->guest, cpu,
			      clock_vcpu_host(&rel->vcpu[cpu], &l->cursor[cpu], stamp));
}

static int lane_next(struct reader *r, struct batch *batch)
{
	struct lane *l = (struct lane *)r;
	int more;

	do {
		unsigned int nr = 0;

		more = reader_next(l->inner, batch);
		for (unsigned int i = 0; more > 0 && i < batch->nr; i++) {
			struct event ev = batch->ev[i];

			if ((l->only >= 0 && ev.cpu != l->only) ||
			    !align_uses_cpu(l->align, ev.cpu))
				continue;
			ev.guest_ns = ev.time_ns;
			ev.time_ns = convert(l, ev.cpu, ev.time_ns);
			ev.vcpu = ev.cpu;
			ev.pid = l->guest->pid ? l->guest->pid : ev.pid;
			if (ev.time_ns > r->info.end_ns)
				r->info.end_ns = ev.time_ns;
			batch->ev[nr++] = ev;
		}
		batch->nr = nr;
	} while (more > 0 && !batch->nr);
	r->info.nr_events = l->inner->info.nr_events;
	r->info.lost = l->inner->info.lost;
	r->info.late = l->inner->info.late;
	return more;
}

static void lane_close(struct reader *r)
{
	struct lane *l = (struct lane *)r;

	reader_close(l->inner);
	trace_info_deinit(&r->info);
	free(l);
}

/* Its info is the inner reader's, with converted times where known. */
static void info_take(struct lane *l)
{
	struct trace_info *info = &l->reader.info;
	uint64_t first = UINT64_MAX, last = 0;

	json_object_update(info->meta, l->inner->info.meta);
	for (unsigned int v = 0; v < l->guest->nr_vcpus; v++) {
		const struct clock_input *in = &l->guest->input[v];
		size_t step = in->nr_stamps > 1 ? in->nr_stamps - 1 : 1; /* the first and the last */
		struct clock_cursor c = {0};

		for (size_t i = 0; i < in->nr_stamps; i += step) {
			const struct clock_vcpu *vcpu = &l->guest->relation.vcpu[v];
			uint64_t ns = align_guest_ns(l->align, l->guest, v,
						     clock_vcpu_host(vcpu, &c, in->stamp[i]));

			first = ns < first ? ns : first;
			last = ns > last ? ns : last;
		}
	}
	info->start_ns = first == UINT64_MAX ? 0 : first;
	info->end_ns = last;
}

/* Reads one guest input with converted times, only CPU `only` (-1: all). */
static int lane_open(const struct align *a, const struct align_guest *g,
		     const struct read_hint *hint, int only, struct reader **ret)
{
	struct read_hint raw = hint ? *hint : (struct read_hint){0};
	struct lane *l = calloc(1, sizeof(*l));
	int err = l ? 0 : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	raw.guest = true;
	raw.files = a->files;
	raw.since_ns = 0; /* the hint's times are the host's */
	raw.until_ns = UINT64_MAX;
	*l = (struct lane){.reader.ops = &lane_ops, .align = a, .guest = g, .only = only};
	err = reader_open(g->path, &raw, &l->inner);
	if (!err)
		err = trace_info_init(&l->reader.info, g->path, l->inner->info.kind);
	if (err) {
		lane_close(&l->reader);
		return err;
	}
	info_take(l);
	*ret = &l->reader;
	return 0;
}

/* ---- the merged readers of all vCPUs ---- */

struct aligned {
	struct reader reader;
	struct reader *inner;	    /* the reader of one vCPU, or the merge of several */
	const struct reader *first; /* the first of them, for the counts that all have */
	const struct align *align;
	const struct align_guest *guest;
};

/* What was beyond a limit: the relation is right, but the proof of it is not of all events. */
static void unchecked_note(struct aligned *al)
{
	struct trace_info *info = &al->reader.info;

	if (al->align->marks_refused)
		trace_info_caveat(info,
				  "%" PRIu64 " of the host's VM-entries and VM-exits were not "
				  "kept, too many: guest events between them are not checked",
				  al->align->marks_refused);
	if (al->guest->stamps_refused)
		trace_info_caveat(info,
				  "%" PRIu64 " of the guest's events are not checked, too many",
				  al->guest->stamps_refused);
}

static void caveats_take(struct aligned *al)
{
	const struct lane *l = (const struct lane *)al->first;
	struct trace_info *info = &al->reader.info;
	size_t i;
	json_t *text;

	json_array_foreach (l->inner->info.caveats, i, text)
		if (!strstr(json_string_value(text), "ticks, not") && /* they are not any more */
		    !strstr(json_string_value(text), "not aligned with any host"))
			trace_info_caveat(info, "%s", json_string_value(text));
	unchecked_note(al);
}

static int aligned_next(struct reader *r, struct batch *batch)
{
	struct aligned *al = (struct aligned *)r;
	int more = reader_next(al->inner, batch);

	for (unsigned int i = 0; more > 0 && i < batch->nr; i++)
		batch->ev[i].source = 0;
	r->info.nr_events = al->first->info.nr_events;
	if (more > 0)
		return more;
	r->info.lost = al->first->info.lost;
	r->info.late = al->first->info.late;
	caveats_take(al);
	return more;
}

static void aligned_close(struct reader *r)
{
	struct aligned *al = (struct aligned *)r;

	reader_close(al->inner);
	trace_info_deinit(&r->info);
	free(al);
}

/* Compared by members, because padding is undefined. */
static bool segment_same(const struct clock_segment *a, const struct clock_segment *b)
{
	return a->from == b->from && a->offset == b->offset && a->scale == b->scale &&
	       a->scale_bits == b->scale_bits;
}

static bool one_relation(const struct align_guest *g)
{
	const struct clock_vcpu *first = NULL;

	for (unsigned int i = 0; i < g->relation.nr_vcpus; i++) {
		const struct clock_vcpu *v = &g->relation.vcpu[i];

		if (!g->input[i].nr_stamps)
			continue;
		if (v->nr_segments != 1)
			return false;
		if (first && !segment_same(&v->segment[0], &first->segment[0]))
			return false;
		first = first ? first : v;
	}
	return true;
}

static int lanes_open(const struct align *a, const struct align_guest *g,
		      const struct read_hint *hint, struct aligned *al)
{
	struct reader *lane[ALIGN_VCPUS_MAX];
	unsigned int nr = 0;
	int err = 0;

	if (one_relation(g)) {
		err = lane_open(a, g, hint, -1, &al->inner);
		al->first = al->inner;
		return err;
	}
	for (unsigned int v = 0; !err && v < g->nr_vcpus; v++)
		if (g->input[v].nr_stamps) {
			err = lane_open(a, g, hint, (int)v, &lane[nr]);
			nr += !err;
		}
	if (err) {
		while (nr)
			reader_close(lane[--nr]);
		return err;
	}
	al->first = lane[0];
	return merge_open(lane, nr, &al->inner);
}

int align_open(struct align *a, const char *path, const struct read_hint *hint, struct reader **ret)
{
	const struct align_guest *g;
	struct aligned *al;
	int err = align_guest(a, path, &g);

	if (err)
		return err;
	al = calloc(1, sizeof(*al));
	if (!al)
		return fail(-ENOMEM, "out of memory");
	al->reader.ops = &aligned_ops;
	al->align = a;
	al->guest = g;
	err = lanes_open(a, g, hint, al);
	if (!err)
		err = trace_info_init(&al->reader.info, g->path, al->first->info.kind);
	if (err) {
		aligned_close(&al->reader);
		return err;
	}
	json_object_update(al->reader.info.meta, al->first->info.meta);
	al->reader.info.start_ns = al->first->info.start_ns;
	al->reader.info.end_ns = al->first->info.end_ns;
	*ret = &al->reader;
	return 0;
}

static const struct reader_ops lane_ops = {
	.name = "lane",
	.summary = "a guest trace, or one vCPU of it, converted to the host's clock",
	.next = lane_next,
	.close = lane_close,
};

static const struct reader_ops aligned_ops = {
	.name = "aligned",
	.summary = "a guest trace converted to the host's clock",
	.next = aligned_next,
	.close = aligned_close,
};
