// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data that a guest sends while it is recorded, as the host reads it (src/fetch/source*.c): a stream in pieces of any
 * size, or shared memory whose header is wrong, changes between two reads, and shrinks. For every input, the file
 * contains complete, valid frames from one BEGIN to at most one END, or a readable ring.
 *
 * Input: how, then for a stream its bytes; for memory a list of steps (struct step below).
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fetch/source_internal.h"
#include "guestside/agent/stream_shm.h"
#include "mutate_stream.h"
#include "readers/ring/ring_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { WAYS = 4, MEMORY = 3 }; /* the others: how large the pieces are */
enum { STEP_PUT, STEP_SEND, STEP_LOOK, STEP_SIZE, STEPS };
enum { STEPS_MAX = 64, LOOKS_AT_END = 8 };

static void must(bool holds)
{
	if (!holds)
		abort();
}

/* ---- what was written ---- */

static void *file_map(int fd, size_t *ret_size)
{
	off_t end = lseek(fd, 0, SEEK_END);
	void *mem = end > 0 ? mmap(NULL, (size_t)end, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

	must(end >= 0 && mem != MAP_FAILED);
	*ret_size = (size_t)end;
	return mem;
}

static void frames_check(int fd, uint64_t nr_frames, bool ended)
{
	size_t size, at = 0;
	uint8_t *mem = file_map(fd, &size);
	struct stream_head h = {.kind = STREAM_END};
	uint64_t nr;

	for (nr = 0; at < size; nr++, at += STREAM_HEAD + h.bytes) {
		must(size - at >= STREAM_HEAD && stream_head_read(mem + at, &h));
		must(size - at - STREAM_HEAD >= h.bytes);
		must(stream_crc_right(mem + at, mem + at + STREAM_HEAD, h.bytes));
		must((h.kind == STREAM_BEGIN) == !nr);
		must(h.kind != STREAM_END || at + STREAM_HEAD + h.bytes == size);
	}
	must(nr == nr_frames && (!nr || h.kind != STREAM_END || ended));
	if (mem)
		munmap(mem, size);
}

static void ring_check(int fd)
{
	size_t size;
	void *mem = file_map(fd, &size);
	struct ring_image img;
	struct ring_record rec;

	if (!mem)
		return;
	must(!ring_image_open(mem, size, "written", &img));
	for (unsigned int cpu = 0; cpu < img.nr_cpus; cpu++) {
		struct ring_cursor c = {0};

		while (ring_cursor_next(&img, cpu, &c, &rec))
			;
	}
	munmap(mem, size);
}

/* ---- a stream ---- */

/* piece 0: as much as there is room for. */
static void stream_take(const uint8_t *data, size_t size, size_t piece, int out, struct frames *ret)
{
	struct guest_source s = {.ops = &source_serial, .text = "serial:x",
				 .max_bytes = UINT64_MAX,
				 .out = {.path = "out", .fd = out}};
	size_t room;

	while (size && !s.frames.ended) {
		uint8_t *to = frames_room(&s, &room);
		size_t n = piece && piece < room ? piece : room;

		must(to && room);
		n = n < size ? n : size;
		memcpy(to, data, n);
		must(!frames_take(&s, n));
		data += n;
		size -= n;
	}
	frames_check(out, s.frames.frames, s.frames.ended);
	*ret = s.frames;
	free(s.frames.buf);
}

static bool same_files(int a, int b)
{
	size_t na, nb;
	void *ma = file_map(a, &na), *mb = file_map(b, &nb);
	bool same = na == nb && (!na || !memcmp(ma, mb, na));

	if (ma)
		munmap(ma, na);
	if (mb)
		munmap(mb, nb);
	return same;
}

/* In which pieces it came makes no difference. */
static void stream_walk(const uint8_t *data, size_t size, size_t piece)
{
	int whole = memfd_create("whole", MFD_CLOEXEC),
	    pieces = memfd_create("pieces", MFD_CLOEXEC);
	struct frames a, b;

	stream_take(data, size, 0, whole, &a);
	stream_take(data, size, piece, pieces, &b);
	must(a.frames == b.frames && a.damaged == b.damaged && a.ended == b.ended);
	must(same_files(whole, pieces));
	close(whole);
	close(pieces);
}

/* ---- memory ---- */

struct step {
	uint8_t what;
	uint16_t at, len; /* PUT: len bytes of the input to `at`; SEND: so many, as an agent does; SIZE: 64 * at */
} __attribute__((packed));

static void send(int fd, uint64_t *head, const uint8_t *data, size_t len)
{
	const uint64_t data_bytes = STREAM_SHM_MIN - STREAM_SHM_HEAD;

	for (size_t i = 0; i < len; i++, (*head)++)
		must(pwrite(fd, data + i, 1, (off_t)(STREAM_SHM_HEAD + *head % data_bytes)) == 1);
	must(pwrite(fd, head, sizeof(*head), offsetof(struct stream_shm, head)) == sizeof(*head));
}

static void steps_walk(struct guest_source *s, int fd, const uint8_t *data, size_t size)
{
	uint64_t head = 0;
	struct step st;

	for (unsigned int i = 0; i < STEPS_MAX && size >= sizeof(st); i++) {
		memcpy(&st, data, sizeof(st));
		data += sizeof(st);
		size -= sizeof(st);
		if (st.what % STEPS == STEP_PUT || st.what % STEPS == STEP_SEND) {
			size_t n = st.len < size ? st.len : size;

			if (st.what % STEPS == STEP_PUT)
				must(pwrite(fd, data, n, st.at) == (ssize_t)n);
			else
				send(fd, &head, data, n);
			data += n;
			size -= n;
		} else if (st.what % STEPS == STEP_LOOK) {
			s->retry_ms = 0;
			guest_source_round(s);
		} else {
			must(!ftruncate(fd, 64 * (off_t)st.at));
		}
	}
}

/* As guest_source_stop(), which would wait for the rest. */
static void stop(struct guest_source *s)
{
	s->retry_ms = 0;
	guest_source_round(s);
	if (!s->there)
		return;
	if (!s->failed)
		s->ops->ask_end(s);
	for (int i = 0; i < LOOKS_AT_END && !s->failed && !s->frames.ended; i++)
		guest_source_round(s);
	s->ops->finish(s);
}

static void memory_walk(const uint8_t *data, size_t size)
{
	const struct stream_shm h = {.magic = {STREAM_SHM_MAGIC0, STREAM_SHM_MAGIC1},
				     .version = STREAM_SHM_VERSION,
				     .state = STREAM_SHM_WAITING,
				     .data_bytes = STREAM_SHM_MIN - STREAM_SHM_HEAD};
	int fd = memfd_create("memory", MFD_CLOEXEC), out;
	char text[64], path[64];
	struct guest_source *s;

	snprintf(text, sizeof(text), "shm:/proc/self/fd/%d", fd);
	snprintf(path, sizeof(path), "/tmp/hostrace-fuzz-frames.%d", (int)getpid());
	must(!ftruncate(fd, STREAM_SHM_MIN) && pwrite(fd, &h, sizeof(h), 0) == sizeof(h));
	must(!guest_source_open(text, 0, path, false, &s));
	steps_walk(s, fd, data, size);
	stop(s);
	out = open(path, O_RDONLY | O_CLOEXEC);
	must(out >= 0);
	if (s->ring)
		ring_check(out);
	else
		frames_check(out, s->frames.frames, s->frames.ended);
	guest_source_close(s);
	close(out);
	close(fd);
	unlink(path);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	if (!size || *data % WAYS == MEMORY || mutate_chance(&seed, 16))
		return LLVMFuzzerMutate(data, size, max);
	return 1 + stream_mutate(data + 1, size - 1, max - 1, seed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const size_t pieces[MEMORY] = {1, 17, 4099};

	if (size && *data % WAYS == MEMORY)
		memory_walk(data + 1, size - 1);
	else if (size)
		stream_walk(data + 1, size - 1, pieces[*data % WAYS]);
	return 0;
}
