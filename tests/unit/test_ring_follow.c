// SPDX-License-Identifier: GPL-2.0-or-later
/* Following a guest's ring while it is written: losses are counted, and what the ring says of itself is untrusted. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fetch/source_internal.h"
#include "readers/ring/ring_image.h"

#include <cmocka.h> /* after ours: it has a fail() too */

static struct ring ring;
static void *ring_mem;
static size_t ring_size;

static void ring_make(unsigned int cpus, unsigned int slots, enum ring_mode mode)
{
	ring_size = ring_bytes(cpus, slots, 8);
	free(ring_mem);
	assert_int_equal(posix_memalign(&ring_mem, RING_ALIGN, ring_size), 0);
	assert_int_equal(ring_init(&ring, ring_mem, ring_size, cpus, 8, mode, "test"), 0);
}

/* As another process's memory is read: word for word, while it may change. */
static int mem_read(void *arg, uint64_t offset, void *to, size_t len)
{
	(void)arg;
	if (offset >= ring.header->slots_offset) /* more would not fit into the buffer for it */
		assert_true(len <= RING_FOLLOW_WINDOW * sizeof(struct ring_slot));
	if (offset > ring_size || len > ring_size - offset)
		return -EFAULT;
	for (size_t i = 0; i < len / 8; i++) {
		uint64_t w = __atomic_load_n((uint64_t *)(void *)((uint8_t *)ring_mem + offset) + i,
					     __ATOMIC_ACQUIRE);

		memcpy((uint8_t *)to + 8 * i, &w, 8);
	}
	memcpy((uint8_t *)to + len / 8 * 8, (uint8_t *)ring_mem + offset + len / 8 * 8, len % 8);
	return 0;
}

static int mem_write(void *arg, uint64_t offset, const void *from, size_t len)
{
	(void)arg;
	memcpy((uint8_t *)ring_mem + offset, from, len);
	return 0;
}

static uint8_t *out;
static size_t out_len, out_size;

static int out_put(void *arg, const void *data, size_t len)
{
	(void)arg;
	if (out_len + len > out_size) { /* twice as much: a sanitizer's realloc() always copies */
		out_size = 2 * (out_len + len);
		out = realloc(out, out_size);
	}
	memcpy(out + out_len, data, len);
	out_len += len;
	return 0;
}

/* What was written, read as a ring at rest. */
static void out_open(struct ring_follow *f, struct ring_image *img)
{
	out_len = 0;
	assert_int_equal(ring_follow_write(f, out_put, NULL), 0);
	assert_int_equal(ring_image_open(out, out_len, "out", img), 0);
}

static void longer_than_the_ring(void **state)
{
	uint64_t args[RING_ARGS_MAX] = {0}, n = 0;
	struct ring_cursor c = {0};
	struct ring_record rec;
	struct ring_follow *f;
	struct ring_image img;
	struct ring_event ev = {.nr_fields = 1, .name = "late", .field = {{"n", RING_DEC, 1}}};

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	for (unsigned int i = 0; i < 500; i++) /* before the first look */
		ring_trace(&ring, 0, 1, 0, 99);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	assert_int_equal(ring_follow_records(f), 64);
	for (unsigned int round = 0; round < 100; round++) {
		for (unsigned int i = 0; i < 20; i++, n++) {
			args[0] = n;
			assert_true(ring_write_long(&ring, 0, 2, 1, args, i % 2 ? 12 : 1, NULL, 0));
		}
		assert_int_equal(ring_follow_look(f, false), 0);
	}
	assert_int_equal(ring_event_add(&ring, &ev), 0); /* described late */
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_int_equal(ring_follow_records(f), 64 + 2000);
	out_open(f, &img);
	assert_int_equal(ring_image_drops(&img, 0), 0);
	assert_true(ring_image_event(&img, 0, &ev));
	for (unsigned int i = 0; i < 64; i++)
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
	for (n = 0; n < 2000; n++) {
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
		assert_int_equal(rec.word[0], n);
		assert_int_equal(rec.nr_args, n % 20 % 2 ? 12 : 1);
	}
	assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 0);
	ring_follow_free(f);
}

/* More at once than are read at a time. */
static void longer_than_the_window(void **state)
{
	const unsigned int nr = 4 * RING_FOLLOW_WINDOW;
	struct ring_cursor c = {0};
	struct ring_record rec;
	struct ring_follow *f;
	struct ring_image img;

	(void)state;
	ring_make(1, nr, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	for (unsigned int i = 0; i < nr - 10; i++)
		ring_trace(&ring, 0, 1, 0, i);
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_int_equal(ring_follow_records(f), nr - 10);
	out_open(f, &img);
	for (unsigned int i = 0; i < nr - 10; i++) {
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
		assert_int_equal(rec.word[0], i);
	}
	ring_follow_free(f);
}

static void overwritten_is_counted(void **state)
{
	struct ring_follow *f;
	struct ring_image img;

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	for (unsigned int i = 0; i < 100; i++)
		ring_trace(&ring, 0, 1, 0, i);
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_int_equal(ring_follow_records(f), 64);
	out_open(f, &img);
	assert_int_equal(ring_image_drops(&img, 0), 36);
	ring_follow_free(f);
}

/* A ring that keeps the oldest records gets free slots where its memory can be written. */
static void slots_are_freed(void **state)
{
	struct ring_follow *f;

	(void)state;
	ring_make(1, 64, RING_DROP);
	assert_int_equal(ring_follow_new(mem_read, mem_write, NULL, "test", &f), 0);
	for (unsigned int i = 0; i < 640; i++) {
		assert_true(ring_trace(&ring, 0, 1, 0, i));
		if (i % 64 == 63)
			assert_int_equal(ring_follow_look(f, false), 0);
	}
	assert_int_equal(ring_follow_records(f), 640);
	assert_int_equal(ring.cpus[0].drops, 0);
	ring_follow_free(f);
}

static bool racing;

static void *writer(void *arg)
{
	uint64_t args[9];

	(void)arg;
	for (uint64_t n = 1; __atomic_load_n(&racing, __ATOMIC_RELAXED); n++) {
		for (unsigned int i = 0; i < 9; i++)
			args[i] = n;
		ring_write_long(&ring, 0, 1, 0, args, n % 3 ? 9 : 2, NULL, 0);
	}
	return NULL;
}

/* Whatever the writer does meanwhile: no record is a mixture, and they only grow. */
static void a_racing_writer(void **state)
{
	struct ring_cursor c = {0};
	struct ring_record rec;
	struct ring_follow *f;
	struct ring_image img;
	uint64_t last = 0;
	pthread_t thread;

	(void)state;
	ring_make(1, 1024, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	racing = true;
	assert_int_equal(pthread_create(&thread, NULL, writer, NULL), 0);
	while (__atomic_load_n(&ring.cpus[0].head, __ATOMIC_RELAXED) < 5000)
		usleep(100);
	for (unsigned int i = 0; i < 300; i++)
		assert_int_equal(ring_follow_look(f, false), 0);
	__atomic_store_n(&racing, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_true(ring_follow_records(f) > 0);
	out_open(f, &img);
	while (ring_cursor_next(&img, 0, &c, &rec)) {
		assert_true(rec.word[0] > last);
		last = rec.word[0];
		for (unsigned int i = 1; i < rec.nr_args; i++)
			assert_int_equal(rec.word[i], last);
	}
	ring_follow_free(f);
}

static void lying_rings(void **state)
{
	struct ring_follow *f;

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	ring.header->bytes = 1ull << 40;
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), -EFBIG);
	ring_make(1, 64, RING_OVERWRITE);
	ring.header->slots_offset = ring.header->bytes - 64;
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), -EBADMSG);
	ring_make(1, 64, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read, NULL, NULL, "test", &f), 0);
	ring_trace(&ring, 0, 1, 0, 1);
	ring.cpus[0].head = UINT64_MAX - 3; /* and again, and back */
	assert_int_equal(ring_follow_look(f, false), 0);
	ring.cpus[0].head = 5;
	assert_int_equal(ring_follow_look(f, false), 0);
	memset(ring_mem, 0xff, ring_size);
	assert_int_equal(ring_follow_look(f, true), 0);
	ring_follow_free(f);
}

static size_t slots_read;

static int mem_read_counted(void *arg, uint64_t offset, void *to, size_t len)
{
	if (offset >= ring.header->slots_offset)
		slots_read += len / sizeof(struct ring_slot);
	return mem_read(arg, offset, to, len);
}

/* Whatever the guest says that it has written: a look reads so many slots, the last one the ring, three times each. */
static void lying_heads(void **state)
{
	enum { SLOTS = 1 << 19, LOOK_MAX = 1 << 17 };
	struct ring_follow *f;

	(void)state;
	ring_make(1, SLOTS, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read_counted, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	for (uint64_t head = SLOTS; head; head <<= 4) {
		ring.cpus[0].head = head;
		slots_read = 0;
		assert_int_equal(ring_follow_look(f, false), 0);
		assert_in_range(slots_read, 1, 3 * LOOK_MAX);
	}
	ring.cpus[0].head = UINT64_MAX / 2;
	slots_read = 0;
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_in_range(slots_read, 1, 3 * SLOTS);
	assert_int_equal(ring_follow_records(f), 0);
	ring_follow_free(f);
}

static bool changing;

/* The second of the three copies of a slot has other words, as if the guest were just about to write it. */
static int mem_read_changing(void *arg, uint64_t offset, void *to, size_t len)
{
	static unsigned int copy;
	struct ring_slot *slot = to;
	int err = mem_read(arg, offset, to, len);

	if (!changing || offset < ring.header->slots_offset)
		return err;
	copy = copy % 3 + 1;
	for (size_t i = 0; i < len / sizeof(*slot); i++)
		if (copy == 2)
			slot[i].word[2] = 4711;
		else if (copy == 3)
			slot[i].mark = ring_mark(slot[i].mark >> 2, RING_BUSY);
	return err;
}

static void a_slot_that_changes(void **state)
{
	struct ring_cursor c = {0};
	struct ring_record rec;
	struct ring_follow *f;
	struct ring_image img;

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(mem_read_changing, NULL, NULL, "test", &f), 0);
	assert_int_equal(ring_follow_look(f, false), 0);
	for (unsigned int i = 0; i < 10; i++)
		ring_trace(&ring, 0, 1, 0, 23);
	changing = true;
	assert_int_equal(ring_follow_look(f, false), 0);
	assert_int_equal(ring_follow_records(f), 0);
	changing = false;
	assert_int_equal(ring_follow_look(f, true), 0);
	assert_int_equal(ring_follow_records(f), 10);
	out_open(f, &img);
	while (ring_cursor_next(&img, 0, &c, &rec))
		assert_int_equal(rec.word[0], 23);
	ring_follow_free(f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(longer_than_the_ring),
		cmocka_unit_test(longer_than_the_window),
		cmocka_unit_test(overwritten_is_counted),
		cmocka_unit_test(slots_are_freed),
		cmocka_unit_test(a_racing_writer),
		cmocka_unit_test(lying_rings),
		cmocka_unit_test(lying_heads),
		cmocka_unit_test(a_slot_that_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
