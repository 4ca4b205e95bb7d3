// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What perf did not record. A LOST record may come rounds later, when its CPU has something to record again: losses are
 * found in a pass before the events are read, and wait for their time.
 *
 *   LOST          a CPU's buffer had no space. The kernel writes it before the next record that it can store in that
 *                 buffer (perf_output_begin(), kernel/events/ring_buffer.c), so the place is known: between that CPU's
 *                 newest record and this one.
 *   LOST_SAMPLES  the same, from a counter's own buffer; or, without a time, the totals that a newer perf reads at the
 *                 end, by event (record__read_lost_samples(), tools/perf/builtin-record.c). What these count beyond the
 *                 LOST records was lost after the last record of its buffer. Or samples that a BPF filter dropped.
 *   THROTTLE      an event is disabled on this CPU until UNTHROTTLE: there may be samples missing, in no known number.
 *   attr.freq, attr.sample_period > 1: a sample stands for several occurrences. All durations may hide others.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "event/rows.h"
#include "readers/perf/perfdata_scan.h"

#define MISC_FILTERED_BY_BPF (1u << 15) /* PERF_RECORD_MISC_LOST_SAMPLES_BPF */

uint64_t perfdata_loss_begin(uint64_t last, uint64_t older, uint64_t until)
{
	if (last && last < until)
		return last + 1;
	return !last && older && older < until ? older : until;
}

uint64_t perfdata_loss_end(const struct perfdata_rounds *r, size_t last_round, uint64_t from,
			   uint64_t until)
{
	size_t later = last_round + 2;
	uint64_t end = later < r->nr ? r->oldest[later] : later == r->nr ? r->now : until;

	return end > from && end < until ? end : until;
}

int perfdata_round_add(struct perfdata_rounds *r)
{
	if (r->nr == r->max) {
		size_t max = r->max ? 2 * r->max : 256;
		void *more = realloc(r->oldest, max * sizeof(*r->oldest));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		r->oldest = more;
		r->max = max;
	}
	r->oldest[r->nr++] = r->now;
	r->now = UINT64_MAX;
	return 0;
}

int perfdata_loss_add(struct perfdata *p, uint32_t cpu, uint64_t from, uint64_t until,
		      uint64_t count)
{
	struct rec_lost lost = {.hdr = {.time = from, .cpu = (uint16_t)cpu, .vcpu = RECORD_NO_VCPU},
				.lost_cpu = cpu, .until = until, .count = count};

	return perfdata_record_add(p, event_type_ours(EV_lost), (const uint8_t *)&lost,
				   sizeof(lost));
}

/* Events of one CPU, or of an unknown one, are missing before the sample or the record that has this trailer. */
static int place_lost(struct perfdata *p, const struct perfdata_sample *at, uint64_t count)
{
	uint32_t cpu = perfdata_head_of(p, at).cpu;
	uint64_t from = perfdata_loss_begin(p->last[cpu], p->older, at->time), until = at->time;

	if (p->last[cpu])
		until = perfdata_loss_end(&p->losses.rounds, p->losses.last_round[cpu], from,
					  until);
	return perfdata_loss_add(p, cpu, from, until, count);
}

int perfdata_lost(struct perfdata *p, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, p->file.path, rec->offset);
	struct perfdata_sample at;
	uint64_t count;

	buffer_u64(&b); /* id */
	count = buffer_u64(&b);
	if (b.cut || !count)
		return 0;
	p->losses.told += count;
	if (p->guest) { /* a guest's do not apply to the host's events */
		p->reader.info.lost += count;
		return 0;
	}
	perfdata_trailer_parse(&p->file, rec, &at);
	if (at.have_time)
		return place_lost(p, &at, count);
	p->losses.waiting += count;
	return 0;
}

bool perfdata_is_filtered(const struct perfdata_record *rec)
{
	return rec->misc & MISC_FILTERED_BY_BPF;
}

int perfdata_lost_samples(struct perfdata *p, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, p->file.path, rec->offset);
	uint64_t count = buffer_u64(&b);
	struct perfdata_sample at;

	if (b.cut || !count || perfdata_is_filtered(rec))
		return 0;
	perfdata_trailer_parse(&p->file, rec, &at);
	if (!p->guest && at.have_time && at.time)
		return place_lost(p, &at, count);
	p->losses.by_event += count;
	return 0;
}

static int gap_add(struct perfdata *p, struct record_hdr hdr, uint64_t until)
{
	struct rec_gap gap = {.hdr = hdr, .gap_cpu = hdr.cpu, .until = until};

	gap.hdr.vcpu = RECORD_NO_VCPU;
	return perfdata_record_add(p, event_type_ours(EV_gap), (const uint8_t *)&gap, sizeof(gap));
}

int perfdata_throttle(struct perfdata *p, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, p->file.path, rec->offset);
	struct perfdata_sample at;
	uint64_t time = buffer_u64(&b);
	const struct perfdata_attr *a = perfdata_attr_of(&p->file, buffer_u64(&b));

	perfdata_trailer_parse(&p->file, rec, &at);
	if (b.cut || p->guest || !a || a->type != PERFDATA_TYPE_TRACEPOINT || a->partial ||
	    !at.have_time)
		return 0;
	p->losses.throttled += rec->type == PERFDATA_THROTTLE;
	at.time = time;
	return gap_add(p, perfdata_head_of(p, &at),
		       rec->type == PERFDATA_THROTTLE ? INT64_MAX : time);
}

int perfdata_sample_losses(struct perfdata *p, const struct perfdata_attr *a,
			   const struct perfdata_sample *s)
{
	struct record_hdr hdr = perfdata_head_of(p, s);
	uint64_t *cpus = &p->losses.gap_cpus[hdr.cpu / 64], cpu = 1ull << (hdr.cpu % 64);
	int err = 0;

	if (p->losses.waiting && !p->guest)
		err = place_lost(p, s, p->losses.waiting);
	p->losses.waiting = 0;
	if (err || p->guest || !a->partial || a->type != PERFDATA_TYPE_TRACEPOINT || *cpus & cpu)
		return err;
	*cpus |= cpu;
	return gap_add(p, hdr, INT64_MAX);
}

bool perfdata_is_partial(const struct perfdata_file *f)
{
	for (uint32_t i = 0; i < f->nr_attrs; i++)
		if (f->attr[i].partial && f->attr[i].type == PERFDATA_TYPE_TRACEPOINT)
			return true;
	return false;
}

/* ---- the pass before ---- */

static int sample_look(struct perfdata *p, const struct perfdata_record *rec)
{
	const struct perfdata_attr *a;
	struct perfdata_sample s;
	int err;

	if (perfdata_sample_parse(&p->file, rec, &s) ||
	    !(a = perfdata_attr_of(&p->file, s.have_id ? s.id : 0)) || !s.have_time)
		return 0;
	err = perfdata_sample_losses(p, a, &s);
	p->newest = s.time > p->newest ? s.time : p->newest;
	p->losses.rounds.now = s.time < p->losses.rounds.now ? s.time : p->losses.rounds.now;
	if (!s.have_cpu || s.cpu >= PERFDATA_CPUS_MAX || s.time <= p->last[s.cpu])
		return err;
	p->last[s.cpu] = s.time;
	p->losses.last_round[s.cpu] = p->losses.rounds.nr;
	return err;
}

static int record_look(struct perfdata *p, const struct perfdata_record *rec)
{
	switch (rec->type) {
	case PERFDATA_SAMPLE:
		return sample_look(p, rec);
	case PERFDATA_LOST:
		return perfdata_lost(p, rec);
	case PERFDATA_LOST_SAMPLES:
		return perfdata_lost_samples(p, rec);
	case PERFDATA_THROTTLE:
	case PERFDATA_UNTHROTTLE:
		return perfdata_throttle(p, rec);
	case PERFDATA_FINISHED_ROUND:
		p->older = p->before;
		p->before = p->newest;
		return perfdata_round_add(&p->losses.rounds);
	default:
		return 0;
	}
}

int perfdata_losses_find(struct perfdata *p)
{
	struct perfdata_record rec;
	int more, err = 0;

	p->losses.rounds.now = UINT64_MAX;
	while (!err && (more = perfdata_stream_next(&p->stream, &rec)) > 0)
		err = record_look(p, &rec);
	if (!err && more < 0 && more != -EBADMSG) /* that is reported when it is read again */
		err = more;
	p->newest = p->before = p->older = 0;
	memset(p->last, 0, sizeof(p->last));
	free(p->losses.rounds.oldest);
	p->losses.rounds = (struct perfdata_rounds){0};
	return err;
}

int perfdata_losses_add(struct perfdata *p, const struct perfdata_scan *s)
{
	int err = 0;

	for (size_t i = 0; i < s->nr_losses && !err; i++)
		err = perfdata_loss_add(p, s->loss[i].cpu, s->loss[i].time_ns, s->loss[i].until_ns,
					s->loss_count[i]);
	p->losses.told = s->lost;
	p->losses.by_event = s->by_event;
	return err;
}

void perfdata_losses_end(struct perfdata *p)
{
	struct perfdata_losses *l = &p->losses;
	struct trace_info *info = &p->reader.info;

	info->lost += l->waiting;
	if (l->by_event > l->told) {
		info->lost += l->by_event - l->told;
		trace_info_caveat(info,
				  "%s: %" PRIu64
				  " events were lost after the last event of their CPU: they are "
				  "missing at its end",
				  info->file, l->by_event - l->told);
	}
	if (l->throttled)
		trace_info_caveat(info, "%s: perf throttled tracepoints %" PRIu64 " times",
				  info->file, l->throttled);
	if (perfdata_is_partial(&p->file))
		trace_info_caveat(info,
				  "%s: tracepoints were sampled (perf record -F or -c): durations "
				  "between them are not known",
				  info->file);
}
