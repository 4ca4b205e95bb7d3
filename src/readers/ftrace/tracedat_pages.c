// SPDX-License-Identifier: GPL-2.0-or-later
/* Pages of one CPU: read in blocks where they lie plain, unpacked chunk by chunk where they are packed. */
#include <errno.h>
#include <inttypes.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/array.h"
#include "base/error.h"
#include "base/read_full.h"
#include "readers/ftrace/tracedat_file.h"

enum {
	BLOCK = 256 << 10,
	PIECE = 64 << 10,
};

int tracedat_unpack(enum tracedat_packing packing, const uint8_t *from, size_t from_len,
		    uint8_t *to, size_t len, const char *path)
{
	uLongf zlib_len = len;
	int zlib = packing == TRACEDAT_ZLIB ? uncompress(to, &zlib_len, from, from_len) : Z_OK;
	size_t got = packing == TRACEDAT_ZSTD  ? ZSTD_decompress(to, len, from, from_len)
		     : packing == TRACEDAT_ZLIB ? zlib_len
						: 0;

	if (zlib == Z_MEM_ERROR ||
	    (ZSTD_isError(got) && ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation))
		return fail(-ENOMEM, "%s: out of memory", path);
	if (zlib != Z_OK || got != len)
		return fail(-EBADMSG, "%s: cannot decompress data", path);
	return 0;
}

static uint64_t file_bytes(const struct tracedat_file *f, const struct tracedat_cpu *cpu)
{
	return cpu->fd < 0 ? f->bytes : cpu->bytes;
}

void tracedat_pages_init(struct tracedat_pages *p, const struct tracedat_file *f,
			 const struct tracedat_cpu *cpu)
{
	uint64_t bytes = file_bytes(f, cpu);

	*p = (struct tracedat_pages){.file = f, .cpu = cpu, .at = cpu->offset, .left = cpu->size};
	p->begun = !cpu->chunked;
	if (!cpu->chunked && (cpu->offset > bytes || cpu->size > bytes - cpu->offset)) {
		p->left = cpu->offset > bytes ? 0 : bytes - cpu->offset;
		p->left -= p->left % f->page_size;
		p->cut = true;
	}
	if (cpu->chunked && cpu->size)
		p->left += sizeof(p->chunks); /* trace-cmd does not count it */
}

void tracedat_pages_deinit(struct tracedat_pages *p)
{
	free(p->buf);
	free(p->packed);
	ZSTD_freeDCtx(p->unzstd);
	p->buf = p->packed = NULL;
	p->unzstd = NULL;
}

static int room_make(uint8_t **buf, size_t *room, size_t want)
{
	uint8_t *grown;

	if (want <= *room)
		return 0;
	grown = realloc(*buf, want);
	if (!grown)
		return fail(-ENOMEM, "out of memory");
	*buf = grown;
	*room = want;
	return 0;
}

/* Takes len bytes of what is left. */
static int take(struct tracedat_pages *p, void *to, size_t len)
{
	ssize_t n;

	if (len > p->left)
		return fail(-EBADMSG, "%s: offset %" PRIu64 ": unexpected end of the CPU's data",
			    p->file->path, p->at);
	n = pread_full(p->cpu->fd < 0 ? p->file->fd : p->cpu->fd, to, len, p->at);
	if (n < (ssize_t)len)
		return fail(n < 0 ? (int)n : -EBADMSG, "%s: offset %" PRIu64 ": %s", p->file->path,
			    p->at, n < 0 ? strerror((int)-n) : "unexpected end of the CPU's data");
	p->at += len;
	p->left -= len;
	return 0;
}

static int block_read(struct tracedat_pages *p)
{
	size_t page = p->file->page_size, want = p->left < BLOCK ? p->left : BLOCK;
	int err;

	want = want < page ? page : want - want % page;
	err = room_make(&p->buf, &p->buf_room, want);
	if (!err)
		err = take(p, p->buf, want);
	p->len = want;
	p->data = p->buf;
	return err;
}

/* As tracedat_unpack(), with a context that is used for all chunks. */
static int chunk_unpack(struct tracedat_pages *p, size_t packed, size_t len)
{
	if (p->file->packing != TRACEDAT_ZSTD)
		return tracedat_unpack(p->file->packing, p->packed, packed, p->buf, len,
				       p->file->path);
	p->unzstd = p->unzstd ? p->unzstd : ZSTD_createDCtx();
	if (!p->unzstd)
		return fail(-ENOMEM, "out of memory");
	if (ZSTD_decompressDCtx(p->unzstd, p->buf, len, p->packed, packed) != len)
		return fail(-EBADMSG, "%s: cannot decompress data", p->file->path);
	return 0;
}

/* The next chunk, if it was kept. */
static bool kept_take(struct tracedat_pages *p)
{
	const struct tracedat_kept *k = p->chunk < p->cpu->nr_kept ? &p->cpu->kept[p->chunk] : NULL;

	if (!k || !k->data || p->left < k->packed)
		return false;
	p->data = k->data;
	p->len = k->len;
	p->at += k->packed;
	p->left -= k->packed;
	p->chunk++;
	return true;
}

/* One of each CPU is in memory, and one of zeros is packed to a ten thousandth. */
static uint64_t chunk_max(const struct tracedat_file *f)
{
	uint64_t pages = (uint64_t)TRACEDAT_CHUNK_PAGES_MAX * f->page_size,
		 max = pages > TRACEDAT_CHUNK_MAX ? pages : TRACEDAT_CHUNK_MAX,
		 share = TRACEDAT_CHUNKS_MAX / (f->nr_cpus ? f->nr_cpus : 1);

	return max < share ? max : share;
}

static int chunk_read(struct tracedat_pages *p)
{
	const uint64_t max = chunk_max(p->file);
	uint32_t head[2];
	int err;

	if (kept_take(p))
		return 0;
	err = take(p, head, sizeof(head));
	p->chunk++;
	p->data = NULL;
	if (err)
		return err;
	if (head[0] > max || head[1] > max)
		return fail(-EBADMSG,
			    "%s: offset %" PRIu64 ": invalid chunk size %u (at most %" PRIu64 ")",
			    p->file->path, p->at, head[0] > head[1] ? head[0] : head[1], max);
	err = room_make(&p->packed, &p->packed_room, head[0]);
	if (!err)
		err = room_make(&p->buf, &p->buf_room, head[1]);
	if (!err)
		err = take(p, p->packed, head[0]);
	if (!err)
		err = chunk_unpack(p, head[0], head[1]);
	p->len = head[1];
	p->data = p->buf;
	return err;
}

static int pages_refill(struct tracedat_pages *p)
{
	int err = 0;

	p->next = p->len = 0;
	if (!p->begun) {
		p->begun = true;
		if (p->left)
			err = take(p, &p->chunks, sizeof(p->chunks));
		if (err || !p->chunks) {
			p->left = 0;
			return err;
		}
	}
	if (p->chunks) {
		if (!--p->chunks) {
			err = chunk_read(p);
			p->left = 0;
			return err;
		}
		return chunk_read(p);
	}
	return block_read(p);
}

/* A damaged one is returned as a page that cannot be right, so that it is counted. */
static int frame_next(struct tracedat_pages *p, const uint8_t **ret)
{
	const struct tracedat_frame *frame = &p->cpu->frame[p->next_frame];
	size_t page = p->file->page_size;
	int err;

	if (p->next_frame == p->cpu->nr_frames)
		return 0;
	p->next_frame++;
	p->at = frame->offset;
	p->left = frame->bytes;
	err = room_make(&p->buf, &p->buf_room, page);
	if (!err)
		err = frame->bytes > page ? fail(-EBADMSG, "%s: page too long", p->file->path)
					  : take(p, p->buf, frame->bytes);
	if (err)
		return err;
	memset(p->buf + frame->bytes, 0, page - frame->bytes);
	err = p->file->frame_right(p->file, frame, p->buf);
	if (err < 0)
		return err;
	if (!err)
		memset(p->buf, 0xff, page);
	*ret = p->buf;
	return 1;
}

int tracedat_pages_next(struct tracedat_pages *p, const uint8_t **ret)
{
	size_t page = p->file->page_size;

	if (p->cpu->frame)
		return frame_next(p, ret);
	while (p->len - p->next < page) {
		int err;

		if (!p->left && p->cut)
			return fail(-EBADMSG, "%s: unexpected end of the CPU's data",
				    p->file->path);
		if (!p->left)
			return 0;
		err = pages_refill(p);
		if (err)
			return err;
	}
	*ret = p->data + p->next;
	p->next += page;
	return 1;
}

/* ---- pieces ---- */

static int piece_add(struct tracedat_pieces *to, struct tracedat_piece piece)
{
	if (array_reserve(to->piece, to->nr + 1, to->max))
		return -ENOMEM;
	to->piece[to->nr++] = piece;
	return 0;
}

static int plain_split(struct tracedat_pieces *to, struct tracedat_pages *p,
		       struct tracedat_piece piece)
{
	uint32_t page = p->file->page_size, most = page > PIECE ? page : PIECE - PIECE % page;
	int err = 0;

	for (; p->left && !err; p->at += piece.bytes, p->left -= piece.bytes) {
		piece.offset = p->at;
		piece.bytes = p->left < most ? (uint32_t)p->left : most;
		err = piece_add(to, piece);
	}
	if (err || !p->cut)
		return err;
	piece.bytes = 0;
	piece.cut = true;
	return piece_add(to, piece);
}

/* Neither the number of chunks nor their size is believed: each has a head that is in the file. */
static int kept_alloc(struct tracedat_file *f, unsigned int cpu, const struct tracedat_pages *p)
{
	struct tracedat_cpu *c = &f->cpu[cpu];
	uint64_t bytes = file_bytes(f, c), rest = bytes > p->at ? bytes - p->at : 0;
	uint64_t most = (p->left < rest ? p->left : rest) / (2 * sizeof(uint32_t));

	uint32_t nr = p->chunks < most ? p->chunks : (uint32_t)most;

	c->kept = calloc((size_t)nr + 1, sizeof(*c->kept));
	c->nr_kept = c->kept ? nr : 0;
	return c->kept ? 0 : fail(-ENOMEM, "out of memory");
}

/* A chunk that cannot be right is the last piece, and is found to be so when it is read. */
static int chunks_split(struct tracedat_pieces *to, struct tracedat_file *f,
			struct tracedat_pages *p, struct tracedat_piece piece)
{
	uint32_t head[2] = {0};
	int err = p->left ? take(p, &p->chunks, sizeof(p->chunks)) : 0;

	if (!err)
		err = kept_alloc(f, piece.cpu, p);
	for (; p->chunks && !err; p->chunks--) {
		piece.offset = p->at;
		piece.chunk = p->chunk++;
		err = take(p, head, sizeof(head));
		if (err)
			break;
		if (head[0] > chunk_max(f) || head[0] > p->left)
			p->chunks = 1;
		piece.bytes = (uint32_t)sizeof(head) +
			      (head[0] < p->left ? head[0] : (uint32_t)p->left);
		p->at += piece.bytes - sizeof(head);
		p->left -= piece.bytes - sizeof(head);
		err = piece_add(to, piece);
	}
	if (err != -EBADMSG)
		return err;
	piece.bytes = 0;
	piece.cut = true;
	return piece_add(to, piece);
}

void tracedat_pages_keep(struct tracedat_pages *p, const struct tracedat_piece *piece,
			 size_t *kept_bytes)
{
	bool is_chunk = piece->chunk < p->cpu->nr_kept && p->data && p->data == p->buf;
	struct tracedat_kept *k = is_chunk ? &p->cpu->kept[piece->chunk] : NULL;

	if (!k || k->data)
		return;
	if (__atomic_add_fetch(kept_bytes, p->buf_room, __ATOMIC_RELAXED) > TRACEDAT_KEPT_MAX) {
		__atomic_sub_fetch(kept_bytes, p->buf_room, __ATOMIC_RELAXED);
		return;
	}
	*k = (struct tracedat_kept){p->buf, (uint32_t)p->len, piece->bytes};
	p->buf = NULL;
	p->buf_room = 0;
}

int tracedat_pages_split(struct tracedat_pieces *to, struct tracedat_file *f, unsigned int cpu)
{
	struct tracedat_piece piece = {.cpu = (uint16_t)cpu};
	struct tracedat_pages p;

	tracedat_pages_init(&p, f, &f->cpu[cpu]);
	if (f->cpu[cpu].frame)
		return piece_add(to, piece);
	return f->cpu[cpu].chunked ? chunks_split(to, f, &p, piece) : plain_split(to, &p, piece);
}

void tracedat_pages_seek(struct tracedat_pages *p, const struct tracedat_file *f,
			 const struct tracedat_piece *piece)
{
	p->file = f;
	p->cpu = &f->cpu[piece->cpu];
	p->at = piece->offset;
	p->left = piece->bytes;
	p->chunks = p->cpu->chunked && piece->bytes ? 1 : 0;
	p->chunk = piece->chunk;
	p->begun = true;
	p->cut = piece->cut;
	p->next_frame = 0;
	p->len = p->next = 0;
	p->data = NULL;
}
