// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "readers/readers.h"
#include "ring_util.h"

static void layout(void **state)
{
	static uint8_t mem[65536] __attribute__((aligned(4096)));
	struct ring r;

	(void)state;
	assert_int_equal(ring_bytes(0, 16, 1), 0);
	assert_int_equal(ring_bytes(1, 17, 1), 0);
	assert_int_equal(ring_bytes(1, 8, 1), 0);
	assert_int_equal(ring_bytes(RING_CPUS_MAX + 1, 16, 1), 0);
	assert_int_equal(ring_init(&r, mem + 64, 32768, 1, 1, RING_OVERWRITE, NULL), -1);
	assert_int_equal(ring_init(&r, mem, 4096, 1, 1, RING_OVERWRITE, NULL), -1);
	assert_int_equal(ring_init(&r, mem, sizeof(mem), 0, 1, RING_OVERWRITE, NULL), -1);
	assert_int_equal(ring_find(mem, sizeof(mem), 0), -1);
	assert_int_equal(ring_init(&r, mem + 8192, 40000, 2, 4, RING_OVERWRITE, "a\033[1mname"), 0);
	assert_int_equal(r.mask + 1, 256); /* the largest power of two that fits twice */
	assert_int_equal(ring_find(mem, sizeof(mem), 0), 8192);
	assert_int_equal(ring_find(mem, sizeof(mem), 8193), -1);
	assert_int_equal(ring_image_open(mem + 8192, 40000, "ring", &img), 0);
	assert_string_equal(img.name, "a__1mname");
	assert_int_equal(ring_image_open(mem, 40000, "ring", &img), -EBADMSG);
	assert_int_equal(ring_image_open(mem + 8192, 100, "ring", &img), -EBADMSG);
	assert_int_equal(ring_image_open(mem + 8192, 32768, "ring", &img), -EBADMSG);
	r.header->version = 2;
	assert_int_equal(ring_image_open(mem + 8192, 40000, "ring", &img), -EPROTONOSUPPORT);
}

static void records_of_all_sizes(void **state)
{
	uint64_t args[RING_ARGS_MAX], frames[RING_FRAMES_MAX];
	struct ring_cursor c = {0};
	struct ring_record rec;

	(void)state;
	ring_make(2, 4096, RING_OVERWRITE);
	for (unsigned int i = 0; i < RING_ARGS_MAX; i++)
		args[i] = 1000 + i;
	for (unsigned int i = 0; i < RING_FRAMES_MAX; i++)
		frames[i] = 2000 + i;
	for (unsigned int a = 0; a <= RING_ARGS_MAX; a++)
		for (unsigned int f = 0; f <= RING_FRAMES_MAX; f++)
			assert_true(ring_write_long(&ring, 1, a, (uint16_t)f, args, a, frames, f));
	for (unsigned int a = 0; a <= RING_ARGS_MAX; a++)
		for (unsigned int f = 0; f <= RING_FRAMES_MAX; f++) {
			assert_int_equal(ring_cursor_next(&img, 1, &c, &rec), 1);
			assert_int_equal(rec.thread, a);
			assert_int_equal(rec.event, f);
			assert_int_equal(rec.nr_args, a);
			assert_int_equal(rec.nr_frames, f);
			assert_memory_equal(rec.word, args, a * 8);
			assert_memory_equal(rec.word + a, frames, f * 8);
		}
	assert_int_equal(ring_cursor_next(&img, 1, &c, &rec), 0);
	assert_int_equal(c.overwritten + c.torn + c.unfinished, 0);
	c = (struct ring_cursor){0};
	assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 0);
	ring_trace(&ring, 0, 7, 3);
	ring_trace(&ring, 0, 8, 4, 1, 2, 3, 4, 5);
	ring_trace(&ring, 0, 9, 5, 1, 2, 3, 4, 5, 6);
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
		assert_int_equal(rec.thread, 7 + i);
		assert_int_equal(rec.nr_args, i == 0 ? 0 : 4 + i);
		for (unsigned int j = 0; j < rec.nr_args; j++)
			assert_int_equal(rec.word[j], j + 1);
	}
}

static void overwrites_the_oldest(void **state)
{
	struct ring_cursor c = {0};
	struct ring_record rec;

	(void)state;
	ring_make(1, 64, RING_OVERWRITE);
	for (unsigned int i = 0; i < 1000; i++)
		assert_true(ring_trace(&ring, 0, i, 0, i));
	for (unsigned int i = 1000 - 64; i < 1000; i++) {
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
		assert_int_equal(rec.word[0], i);
	}
	assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 0);
	assert_int_equal(c.overwritten, 1000 - 64);
	assert_int_equal(ring_image_drops(&img, 0), 0);
}

static void drops_the_newest(void **state)
{
	const uint64_t args[RING_ARGS_MAX] = {0};
	struct ring_cursor c = {0};
	struct ring_record rec;

	(void)state;
	ring_make(1, 64, RING_DROP);
	for (unsigned int i = 0; i < 63; i++)
		assert_true(ring_trace(&ring, 0, i, 0, i));
	assert_false(ring_write_long(&ring, 0, 0, 0, args, 12, NULL, 0)); /* two slots: one is left */
	assert_true(ring_trace(&ring, 0, 63, 0, 63));
	assert_false(ring_trace(&ring, 0, 64, 0, 64));
	assert_int_equal(ring_image_drops(&img, 0), 2);
	for (unsigned int i = 0; i < 10; i++)
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
	assert_int_equal(rec.word[0], 9);
	ring.cpus[0].tail = c.pos;
	for (unsigned int i = 64; i < 74; i++)
		assert_true(ring_trace(&ring, 0, i, 0, i));
	assert_false(ring_trace(&ring, 0, 74, 0, 74));
	for (unsigned int i = 10; i < 74; i++) {
		assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
		assert_int_equal(rec.word[0], i);
	}
	assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 0);
	assert_int_equal(ring_image_drops(&img, 0), 3);
}

static void one_record(void)
{
	ring_trace(&ring, 0, 99, 1, 99);
}

static void interrupted_once(void **state)
{
	struct ring_cursor c = {0};
	struct ring_record rec;

	(void)state;
	ring_make(1, 16, RING_OVERWRITE);
	now = 0;
	interrupt = one_record;
	assert_true(ring_trace(&ring, 0, 1, 0, 1));
	assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
	assert_int_equal(rec.thread, 1);
	assert_int_equal(ring_cursor_next(&img, 0, &c, &rec), 1);
	assert_int_equal(rec.thread, 99);
	assert_true(rec.tsc == 1); /* the interrupt has the earlier timestamp */
}

static unsigned int wrapped, wrapped_ok;

static void wrap_thrice(void)
{
	for (wrapped = 0, wrapped_ok = 0; wrapped < 48; wrapped++)
		wrapped_ok += ring_trace(&ring, 0, 100 + wrapped, 1, wrapped, wrapped, wrapped,
					 wrapped, wrapped);
}

/* An interrupt writes three times the whole ring while a writer sits in its slot: nobody may touch that slot. */
static void interrupted_and_wrapped(void **state)
{
	struct ring_cursor c = {0};
	struct ring_record rec;
	unsigned int nr = 0;

	(void)state;
	ring_make(1, 16, RING_OVERWRITE);
	interrupt = wrap_thrice;
	assert_true(ring_trace(&ring, 0, 1, 0, 1, 1, 1, 1, 1));
	assert_int_equal(wrapped_ok, 45); /* 48 less the three that met the busy slot */
	assert_int_equal(ring_image_drops(&img, 0), 3);
	while (ring_cursor_next(&img, 0, &c, &rec)) {
		for (unsigned int i = 0; i < 5; i++)
			assert_int_equal(rec.word[i], rec.thread - 100);
		nr++;
	}
	assert_int_equal(nr, 15);
	assert_int_equal(c.unfinished, 1); /* the slot that still holds record 0 */
	assert_int_equal(c.overwritten, 49 - 16);
}

static struct ring_cursor look;

static void look_while_busy(void)
{
	struct ring_record rec;

	look = (struct ring_cursor){.wait = true};
	for (unsigned int i = 0; i < 8; i++) {
		assert_int_equal(ring_cursor_next(&img, 0, &look, &rec), 0); /* waits for record 0 */
		ring_trace(&ring, 0, 2, 0);
	}
	assert_int_equal(ring_cursor_next(&img, 0, &look, &rec), 1); /* no longer */
	assert_int_equal(rec.thread, 2);
	assert_int_equal(look.unfinished, 1);
}

static void waits_for_a_writer_but_not_for_ever(void **state)
{
	(void)state;
	ring_make(1, 16, RING_OVERWRITE);
	interrupt = look_while_busy;
	assert_true(ring_trace(&ring, 0, 1, 0));
	assert_null(interrupt);
}

/* ---- the rest of the interface ---- */

static void backtrace_stays_on_the_stack(void **state)
{
	uint64_t frame[4] = {0}, stack[8] = {0}, frames[8];

	(void)state;
	assert_int_equal(ring_backtrace(frames, 8, NULL), 0);
	assert_int_equal(ring_backtrace(frames, 0, (void *)UINTPTR_MAX), 0);
	assert_int_equal(ring_backtrace(frames, 1, (uint8_t *)__builtin_frame_address(0) + 16), 1);
	(void)frame;
	(void)stack;
}

static __attribute__((noinline)) unsigned int outer(uint64_t *frames, const void *end)
{
	const void *volatile own = __builtin_frame_address(0); /* so it has a frame pointer */
	unsigned int nr = ring_backtrace(frames, 8, end);

	__asm__ volatile("" : : "r"(own) : "memory"); /* no tail call */
	return nr;
}

static void backtrace_names_the_caller(void **state)
{
	uint64_t frames[8] = {0};
	unsigned int nr = outer(frames, (uint8_t *)__builtin_frame_address(0) + 16);

	(void)state;
	assert_true(nr >= 1);
	assert_in_range(frames[0], (uintptr_t)outer, (uintptr_t)outer + 256);
}

static void text_is_cut_and_padded(void **state)
{
	uint64_t w[3];

	(void)state;
	ring_text(w, 3, "abc");
	assert_string_equal((char *)w, "abc");
	assert_true(w[1] == 0 && w[2] == 0);
	ring_text(w, 2, "0123456789abcdefXYZ");
	assert_memory_equal(w, "0123456789abcde\0", 16);
	ring_text(w, 1, NULL);
	assert_true(w[0] == 0);
}

static const struct ring_event io_event = {
	.nr_fields = 3, .nr_frames = 2, .name = "disk io",
	.field = {{"sector", RING_HEX, 1}, {"delta", RING_SDEC, 1}, {"what", RING_TEXT, 2}},
};

static void file_write(const char *path)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(ring.header, 1, img.bytes, f), img.bytes);
	fclose(f);
}

static void file_is_read_in_time_order(void **state)
{
	char path[] = "/tmp/test_ring_XXXXXX", text[32];
	struct reader *r;
	static struct batch b;
	int fd = mkstemp(path), id;
	uint64_t args[4] = {0x1234, (uint64_t)-5}, frames[2] = {0xaaa, 0xbbb};

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	ring_make(2, 16, RING_OVERWRITE);
	now = 100;
	id = ring_event_add(&ring, &io_event);
	assert_int_equal(id, 0);
	ring_text(args + 2, 2, "read");
	ring_trace(&ring, 1, 11, 77, 7); /* not described */
	ring_write_long(&ring, 0, 10, (uint16_t)id, args, 4, frames, 1);
	ring_trace(&ring, 1, 12, (uint16_t)id, 1);
	/* ring.o has rdtsc for a clock: give the long record its time here */
	ring.slots[0].word[0] = 102;
	ring.slots[17].word[0] = 103;
	file_write(path);
	assert_int_equal(reader_open(path, NULL, &r), 0); /* no other reader takes it for its own */
	assert_string_equal(r->info.kind, "guest-ring");
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "clock")), "guest-tsc");
	assert_int_equal(r->info.nr_events, 3);
	assert_int_equal(r->info.start_ns, 101);
	assert_int_equal(r->info.end_ns, 103);
	assert_int_equal(reader_next(r, &b), 1);
	assert_int_equal(b.nr, 3);
	assert_string_equal(b.ev[0].type->name, "guest:undescribed");
	assert_int_equal(event_u64(&b.ev[0], event_field(b.ev[0].type, "id")), 77);
	assert_int_equal(event_u64(&b.ev[0], event_field(b.ev[0].type, "arg0")), 7);
	assert_string_equal(b.ev[1].type->name, "guest:disk_io");
	assert_int_equal(b.ev[1].tid, 10);
	assert_int_equal(b.ev[1].vcpu, 0);
	assert_int_equal(event_u64(&b.ev[1], event_field(b.ev[1].type, "sector")), 0x1234);
	assert_true((int64_t)event_u64(&b.ev[1], event_field(b.ev[1].type, "delta")) == -5);
	assert_string_equal(
		event_text(&b.ev[1], event_field(b.ev[1].type, "what"), text, sizeof(text)),
		"read");
	assert_int_equal(event_u64(&b.ev[1], event_field(b.ev[1].type, "frame0")), 0xaaa);
	assert_int_equal(event_u64(&b.ev[1], event_field(b.ev[1].type, "frame1")), 0);
	assert_int_equal(b.ev[2].vcpu, 1);
	assert_int_equal(event_u64(&b.ev[2], event_field(b.ev[2].type, "sector")), 1);
	assert_int_equal(reader_next(r, &b), 0);
	reader_close(r);
	unlink(path);
}

/* An empty file of that name, and a ring of 16 slots a CPU that is to be written to it. */
static void file_begin(char *path, unsigned int nr_cpus)
{
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	close(fd);
	ring_make(nr_cpus, 16, RING_OVERWRITE);
	assert_int_equal(ring_event_add(&ring, &io_event), 0);
}

/* The same time on two CPUs and twice on one: by CPU, then as written. Slots that were lost are noted. */
static void file_of_equal_times(void **state)
{
	char path[] = "/tmp/test_ring_XXXXXX";
	struct reader *r;
	static struct batch b;

	(void)state;
	file_begin(path, 2);
	for (uint64_t i = 0; i < 18; i++) /* the first two are overwritten */
		ring_trace(&ring, 1, 1, 0, 20 + i);
	for (uint64_t i = 0; i < 3; i++)
		ring_trace(&ring, 0, 2, 0, 10 + i);
	for (unsigned int i = 0; i < 32; i++)
		ring.slots[i].word[0] = 500;
	ring.slots[16 + 5].mark = ring_mark(5, RING_BUSY);
	file_write(path);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_int_equal(reader_next(r, &b), 1);
	assert_int_equal(b.nr, 3 + 15);
	for (unsigned int i = 0; i < b.nr; i++) {
		unsigned int of_1 = i - 3, at = of_1 < 3 ? of_1 + 2 : of_1 + 3; /* not 0, 1 and 5 */

		assert_int_equal(b.ev[i].vcpu, i >= 3);
		assert_int_equal(event_u64(&b.ev[i], event_field(b.ev[i].type, "sector")),
				 i < 3 ? 10 + i : 20 + at);
	}
	assert_non_null(strstr(json_string_value(json_array_get(r->info.caveats, 0)),
			       "2 older slots are missing"));
	assert_non_null(strstr(json_string_value(json_array_get(r->info.caveats, 1)),
			       "1 slots of the guest ring hold no complete record"));
	reader_close(r);
	unlink(path);
}

/* A TSC that was set back: as written, since times do not tell the order; counted. Nested records are put in order. */
static void file_of_a_tsc_set_back(void **state)
{
	static const uint64_t tsc[] = {5000000, 5000100, 5000050, 7000000,
				       2000000, 2000100, 6000000};
	static const uint64_t order[] = {0, 2, 1, 3, 4, 5, 6};
	enum { NR = sizeof(tsc) / sizeof(tsc[0]) };
	char path[] = "/tmp/test_ring_XXXXXX";
	struct reader *r;
	static struct batch b;

	(void)state;
	file_begin(path, 1);
	for (uint64_t i = 0; i < NR; i++) {
		ring_trace(&ring, 0, 1, 0, i);
		ring.slots[i].word[0] = tsc[i];
	}
	file_write(path);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	assert_int_equal(r->info.start_ns, 2000000);
	assert_int_equal(r->info.end_ns, 7000000);
	assert_int_equal(r->info.late, 3);
	assert_int_equal(reader_next(r, &b), 1);
	assert_int_equal(b.nr, NR);
	for (unsigned int i = 0; i < NR; i++)
		assert_int_equal(event_u64(&b.ev[i], event_field(b.ev[i].type, "sector")),
				 order[i]);
	reader_close(r);
	unlink(path);
}

/* A guest may have no libc: ring.c must compile alone and call nothing. */
static void needs_no_library(void **state)
{
	char cmd[1024], line[256], dir[512], *slash;
	FILE *f;

	(void)state;
	snprintf(dir, sizeof(dir), "%s", __FILE__);
	slash = strrchr(dir, '/');
	if (slash)
		*slash = '\0';
	snprintf(cmd, sizeof(cmd), "%s/../../src/guestside/ring/ring.c", slash ? dir : ".");
	if (access(cmd, R_OK))
		skip();
	for (int level = 0; level <= 3; level++) {
		snprintf(cmd, sizeof(cmd),
			 "o=$(mktemp) && gcc -std=gnu11 -O%d -Wall -Wextra -Werror -ffreestanding "
			 "-nostdlib "
			 "-mgeneral-regs-only -c -o $o %s/../../src/guestside/ring/ring.c 2>&1 "
			 "&& nm -u $o; rm -f $o",
			 level, slash ? dir : ".");
		f = popen(cmd, "r");
		assert_non_null(f);
		if (fgets(line, sizeof(line), f))
			fail_msg("-O%d: %s", level, line);
		assert_int_equal(pclose(f), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layout),
		cmocka_unit_test_teardown(records_of_all_sizes, ring_unmake),
		cmocka_unit_test_teardown(overwrites_the_oldest, ring_unmake),
		cmocka_unit_test_teardown(drops_the_newest, ring_unmake),
		cmocka_unit_test_teardown(interrupted_once, ring_unmake),
		cmocka_unit_test_teardown(interrupted_and_wrapped, ring_unmake),
		cmocka_unit_test_teardown(waits_for_a_writer_but_not_for_ever, ring_unmake),
		cmocka_unit_test(backtrace_stays_on_the_stack),
		cmocka_unit_test(backtrace_names_the_caller),
		cmocka_unit_test(text_is_cut_and_padded),
		cmocka_unit_test_teardown(file_is_read_in_time_order, ring_unmake),
		cmocka_unit_test_teardown(file_of_equal_times, ring_unmake),
		cmocka_unit_test_teardown(file_of_a_tsc_set_back, ring_unmake),
		cmocka_unit_test(needs_no_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
