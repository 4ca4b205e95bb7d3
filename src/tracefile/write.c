// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records are collected to a chunk in memory and go out in one write: when the chunk is large, or at the end of a
 * round if its oldest record has waited for a second, so that a SIGKILL loses no more than that. Before the first
 * chunk in which a type occurs stands a schema chunk that declares it.
 *
 * Once the file cannot be written, records are counted only, and the end of the file reports them as lost.
 */
#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "tracefile/out.h"
#include "tracefile/tracefile.h"

enum {
	CHUNK_TARGET = 256 << 10,
	RING_CHUNK_MIN =
		4 << 10, /* a flight recorder's chunks are a sixteenth of it, but no smaller */
	MISSING_TYPES = 2 * RECORD_DECLARED_FIRST, /* those of higher ids are summed up */
};

#define WAIT_MAX_NS 1000000000ull /* a record waits no longer in memory, if rounds end in time */

/* Records of a type that are not in the file, and when they were. */
struct missing {
	uint64_t count, first_ns, last_ns;
};

/* A type that is not ours. */
struct foreign {
	uint64_t type; /* the pointer */
	uint16_t id;
};

struct trace_writer {
	char *path;
	struct trace_header head;
	struct trace_out *out;
	struct trace_ring *ring; /* flight recorder, else NULL */
	struct trace_writer_options opt;
	uint64_t synced_ns, synced_bytes; /* time and size of the last sync */
	json_t *meta;
	int err; /* the first failure; no record is written after it */
	struct missing missing[MISSING_TYPES]; /* by type; 0: other ones */
	bool any;			       /* the file has records */
	bool ended;
	size_t target, most; /* bytes: a chunk this large is written at the round's end, or at once */

	struct trace_chunk chunk; /* being filled */
	uint64_t chunk_since_ns;  /* time of its first record */
	uint64_t watermark_ns;
	const struct event_type *types[NR_TYPE_IDS]; /* by id in the file */
	struct hash_table ids;			     /* of struct foreign */
	uint16_t next_id;
	uint32_t count[NR_TYPE_IDS]; /* of the chunk being filled */
	bool announced[NR_TYPE_IDS]; /* has its schema in w->out */
};

static uint64_t meta_u64(const json_t *meta, const char *key, uint64_t fallback)
{
	const json_t *v = json_object_get(meta, key);

	return json_is_integer(v) ? (uint64_t)json_integer_value(v) : fallback;
}

/* The start is now, unless the metadata know better (a converted trace). */
static struct trace_header header_make(const json_t *meta)
{
	struct trace_header h = {
		.start_monotonic_ns =
			meta_u64(meta, "start_monotonic_ns", monotonic_ns()),
		.start_realtime_ns =
			meta_u64(meta, "start_realtime_ns", clock_read_ns(CLOCK_REALTIME)),
	};

	if (getrandom(h.id, sizeof(h.id), GRND_NONBLOCK) < 0)
		memset(h.id, 0, sizeof(h.id));
	return h;
}

void trace_writer_abandon(struct trace_writer *w)
{
	if (!w)
		return;
	trace_out_abandon(w->out);
	trace_ring_free(w->ring);
	json_decref(w->meta);
	hash_deinit(&w->ids);
	free(w->chunk.data);
	free(w->chunk.counts);
	free(w->path);
	free(w);
}

DEFINE_CLEANUP(writer, struct trace_writer *, trace_writer_abandon);

static void chunk_reset(struct trace_writer *w)
{
	for (unsigned int i = 0; i < w->chunk.h.nr_counts; i++)
		w->count[w->chunk.counts[i].type] = 0;
	w->chunk.h = (struct chunk_header){.kind = CHUNK_RECORDS, .first_ns = UINT64_MAX};
	w->chunk.len = 0;
}

static int writer_alloc(struct trace_writer *w, const char *path, uint64_t max_bytes)
{
	if (max_bytes)
		w->ring = trace_ring_new(max_bytes);
	w->path = strdup(path);
	w->chunk.data = malloc(RECORDS_RAW_MAX);
	w->chunk.counts = calloc(NR_TYPE_IDS, sizeof(*w->chunk.counts));
	w->next_id = RECORD_DECLARED_FIRST;
	w->ids = HASH_TABLE(struct foreign, 1, NR_TYPE_IDS);
	chunk_reset(w);
	if (!w->path || !w->chunk.data || !w->chunk.counts || (max_bytes && !w->ring))
		return fail(-ENOMEM, "%s: out of memory", path);
	return 0;
}

static void targets_find(struct trace_writer *w)
{
	uint64_t most = trace_out_chunk_max(w->out), ring = w->opt.max_bytes / 16;

	w->most = most < RECORDS_RAW_MAX ? most : RECORDS_RAW_MAX;
	w->target = w->most < CHUNK_TARGET ? w->most : CHUNK_TARGET;
	if (w->ring && ring < w->target)
		w->target = ring < RING_CHUNK_MIN ? RING_CHUNK_MIN : ring;
}

int trace_writer_open(const char *path, const struct trace_writer_options *opt, json_t *meta,
		      struct trace_writer **ret)
{
	_cleanup_(writer_cleanup_) struct trace_writer *w = calloc(1, sizeof(*w));
	int err = w ? writer_alloc(w, path, opt->max_bytes)
		    : fail(-ENOMEM, "%s: out of memory", path);

	if (err)
		return err;
	w->opt = *opt;
	w->synced_ns = monotonic_ns();
	w->meta = json_incref(meta);
	w->head = header_make(meta);
	err = opt->stream ? trace_out_stream(opt->stream, path, &w->head, opt->zstd, &w->out)
			  : trace_out_create(path, &w->head, opt->zstd, opt->whole, &w->out);
	if (!err)
		err = trace_out_json(w->out, CHUNK_META, meta);
	if (err)
		return err;
	targets_find(w);
	*ret = take_ptr(w);
	return 0;
}

/* Where chunks go: the writer's own file, or a dump's. */
struct target {
	struct trace_writer *w;
	struct trace_out *out;
	bool *announced;
};

enum { SCHEMA_TYPES_MAX = 256 }; /* of a chunk: so few need little memory, where it is written and read */

/* Its records may name types of which the file has no record: all events of one may be lost. */
static bool names_types(const struct trace_writer *w, const struct trace_chunk *c)
{
	return array_any(c->h.nr_counts, i, event_type_names_types(w->types[c->counts[i].type]));
}

static int schema_write(struct target *t, const struct trace_chunk *c)
{
	unsigned int own = c->h.nr_counts,
		     end = own + (names_types(t->w, c) ? t->w->next_id - RECORD_DECLARED_FIRST : 0);
	int err = 0;

	for (unsigned int i = 0; i < end && !err;) {
		json_t *list = json_array();

		for (; i < end && json_array_size(list) < SCHEMA_TYPES_MAX; i++) {
			uint16_t id = i < own ? c->counts[i].type
					      : (uint16_t)(RECORD_DECLARED_FIRST + i - own);

			if (!t->announced[id])
				json_array_append_new(list, schema_from_type(t->w->types[id], id));
			t->announced[id] = true;
		}
		if (json_array_size(list))
			err = trace_out_json(t->out, CHUNK_SCHEMA, list);
		json_decref(list);
	}
	return err;
}

static int chunk_write(void *arg, const struct trace_chunk *c)
{
	struct target *t = arg;
	struct trace_written *written = t->out == t->w->out ? t->w->opt.written : NULL;
	struct chunk_header h = c->h;
	int err = schema_write(t, c);

	h.kind = CHUNK_RECORDS;
	if (!err)
		err = trace_out_chunk(t->out, &h, c->counts, t->w->types, c->data, c->len);
	for (unsigned int i = 0; !err && written && i < h.nr_counts; i++)
		if (c->counts[i].type < EV_LIMIT)
			written->count[c->counts[i].type] += c->counts[i].count;
	return err;
}

/* The current chunk, ready to be passed on. */
static const struct trace_chunk *chunk_counted(struct trace_writer *w)
{
	w->chunk.h.watermark_ns = w->watermark_ns;
	for (unsigned int i = 0; i < w->chunk.h.nr_counts; i++)
		w->chunk.counts[i].count = w->count[w->chunk.counts[i].type];
	return &w->chunk;
}

static void missing_count(struct trace_writer *w, const struct record_hdr *rec)
{
	const struct rec_lost *lost = rec->type == EV_lost ? (const void *)rec : NULL;
	unsigned int type = lost ? lost->lost_event : rec->type;
	struct missing *m = &w->missing[type < MISSING_TYPES ? type : 0];
	uint64_t last = lost && lost->until > rec->time ? lost->until : rec->time;

	m->first_ns = m->count && m->first_ns < rec->time ? m->first_ns : rec->time;
	m->last_ns = m->count && m->last_ns > last ? m->last_ns : last;
	m->count += lost ? lost->count : 1;
	if (w->opt.written)
		w->opt.written->missing += lost ? lost->count : 1;
}

/* To the writer's own file; the records are counted if that is not possible, which is no error. */
static int own_chunk_write(void *arg, const struct trace_chunk *c)
{
	struct trace_writer *w = arg;
	struct target own = {w, w->out, w->announced};

	if (!w->err)
		w->err = chunk_write(&own, c);
	if (!w->err)
		w->any = true;
	for (size_t at = 0; w->err && at < c->len;) {
		const struct record_hdr *rec = (const void *)(c->data + at);

		missing_count(w, rec);
		at += rec->size;
	}
	return 0;
}

/* Passes the current chunk on. `watermark_ns` is that of the rounds that have ended. */
static int chunk_flush(struct trace_writer *w)
{
	if (!w->chunk.h.nr_records || w->err)
		return w->err;
	chunk_counted(w);
	if (w->ring)
		w->err = trace_ring_push(w->ring, &w->chunk);
	else
		own_chunk_write(w, &w->chunk);
	chunk_reset(w);
	return w->err;
}

static int type_check(struct trace_writer *w, const struct record_hdr *rec)
{
	if (!w->types[rec->type])
		w->types[rec->type] = event_type_ours(rec->type);
	const struct event_type *t = w->types[rec->type];

	if (!t)
		return fail(-EINVAL, "%s: record of undeclared event type %u", w->path,
			    rec->type);
	if (rec->size < t->size || rec->size % 8 || rec->size > EVENT_RECORD_MAX)
		return fail(-EINVAL, "%s: record of %s has invalid size %u", w->path, t->name,
			    rec->size);
	return 0;
}

static void chunk_add(struct trace_writer *w, const struct record_hdr *rec)
{
	struct chunk_header *h = &w->chunk.h;

	if (!h->nr_records++)
		w->chunk_since_ns = monotonic_ns();
	memcpy(w->chunk.data + w->chunk.len, rec, rec->size);
	w->chunk.len += rec->size;
	if (!w->count[rec->type]++)
		w->chunk.counts[h->nr_counts++].type = rec->type;
	h->types_bloom |= type_bloom_bit(rec->type);
	if (rec->time < h->first_ns)
		h->first_ns = rec->time;
	if (rec->time > h->last_ns)
		h->last_ns = rec->time;
}

int trace_writer_record(struct trace_writer *w, const struct record_hdr *rec)
{
	int err = type_check(w, rec);

	if (err)
		return err;
	if (w->chunk.len + rec->size > w->most)
		chunk_flush(w);
	if (w->err)
		missing_count(w, rec);
	else
		chunk_add(w, rec);
	return 0;
}

int trace_writer_type(struct trace_writer *w, const struct event_type *type, uint16_t *ret_id)
{
	struct foreign *f = hash_find_u64(&w->ids, (uint64_t)(uintptr_t)type);

	if (type->id && type == event_type_ours(type->id)) {
		*ret_id = type->id;
		return 0;
	}
	if (!f && w->next_id == NR_TYPE_IDS - 1)
		return fail(-E2BIG, "%s: more event types than a trace file can hold", w->path);
	if (!f) {
		f = hash_add_u64(&w->ids, (uint64_t)(uintptr_t)type, NULL);
		if (!f)
			return fail(-ENOMEM, "%s: out of memory", w->path);
		w->types[w->next_id] = type;
		f->id = w->next_id++;
	}
	*ret_id = f->id;
	return 0;
}

/* If it is time, and there is something. */
static int sync_again(struct trace_writer *w, uint64_t now)
{
	uint64_t bytes = trace_out_bytes(w->out);

	if (!w->opt.sync_ns || now - w->synced_ns < w->opt.sync_ns || bytes == w->synced_bytes)
		return 0;
	w->synced_ns = now;
	w->synced_bytes = bytes;
	return w->err = trace_out_sync(w->out);
}

int trace_writer_round(struct trace_writer *w, uint64_t watermark_ns)
{
	uint64_t now = monotonic_ns();
	int err = w->err;

	w->watermark_ns = watermark_ns;
	if (w->chunk.len >= w->target ||
	    (w->chunk.h.nr_records && now - w->chunk_since_ns >= WAIT_MAX_NS))
		err = chunk_flush(w);
	return err ? err : sync_again(w, now);
}

uint64_t trace_writer_bytes(const struct trace_writer *w)
{
	return trace_out_bytes(w->out);
}

/* The number of dropped naming events is stored in the metadata, so that reports can mention it. */
static int ring_note(const struct trace_writer *w, struct trace_out *out)
{
	uint64_t dropped = trace_ring_names_dropped(w->ring);
	int err = 0;

	if (dropped) {
		json_t *note = json_pack("{s:I}", "names_dropped", (json_int_t)dropped);

		err = trace_out_json(out, CHUNK_META, note);
		json_decref(note);
	}
	return err;
}

int trace_writer_dump(struct trace_writer *w, const char *path, uint64_t since_ns,
		      json_t *final_meta)
{
	_cleanup_trace_out_ struct trace_out *out = NULL;
	_cleanup_free_ bool *announced = calloc(NR_TYPE_IDS, sizeof(*announced));
	int err = announced ? 0 : fail(-ENOMEM, "%s: out of memory", path);

	if (!w->ring)
		return fail(-EINVAL, "%s: only a flight recorder can be dumped", path);
	if (!err)
		err = chunk_flush(w);
	if (!err)
		err = trace_out_create(path, &w->head, w->opt.zstd, true, &out);
	if (!err)
		err = trace_out_json(out, CHUNK_META, w->meta);
	if (!err)
		err = trace_ring_walk(w->ring, since_ns, chunk_write,
				      &(struct target){w, out, announced});
	if (!err)
		err = ring_note(w, out);
	if (!err && final_meta)
		err = trace_out_json(out, CHUNK_META, final_meta);
	return err ? err : trace_out_finish(take_ptr(out), w->opt.sync, NULL);
}

int trace_writer_end(struct trace_writer *w)
{
	int err;

	if (w->ended)
		return w->err;
	w->ended = true;
	w->watermark_ns = UINT64_MAX;
	err = chunk_flush(w);
	if (!err && w->ring)
		err = trace_ring_walk(w->ring, 0, own_chunk_write, w);
	return err ? err : w->err;
}

/* In place of the records that are missing, if the file has any. */
static int missing_write(struct trace_writer *w)
{
	struct target own = {w, w->out, w->announced};

	chunk_reset(w);
	for (unsigned int type = 0; type < MISSING_TYPES; type++) {
		const struct missing *m = &w->missing[type];
		struct rec_lost lost = {.hdr = {.time = m->first_ns,
						.type = EV_lost,
						.size = sizeof(lost),
						.vcpu = RECORD_NO_VCPU},
					.count = m->count,
					.until = m->last_ns,
					.lost_cpu = RECORD_NOT_WRITTEN,
					.lost_event = type};

		if (m->count && (w->any || trace_out_replaces_nothing(w->out)) &&
		    !type_check(w, &lost.hdr))
			chunk_add(w, &lost.hdr);
	}
	return w->chunk.h.nr_records ? chunk_write(&own, chunk_counted(w)) : 0;
}

int trace_writer_close(struct trace_writer *w, json_t *final_meta)
{
	int err, last;

	if (!w)
		return 0;
	err = trace_writer_end(w);
	if (err && w->opt.whole) {
		trace_writer_abandon(w);
		return err;
	}
	/* Also after a failure (a full disk): the file must tell what it lacks. */
	trace_out_ending(w->out);
	error_keep_first(&err, missing_write(w));
	if (w->ring)
		error_keep_first(&err, ring_note(w, w->out));
	if (final_meta)
		error_keep_first(&err, trace_out_json(w->out, CHUNK_META, final_meta));
	last = trace_out_finish(take_ptr(w->out), w->opt.sync,
				w->opt.written ? &w->opt.written->bytes : NULL);
	trace_writer_abandon(w);
	return err ? err : last;
}
