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

#include "base/array.h"
#include "base/error.h"
#include "event/losses.h"
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
	bool empty = r->now == UINT64_MAX && r->nr > 1 && r->oldest[r->nr - 1] == UINT64_MAX &&
		     r->oldest[r->nr - 2] == UINT64_MAX;

	if (empty)
		return 0;
	if (r->nr == PERFDATA_ROUNDS_MAX) {
		r->now = 0; /* before any loss: it ends none */
		return 0;
	}
	if (array_reserve(r->oldest, r->nr + 1, r->max))
		return -ENOMEM;
	r->oldest[r->nr++] = r->now;
	r->now = UINT64_MAX;
	return 0;
}

static int loss_record_add(struct perfdata *p, uint32_t cpu, uint64_t from, uint64_t until,
			   uint64_t count)
{
	struct rec_lost lost = {.hdr = {.time = from, .cpu = (uint16_t)cpu, .vcpu = RECORD_NO_VCPU},
				.lost_cpu = cpu == RECORD_CPU_UNKNOWN ? LOSS_CPU_UNKNOWN : cpu,
				.until = until, .count = count};

	return perfdata_record_add(p, event_type_ours(EV_lost), (const uint8_t *)&lost,
				   sizeof(lost));
}

static int loss_join(struct perfdata_losses *l, uint32_t cpu, uint64_t from, uint64_t until,
		     uint64_t count)
{
	struct perfdata_loss *x;

	if (!l->beyond)
		l->beyond = calloc(PERFDATA_CPUS_MAX + 1u, sizeof(*l->beyond));
	if (!l->beyond)
		return fail(-ENOMEM, "out of memory");
	x = &l->beyond[cpu < PERFDATA_CPUS_MAX ? cpu : PERFDATA_CPUS_MAX];
	x->from = !x->count || from < x->from ? from : x->from;
	x->until = until > x->until ? until : x->until;
	x->count += count;
	l->joined++;
	return 0;
}

/* Once all are known. */
static int losses_joined_add(struct perfdata *p)
{
	int err = 0;

	for (uint32_t i = 0; p->losses.beyond && !err && i <= PERFDATA_CPUS_MAX; i++) {
		const struct perfdata_loss *x = &p->losses.beyond[i];

		if (x->count)
			err = loss_record_add(p, i < PERFDATA_CPUS_MAX ? i : RECORD_CPU_UNKNOWN,
					      x->from, x->until, x->count);
	}
	free(p->losses.beyond);
	p->losses.beyond = NULL;
	return err;
}

int perfdata_loss_add(struct perfdata *p, uint32_t cpu, uint64_t from, uint64_t until,
		      uint64_t count)
{
	if (p->losses.nr == PERFDATA_LOSSES_MAX)
		return loss_join(&p->losses, cpu, from, until, count);
	p->losses.nr++;
	return loss_record_add(p, cpu, from, until, count);
}

/* Events of one CPU, or of an unknown one, are missing before the sample or the record that has this trailer. */
static int place_lost(struct perfdata *p, const struct perfdata_sample *at, uint64_t count)
{
	uint32_t cpu = perfdata_head_of(p, at).cpu;
	uint64_t last = cpu == RECORD_CPU_UNKNOWN ? 0 : p->last[cpu];
	uint64_t from = perfdata_loss_begin(last, p->older, at->time), until = at->time;

	if (last)
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

static int gap_record_add(struct perfdata *p, struct record_hdr hdr, uint64_t until)
{
	struct rec_gap gap = {.hdr = hdr, .gap_cpu = hdr.cpu, .until = until};

	gap.hdr.vcpu = RECORD_NO_VCPU;
	return perfdata_record_add(p, event_type_ours(EV_gap), (const uint8_t *)&gap, sizeof(gap));
}

/* A gap to the end, once for each CPU. */
static int gap_to_end(struct perfdata *p, struct record_hdr hdr)
{
	uint16_t slot = hdr.cpu % PERFDATA_CPUS_MAX; /* that of the last one for an unknown CPU */
	uint64_t *cpus = &p->losses.gap_cpus[slot / 64], cpu = 1ull << (slot % 64);

	if (*cpus & cpu)
		return 0;
	*cpus |= cpu;
	return gap_record_add(p, hdr, INT64_MAX);
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
	if (p->losses.nr == PERFDATA_LOSSES_MAX)
		return gap_to_end(p, perfdata_head_of(p, &at));
	p->losses.nr++;
	return gap_record_add(p, perfdata_head_of(p, &at),
			      rec->type == PERFDATA_THROTTLE ? INT64_MAX : time);
}

int perfdata_sample_losses(struct perfdata *p, const struct perfdata_attr *a,
			   const struct perfdata_sample *s)
{
	int err = 0;

	if (p->losses.waiting && !p->guest)
		err = place_lost(p, s, p->losses.waiting);
	p->losses.waiting = 0;
	if (err || p->guest || !a->partial || a->type != PERFDATA_TYPE_TRACEPOINT)
		return err;
	return gap_to_end(p, perfdata_head_of(p, s));
}

bool perfdata_is_partial(const struct perfdata_file *f)
{
	return array_any(f->nr_attrs, i,
			 f->attr[i].partial && f->attr[i].type == PERFDATA_TYPE_TRACEPOINT);
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
	p->losses.nr = 0; /* of the look at the beginning */
	while (!err && (more = perfdata_stream_next(&p->stream, &rec)) > 0)
		err = record_look(p, &rec);
	if (!err && more < 0 && more != -EBADMSG) /* that is reported when it is read again */
		err = more;
	if (!err)
		err = losses_joined_add(p);
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
	if (l->joined)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " losses after the first %d are one for each CPU, "
				  "from the first to the last",
				  info->file, l->joined, PERFDATA_LOSSES_MAX);
	if (l->throttled)
		trace_info_caveat(info, "%s: perf throttled tracepoints %" PRIu64 " times",
				  info->file, l->throttled);
	if (perfdata_is_partial(&p->file))
		trace_info_caveat(info,
				  "%s: tracepoints were sampled (perf record -F or -c): durations "
				  "between them are not known",
				  info->file);
}
