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
#include <zstd.h>
#include <zstd_errors.h>

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
	if (array_reserve(r->oldest, r->nr + 1, r->max))
		return -ENOMEM;
	r->oldest[r->nr++] = r->now;
	r->now = UINT64_MAX;
	return 0;
}

int perfdata_loss_add(struct perfdata *p, uint32_t cpu, uint64_t from, uint64_t until,
		      uint64_t count)
{
	struct rec_lost lost = {.hdr = {.time = from, .cpu = (uint16_t)cpu, .vcpu = RECORD_NO_VCPU},
				.lost_cpu = cpu == RECORD_CPU_UNKNOWN ? LOSS_CPU_UNKNOWN : cpu,
				.until = until, .count = count};

	return perfdata_record_add(p, event_type_ours(EV_lost), (const uint8_t *)&lost,
				   sizeof(lost));
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
	uint16_t slot = hdr.cpu % PERFDATA_CPUS_MAX; /* that of the last one for an unknown CPU */
	uint64_t *cpus = &p->losses.gap_cpus[slot / 64], cpu = 1ull << (slot % 64);
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

/*
 * Records in the order of the file. `perf record -z` packs runs of them into COMPRESSED records, all in one zstd
 * stream; a record may begin in one of these and end in the next. The stream's window is the most memory that a
 * perf.data can need: it exists from the first COMPRESSED record to the end of the data.
 */

enum {
	BLOCK = 256 << 10, /* of the file; of what is unpacked */
	HEAD = 8,	   /* u32 type, u16 misc, u16 size */
	WINDOW_LOG_MAX = 27, /* that of perf record -z22 (128 MiB); of the default, -z1, it is 19 */
};

int perfdata_stream_init(struct perfdata_stream *s, struct perfdata_file *f,
			 struct ftrace_events *events, size_t block_bytes)
{
	*s = (struct perfdata_stream){.file = f, .events = events, .at = f->data_at,
				      .block_bytes = block_bytes ? block_bytes : BLOCK};
	if (f->directory)
		return perfdata_parts_open(f, events, &s->parts);
	s->block = malloc(s->block_bytes);
	s->plain = malloc(s->block_bytes);
	return s->block && s->plain ? 0 : fail(-ENOMEM, "%s: out of memory", f->path);
}

void perfdata_stream_deinit(struct perfdata_stream *s)
{
	perfdata_parts_close(s->parts);
	free(s->block);
	free(s->plain);
	ZSTD_freeDStream(s->zstd);
	*s = (struct perfdata_stream){0};
}

/* At least `want` bytes from s->next on: 1, 0 if the data ends before, -errno. s->at: offset of the block's end. */
static int block_fill(struct perfdata_stream *s, size_t want)
{
	size_t have = s->len - s->next, room;
	uint64_t left = s->file->data_end - s->at;
	int err;

	if (have >= want)
		return 1;
	if (left < want - have)
		return 0;
	memmove(s->block, s->block + s->next, have);
	room = s->block_bytes - have;
	room = left < room ? (size_t)left : room;
	err = perfdata_load(s->file, s->at, room, s->block + have);
	if (err)
		return err;
	s->next = 0;
	s->len = have + room;
	s->at += room;
	return 1;
}

static uint64_t block_offset(const struct perfdata_stream *s)
{
	return s->at - (s->len - s->next);
}

/* Passes over data that is between two records. */
static void skip(struct perfdata_stream *s, uint64_t len)
{
	uint64_t have = s->len - s->next, left = s->file->data_end - s->at;

	if (len <= have) {
		s->next += len;
		return;
	}
	s->next = s->len;
	s->cut |= len - have > left;
	s->at += len - have > left ? left : len - have;
}

/* The record that begins at `p`, if it is all there (len bytes). 1, 0, or -EBADMSG. */
static int record_at(const struct perfdata_stream *s, const uint8_t *p, size_t len, uint64_t offset,
		     struct perfdata_record *ret)
{
	uint16_t size;

	if (len < HEAD)
		return 0;
	memcpy(&ret->type, p, 4);
	memcpy(&ret->misc, p + 4, 2);
	memcpy(&size, p + 6, 2);
	if (size < HEAD)
		return fail(-EBADMSG,
			    "%s: offset %" PRIu64 ": invalid record size %u",
			    s->file->path, offset, size);
	ret->data = p + HEAD;
	ret->len = (size_t)size - HEAD;
	ret->offset = offset + HEAD;
	return len >= size;
}

/* ---- packed records ---- */

static int packed_begin(struct perfdata_stream *s, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, s->file->path, rec->offset);
	size_t len = rec->len;

	if (rec->type == PERFDATA_COMPRESSED2) { /* padded: it contains its length */
		uint64_t said = buffer_u64(&b);

		if (b.cut || said > buffer_left(&b))
			return buffer_fail(&b, "a compressed record exceeds its own size");
		len = (size_t)said;
	}
	if (!s->zstd) {
		s->zstd = ZSTD_createDStream();
		if (!s->zstd)
			return fail(-ENOMEM, "%s: out of memory", s->file->path);
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	}
	s->packed_left = len;
	s->packed_end = s->next;
	s->next = (size_t)(b.pos - s->block);
	return 0;
}

static int packed_fail(const struct perfdata_stream *s, size_t status)
{
	if (ZSTD_isError(status) &&
	    ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge)
		return fail(-EBADMSG,
			    "%s: offset %" PRIu64
			    ": the compressed data needs a window of more than %d MiB, which "
			    "perf record -z does not write: record again, with -z or without",
			    s->file->path, block_offset(s), 1 << (WINDOW_LOG_MAX - 20));
	return fail(-EBADMSG, "%s: offset %" PRIu64 ": cannot decompress data", s->file->path,
		    block_offset(s));
}

/* Unpacks as much as there is space for. */
static int packed_take(struct perfdata_stream *s)
{
	size_t have = s->plain_len - s->plain_next, status;
	ZSTD_inBuffer in = {s->block + s->next, s->packed_left, 0};
	ZSTD_outBuffer out = {s->plain, s->block_bytes, have};

	memmove(s->plain, s->plain + s->plain_next, have);
	s->plain_next = 0;
	status = ZSTD_decompressStream(s->zstd, &out, &in);
	if (ZSTD_isError(status) || (s->packed_left && !in.pos && out.pos == have))
		return packed_fail(s, status);
	s->plain_len = out.pos;
	s->packed_left -= in.pos;
	s->next = s->packed_left ? s->next + in.pos : s->packed_end;
	s->plain_full = out.pos == s->block_bytes; /* there may be more inside */
	return 0;
}

static int plain_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	const uint8_t *p = s->plain + s->plain_next;
	int more = record_at(s, p, s->plain_len - s->plain_next, s->plain_next, ret);

	if (more > 0)
		s->plain_next += ret->len + HEAD;
	return more;
}

/* ---- records of the file ---- */

static int block_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	int more = block_fill(s, HEAD);

	if (more <= 0) {
		s->cut |= s->len > s->next;
		return more;
	}
	more = record_at(s, s->block + s->next, s->len - s->next, block_offset(s), ret);
	if (more)
		return more;
	more = block_fill(s, ret->len + HEAD);
	s->cut |= !more;
	if (more > 0)
		more = record_at(s, s->block + s->next, s->len - s->next, block_offset(s), ret);
	return more;
}

/* The blob after its record. */
static int formats_take(struct perfdata_stream *s, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, s->file->path, rec->offset);
	uint32_t len = buffer_u32(&b);
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t offset = block_offset(s);
	int err = buffer_ok(&b, "the record of the event formats");

	if (err)
		return err;
	if (len > PERFDATA_SECTION_MAX || len > s->file->data_end - offset)
		return buffer_fail(&b, "invalid size %u of the event formats", len);
	data = malloc((size_t)len + 1);
	if (!data)
		return fail(-ENOMEM, "%s: out of memory", s->file->path);
	err = perfdata_load(s->file, offset, len, data);
	skip(s, len);
	return err ? err : perfdata_formats(s->file, data, len, offset, s->events);
}

/* 1: it was for us, and is done; 0: the caller wants it. */
static int describing(struct perfdata_stream *s, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, s->file->path, rec->offset);
	int err = 0;

	switch (rec->type) {
	case PERFDATA_HEADER_ATTR:
		err = perfdata_attr_record(s->file, &b);
		break;
	case PERFDATA_TRACING_DATA:
		err = formats_take(s, rec);
		break;
	case PERFDATA_FEATURE:
		err = perfdata_feature_record(s->file, &b);
		break;
	case PERFDATA_AUXTRACE:
		skip(s, buffer_u64(&b));
		break;
	case PERFDATA_COMPRESSED:
	case PERFDATA_COMPRESSED2:
		err = packed_begin(s, rec);
		break;
	default:
		return 0;
	}
	return err ? err : 1;
}

static int record_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	for (;;) {
		int more = plain_next(s, ret);

		if (more)
			return more < 0 ? more : 1;
		if (s->packed_left || s->plain_full) {
			more = packed_take(s);
			if (more)
				return more;
			continue;
		}
		more = block_next(s, ret);
		if (more <= 0)
			return more;
		s->next += ret->len + HEAD;
		more = describing(s, ret);
		if (more <= 0)
			return more < 0 ? more : 1;
	}
}

int perfdata_stream_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	int more = s->ended   ? 0
		   : s->parts ? perfdata_parts_next(s->parts, s->file, ret, &s->cut)
			      : record_next(s, ret);

	if (more <= 0) { /* another reader of the file may follow before this one is closed */
		ZSTD_freeDStream(s->zstd);
		s->zstd = NULL;
		s->ended = true;
	}
	return more;
}
