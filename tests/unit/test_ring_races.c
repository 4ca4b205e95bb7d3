// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's ring under concurrent writes: writers that race with the reader (threads, checksums in the records), and
 * a guest that overwrites all of it.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "ring_util.h"

#include "fetch/source_internal.h"

enum { RACE_GOOD = 200000, RACE_LOST = 1000, RACE_WRITERS = 2, RACE_SECONDS = 60 };

static bool racing;

/* What ring_follow_write() wrote. */
struct copy {
	uint8_t *mem;
	size_t len, size;
};

static uint64_t mix(uint64_t x)
{
	x ^= x >> 31;
	x *= 0x9e3779b97f4a7c15ull;
	return x ^ x >> 29;
}

static void words_make(uint64_t seed, uint64_t *w, unsigned int nr)
{
	w[0] = seed;
	for (unsigned int i = 1; i < nr; i++)
		w[i] = mix(w[i - 1] + i);
}

static void *race_writer(void *arg)
{
	uint64_t w[RING_ARGS_MAX + RING_FRAMES_MAX];
	uint64_t seed = (uintptr_t)arg << 40;

	for (unsigned int i = 0; __atomic_load_n(&racing, __ATOMIC_ACQUIRE); i++) {
		unsigned int nr = 1 + (unsigned int)(mix(++seed) % 5);

		if (i % 8 == 0) {
			words_make(seed, w, RING_ARGS_MAX + 20);
			ring_write_long(&ring, 0, (uint32_t)seed, 1, w, RING_ARGS_MAX,
					w + RING_ARGS_MAX, 20);
		} else {
			words_make(seed, w, nr);
			ring_write(&ring, 0, (uint32_t)seed, 0, w, nr);
		}
	}
	return NULL;
}

static void record_check(const struct ring_record *rec)
{
	uint64_t w[RING_ARGS_MAX + RING_FRAMES_MAX];
	unsigned int nr = rec->nr_args + rec->nr_frames;

	assert_int_equal(rec->thread, (uint32_t)rec->word[0]);
	assert_true(rec->event ? rec->nr_args == RING_ARGS_MAX && rec->nr_frames == 20
			       : nr >= 1 && nr <= 5);
	words_make(rec->word[0], w, nr);
	assert_memory_equal(rec->word, w, nr * 8);
}

static void race_start(pthread_t *threads, unsigned int nr)
{
	racing = true;
	for (uintptr_t i = 0; i < nr; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, race_writer, (void *)(i + 1)),
				 0);
}

static void race_end(pthread_t *threads, unsigned int nr)
{
	__atomic_store_n(&racing, false, __ATOMIC_RELEASE);
	for (unsigned int i = 0; i < nr; i++)
		pthread_join(threads[i], NULL);
}

/* Until 200,000 good records were read and the writers were met often enough to have been a danger. */
static void race_live(unsigned int nr_writers, unsigned int slots, bool wait)
{
	pthread_t threads[RACE_WRITERS];
	struct ring_cursor c = {.wait = wait};
	struct ring_record rec;
	uint64_t good = 0, last = 0;
	time_t end = time(NULL) + RACE_SECONDS;

	ring_make(1, slots, RING_OVERWRITE);
	race_start(threads, nr_writers);
	while ((good < RACE_GOOD || c.overwritten + c.torn < RACE_LOST) && time(NULL) < end)
		for (unsigned int i = 0; i < 10000 && ring_cursor_next(&img, 0, &c, &rec);
		     i++, good++) {
			record_check(&rec);
			assert_true(!good || rec.pos > last);
			last = rec.pos;
		}
	race_end(threads, nr_writers);
	print_message(
		"%u writers, %u slots%s: %llu good, %llu torn and refused, %llu slots overwritten, "
		"%llu unfinished, %llu dropped\n",
		nr_writers, slots, wait ? ", waiting" : "", (unsigned long long)good,
		(unsigned long long)c.torn, (unsigned long long)c.overwritten,
		(unsigned long long)c.unfinished, (unsigned long long)ring_image_drops(&img, 0));
	assert_true(good && c.overwritten + c.torn); /* a busy machine: time ran out before */
	ring_unmake(NULL);
}

static void reader_races_one_writer(void **state)
{
	(void)state;
	race_live(1, 16, false);
	race_live(1, 256, true);
}

static void reader_races_two_writers_of_one_buffer(void **state)
{
	(void)state;
	race_live(2, 16, false);
	race_live(2, 256, true);
}

static int memory_copy(void *arg, uint64_t offset, void *to, size_t len)
{
	struct iovec local = {to, len}, remote = {(uint8_t *)ring.header + offset, len};

	(void)arg;
	assert_int_equal(process_vm_readv(getpid(), &local, 1, &remote, 1, 0), len);
	return 0;
}

static int copy_put(void *arg, const void *data, size_t len)
{
	struct copy *copy = arg;

	if (copy->len + len > copy->size) { /* twice as much: a sanitizer's realloc() always copies */
		copy->size = 2 * (copy->len + len);
		copy->mem = realloc(copy->mem, copy->size);
	}
	assert_non_null(copy->mem);
	memcpy(copy->mem + copy->len, data, len);
	copy->len += len;
	return 0;
}

/* The out-of-process way: three copies of running memory; slots that changed meanwhile are not kept. */
static void three_copies_of_a_running_ring(void **state)
{
	pthread_t threads[RACE_WRITERS];
	time_t end = time(NULL) + RACE_SECONDS;
	struct ring_cursor c = {0};
	struct copy copy = {0};
	struct ring_image copied;
	struct ring_record rec;
	struct ring_follow *f;
	uint64_t good = 0;

	(void)state;
	ring_make(1, 256, RING_OVERWRITE);
	assert_int_equal(ring_follow_new(memory_copy, NULL, NULL, "running ring", &f), 0);
	race_start(threads, 1);
	while (ring_follow_records(f) < RACE_GOOD && time(NULL) < end)
		assert_int_equal(ring_follow_look(f, false), 0);
	race_end(threads, 1);
	assert_int_equal(ring_follow_write(f, copy_put, &copy), 0);
	assert_int_equal(ring_image_open(copy.mem, copy.len, "copy", &copied), 0);
	for (; ring_cursor_next(&copied, 0, &c, &rec); good++)
		record_check(&rec);
	print_message("three copies: %llu good, %llu slots lost\n", (unsigned long long)good,
		      (unsigned long long)ring_image_drops(&copied, 0));
	assert_int_equal(good, ring_follow_records(f));
	assert_true(good && ring_image_drops(&copied, 0));
	ring_follow_free(f);
	free(copy.mem);
}

/* ---- a hostile guest ---- */

/* Garbage everywhere, with some plausible records in between. */
static void *scribbler(void *arg)
{
	uint64_t seed = 1, words = *(size_t *)arg / 8, slots = ring.mask + 1;
	uint64_t *mem = (uint64_t *)ring.header;

	while (__atomic_load_n(&racing, __ATOMIC_ACQUIRE)) {
		uint64_t what = mix(++seed), pos = mix(++seed) % (4 * slots);
		struct ring_slot *slot = ring_slot_at(&ring, what & 1, pos);

		ring_store(&mem[mix(++seed) % words], what % 3 ? what : what >> 48);
		ring_store(&ring.cpus[what & 1].head, what % 5 ? 4 * slots : what);
		for (unsigned int i = 0; i < 4; i++) {
			ring_store(&slot->word[1], mix(++seed) >> (what % 8 ? 13 : 0));
			ring_store(&slot->mark, ring_mark(pos, i & 1 ? RING_MORE : RING_FIRST));
			slot = ring_slot_at(&ring, what & 1, ++pos);
		}
	}
	return NULL;
}

static void guest_scribbles_while_we_read(void **state)
{
	struct ring_record rec;
	uint64_t seen = 0;
	pthread_t thread;
	size_t bytes;

	(void)state;
	ring_make(2, 64, RING_OVERWRITE);
	bytes = img.bytes;
	racing = true;
	assert_int_equal(pthread_create(&thread, NULL, scribbler, &bytes), 0);
	for (unsigned int i = 0; i < 20000; i++) {
		struct ring_image again;
		struct ring_cursor c = {.pos = i % 3 ? 0 : mix(i), .wait = i & 1};
		struct ring_event ev;

		for (unsigned int n = 0; n < 64 && ring_cursor_next(&img, i & 1, &c, &rec); n++) {
			assert_true(rec.nr_args <= RING_ARGS_MAX &&
				    rec.nr_frames <= RING_FRAMES_MAX);
			seen++;
		}
		ring_image_event(&img, i % 9, &ev);
		if (!ring_image_open(ring.header, bytes, "ring", &again))
			assert_true(again.slots_offset < bytes);
	}
	race_end(&thread, 1);
	print_message("%llu records read of a ring that was being scribbled on\n",
		      (unsigned long long)seen);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(reader_races_one_writer, ring_unmake),
		cmocka_unit_test_teardown(reader_races_two_writers_of_one_buffer, ring_unmake),
		cmocka_unit_test_teardown(three_copies_of_a_running_ring, ring_unmake),
		cmocka_unit_test_teardown(guest_scribbles_while_we_read, ring_unmake),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
