// SPDX-License-Identifier: GPL-2.0-or-later
/* One chunk from the file into memory: lengths are bounded by its header, bytes proved by its CRCs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/read_full.h"
#include "tracefile/columns.h"
#include "tracefile/delta.h"
#include "tracefile/map.h"

struct chunk_loader {
	int fd;
	const char *file;
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

static int read_at(const struct chunk_loader *l, void *to, size_t len, uint64_t offset)
{
	ssize_t n = pread_full(l->fd, to, len, offset);

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

static int unpack(struct chunk_loader *l, const struct chunk_ref *ref, uint8_t *out)
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
			    ? columns_unpack(l->columns, delta, len, out, ref->h.raw)
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

int chunk_load(struct chunk_loader *l, const struct chunk_ref *ref, uint8_t *out)
{
	const struct chunk_header *h = &ref->h;
	bool raw = h->encoding == ENCODING_RAW;
	int err;

	if (h->encoding > ENCODING_COLUMNS_ZSTD ||
	    (h->encoding >= ENCODING_DELTA && h->kind != CHUNK_RECORDS))
		return damaged(l, ref, "chunk with an encoding unknown to this version");
	err = load_stored(l, ref, raw ? out : NULL);
	return err || raw ? err : unpack(l, ref, out);
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
	err = chunk_load(l, ref, l->records);
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
