// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A first pass over a perf.data, for its rows (event/rows.h): where each CPU's samples are, their times, and what was
 * lost. It only looks at the heads of records. Compressed files and what is unusual are left to the batches.
 */
#include <sys/mman.h>

#include "base/file_map.h"
#include "base/log.h"
#include "base/order.h"
#include "readers/ftrace/vm_threads.h"
#include "readers/perf/perfdata_scan.h"

/* What the files of the reader share: its state, and how a record becomes an event. */

/* ---- losses: perfdata_lost.c; 0 or -errno with the error message set ---- */

/* ---- rows: perfdata_rows.c ---- */

enum {
	PIECE_EVENTS = 8192,
	PIECES_BYTES = 16 << 20, /* of all CPUs at a time */
	PIECE_BYTES = 1 << 20,
	PARTS_MAX = 16 << 20, /* pieces, extents */
	NAME_RECORDS_MAX = 1 << 20,
	THREADS_MAX = 1 << 20,
};

/* A CPU while its records are passed. */
struct cpu_scan {
	uint64_t last, last_any; /* time of the newest tracepoint's sample; of the newest sample */
	size_t round; /* of the newest sample */
	uint64_t named; /* tid << 16 | vCPU of the newest event that named it */
	uint32_t piece;	      /* its open piece + 1; 0: none */
};

/* Samples of one CPU that follow each other. */
struct sample_run {
	uint64_t at, end, first, last; /* offsets; times */
	uint32_t cpu, nr;
};

struct pass {
	struct perfdata *p;
	struct perfdata_scan *s;
	struct perfdata_layout_cache cache;
	uint16_t *own_vcpu; /* ftrace_events_own_vcpus() */
	struct cpu_scan cpu[PERFDATA_CPUS_MAX];
	unsigned int nr_cpus;
	uint32_t piece_bytes; /* of one piece at most: one is open for each CPU */
	struct sample_run run;
	struct perfdata_rounds rounds;
	uint64_t before, older, released; /* as in struct perfdata; samples before this time were delivered */
};

static bool unsuited(const char *why)
{
	debug("read", "perf.data: no rows: %s", why);
	return false;
}

/* Space for one more of `size` bytes. */
static bool scan_grow(void **array, size_t nr, size_t *max, size_t size, size_t limit)
{
	size_t more = *max ? 2 * *max : 256;
	void *grown;

	if (nr < *max)
		return true;
	if (nr >= limit || !(grown = realloc(*array, more * size)))
		return unsuited("too many parts, or out of memory");
	*array = grown;
	*max = more;
	return true;
}

/* ---- pieces ---- */

/* The samples of one CPU that follow each other become a part of its piece when another's follow, or it is full. */
static bool run_end(struct pass *w)
{
	struct perfdata_scan *s = w->s;
	struct sample_run *run = &w->run;
	struct perfdata_piece *piece;
	struct cpu_scan *c = &w->cpu[run->cpu];

	if (!run->nr)
		return true;
	if (!scan_grow((void **)&s->extent, s->nr_extents, &s->max_extents, sizeof(*s->extent),
		       PARTS_MAX) ||
	    !scan_grow((void **)&s->piece, s->nr_pieces, &s->max_pieces, sizeof(*s->piece),
		       PARTS_MAX))
		return false;
	s->extent[s->nr_extents] =
		(struct perfdata_extent){.at = run->at, .len = (uint32_t)(run->end - run->at)};
	if (c->piece) {
		piece = &s->piece[c->piece - 1];
		s->extent[piece->newest_extent].next = (uint32_t)s->nr_extents;
	} else {
		piece = &s->piece[s->nr_pieces++];
		*piece = (struct perfdata_piece){.first = run->first, .cpu = run->cpu,
						 .extent = (uint32_t)s->nr_extents};
		c->piece = (uint32_t)s->nr_pieces;
	}
	piece->newest_extent = (uint32_t)s->nr_extents++;
	piece->bytes += (uint32_t)(run->end - run->at);
	piece->nr_events += run->nr;
	piece->last = c->last = run->last;
	c->last_any = run->last > c->last_any ? run->last : c->last_any;
	c->round = w->rounds.nr;
	w->rounds.now = run->first < w->rounds.now ? run->first : w->rounds.now;
	if (piece->nr_events > PIECE_EVENTS / 2 || piece->bytes > w->piece_bytes / 2)
		c->piece = 0;
	run->nr = 0;
	return true;
}

static bool run_begin(struct pass *w, uint32_t cpu, uint64_t time, uint64_t at)
{
	if (!run_end(w))
		return false;
	if (cpu >= PERFDATA_CPUS_MAX)
		return unsuited("a CPU's number is too large");
	if (time < w->cpu[cpu].last || !time)
		return unsuited("samples are out of order");
	if (cpu >= w->nr_cpus) {
		w->nr_cpus = cpu + 1;
		w->piece_bytes = PIECES_BYTES / w->nr_cpus;
		w->piece_bytes = w->piece_bytes < PIECE_BYTES ? w->piece_bytes : PIECE_BYTES;
	}
	w->run = (struct sample_run){.cpu = cpu, .at = at, .first = time, .last = time};
	return true;
}

/* ---- samples ---- */

static bool vcpu_note(struct pass *w, struct cpu_scan *c, const uint8_t *raw, uint32_t len,
		      unsigned int offset, uint64_t at)
{
	struct perfdata_thread *t;
	uint32_t vcpu;
	int32_t tid;
	uint64_t key;
	bool is_new;

	memcpy(&tid, raw + 4, sizeof(tid));
	if (offset == FTRACE_VCPU_BY_NAME) {
		t = hash_find_u64(&w->s->threads, (uint32_t)tid);
		if (t && t->named_at == UINT64_MAX)
			t->named_at = at;
		return true;
	}
	if (offset + sizeof(vcpu) > len)
		return true;
	memcpy(&vcpu, raw + offset, sizeof(vcpu));
	key = (uint64_t)(uint32_t)tid << 16 | (uint16_t)vcpu;
	if (tid <= 0 || key == c->named)
		return true;
	c->named = key;
	t = hash_add_u64(&w->s->threads, (uint64_t)tid, &is_new);
	if (!t)
		return unsuited("too many threads");
	if (is_new || t->named_at == UINT64_MAX) {
		t->vcpu = (uint16_t)vcpu;
		t->named_at = at;
	}
	return t->vcpu == (uint16_t)vcpu || unsuited("a thread changes its vCPU");
}

static bool has_chain(const struct perfdata_layout *l, const uint8_t *rec, uint32_t size)
{
	uint64_t nr, at = l->chain;

	if (!at || at + sizeof(nr) > size)
		return false;
	memcpy(&nr, rec + at, sizeof(nr));
	at += sizeof(nr);
	return nr <= (size - at) / 8 && perfdata_chain_any(rec + at, nr);
}

static bool tracepoint_scan(struct pass *w, const struct perfdata_layout *l, const uint8_t *rec,
			    uint32_t size, uint64_t at)
{
	struct sample_run *run = &w->run;
	const uint8_t *raw;
	uint32_t cpu, len;
	uint64_t time;
	uint16_t id;
	unsigned int slot, others = ftrace_events_slots(w->p->events) - 1;

	if (!perfdata_raw(l, rec, size, &raw, &len) ||
	    len > EVENT_RECORD_MAX - sizeof(struct record_hdr))
		return unsuited("a sample is damaged");
	memcpy(&time, rec + l->time, sizeof(time));
	memcpy(&cpu, rec + l->cpu, sizeof(cpu));
	memcpy(&id, raw, sizeof(id));
	if ((cpu != run->cpu || run->nr == PIECE_EVENTS / 2 || at - run->at > w->piece_bytes / 2 ||
	     !run->nr) &&
	    !run_begin(w, cpu, time, at))
		return false;
	if (time < run->last || time < w->released)
		return unsuited("samples are out of order");
	w->s->nr[id]++;
	w->s->nr_chains[id] += has_chain(l, rec, size);
	w->s->newest = time > w->s->newest ? time : w->s->newest;
	run->last = time;
	run->end = at + size;
	run->nr++;
	slot = id < others ? id : others;
	return !w->own_vcpu[slot] || vcpu_note(w, &w->cpu[cpu], raw, len, w->own_vcpu[slot], at);
}

static bool sample_scan(struct pass *w, const uint8_t *rec, uint32_t size, uint64_t at)
{
	const struct perfdata_layout *l =
		perfdata_layout_of(&w->p->file, w->s, &w->cache, rec, size);
	uint64_t time;
	uint32_t cpu;

	if (!l)
		return unsuited("a sample is of an unknown event");
	if (l->tracepoint)
		return tracepoint_scan(w, l, rec, size, at);
	if (l->time + sizeof(time) > size)
		return unsuited("a sample is damaged");
	memcpy(&time, rec + l->time, sizeof(time));
	if (l->cpu && l->cpu + sizeof(cpu) <= size) {
		memcpy(&cpu, rec + l->cpu, sizeof(cpu));
		if (cpu < PERFDATA_CPUS_MAX && time > w->cpu[cpu].last_any) {
			w->cpu[cpu].last_any = time;
			w->cpu[cpu].round = w->rounds.nr;
		}
	}
	w->s->newest = time > w->s->newest ? time : w->s->newest;
	w->s->nr_plain++;
	w->s->nr_plain_chains += has_chain(l, rec, size);
	return true;
}

/* ---- other records ---- */

/* Its place is that of perfdata_lost(). */
static bool lost_scan(struct pass *w, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, w->p->file.path, rec->offset);
	struct perfdata_scan *s = w->s;
	struct perfdata_sample at;
	uint64_t count, from, until;

	buffer_u64(&b);
	count = buffer_u64(&b);
	if (b.cut || !count)
		return true;
	perfdata_trailer_parse(&w->p->file, rec, &at);
	if (!at.have_time || !at.have_cpu || at.cpu >= PERFDATA_CPUS_MAX)
		return unsuited("a loss has no time");
	if (s->nr_losses == PERFDATA_LOSSES_MAX)
		return unsuited("too many losses");
	if (!scan_grow((void **)&s->loss, s->nr_losses, &s->max_losses, sizeof(*s->loss),
		       PARTS_MAX) ||
	    !scan_grow((void **)&s->loss_count, s->nr_losses, &s->max_counts,
		       sizeof(*s->loss_count), PARTS_MAX))
		return false;
	from = perfdata_loss_begin(w->cpu[at.cpu].last_any, w->older, at.time);
	until = !w->cpu[at.cpu].last_any
			? at.time
			: perfdata_loss_end(&w->rounds, w->cpu[at.cpu].round, from, at.time);
	s->loss_count[s->nr_losses] = count;
	s->loss[s->nr_losses++] = (struct rows_loss){
		.time_ns = from, .until_ns = until, .cpu = (uint16_t)at.cpu, .first = true};
	s->lost += count;
	return true;
}

static bool lost_samples_scan(struct pass *w, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, w->p->file.path, rec->offset);
	struct perfdata_sample at;

	perfdata_trailer_parse(&w->p->file, rec, &at);
	if (perfdata_is_filtered(rec))
		return true;
	if (at.have_time && at.time)
		return unsuited("a counter's samples were lost");
	w->s->by_event += buffer_u64(&b);
	return true;
}

static bool round_end(struct pass *w)
{
	w->released = w->older;
	w->older = w->before;
	w->before = w->s->newest;
	return !perfdata_round_add(&w->rounds);
}

/* As ftrace_events_thread_named(): it counts from the thread's next event of KVM on. */
static bool vcpu_name_note(struct pass *w, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, w->p->file.path, rec->offset);
	uint32_t tid = (buffer_u32(&b), buffer_u32(&b)); /* after the pid */
	const char *name = (const char *)rec->data + 8;
	uint16_t vcpu = b.cut ? RECORD_NO_VCPU
			      : vm_threads_vcpu_of_name(name, strnlen(name, rec->len - 8));
	struct perfdata_thread *t;
	bool is_new;

	if (vcpu == RECORD_NO_VCPU || w->p->guest)
		return true;
	t = hash_add_u64(&w->s->threads, tid, &is_new);
	if (!t)
		return unsuited("too many threads");
	if (is_new) {
		t->vcpu = vcpu;
		t->named_at = UINT64_MAX;
	}
	return true;
}

static bool name_note(struct pass *w, const struct perfdata_record *rec)
{
	struct perfdata_scan *s = w->s;

	if (!scan_grow((void **)&s->name_at, s->nr_names, &s->max_names, sizeof(*s->name_at),
		       NAME_RECORDS_MAX))
		return false;
	s->name_at[s->nr_names++] = rec->offset - PERFDATA_HEAD;
	return rec->type != PERFDATA_COMM || vcpu_name_note(w, rec);
}

/* What follows the record in a pipe's stream. */
static uint64_t blob_len(const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, "", 0);

	return rec->type == PERFDATA_TRACING_DATA ? buffer_u32(&b)
	       : rec->type == PERFDATA_AUXTRACE	  ? buffer_u64(&b)
						  : 0;
}

static bool other_scan(struct pass *w, const struct perfdata_record *rec)
{
	switch (rec->type) {
	case PERFDATA_LOST:
		return lost_scan(w, rec);
	case PERFDATA_LOST_SAMPLES:
		return lost_samples_scan(w, rec);
	case PERFDATA_COMM:
	case PERFDATA_FORK:
		return name_note(w, rec);
	case PERFDATA_TIME_CONV:
		return !perfdata_time_conv(w->p, rec);
	case PERFDATA_FINISHED_ROUND:
		return round_end(w);
	case PERFDATA_THROTTLE:
	case PERFDATA_UNTHROTTLE:
		return unsuited("events were throttled");
	case PERFDATA_COMPRESSED:
	case PERFDATA_COMPRESSED2:
		return unsuited("it is compressed");
	default:
		return true;
	}
}

/* ---- all records ---- */

static bool records_scan(struct pass *w)
{
	const uint8_t *map = w->s->map;
	uint64_t at = w->p->file.data_at, end = w->p->file.data_end;

	while (end - at >= PERFDATA_HEAD) {
		struct perfdata_record rec;
		uint64_t head, blob;
		uint32_t size;

		__builtin_prefetch(map + at + PERFDATA_AHEAD);
		memcpy(&head, map + at, sizeof(head));
		size = (uint32_t)(head >> 48);
		if (size < PERFDATA_HEAD || size > end - at)
			return unsuited("it is truncated or damaged");
		if ((uint32_t)head == PERFDATA_SAMPLE) {
			if (!sample_scan(w, map + at, size, at))
				return false;
			at += size;
			continue;
		}
		rec = (struct perfdata_record){.type = (uint32_t)head,
					       .misc = (uint16_t)(head >> 32),
					       .data = map + at + PERFDATA_HEAD,
					       .len = size - PERFDATA_HEAD,
					       .offset = at + PERFDATA_HEAD};
		blob = blob_len(&rec);
		if (blob > end - at - size)
			return unsuited("it is truncated or damaged");
		if (!run_end(w) || !other_scan(w, &rec))
			return false;
		at += size + blob;
	}
	return at == end || unsuited("it is truncated or damaged");
}

/* ---- layouts ---- */

static bool layouts_make(struct perfdata_scan *s, const struct perfdata_file *f)
{
	uint16_t id_at = 0;

	s->uniform = true;
	for (uint32_t i = 0; i < f->nr_attrs; i++) {
		if (!perfdata_layout_make(&f->attr[i], &s->layout[i], &id_at) ||
		    (i && id_at != s->id_at))
			return unsuited("samples lack times or CPUs, or have parts of any length");
		s->id_at = id_at;
		s->uniform &= !memcmp(&s->layout[i], &s->layout[0], sizeof(s->layout[0]));
	}
	if (f->nr_attrs == 1)
		s->id_at = 0;
	return f->nr_attrs == 1 || s->id_at || unsuited("samples do not name their event");
}

const struct perfdata_layout *perfdata_layout_find(const struct perfdata_file *f,
						   const struct perfdata_scan *s,
						   struct perfdata_layout_cache *cache, uint64_t id)
{
	const struct perfdata_attr *a = perfdata_attr_of((struct perfdata_file *)f, id);

	if (!a)
		return NULL;
	cache->slot[id % 256].id = id;
	return cache->slot[id % 256].layout = &s->layout[a - f->attr];
}

/* ---- open and close ---- */

static bool scan_fill(struct perfdata_scan *s, struct perfdata *p)
{
	struct pass *w = calloc(1, sizeof(*w));
	void *map;
	bool fine;

	s->nr_extents = 1;
	s->threads = HASH_TABLE(struct perfdata_thread, 1, THREADS_MAX);
	s->nr = calloc(FTRACE_IDS, sizeof(*s->nr));
	s->nr_chains = calloc(FTRACE_IDS, sizeof(*s->nr_chains));
	s->max_extents = 256;
	s->extent = calloc(s->max_extents, sizeof(*s->extent));
	if (w)
		w->own_vcpu = ftrace_events_own_vcpus(p->events);
	fine = w && s->nr && s->nr_chains && s->extent && w->own_vcpu && layouts_make(s, &p->file);
	if (fine) {
		map = file_map(p->file.fd, p->file.bytes, p->file.path);
		fine = map;
		s->map = map;
		s->map_len = p->file.bytes;
	}
	if (fine) {
		madvise(map, s->map_len, MADV_SEQUENTIAL);
		*w = (struct pass){.p = p, .s = s, .own_vcpu = w->own_vcpu,
				   .rounds.now = UINT64_MAX};
		fine = records_scan(w) && run_end(w);
	}
	if (w) {
		free(w->own_vcpu);
		free(w->rounds.oldest);
	}
	free(w);
	return fine;
}

ORDER_BY(by_first, struct perfdata_piece, first, extent)

static bool pieces_sort(struct perfdata_scan *s)
{
	s->row_piece = calloc(s->nr_pieces + 1, sizeof(*s->row_piece));
	if (s->nr_pieces)
		qsort(s->piece, s->nr_pieces, sizeof(*s->piece), by_first);
	for (size_t i = 0; i < s->nr_pieces && s->row_piece; i++)
		s->row_piece[i] = (struct rows_piece){.first_ns = s->piece[i].first,
						      .last_ns = s->piece[i].last,
						      .bytes = s->piece[i].bytes,
						      .nr_events = s->piece[i].nr_events};
	return s->row_piece;
}

struct perfdata_scan *perfdata_scan(struct perfdata *p)
{
	struct perfdata_scan *s;

	if (p->guest || p->file.directory || !p->file.have_formats || p->file.unended ||
	    !p->file.nr_attrs || p->file.bytes > SIZE_MAX || perfdata_is_partial(&p->file))
		return unsuited("it is a guest's, without formats, or unfinished"), NULL;
	s = calloc(1, sizeof(*s));
	if (s && scan_fill(s, p) && pieces_sort(s))
		return s;
	perfdata_scan_free(s);
	return NULL;
}

void perfdata_scan_free(struct perfdata_scan *s)
{
	if (!s)
		return;
	file_unmap((void *)s->map, s->map_len);
	hash_deinit(&s->threads);
	free(s->extent);
	free(s->piece);
	free(s->row_piece);
	free(s->loss);
	free(s->loss_count);
	free(s->nr);
	free(s->nr_chains);
	free(s->name_at);
	free(s);
}
