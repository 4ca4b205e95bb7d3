// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file side of the writer: header, chunks, index, trailer, in this order and never rewritten. A payload is packed
 * as columns, then in a zstd frame if that is smaller. Index entries are kept in memory until the end. Space for the
 * end is allocated ahead of the chunks with records: a file that fills its file system says what is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <zstd.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/growing_file.h"
#include "base/log.h"
#include "base/memory.h"
#include "tracefile/columns.h"
#include "tracefile/delta.h"
#include "tracefile/out.h"

enum {
	ZSTD_LEVEL = 1,	    /* the collector must keep up */
	FEW_BYTES = 4 << 10, /* of records: both packings are tried */
	END_BYTES = 64 << 10 /* kept in reserve, at most a quarter of the room: counts, metadata */
};

struct trace_out {
	struct growing_file file;
	bool failed; /* a chunk could not be written */
	int stream_err; /* of a stream, after which nothing more is written to it */
	bool zstd, whole, ending;
	unsigned long memory_failures; /* before the file was created */
	uint64_t room;	 /* of the file, when it was created: the limit of its size, and what was free */
	uint64_t offset; /* end of the last whole chunk */
	uint64_t begin_bytes; /* of the first metadata: those at the end are alike */
	uint8_t *index;	 /* INDEX_ENTRY_SIZE bytes per chunk written */
	size_t nr_index, max_index;
	uint64_t totals[1 << 16]; /* records per type, over all chunks */
	struct chunk_header sum;  /* times and types of all records */
	uint8_t *packed;	  /* for compression and for the table of counts */
	size_t packed_size;
	ZSTD_CCtx *zstd_ctx;
	struct columns_packer *columns;
};

static int out_fail(const struct trace_out *o, int err)
{
	fail(err, "%s: %s", o->file.path, strerror(-err));
	return err == -EFBIG ? fail_hint(err, "raise the limit of file sizes (ulimit -f)") : err;
}

static bool is_trace(const uint8_t *head, size_t len)
{
	return len >= 8 && !memcmp(head, TRACE_MAGIC, 8);
}

/* A chunk's pieces go out in one call; a short write continues where it stopped. */
static int write_all(int fd, struct iovec *iov, int nr)
{
	while (nr) {
		ssize_t n = writev(fd, iov, nr);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN && /* a pipe that another process made non-blocking */
		    poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1) >= 0)
			continue;
		if (n < 0)
			return -errno;
		for (; nr && (size_t)n >= iov->iov_len; nr--, iov++)
			n -= (ssize_t)iov->iov_len;
		if (nr) {
			iov->iov_base = (char *)iov->iov_base + n;
			iov->iov_len -= (size_t)n;
		}
	}
	return 0;
}

static struct trace_out *out_new(const char *name, bool zstd, bool whole)
{
	struct trace_out *o = calloc(1, sizeof(*o));

	if (!o) {
		fail(-ENOMEM, "%s: out of memory", name);
		return NULL;
	}
	o->file.fd = -1;
	o->room = UINT64_MAX;
	o->zstd = zstd;
	o->whole = whole;
	o->memory_failures = memory_failures();
	return o;
}

static int out_begin(struct trace_out *o, const struct trace_header *h)
{
	uint8_t head[TRACE_HEADER_SIZE];
	int err;

	trace_header_encode(h, head);
	err = write_all(o->file.fd, &(struct iovec){head, sizeof(head)}, 1);
	if (err)
		return out_fail(o, err);
	o->offset = sizeof(head);
	return 0;
}

static void room_find(struct trace_out *o)
{
	struct rlimit limit;
	struct statvfs free;

	o->room = getrlimit(RLIMIT_FSIZE, &limit) ? UINT64_MAX : limit.rlim_cur;
	if (!fstatvfs(o->file.fd, &free) && (uint64_t)free.f_bavail * free.f_frsize < o->room)
		o->room = (uint64_t)free.f_bavail * free.f_frsize;
}

uint64_t trace_out_chunk_max(const struct trace_out *o)
{
	return o->room / 16 < FEW_BYTES ? FEW_BYTES : o->room / 16;
}

int trace_out_create(const char *path, const struct trace_header *h, bool zstd, bool whole,
		     struct trace_out **ret)
{
	_cleanup_trace_out_ struct trace_out *o = out_new(path, zstd, whole);
	int err = o ? growing_file_create(&o->file, path, whole, is_trace) : -ENOMEM;

	if (!err)
		room_find(o);
	if (!err)
		err = out_begin(o, h);
	if (!err)
		*ret = take_ptr(o);
	return err;
}

int trace_out_stream(int fd, const char *name, const struct trace_header *h, bool zstd,
		     struct trace_out **ret)
{
	_cleanup_trace_out_ struct trace_out *o = out_new(name, zstd, false);
	int err = o ? growing_file_stream(&o->file, fd, name) : -ENOMEM;

	if (!o)
		close(fd);
	if (!err)
		err = out_begin(o, h);
	if (!err)
		*ret = take_ptr(o);
	return err;
}

static bool is_stream(const struct trace_out *o)
{
	return !o->file.at;
}

static int packed_reserve(struct trace_out *o, size_t size)
{
	return array_reserve(o->packed, size, o->packed_size) ? out_fail(o, -ENOMEM) : 0;
}

/* A payload on its way through the packings. */
struct packing {
	struct iovec best;
	uint8_t *room;
	size_t room_len;
	const uint32_t *cuts; /* where numbers of another sort begin */
	unsigned int nr_cuts;
};

/*
 * In a zstd frame of its own; 0 if it would not be smaller. The bytes between two cuts become a block with
 * a code of its own, so that random low bytes do not degrade the code of the constant high ones.
 */
static size_t compress(struct trace_out *o, const struct packing *p)
{
	ZSTD_outBuffer out = {p->room, p->room_len, 0};
	size_t len = p->best.iov_len, left = 1, at = 0;

	if (!o->zstd_ctx)
		o->zstd_ctx = ZSTD_createCCtx();
	if (!o->zstd_ctx)
		return 0;
	ZSTD_CCtx_reset(o->zstd_ctx, ZSTD_reset_session_only);
	ZSTD_CCtx_setParameter(o->zstd_ctx, ZSTD_c_compressionLevel, ZSTD_LEVEL);
	ZSTD_CCtx_setPledgedSrcSize(o->zstd_ctx, len);
	for (unsigned int i = 0; i <= p->nr_cuts; i++) {
		size_t end = i < p->nr_cuts ? p->cuts[i] : len;
		ZSTD_inBuffer in = {(const uint8_t *)p->best.iov_base + at, end - at, 0};

		left = ZSTD_compressStream2(o->zstd_ctx, &out, &in,
					    i < p->nr_cuts ? ZSTD_e_flush : ZSTD_e_end);
		if (left) /* an error, or no space */
			return 0;
		at = end;
	}
	return out.pos < len ? out.pos : 0;
}

/* By columns; few records by their differences, if that is smaller: a directory has its price. */
static size_t pack_records(struct trace_out *o, struct chunk_header *h,
			   const struct event_type *const *types, struct packing *p)
{
	const uint8_t *records = p->best.iov_base;
	size_t len = p->best.iov_len, n = 0, m;

	if (!o->columns)
		o->columns = columns_packer_new();
	if (o->columns)
		n = columns_pack(o->columns, records, len, types, p->room, len ? len - 1 : 0,
				 &p->cuts, &p->nr_cuts);
	h->encoding = ENCODING_COLUMNS;
	if (n && len > FEW_BYTES)
		return n;
	m = delta_pack(records, len, p->room + n);
	if (!m || (n && n <= m))
		return n;
	memmove(p->room, p->room + n, m);
	h->encoding = ENCODING_DELTA;
	p->nr_cuts = 0;
	return m;
}

/*
 * Packs the payload into `space`: h's encoding, and the bytes to write. Records by columns, which is cheaper than
 * writing them out; then zstd if requested. Data that would not become smaller is stored unchanged.
 */
static struct iovec pack(struct trace_out *o, struct chunk_header *h,
			 const struct event_type *const *types, struct packing *p)
{
	size_t n = h->kind == CHUNK_RECORDS ? pack_records(o, h, types, p) : 0;

	if (n) {
		p->best = (struct iovec){p->room, n};
		p->room += n;
		p->room_len -= n;
	} else {
		h->encoding = ENCODING_RAW;
		p->nr_cuts = 0;
	}
	n = o->zstd && p->best.iov_len ? compress(o, p) : 0;
	if (n) {
		p->best = (struct iovec){p->room, n};
		h->encoding |= ENCODING_ZSTD;
	}
	return p->best;
}

static int index_add(struct trace_out *o, const uint8_t *head)
{
	if (o->nr_index == o->max_index) {
		size_t max = o->max_index ? 2 * o->max_index : 256;
		uint8_t *p = realloc(o->index, max * INDEX_ENTRY_SIZE);

		if (!p)
			return out_fail(o, -ENOMEM);
		o->index = p;
		o->max_index = max;
	}
	uint8_t *entry = o->index + o->nr_index++ * INDEX_ENTRY_SIZE;

	memcpy(entry, &o->offset, 8);
	memcpy(entry + 8, head, CHUNK_HEADER_SIZE);
	return 0;
}

static void counts_encode(const struct chunk_count *counts, unsigned int nr, uint8_t *out)
{
	for (unsigned int i = 0; i < nr; i++, out += COUNT_SIZE) {
		uint64_t v = counts[i].type | counts[i].count << 16;

		memcpy(out, &v, COUNT_SIZE);
	}
}

/* The values of the index chunk's header for the whole file. */
static void sum_add(struct trace_out *o, const struct chunk_header *h,
		    const struct chunk_count *counts)
{
	for (unsigned int i = 0; i < h->nr_counts; i++)
		o->totals[counts[i].type] += counts[i].count;
	if (!h->nr_records)
		return;
	if (!o->sum.types_bloom || h->first_ns < o->sum.first_ns)
		o->sum.first_ns = h->first_ns;
	if (h->last_ns > o->sum.last_ns)
		o->sum.last_ns = h->last_ns;
	o->sum.types_bloom |= h->types_bloom;
}

/* Truncates a partly written chunk. If even that fails, readers skip the incomplete chunk. */
static int chunk_undo(struct trace_out *o, int err)
{
	if (is_stream(o))
		o->stream_err = err;
	else if (!ftruncate(o->file.fd, (off_t)o->offset))
		lseek(o->file.fd, (off_t)o->offset, SEEK_SET);
	o->failed = true;
	return out_fail(o, err);
}

/* May a chunk of this length be written, with the end after it? A file system that cannot allocate is not asked. */
static int end_reserve(struct trace_out *o, uint64_t length)
{
	uint64_t need = length + 2 * o->begin_bytes +
			(o->nr_index + 2) * (INDEX_ENTRY_SIZE + COUNT_SIZE);
	struct rlimit limit;
	bool limited = !getrlimit(RLIMIT_FSIZE, &limit);

	uint64_t room = limited && limit.rlim_cur < o->room ? limit.rlim_cur : o->room;

	need += room / 4 < END_BYTES ? room / 4 : END_BYTES;
	if (limited && o->offset + need > limit.rlim_cur)
		return out_fail(o, -EFBIG);
	while (fallocate(o->file.fd, FALLOC_FL_KEEP_SIZE, (off_t)o->offset, (off_t)need)) {
		if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG)
			return out_fail(o, -errno);
		if (errno != EINTR)
			break;
	}
	return 0;
}

/* Writes the pieces of a chunk. */
static int chunk_put(struct trace_out *o, const struct chunk_header *h, struct iovec *iov, int nr)
{
	bool reserves = h->kind == CHUNK_RECORDS && !o->whole && !o->ending && !is_stream(o);
	int err = reserves ? end_reserve(o, chunk_length(h)) : 0;

	if (err) {
		o->failed = true;
		return err;
	}
	err = write_all(o->file.fd, iov, nr);
	return err ? chunk_undo(o, err) : 0;
}

int trace_out_chunk(struct trace_out *o, struct chunk_header *h, const struct chunk_count *counts,
		    const struct event_type *const *types, const void *raw, size_t len)
{
	static const uint8_t zeros[8];
	size_t table = (size_t)h->nr_counts * COUNT_SIZE;
	uint8_t head[CHUNK_HEADER_SIZE];
	size_t room = 2 * len + (o->zstd ? 2 * ZSTD_compressBound(len) : 0);
	int err = o->stream_err ? out_fail(o, o->stream_err)
				: growing_file_check(&o->file, o->offset);

	if (!err)
		err = packed_reserve(o, table + room);
	if (err)
		return err;
	counts_encode(counts, h->nr_counts, o->packed);
	struct packing packing = {.best = {(void *)raw, len},
				  .room = o->packed + table,
				  .room_len = room};
	struct iovec iov[4] = {{head, sizeof(head)},
			       {o->packed, table},
			       pack(o, h, types, &packing),
			       {(void *)zeros, 0}};

	h->raw = (uint32_t)len;
	h->stored = (uint32_t)iov[2].iov_len;
	h->counts_crc = crc32c(0, o->packed, table);
	h->payload_crc = crc32c(0, iov[2].iov_base, iov[2].iov_len);
	iov[3].iov_len = chunk_length(h) - CHUNK_HEADER_SIZE - table - h->stored;
	chunk_header_encode(h, head);
	err = chunk_put(o, h, iov, 4);
	if (err)
		return err;
	if (h->kind != CHUNK_INDEX) {
		sum_add(o, h, counts);
		err = index_add(o, head);
	}
	o->offset += chunk_length(h);
	if (!o->begin_bytes)
		o->begin_bytes = chunk_length(h);
	return err || !h->nr_records || o->whole ? err : growing_file_publish(&o->file);
}

/* Readers add the keys of several chunks up. */
static int json_by_key(struct trace_out *o, const json_t *json)
{
	const char *key;
	json_t *value;
	int err = 0;

	json_object_foreach ((json_t *)json, key, value) {
		json_t *one = json_pack("{s:O}", key, value);

		err = err ? err : trace_out_json(o, CHUNK_META, one);
		json_decref(one);
	}
	return err;
}

int trace_out_json(struct trace_out *o, enum chunk_kind kind, const json_t *json)
{
	struct chunk_header h = {.kind = (uint8_t)kind};
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);

	if (!text)
		return fail(-EINVAL, "%s: the metadata is not valid JSON", o->file.path);
	if (strlen(text) > OTHER_RAW_MAX && kind == CHUNK_META && json_object_size(json) > 1)
		return json_by_key(o, json);
	if (strlen(text) > OTHER_RAW_MAX)
		return fail(-E2BIG, "%s: more than %d MiB of metadata", o->file.path,
			    OTHER_RAW_MAX >> 20);
	return trace_out_chunk(o, &h, NULL, NULL, text, strlen(text));
}

uint64_t trace_out_bytes(const struct trace_out *o)
{
	return o->offset;
}

void trace_out_ending(struct trace_out *o)
{
	o->ending = true;
}

/* The first index chunk carries the counts of the whole file; the others only continue the list. */
static int write_index(struct trace_out *o)
{
	struct trace_trailer t = {.index_offset = o->offset};
	struct chunk_count *counts = calloc(1 << 16, sizeof(*counts));
	struct chunk_header h = o->sum;
	uint8_t tail[TRAILER_SIZE];
	int err = counts ? 0 : out_fail(o, -ENOMEM);

	for (unsigned int i = 0; counts && i < 1 << 16; i++)
		if (o->totals[i])
			counts[h.nr_counts++] = (struct chunk_count){(uint16_t)i, o->totals[i]};
	h.kind = CHUNK_INDEX;
	for (size_t at = 0; !err && (at < o->nr_index || !t.nr_index); at += INDEX_ENTRIES_MAX) {
		size_t left = o->nr_index - at;
		size_t nr = left < INDEX_ENTRIES_MAX ? left : INDEX_ENTRIES_MAX;

		err = trace_out_chunk(o, &h, counts, NULL, o->index + at * INDEX_ENTRY_SIZE,
				      nr * INDEX_ENTRY_SIZE);
		h = (struct chunk_header){.kind = CHUNK_INDEX};
		t.nr_index++;
	}
	free(counts);
	if (err)
		return err;
	trace_trailer_encode(&t, tail);
	err = write_all(o->file.fd, &(struct iovec){tail, sizeof(tail)}, 1);
	return err ? chunk_undo(o, err) : 0;
}

static void reserve_free(const struct trace_out *o)
{
	struct stat st;

	if (!is_stream(o) && !fstat(o->file.fd, &st) && ftruncate(o->file.fd, st.st_size))
		debug("drain", "%s: %s", o->file.path, strerror(errno)); /* it costs space */
}

static int out_close(struct trace_out *o, bool keep)
{
	int err;

	reserve_free(o);
	err = growing_file_close(&o->file, keep);
	ZSTD_freeCCtx(o->zstd_ctx);
	columns_packer_free(o->columns);
	free(o->index);
	free(o->packed);
	free(o);
	return err;
}

int trace_out_sync(struct trace_out *o)
{
	return growing_file_sync(&o->file);
}

/* One that has a temporary name, or none, is not at its name. */
static uint64_t bytes_at_name(const struct trace_out *o)
{
	struct stat st;

	if (is_stream(o))
		return o->stream_err ? 0 : o->offset;
	return o->file.temporary || fstat(o->file.fd, &st) || !st.st_nlink ? 0
									   : (uint64_t)st.st_size;
}

bool trace_out_replaces_nothing(const struct trace_out *o)
{
	return !is_stream(o) && !o->whole && !o->file.temporary && o->nr_index;
}

int trace_out_finish(struct trace_out *o, bool sync, uint64_t *ret_bytes)
{
	int err = write_index(o), last;
	bool keep;

	if (!err && o->whole && memory_failures() != o->memory_failures)
		err = out_fail(o, -ENOMEM);
	if (!err)
		err = growing_file_check(&o->file, o->offset);
	if (!err && (!o->failed || trace_out_replaces_nothing(o)))
		err = growing_file_publish(&o->file);
	if (!err && sync)
		err = growing_file_sync(&o->file);
	keep = (!o->whole && (o->sum.types_bloom || trace_out_replaces_nothing(o))) ||
	       (!err && !o->failed);
	if (ret_bytes)
		*ret_bytes = keep ? bytes_at_name(o) : 0;
	last = out_close(o, keep);
	return err ? err : last;
}

void trace_out_abandon(struct trace_out *o)
{
	if (o)
		out_close(o, o->sum.types_bloom && !o->whole);
}
