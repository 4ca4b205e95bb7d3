// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the chunks of a .hrt file are, one chunk into memory, and the metadata of all. The map of chunks comes from the
 * index at the end; where that is missing or does not cover the file without a gap (a recorder that was killed, a
 * damaged disk), it is made again by searching for chunk headers, whose CRC is checked, and holes of a sparse file are
 * skipped. An error of the disk is no damage of the file and ends reading.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <zstd.h>

#include "base/array.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/read_full.h"
#include "tracefile/columns.h"
#include "tracefile/delta.h"
#include "tracefile/map.h"

enum { SEARCH_BYTES = 1 << 20 }; /* read at a time when the next sound chunk is sought */

void trace_map_deinit(struct trace_map *map)
{
	free(map->refs);
	*map = (struct trace_map){0};
}

static int map_add(struct trace_map *map, uint64_t offset, const struct chunk_header *h)
{
	if (array_reserve(map->refs, map->nr + 1, map->max))
		return fail(-ENOMEM, "out of memory (%zu chunks)", map->nr + 1);
	map->refs[map->nr++] = (struct chunk_ref){offset, *h};
	return 0;
}

/* The file being mapped. An error of the disk is no damage of the file: it must not be skipped. */
struct map_file {
	int fd;
	const char *name;
	uint64_t size;
	int err; /* of the first read that failed, with the error message set */
};

/* The number of bytes; 0 after an error. */
static size_t map_read_at(struct map_file *f, void *to, size_t len, uint64_t offset)
{
	ssize_t n = f->err ? f->err : pread_full(f->fd, to, len, offset);

	if (n < 0 && !f->err)
		f->err = fail((int)n, "%s: offset %" PRIu64 ": %s", f->name, offset,
			      strerror((int)-n));
	return n < 0 ? 0 : (size_t)n;
}

static bool header_at(struct map_file *f, uint64_t offset, struct chunk_header *ret)
{
	uint8_t head[CHUNK_HEADER_SIZE];

	return map_read_at(f, head, sizeof(head), offset) == sizeof(head) &&
	       chunk_header_decode(head, ret);
}

/* Is a trailer there, at the end of the file? */
static bool trailer_at(struct map_file *f, uint64_t offset, struct trace_trailer *ret)
{
	uint8_t tail[TRAILER_SIZE];

	return offset + TRAILER_SIZE == f->size &&
	       map_read_at(f, tail, sizeof(tail), offset) == sizeof(tail) &&
	       trace_trailer_decode(tail, ret);
}

/* ---- from the index ---- */

/* One index chunk's entries; they must cover the file without a gap, else the index is rejected. */
static int index_entries(const uint8_t *data, size_t len, uint64_t *expected, struct trace_map *map)
{
	struct chunk_header h;
	uint64_t offset;
	int err;

	for (; len >= INDEX_ENTRY_SIZE; data += INDEX_ENTRY_SIZE, len -= INDEX_ENTRY_SIZE) {
		memcpy(&offset, data, 8);
		if (offset != *expected || !chunk_header_decode(data + 8, &h) ||
		    h.kind == CHUNK_INDEX)
			return -EBADMSG;
		*expected += chunk_length(&h);
		err = map_add(map, offset, &h);
		if (err)
			return err;
	}
	return len ? -EBADMSG : 0;
}

static int index_chunk(struct chunk_loader *l, const struct chunk_ref *ref, uint64_t *expected,
		       struct trace_map *map)
{
	_cleanup_free_ uint8_t *data = malloc(ref->h.raw + 1);
	int err;

	if (!data)
		return fail(-ENOMEM, "out of memory");
	err = chunk_load(l, ref, NULL, data);
	return err ? err : index_entries(data, ref->h.raw, expected, map);
}

static int map_from_index(struct map_file *f, struct trace_map *map)
{
	struct trace_trailer t;
	struct chunk_ref ref;
	uint64_t expected = TRACE_HEADER_SIZE;
	struct chunk_loader *l;
	int err = 0;

	if (f->size < TRACE_HEADER_SIZE + TRAILER_SIZE ||
	    !trailer_at(f, f->size - TRAILER_SIZE, &t) || !t.nr_index)
		return f->err ? f->err : -ENODATA;
	l = chunk_loader_new(f->fd, f->name);
	if (!l)
		return fail(-ENOMEM, "%s: out of memory", f->name);
	ref.offset = t.index_offset;
	for (uint32_t i = 0; i < t.nr_index && !err; i++) {
		if (!header_at(f, ref.offset, &ref.h) || ref.h.kind != CHUNK_INDEX)
			err = f->err ? f->err : -EBADMSG;
		else
			err = index_chunk(l, &ref, &expected, map);
		if (!i && !err)
			map->index = ref.h;
		ref.offset += err ? 0 : chunk_length(&ref.h);
	}
	chunk_loader_free(l);
	if (!err && expected != t.index_offset)
		err = -EBADMSG;
	if (!err)
		map->index_offset = t.index_offset;
	return err;
}

/* ---- from the chunks ---- */

/* The first byte at or after `from` that is not in a hole of the file; its size if there is none. */
static uint64_t skip_hole(const struct map_file *f, uint64_t from)
{
	off_t data = lseek(f->fd, (off_t)from, SEEK_DATA);

	if (data >= 0)
		return (uint64_t)data;
	return errno == ENXIO ? f->size : from; /* not every file system knows */
}

/* The next valid chunk header at or after `from`; UINT64_MAX: none. */
static uint64_t search(struct map_file *f, uint64_t from)
{
	_cleanup_free_ uint8_t *buf = malloc(SEARCH_BYTES);
	struct chunk_header h;

	if (!buf)
		f->err = fail(-ENOMEM, "%s: out of memory", f->name);
	while (buf && from + CHUNK_HEADER_SIZE <= f->size) {
		size_t n;

		from = skip_hole(f, from);
		n = map_read_at(f, buf, SEARCH_BYTES, from);
		if (n < CHUNK_HEADER_SIZE)
			break;
		for (const uint8_t *p = buf; (p = memmem(p, (size_t)(buf + n - p), CHUNK_MAGIC, 4));
		     p++) {
			if (p + CHUNK_HEADER_SIZE > buf + n)
				break;
			if (chunk_header_decode(p, &h))
				return from + (uint64_t)(p - buf);
		}
		from += n - CHUNK_HEADER_SIZE +
			1; /* a header may span two pieces */
	}
	return UINT64_MAX;
}

static void caveat_cut(struct trace_info *info, uint64_t end, uint64_t size)
{
	info->truncated = true;
	if (size == end)
		trace_info_caveat(info,
				  "%s is truncated: it has no index (the recording was killed or "
				  "is still running); all complete chunks were read",
				  info->file);
	else
		trace_info_caveat(info,
				  "%s is truncated: it has no index; %" PRIu64
				  " bytes after offset %" PRIu64 " were not usable",
				  info->file, size - end, end);
}

static int map_by_scanning(struct map_file *f, struct trace_info *info, struct trace_map *map)
{
	uint64_t at = TRACE_HEADER_SIZE;
	struct trace_trailer t;
	struct chunk_header h;
	bool whole;
	int err;

	while (at < f->size && !trailer_at(f, at, &t)) {
		if (!header_at(f, at, &h)) {
			uint64_t next = search(f, at + 1);

			if (next == UINT64_MAX || f->err)
				break;
			trace_info_caveat(info,
					  "%s is corrupt: %" PRIu64 " bytes after offset %" PRIu64
					  " were skipped",
					  info->file, next - at, at);
			at = next;
			continue;
		}
		if (chunk_length(&h) > f->size - at)
			break;
		err = h.kind == CHUNK_INDEX ? 0 : map_add(map, at, &h);
		if (err)
			return err;
		at += chunk_length(&h);
	}
	whole = trailer_at(f, at, &t);
	if (f->err)
		return f->err;
	if (!whole)
		caveat_cut(info, at, f->size);
	else
		trace_info_caveat(info,
				  "%s: the index is corrupt; the chunks were found by scanning",
				  info->file);
	return 0;
}

int trace_map_load(int fd, struct trace_info *info, struct trace_map *ret)
{
	struct map_file f = {.fd = fd, .name = info->file};
	struct trace_map map = {0};
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return fail(-errno, "%s: %s", info->file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(-ESPIPE,
			    "%s is not a regular file; a .hrt file cannot be read from a pipe",
			    info->file);
	f.size = (uint64_t)st.st_size;
	err = map_from_index(&f, &map);
	if (err == -ENODATA || err == -EBADMSG) {
		debug("read", "%s: no usable index (%d), scanning", info->file, err);
		trace_map_deinit(&map);
		err = map_by_scanning(&f, info, &map);
	}
	if (err) {
		trace_map_deinit(&map);
		return err;
	}
	*ret = map;
	return 0;
}

/* One chunk from the file into memory: lengths are bounded by its header, bytes proved by its CRCs. */

struct chunk_loader {
	int fd;
	const char *file;
	const uint8_t *window; /* instead of the file; NULL: none */
	size_t window_len;
	uint64_t window_at;
	uint8_t *packed, *delta; /* as stored; without zstd, where both packings are used */
	size_t packed_size, delta_size;
	ZSTD_DCtx *zstd;
	struct columns *columns;
	struct columns_packer *packer; /* of older packings */
	uint8_t *records, *repacked;
};

struct chunk_loader *chunk_loader_new(int fd, const char *file)
{
	struct chunk_loader *l = calloc(1, sizeof(*l));

	if (l)
		*l = (struct chunk_loader){.fd = fd, .file = file};
	return l;
}

void chunk_loader_free(struct chunk_loader *l)
{
	if (!l)
		return;
	ZSTD_freeDCtx(l->zstd);
	columns_free(l->columns);
	columns_packer_free(l->packer);
	free(l->records);
	free(l->repacked);
	free(l->packed);
	free(l->delta);
	free(l);
}

void chunk_loader_window(struct chunk_loader *l, const uint8_t *data, size_t len, uint64_t offset)
{
	l->window = data;
	l->window_len = len;
	l->window_at = offset;
}

static ssize_t window_read(const struct chunk_loader *l, void *to, size_t len, uint64_t offset)
{
	uint64_t at = offset - l->window_at;

	if (!len || offset < l->window_at || at > l->window_len || len > l->window_len - at)
		return 0;
	memcpy(to, l->window + at, len);
	return (ssize_t)len;
}

static int read_at(const struct chunk_loader *l, void *to, size_t len, uint64_t offset)
{
	ssize_t n = l->window ? window_read(l, to, len, offset)
			      : pread_full(l->fd, to, len, offset);

	if (n < 0)
		return fail((int)n, "%s: offset %" PRIu64 ": %s", l->file, offset,
			    strerror((int)-n));
	return n == (ssize_t)len
		       ? 0
		       : fail(-EBADMSG, "%s: offset %" PRIu64 ": the file ends inside a chunk",
			      l->file, offset + (uint64_t)n);
}

static int damaged(const struct chunk_loader *l, const struct chunk_ref *ref, const char *what)
{
	return fail(-EBADMSG, "%s: offset %" PRIu64 ": %s", l->file, ref->offset, what);
}

static int reserve(struct chunk_loader *l, size_t len, uint8_t **buf, size_t *size)
{
	if (len <= *size)
		return 0;
	free(*buf);
	*buf = malloc(len);
	*size = *buf ? len : 0;
	return *buf ? 0 : fail(-ENOMEM, "%s: out of memory", l->file);
}

/* Decompresses the zstd frame: at most h.raw bytes, exactly as many if `whole`. */
static int unzstd(struct chunk_loader *l, const struct chunk_ref *ref, uint8_t *out, bool whole,
		  size_t *ret_len)
{
	if (!l->zstd)
		l->zstd = ZSTD_createDCtx();
	if (!l->zstd)
		return fail(-ENOMEM, "%s: out of memory", l->file);
	size_t n = ZSTD_decompressDCtx(l->zstd, out, ref->h.raw, l->packed, ref->h.stored);

	if (ZSTD_isError(n) || (whole && n != ref->h.raw))
		return damaged(l, ref, "corrupt compressed data in a chunk");
	*ret_len = n;
	return 0;
}

static int unpack(struct chunk_loader *l, const struct chunk_ref *ref, const bool *wanted,
		  uint8_t *out)
{
	const uint8_t *delta = l->packed;
	size_t len = ref->h.stored;
	int err = 0;

	if (ref->h.encoding == ENCODING_ZSTD)
		return unzstd(l, ref, out, true, &len);
	if (ref->h.encoding & ENCODING_ZSTD) {
		err = reserve(l, ref->h.raw, &l->delta, &l->delta_size);
		if (!err)
			err = unzstd(l, ref, l->delta, false, &len);
		delta = l->delta;
	}
	if (!err && ref->h.encoding >= ENCODING_COLUMNS && !l->columns &&
	    !(l->columns = columns_new()))
		err = fail(-ENOMEM, "%s: out of memory", l->file);
	if (err)
		return err;
	bool fine = ref->h.encoding >= ENCODING_COLUMNS
			    ? columns_unpack(l->columns, delta, len, wanted, out,
					     ref->h.raw)
			    : delta_unpack(delta, len, out, ref->h.raw);

	return fine ? 0 : damaged(l, ref, "corrupt packed records in a chunk");
}

/* Reads the stored payload and checks its CRC: into `out`, or into l->packed if that is NULL. */
static int load_stored(struct chunk_loader *l, const struct chunk_ref *ref, uint8_t *out)
{
	const struct chunk_header *h = &ref->h;
	uint64_t at = ref->offset + CHUNK_HEADER_SIZE + (uint64_t)h->nr_counts * COUNT_SIZE;
	int err = out ? 0 : reserve(l, h->stored, &l->packed, &l->packed_size);

	out = out ? out : l->packed;
	if (!err)
		err = read_at(l, out, h->stored, at);
	if (!err && crc32c(0, out, h->stored) != h->payload_crc)
		err = damaged(l, ref, "corrupt chunk (CRC mismatch)");
	return err;
}

int chunk_load(struct chunk_loader *l, const struct chunk_ref *ref, const bool *wanted,
	       uint8_t *out)
{
	const struct chunk_header *h = &ref->h;
	bool raw = h->encoding == ENCODING_RAW;
	int err;

	if (h->encoding > ENCODING_COLUMNS_ZSTD ||
	    (h->encoding >= ENCODING_DELTA && h->kind != CHUNK_RECORDS))
		return damaged(l, ref, "chunk with an encoding unknown to this version");
	err = load_stored(l, ref, raw ? out : NULL);
	return err || raw ? err : unpack(l, ref, wanted, out);
}

/* Columns where a chunk has none. */
static int repack(struct chunk_loader *l, const struct chunk_ref *ref,
		  const struct event_type *const *types, const uint8_t **ret, size_t *ret_len)
{
	const uint32_t *cuts;
	unsigned int nr_cuts;
	int err;

	if (!l->packer) {
		l->packer = columns_packer_new();
		l->records = malloc(RECORDS_RAW_MAX);
		l->repacked = malloc(COLUMNS_BYTES_MAX);
	}
	if (!l->packer || !l->records || !l->repacked)
		return fail(-ENOMEM, "%s: out of memory", l->file);
	err = chunk_load(l, ref, NULL, l->records);
	if (err)
		return err;
	*ret = l->repacked;
	*ret_len = columns_pack(l->packer, l->records, ref->h.raw, types, l->repacked,
				COLUMNS_BYTES_MAX, &cuts, &nr_cuts);
	return *ret_len ? 0 : damaged(l, ref, "records of a chunk do not fit into columns");
}

int chunk_load_columns(struct chunk_loader *l, const struct chunk_ref *ref,
		       const struct event_type *const *types, const uint8_t **ret, size_t *ret_len)
{
	const struct chunk_header *h = &ref->h;
	bool zstd = h->encoding == ENCODING_COLUMNS_ZSTD;
	int err;

	if (!zstd && h->encoding != ENCODING_COLUMNS)
		return repack(l, ref, types, ret, ret_len);
	err = load_stored(l, ref, NULL);
	if (!err && zstd)
		err = reserve(l, h->raw, &l->delta, &l->delta_size);
	*ret = zstd ? l->delta : l->packed;
	*ret_len = h->stored;
	return err || !zstd ? err : unzstd(l, ref, l->delta, false, ret_len);
}

int chunk_load_counts(struct chunk_loader *l, const struct chunk_ref *ref, struct chunk_count **ret)
{
	size_t nr = ref->h.nr_counts;
	_cleanup_free_ uint8_t *table = malloc(nr * COUNT_SIZE + 1);
	_cleanup_free_ struct chunk_count *counts = calloc(nr + 1, sizeof(*counts));
	int err;

	if (!table || !counts)
		return fail(-ENOMEM, "%s: out of memory", l->file);
	err = read_at(l, table, nr * COUNT_SIZE, ref->offset + CHUNK_HEADER_SIZE);
	if (err)
		return err;
	if (crc32c(0, table, nr * COUNT_SIZE) != ref->h.counts_crc)
		return damaged(l, ref, "corrupt table of counts in a chunk (CRC mismatch)");
	for (size_t i = 0; i < nr; i++) {
		uint64_t v;

		memcpy(&v, table + i * COUNT_SIZE, COUNT_SIZE);
		counts[i] = (struct chunk_count){(uint16_t)v, v >> 16};
	}
	*ret = take_ptr(counts);
	return 0;
}

/* ---- the metadata, without events and their types ---- */

static int header_check(int fd, const char *file)
{
	uint8_t head[TRACE_HEADER_SIZE];
	struct trace_header h;
	ssize_t n = pread_full(fd, head, sizeof(head), 0);

	return n < 0 ? fail((int)n, "%s: %s", file, strerror((int)-n))
		     : trace_header_decode(head, (size_t)n, file, &h);
}

static int chunk_add(struct chunk_loader *loader, const struct chunk_ref *ref,
		     struct trace_info *info)
{
	_cleanup_free_ char *text = malloc(ref->h.raw + 1);
	json_error_t why;
	int err = text ? chunk_load(loader, ref, NULL, (uint8_t *)text)
		       : fail(-ENOMEM, "out of memory");

	if (!err && !trace_info_load(info, text, ref->h.raw, &why))
		err = fail(-EINVAL, "%s: offset %" PRIu64 ": the metadata is not a JSON object",
			   info->file, ref->offset);
	return err;
}

static int chunks_read(int fd, const char *file, struct trace_info *info)
{
	struct chunk_loader *loader = chunk_loader_new(fd, file);
	struct trace_map map = {0};
	int err = loader ? trace_map_load(fd, info, &map) : fail(-ENOMEM, "out of memory");

	for (size_t i = 0; i < map.nr && !err; i++)
		if (map.refs[i].h.kind == CHUNK_META)
			err = chunk_add(loader, &map.refs[i], info);
	trace_map_deinit(&map);
	chunk_loader_free(loader);
	return err;
}

int trace_meta_read(int fd, const char *file, json_t **ret)
{
	struct trace_info info = {0};
	int err = header_check(fd, file);

	if (!err)
		err = trace_info_init(&info, file, "hrt");
	if (!err)
		err = chunks_read(fd, file, &info);
	if (!err)
		*ret = json_incref(info.meta);
	trace_info_deinit(&info);
	return err;
}
