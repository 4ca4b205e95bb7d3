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

static bool read_exactly(int fd, void *to, size_t len, uint64_t offset)
{
	return pread(fd, to, len, (off_t)offset) == (ssize_t)len;
}

static bool header_at(int fd, uint64_t offset, struct chunk_header *ret)
{
	uint8_t head[CHUNK_HEADER_SIZE];

	return read_exactly(fd, head, sizeof(head), offset) && chunk_header_decode(head, ret);
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

static int map_from_index(int fd, const char *file, uint64_t size, struct trace_map *map)
{
	uint8_t tail[TRAILER_SIZE];
	struct trace_trailer t;
	struct chunk_ref ref;
	uint64_t expected = TRACE_HEADER_SIZE;
	struct chunk_loader *l;
	int err = 0;

	if (size < TRACE_HEADER_SIZE + TRAILER_SIZE ||
	    !read_exactly(fd, tail, sizeof(tail), size - TRAILER_SIZE) ||
	    !trace_trailer_decode(tail, &t) || !t.nr_index)
		return -ENODATA;
	l = chunk_loader_new(fd, file);
	if (!l)
		return fail(-ENOMEM, "%s: out of memory", file);
	ref.offset = t.index_offset;
	for (uint32_t i = 0; i < t.nr_index && !err; i++) {
		if (!header_at(fd, ref.offset, &ref.h) || ref.h.kind != CHUNK_INDEX)
			err = -EBADMSG;
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

/* The next valid chunk header at or after `from`; UINT64_MAX: none. */
static uint64_t search(int fd, uint64_t from, uint64_t size)
{
	_cleanup_free_ uint8_t *buf = malloc(SEARCH_BYTES);
	struct chunk_header h;

	while (buf && from + CHUNK_HEADER_SIZE <= size) {
		ssize_t n = pread(fd, buf, SEARCH_BYTES, (off_t)from);

		if (n < CHUNK_HEADER_SIZE)
			break;
		for (const uint8_t *p = buf; (p = memmem(p, (size_t)(buf + n - p), CHUNK_MAGIC, 4));
		     p++) {
			if (p + CHUNK_HEADER_SIZE > buf + n)
				break;
			if (chunk_header_decode(p, &h))
				return from + (uint64_t)(p - buf);
		}
		from += (uint64_t)n - CHUNK_HEADER_SIZE +
			1; /* a header may span two pieces */
	}
	return UINT64_MAX;
}

static bool trailer_at(int fd, uint64_t offset, uint64_t size)
{
	uint8_t tail[TRAILER_SIZE];
	struct trace_trailer t;

	return offset + TRAILER_SIZE == size && read_exactly(fd, tail, sizeof(tail), offset) &&
	       trace_trailer_decode(tail, &t);
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

static int map_by_scanning(int fd, uint64_t size, struct trace_info *info, struct trace_map *map)
{
	uint64_t at = TRACE_HEADER_SIZE;
	struct chunk_header h;
	int err;

	while (at < size && !trailer_at(fd, at, size)) {
		if (!header_at(fd, at, &h)) {
			uint64_t next = search(fd, at + 1, size);

			if (next == UINT64_MAX)
				break;
			trace_info_caveat(info,
					  "%s is corrupt: %" PRIu64 " bytes after offset %" PRIu64
					  " were skipped",
					  info->file, next - at, at);
			at = next;
			continue;
		}
		if (chunk_length(&h) > size - at)
			break;
		err = h.kind == CHUNK_INDEX ? 0 : map_add(map, at, &h);
		if (err)
			return err;
		at += chunk_length(&h);
	}
	if (!trailer_at(fd, at, size))
		caveat_cut(info, at, size);
	else
		trace_info_caveat(info,
				  "%s: the index is corrupt; the chunks were found by scanning",
				  info->file);
	return 0;
}

int trace_map_load(int fd, struct trace_info *info, struct trace_map *ret)
{
	struct trace_map map = {0};
	struct stat st;
	int err;

	if (fstat(fd, &st))
		return fail(-errno, "%s: %s", info->file, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(-ESPIPE,
			    "%s is not a regular file; a .hrt file cannot be read from a pipe",
			    info->file);
	err = map_from_index(fd, info->file, (uint64_t)st.st_size, &map);
	if (err && err != -ENOMEM) {
		debug("read", "%s: no usable index (%d), scanning", info->file, err);
		trace_map_deinit(&map);
		err = map_by_scanning(fd, (uint64_t)st.st_size, info, &map);
	}
	if (err) {
		trace_map_deinit(&map);
		return err;
	}
	*ret = map;
	return 0;
}
