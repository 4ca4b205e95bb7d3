// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of .hrt files. Chunks are loaded one after the other into `pending`, which sorts them; whatever is
 * older than the newest watermark is returned. The file is untrusted; all data is checked before use: lengths and
 * CRCs when a chunk is loaded, each record's size, type and time when it is added.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/read_full.h"
#include "event/pending.h"
#include "tracefile/map.h"
#include "tracefile/stream.h"
#include "tracefile/tracefile.h"

enum { MALFORMED_NAMED = 8 }; /* damaged chunks that get a caveat of their own */

struct tracefile {
	struct reader reader;
	int fd;
	struct trace_map map; /* empty if it is followed */
	struct trace_stream stream;
	struct chunk_ref streamed; /* the newest chunk of it */
	bool stream_any;		/* records have come */
	bool stream_waits, stream_over; /* it is to be passed on; there is no further one */
	uint64_t unplaced;	   /* of meta_losses_read() */
	struct chunk_loader *loader;
	const struct event_type **types; /* NR_TYPE_IDS, by id in the file; NULL: not declared */
	bool *wanted;			 /* NR_TYPE_IDS: does the consumer use it? */
	bool *names_types;		 /* NR_TYPE_IDS: event_type_names_types() */
	unsigned int types_end;		 /* the highest declared id + 1 */
	uint64_t wanted_bloom;
	size_t next_chunk;
	uint64_t watermark_ns;
	struct pending pending;
	bool from_start; /* chunks from before pending.since_ns are read, too */
	uint64_t malformed; /* records that no schema fits */
	uint64_t damaged_records, damaged_chunks;
	bool done;
};

static bool tracefile_probe(const uint8_t *head, size_t len)
{
	return len >= 8 && !memcmp(head, TRACE_MAGIC, 8);
}

static void tracefile_close(struct reader *r)
{
	struct tracefile *t = (struct tracefile *)r;

	if (!t)
		return;
	pending_deinit(&t->pending);
	trace_stream_end(&t->stream);
	trace_map_deinit(&t->map);
	chunk_loader_free(t->loader);
	trace_info_deinit(&r->info);
	if (t->fd >= 0)
		close(t->fd);
	free(t->types);
	free(t->wanted);
	free(t->names_types);
	free(t);
}

DEFINE_CLEANUP(tracefile, struct reader *, tracefile_close);

/* ---- opening: header, map, schemas, metadata ---- */

static void header_note(struct trace_info *info, const struct trace_header *h)
{
	json_object_set_new(info->meta, "start_monotonic_ns",
			    json_integer((json_int_t)h->start_monotonic_ns));
	json_object_set_new(info->meta, "start_realtime_ns",
			    json_integer((json_int_t)h->start_realtime_ns));
}

static int read_header(struct tracefile *t)
{
	uint8_t head[TRACE_HEADER_SIZE];
	struct trace_info *info = &t->reader.info;
	struct trace_header h;
	ssize_t n = pread_full(t->fd, head, sizeof(head), 0);
	int err = n < 0 ? fail((int)n, "%s: %s", info->file, strerror((int)-n))
			: trace_header_decode(head, (size_t)n, info->file, &h);

	if (!err)
		header_note(info, &h);
	return err;
}

static int tracefile_declare(struct tracefile *t, const json_t *json, uint64_t offset)
{
	const struct event_type *type;
	char where[512];
	uint16_t id;
	int err;

	snprintf(where, sizeof(where), "%s: offset %" PRIu64 ": schema", t->reader.info.file,
		 offset);
	err = schema_to_type(json, where, &type, &id);
	if (err)
		return err;
	if (!id)
		return fail(-EINVAL, "%s: event %s has no ID", where, type->name);
	if (t->types[id] && t->types[id] != type)
		return fail(-EINVAL, "%s: event ID %u is declared twice, as %s and as %s", where,
			    id, t->types[id]->name, type->name);
	t->types[id] = type;
	t->names_types[id] = event_type_names_types(type);
	if (t->types_end <= id)
		t->types_end = id + 1u;
	return 0;
}

static int take_schema(struct tracefile *t, const char *text, const struct chunk_ref *ref)
{
	json_error_t why = {0};
	json_t *json = json_text_load(text, ref->h.raw, 0, &why), *type;
	size_t i;
	int err = json_is_array(json)
			  ? 0
			  : fail(-EINVAL,
				 "%s: offset %" PRIu64 ": the schema is not a JSON array%s%s",
				 t->reader.info.file, ref->offset, *why.text ? ": " : "", why.text);

	json_array_foreach (json, i, type) {
		if (err)
			break;
		err = tracefile_declare(t, type, ref->offset);
	}
	json_decref(json);
	return err;
}

static int take_meta(struct tracefile *t, char *text, const struct chunk_ref *ref)
{
	json_error_t why = {0};

	if (!trace_info_load(&t->reader.info, text, ref->h.raw, &why))
		return fail(-EINVAL,
			    "%s: offset %" PRIu64 ": the metadata is not a JSON object%s%s",
			    t->reader.info.file, ref->offset, *why.text ? ": " : "", why.text);
	trace_info_unit_notes(&t->reader.info);
	return 0;
}

static int read_json_chunk(struct tracefile *t, const struct chunk_ref *ref)
{
	_cleanup_free_ char *text = malloc(ref->h.raw + 1);
	int err = text ? chunk_load(t->loader, ref, NULL, (uint8_t *)text)
		       : fail(-ENOMEM, "out of memory");

	if (err == -EBADMSG) { /* the records may still be good */
		trace_info_caveat(&t->reader.info, "%s", error_text());
		return 0;
	}
	if (err)
		return err;
	return ref->h.kind == CHUNK_META ? take_meta(t, text, ref) : take_schema(t, text, ref);
}

static int read_declarations(struct tracefile *t)
{
	struct trace_info *info = &t->reader.info;
	bool any = false;

	for (size_t i = 0; i < t->map.nr; i++) {
		const struct chunk_ref *ref = &t->map.refs[i];
		int err = 0;

		if (ref->h.kind == CHUNK_SCHEMA || ref->h.kind == CHUNK_META)
			err = read_json_chunk(t, ref);
		if (err)
			return err;
		if (ref->h.kind != CHUNK_RECORDS || !ref->h.nr_records)
			continue;
		if (!any || ref->h.first_ns < info->start_ns)
			info->start_ns = ref->h.first_ns;
		if (ref->h.last_ns > info->end_ns)
			info->end_ns = ref->h.last_ns;
		any = true;
	}
	trace_info_window(info);
	info->last_ns = info->end_ns;
	meta_losses_read(info, &t->unplaced);
	return 0;
}

static void take_hint(struct tracefile *t, const struct read_hint *hint)
{
	t->pending.until_ns = UINT64_MAX;
	t->wanted_bloom = UINT64_MAX;
	if (hint) {
		t->pending.since_ns = hint->since_ns;
		t->from_start = hint->from_start;
		t->pending.until_ns = hint->until_ns;
		t->wanted_bloom = hint->wants ? 0 : UINT64_MAX;
	}
	for (unsigned int id = 0; id < t->types_end; id++) {
		const struct event_type *type = t->types[id];

		t->wanted[id] =
			type && (!hint || !hint->wants || hint->wants(type->name, hint->arg));
		if (t->wanted[id])
			t->wanted_bloom |= type_bloom_bit((uint16_t)id);
	}
}

/* The file, without anything read of it. The caller closes it, also after an error; NULL: out of memory. */
static struct tracefile *tracefile_new(const char *path, const struct reader_ops *ops,
				       const struct read_hint *hint, int *ret_err)
{
	struct tracefile *t = calloc(1, sizeof(*t));

	*ret_err = t ? 0 : fail(-ENOMEM, "%s: out of memory", path);
	if (!t)
		return NULL;
	t->reader.ops = ops;
	t->fd = open_files_get(hint ? hint->files : NULL, path);
	if (t->fd < 0)
		*ret_err = fail(-errno, "%s: %s", path, strerror(errno));
	else
		*ret_err = trace_info_init(&t->reader.info, path, "hrt");
	if (*ret_err)
		return t;
	t->types = calloc(NR_TYPE_IDS, sizeof(*t->types));
	t->wanted = calloc(NR_TYPE_IDS, sizeof(*t->wanted));
	t->names_types = calloc(NR_TYPE_IDS, sizeof(*t->names_types));
	t->loader = chunk_loader_new(t->fd, t->reader.info.file);
	if (!t->types || !t->wanted || !t->names_types || !t->loader)
		*ret_err = fail(-ENOMEM, "%s: out of memory", path);
	return t;
}

static int tracefile_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	int err;
	struct tracefile *t = tracefile_new(path, &tracefile_reader, hint, &err);
	_cleanup_(tracefile_cleanup_) struct reader *r = (struct reader *)t;

	if (err)
		return err;
	posix_fadvise(t->fd, 0, 0, POSIX_FADV_SEQUENTIAL);
	err = read_header(t);
	if (!err)
		err = trace_map_load(t->fd, &r->info, &t->map);
	if (!err)
		err = read_declarations(t);
	if (err)
		return err;
	take_hint(t, hint);
	*ret = take_ptr(r);
	return 0;
}

/* ---- reading ---- */

/* Naming events are needed from before the window too, because later events refer to them. */
static bool is_name(const struct event_type *type)
{
	return type &&
	       (type->id == EV_thread || type->id == EV_guest_task ||
		type->id == EV_virtio_device || type->id == EV_virtio_kind ||
		type->id == EV_vcpu_tsc);
}

/* Does the exact table of types contain a wanted one? True for a damaged table. */
static bool counts_wanted(struct tracefile *t, const struct chunk_ref *ref, bool in_time)
{
	_cleanup_free_ struct chunk_count *counts = NULL;

	if (chunk_load_counts(t->loader, ref, &counts))
		return true;
	for (unsigned int i = 0; i < ref->h.nr_counts; i++) {
		uint16_t id = counts[i].type;

		if (t->wanted[id] && (in_time || is_name(t->types[id])))
			return true;
	}
	return false;
}

static bool chunk_wanted(struct tracefile *t, const struct chunk_ref *ref)
{
	const struct chunk_header *h = &ref->h;
	bool in_time = (t->from_start || h->last_ns >= t->pending.since_ns) &&
		       h->first_ns < t->pending.until_ns;

	if (h->kind != CHUNK_RECORDS || !h->nr_records || !(h->types_bloom & t->wanted_bloom))
		return false;
	if (in_time && t->wanted_bloom == UINT64_MAX)
		return true;
	return counts_wanted(t, ref, in_time);
}

static void chunk_damaged(struct tracefile *t, const struct chunk_ref *ref)
{
	t->damaged_records += ref->h.nr_records;
	if (t->damaged_chunks++ < MALFORMED_NAMED)
		trace_info_caveat(&t->reader.info, "%s; its %u events are missing", error_text(),
				  ref->h.nr_records);
}

/* Takes the records of a loaded chunk in. A record that cannot be measured ends its chunk. */
static void take_records(struct tracefile *t, const struct chunk_ref *ref, uint8_t *data)
{
	const struct chunk_header *c = &ref->h;
	const uint8_t *end = data + c->raw;
	struct record_hdr h;

	while ((size_t)(end - data) >= sizeof(h)) {
		memcpy(&h, data, sizeof(h));
		if (h.size < sizeof(h) || h.size % 8 || h.size > end - data)
			break;
		const struct event_type *type = t->types[h.type];

		if (!type || h.size < type->size || h.time < c->first_ns || h.time > c->last_ns) {
			t->malformed++;
		} else if (t->wanted[h.type]) {
			if (t->names_types[h.type])
				event_type_numbers_convert(type, data, schema_number_of_id,
							   t->types);
			pending_add(&t->pending, h.time, data, h.size);
		}
		data += h.size;
	}
	t->malformed += data != end;
}

static int load_chunk(struct tracefile *t, const struct chunk_ref *ref)
{
	int err = pending_reserve(&t->pending, ref->h.raw / sizeof(struct record_hdr));
	uint8_t *data = err ? NULL : pending_memory(&t->pending, ref->h.raw);

	if (!data)
		return err ? err : fail(-ENOMEM, "%s: out of memory", t->reader.info.file);
	err = chunk_load(t->loader, ref, t->wanted, data);
	if (err == -EBADMSG) {
		chunk_damaged(t, ref);
		return 0;
	}
	if (!err)
		take_records(t, ref, data);
	return err;
}

/* ---- following ---- */

/* What a chunk of a stream says besides its records; types and metadata come when they are needed. */
static int stream_note(struct tracefile *t)
{
	const struct chunk_ref *ref = &t->streamed;
	struct trace_info *info = &t->reader.info;
	int err = 0;

	if (ref->h.kind == CHUNK_SCHEMA || ref->h.kind == CHUNK_META)
		err = read_json_chunk(t, ref);
	if (!err && ref->h.kind == CHUNK_META)
		meta_losses_read(info, &t->unplaced);
	if (!err && ref->h.kind == CHUNK_SCHEMA)
		take_hint(t, NULL); /* everything is wanted */
	if (ref->h.kind != CHUNK_RECORDS || !ref->h.nr_records)
		return err;
	if (!t->stream_any)
		info->start_ns = ref->h.first_ns;
	t->stream_any = true;
	if (ref->h.last_ns > info->end_ns)
		info->end_ns = ref->h.last_ns;
	return err;
}

static void stream_ended(struct tracefile *t)
{
	struct trace_info *info = &t->reader.info;

	t->stream_over = true;
	info->last_ns = info->end_ns;
	info->truncated = !t->stream.complete;
	if (!t->stream.complete)
		trace_info_caveat(info,
				  "%s ended without its end mark: the recorder was killed, the "
				  "connection was lost, or ^C ended the reading; what was lost "
				  "since the last complete chunk is unknown (%zu bytes after it)",
				  info->file, trace_stream_rest(&t->stream));
}

static int stream_chunk(struct tracefile *t)
{
	struct trace_stream *s = &t->stream;
	int more = trace_stream_next(s, &t->streamed);

	chunk_loader_window(t->loader, s->buf, s->len, s->offset);
	if (more > 0) {
		int err = stream_note(t);

		return err ? err : 1;
	}
	if (!more)
		stream_ended(t);
	return more;
}

static int stream_next(struct tracefile *t)
{
	if (t->stream_waits) {
		t->stream_waits = false;
		return 1;
	}
	return t->stream_over ? 0 : stream_chunk(t);
}

static int tracefile_follow(const char *path, const struct read_hint *hint, struct reader **ret)
{
	int err;
	struct tracefile *t = tracefile_new(path, &tracefile_live_reader, hint, &err);
	_cleanup_(tracefile_cleanup_) struct reader *r = (struct reader *)t;
	struct trace_header h;

	if (!err)
		err = trace_stream_begin(&t->stream, t->fd, &r->info, &h);
	if (err == -EBADMSG)
		fail_hint(err, "a .hrt recording can be followed; other formats are read up to "
			       "their end, without --follow");
	if (err)
		return err;
	header_note(&r->info, &h);
	take_hint(t, NULL);
	/* The start is that of the first events, and VMs are in the metadata before them. */
	do {
		err = stream_chunk(t);
	} while (err > 0 && !t->stream_any);
	if (err < 0)
		return err;
	t->stream_waits = err > 0;
	*ret = take_ptr(r);
	return 0;
}

/* The next chunk: 1; 0: there is none. Of a file that is followed it is waited for. */
static int chunk_next(struct tracefile *t, const struct chunk_ref **ret)
{
	if (t->stream.begun) {
		*ret = &t->streamed;
		return stream_next(t);
	}
	if (t->next_chunk == t->map.nr)
		return 0;
	*ret = &t->map.refs[t->next_chunk++];
	return 1;
}

/* Loads chunks until something is ready: 1, or 0 at the end. */
static int tracefile_fill(struct tracefile *t)
{
	struct pending *p = &t->pending;

	while (p->head == p->ready) {
		const struct chunk_ref *ref;
		int more = chunk_next(t, &ref), err = 0;

		if (more < 0)
			return more;
		if (!more) {
			if (p->head == p->nr)
				return 0;
			pending_release(p, UINT64_MAX);
			break;
		}
		if (chunk_wanted(t, ref))
			err = load_chunk(t, ref);
		if (err)
			return err;
		if (ref->h.kind == CHUNK_RECORDS && ref->h.watermark_ns > t->watermark_ns) {
			t->watermark_ns = ref->h.watermark_ns;
			pending_release(p, t->watermark_ns);
		} else if (pending_full(p)) {
			pending_release_half(p);
		}
	}
	return 1;
}

/* Missing data is reported once all is read. */
static void tracefile_finish(struct tracefile *t)
{
	struct trace_info *info = &t->reader.info;

	if (t->done)
		return;
	t->done = true;
	pending_deinit(&t->pending); /* another reader of the file may follow before this one is closed */
	if (t->malformed)
		trace_info_caveat(info,
				  "%s: %" PRIu64
				  " records match no declared event type and were skipped",
				  info->file, t->malformed);
	if (t->damaged_chunks > MALFORMED_NAMED)
		trace_info_caveat(info,
				  "%s: %" PRIu64 " corrupt chunks in total; %" PRIu64
				  " events are missing",
				  info->file, t->damaged_chunks, t->damaged_records);
	if (info->late)
		trace_info_caveat(info, "%s: %" PRIu64 " events arrived too late to be sorted",
				  info->file, info->late);
}

static int tracefile_next(struct reader *r, struct batch *batch)
{
	struct tracefile *t = (struct tracefile *)r;
	int more = tracefile_fill(t);

	batch->nr = 0;
	if (more > 0)
		pending_batch(&t->pending, t->types, &r->info, batch);
	else if (!more)
		tracefile_finish(t);
	return more;
}

/* ---- for the fast path ---- */

bool tracefile_source(struct reader *r, struct trace_source *ret)
{
	const struct tracefile *t = (const struct tracefile *)r;

	if (r->ops != &tracefile_reader)
		return false;
	*ret = (struct trace_source){t->fd,	t->reader.info.file, t->map.refs,
				     t->map.nr, t->types,	     t->wanted};
	return true;
}

bool tracefile_wants_chunk(struct reader *r, size_t i)
{
	struct tracefile *t = (struct tracefile *)r;

	return chunk_wanted(t, &t->map.refs[i]);
}

/* ---- counting without reading ---- */

static int add_counts(struct tracefile *t, const struct chunk_ref *ref, uint64_t *counts)
{
	_cleanup_free_ struct chunk_count *table = NULL;
	int err = chunk_load_counts(t->loader, ref, &table);

	for (unsigned int i = 0; !err && i < ref->h.nr_counts; i++)
		if (t->types[table[i].type])
			counts[t->types[table[i].type]->index] += table[i].count;
	return err;
}

static int tracefile_counts(struct reader *r, uint64_t *counts)
{
	struct tracefile *t = (struct tracefile *)r;
	int err = 0;

	if (t->map.index_offset)
		err = add_counts(t, &(struct chunk_ref){t->map.index_offset, t->map.index}, counts);
	if (t->map.index_offset && err != -EBADMSG)
		return err;
	for (size_t i = 0; i < t->map.nr; i++) {
		const struct chunk_ref *ref = &t->map.refs[i];

		err = ref->h.kind == CHUNK_RECORDS ? add_counts(t, ref, counts) : 0;
		if (err == -EBADMSG)
			chunk_damaged(t, ref);
		else if (err)
			return err;
	}
	return 0;
}

const struct reader_ops tracefile_live_reader = {
	.name = "hrt",
	.summary = "the same, while it is written",
	.probe = tracefile_probe,
	.open = tracefile_follow,
	.next = tracefile_next,
	.close = tracefile_close,
};

const struct reader_ops tracefile_reader = {
	.name = "hrt",
	.summary = "hostrace's own trace file",
	.probe = tracefile_probe,
	.open = tracefile_open,
	.next = tracefile_next,
	.counts = tracefile_counts,
	.close = tracefile_close,
};
