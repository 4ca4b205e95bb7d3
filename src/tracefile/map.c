// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "base/read_full.h"
#include "tracefile/map.h"

enum { SEARCH_BYTES = 1 << 20 }; /* read at a time when the next sound chunk is sought */

void trace_map_deinit(struct trace_map *map)
{
	free(map->refs);
	*map = (struct trace_map){0};
}

static int map_add(struct trace_map *map, uint64_t offset, const struct chunk_header *h)
{
	if (map->nr == map->max) {
		size_t max = map->max ? 2 * map->max : 256;
		struct chunk_ref *refs = realloc(map->refs, max * sizeof(*refs));

		if (!refs)
			return fail(-ENOMEM, "out of memory (%zu chunks)", max);
		map->refs = refs;
		map->max = max;
	}
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
static size_t read_at(struct map_file *f, void *to, size_t len, uint64_t offset)
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

	return read_at(f, head, sizeof(head), offset) == sizeof(head) &&
	       chunk_header_decode(head, ret);
}

/* Is a trailer there, at the end of the file? */
static bool trailer_at(struct map_file *f, uint64_t offset, struct trace_trailer *ret)
{
	uint8_t tail[TRAILER_SIZE];

	return offset + TRAILER_SIZE == f->size &&
	       read_at(f, tail, sizeof(tail), offset) == sizeof(tail) &&
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
	err = chunk_load(l, ref, data);
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
		n = read_at(f, buf, SEARCH_BYTES, from);
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
