// SPDX-License-Identifier: GPL-2.0-or-later
/* Virtqueues found and read in simulated process memory, valid and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "vm/virtq_state.h"

enum {
	BASE = 0x10000000, /* of the one mapping */
	BYTES = 8 << 20,
	ARRAY = 0x100010,
	DEVICE = 0x200000,
	PATH = 0x201000,
	CACHES = 0x202000,
	DESC = 0x210000,
	AVAIL = 0x220000,
	USED = 0x230000,
	SIZE = 64,
};

static uint8_t *bytes;
static uint64_t changes_at; /* a read of this address changes the queue behind it */

static int image_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	if (addr < BASE || addr - BASE > BYTES || size > BYTES - (addr - BASE))
		return -EFAULT;
	memcpy(buf, (const uint8_t *)m->image + (addr - BASE), size);
	if (changes_at && addr == changes_at)
		bytes[ARRAY + 56]++;
	return 0;
}

static void put(size_t at, uint64_t v, size_t size)
{
	memcpy(bytes + at, &v, size);
}

static void queue_make(size_t array, unsigned int index, size_t stride, unsigned int nr)
{
	size_t at = array + index * stride;

	put(at, nr, 4);
	put(at + 4, nr, 4);
	put(at + 16, 0x1000, 8);
	put(at + 24, 0x2000, 8);
	put(at + 32, 0x3000, 8);
	put(at + 40, BASE + CACHES, 8);
}

static void cache_make(unsigned int nr, size_t ring, size_t len)
{
	put(CACHES + 16 + 112 * nr, BASE + ring, 8);
	put(CACHES + 16 + 112 * nr + 16, len, 8);
}

static void device_make(size_t array, size_t device, size_t vdev_offset)
{
	for (unsigned int i = 0; i < VIRTQ_QUEUES_MAX; i++) {
		put(array + i * (vdev_offset + 56) + 72, i, 2);
		put(array + i * (vdev_offset + 56) + vdev_offset, BASE + device, 8);
	}
	put(device + 48, BASE + PATH, 8);
	put(device + 232, BASE + array, 8);
	strcpy((char *)bytes + PATH, "/machine/peripheral/disk/virtio-backend");
}

/* A split ring: 10 offered, 7 popped, 4 returned. */
static void split_make(bool event_idx)
{
	device_make(ARRAY, DEVICE, 96);
	queue_make(ARRAY, 0, 152, SIZE);
	put(ARRAY + 56, 7, 2);
	put(ARRAY + 60, 9, 2);
	put(ARRAY + 64, 4, 2);
	put(ARRAY + 68, 3, 2);
	put(ARRAY + 70, 1, 1);
	put(ARRAY + 76, 3, 4);
	cache_make(0, DESC, 16 * SIZE);
	cache_make(1, AVAIL, 4 + 2 * SIZE + 2 * event_idx);
	cache_make(2, USED, 4 + 8 * SIZE + 2 * event_idx);
	put(AVAIL + 2, 10, 2);
	put(USED + 2, 4, 2);
}

static struct memory memory_make(void)
{
	static struct memory_range range;

	range = (struct memory_range){
		.start = BASE, .end = BASE + BYTES, .read = true, .write = true};
	changes_at = 0;
	memset(bytes, 0, BYTES);
	return (struct memory){.read = image_read, .image = bytes, .range = &range, .nr = 1};
}

static struct virtq_device *find(const struct memory *m, unsigned int want)
{
	struct virtq_device *d = NULL;
	unsigned int nr;

	assert_int_equal(virtq_devices_find(m, 0, &d, &nr), 0);
	assert_int_equal(nr, want);
	return d;
}

static void split_is_read(void **state)
{
	struct memory m = memory_make();
	struct virtq_state s;
	char text[16];

	(void)state;
	split_make(false);
	put(AVAIL, 1, 2); /* no interrupts, please */
	struct virtq_device *d = find(&m, 1);

	assert_string_equal(d->path, "/machine/peripheral/disk/virtio-backend");
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(s.ready && s.rings && !s.packed && !s.event_idx && !s.moving && !s.elsewhere);
	assert_int_equal(s.size, SIZE);
	assert_int_equal(s.desc, 0x1000);
	assert_int_equal(s.avail, 0x2000);
	assert_int_equal(s.used, 0x3000);
	assert_int_equal(s.ring_avail_idx, 10);
	assert_int_equal(s.ring_used_idx, 4);
	assert_int_equal(s.last_avail_idx, 7);
	assert_int_equal(s.shadow_avail_idx, 9);
	assert_int_equal(s.used_idx, 4);
	assert_int_equal(s.signalled_used, 3);
	assert_true(s.signalled_used_valid);
	assert_int_equal(s.inuse, 3);
	assert_int_equal(s.posted, 3);
	assert_string_equal(virtq_notify_print(&s.interrupts, text, sizeof(text)), "off");
	assert_string_equal(virtq_notify_print(&s.kicks, text, sizeof(text)), "on");
	assert_int_equal(virtq_read(&m, d, 1, &s), 0);
	assert_int_equal(virtq_read(&m, d, VIRTQ_QUEUES_MAX, &s), 0);
	put(ARRAY + 4, SIZE, 4);
	put(ARRAY + 16, 0, 8);
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(!s.ready && !s.rings);
	free(d);
}

static void event_indices_are_read(void **state)
{
	struct memory m = memory_make();
	struct virtq_state s;
	char text[16];

	(void)state;
	split_make(true);
	put(AVAIL, 1, 2); /* counts for nothing now */
	put(AVAIL + 4 + 2 * SIZE, 4321, 2);
	put(USED + 4 + 8 * SIZE, 1234, 2);
	struct virtq_device *d = find(&m, 1);

	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(s.rings && s.event_idx);
	assert_string_equal(virtq_notify_print(&s.interrupts, text, sizeof(text)), "at 4321");
	assert_string_equal(virtq_notify_print(&s.kicks, text, sizeof(text)), "at 1234");
	free(d);
}

static void indices_wrap(void **state)
{
	struct memory m = memory_make();
	struct virtq_state s;

	(void)state;
	split_make(false);
	put(ARRAY + 56, 65530, 2);
	put(AVAIL + 2, 4, 2);
	struct virtq_device *d = find(&m, 1);

	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_int_equal(s.posted, 10);
	put(USED + 2, 9, 2); /* vhost went on */
	put(AVAIL + 2, 12, 2);
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(s.elsewhere);
	assert_int_equal(s.posted, 3);
	free(d);
}

static void packed_is_read(void **state)
{
	struct memory m = memory_make();
	struct virtq_state s;
	char text[16];

	(void)state;
	split_make(false);
	cache_make(1, AVAIL, 4);
	cache_make(2, USED, 4);
	put(ARRAY + 56, SIZE - 2, 2); /* the next two with wrap 1, then two with wrap 0 */
	put(ARRAY + 58, 1, 1);
	for (unsigned int i = 0; i < SIZE; i++)
		put(DESC + 16 * i + 14, i >= SIZE - 2 ? 1 << 7 : i < 2 ? 1 << 15 : 0x8080, 2);
	put(AVAIL, 5, 2);
	put(AVAIL + 2, 2, 2);
	put(USED + 2, 1, 2);
	struct virtq_device *d = find(&m, 1);

	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(s.rings && s.packed && !s.elsewhere);
	assert_int_equal(s.posted, 4);
	assert_int_equal(s.ring_avail_idx, 2);
	assert_string_equal(virtq_notify_print(&s.interrupts, text, sizeof(text)), "at 5");
	assert_string_equal(virtq_notify_print(&s.kicks, text, sizeof(text)), "off");
	for (unsigned int i = 0; i < SIZE; i++) /* all of it, and no end */
		put(DESC + 16 * i + 14, i >= SIZE - 2 ? 1 << 7 : 1 << 15, 2);
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_int_equal(s.posted, SIZE);
	put(ARRAY + 56, SIZE, 2); /* outside */
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_false(s.rings);
	free(d);
}

static void older_layout(void **state)
{
	struct memory m = memory_make();
	struct virtq_state s;

	(void)state;
	device_make(ARRAY, DEVICE, 104);
	queue_make(ARRAY, 3, 160, SIZE);
	struct virtq_device *d = find(&m, 1);

	assert_int_equal(virtq_read(&m, d, 0, &s), 0);
	assert_int_equal(virtq_read(&m, d, 3, &s), 1);
	assert_int_equal(s.size, SIZE);
	free(d);
}

static void what_is_none(void **state)
{
	struct memory m = memory_make();

	(void)state;
	split_make(false);
	put(DEVICE + 232, 0, 8); /* nobody points back */
	free(find(&m, 0));
	split_make(false);
	put(ARRAY + 1023 * 152 + 72, 7, 2); /* the row is broken at its end */
	free(find(&m, 0));
	split_make(false);
	m.range->shared = true; /* guest memory */
	free(find(&m, 0));
	m.range->shared = false;
	struct virtq_device *d = NULL;
	unsigned int nr;

	assert_int_equal(virtq_devices_find(&m, BYTES, &d, &nr), 0);
	assert_int_equal(nr, 0);
}

static void pieces_overlap(void **state)
{
	(void)state;
	for (size_t before = 0; before <= 2048; before += 16) {
		struct memory m = memory_make();

		device_make((4 << 20) - before, DEVICE, 96);
		free(find(&m, 1));
		before += before > 160 && before < 1800 ? 400 : 0;
	}
}

static void hostile_values(void **state)
{
	struct memory m = memory_make();
	struct virtq_state s;

	(void)state;
	split_make(false);
	put(DEVICE + 48, ~0ull, 8);
	struct virtq_device *d = find(&m, 1);

	assert_string_equal(d->path, "");
	put(ARRAY, ~0u, 4); /* a size beyond all */
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(!s.ready && !s.rings);
	put(ARRAY, SIZE, 4);
	cache_make(1, BYTES, 4 + 2 * SIZE);
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(s.ready && !s.rings);
	cache_make(1, AVAIL, 1 << 30);
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_false(s.rings);
	put(ARRAY + 72, 5, 2); /* freed and used again */
	assert_int_equal(virtq_read(&m, d, 0, &s), -EFAULT);
	free(d);
}

static void it_moves(void **state)
{
	struct memory m = memory_make();
	struct virtq_state s;

	(void)state;
	split_make(false);
	struct virtq_device *d = find(&m, 1);

	changes_at = BASE + USED;
	assert_int_equal(virtq_read(&m, d, 0, &s), 1);
	assert_true(s.moving && !s.elsewhere);
	free(d);
}

static void maps_lines(void **state)
{
	struct memory_range r;

	(void)state;
	assert_true(memory_range_parse("55d0-55e0 rw-p 00000000 00:00 0      [heap]\n", &r));
	assert_true(r.heap && r.write && !r.shared && !r.file && r.start == 0x55d0 &&
		    r.end == 0x55e0);
	assert_true(memory_range_parse("1000-2000 r-xs 00001000 fe:01 77 /usr/bin/x [heap]", &r));
	assert_true(!r.heap && !r.write && r.exec && r.shared && r.file);
	assert_true(memory_range_parse("1000-2000 ---p 0 00:00 0", &r));
	assert_false(memory_range_parse("2000-1000 rw-p 0 00:00 0", &r));
	assert_false(memory_range_parse("", &r));
	assert_false(memory_range_parse("nonsense", &r));
}

/* Of a child: that is like any other process, and may be read where our own may. */
static void memory_of_a_process(void **state)
{
	static const char text[] = "hostrace reads this";
	char *page =
		mmap(NULL, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char got[sizeof(text)];
	struct memory m;
	pid_t pid;

	(void)state;
	strcpy(page, text);
	munmap(page + 4096, 4096);
	pid = fork();
	if (!pid) {
		pause();
		_exit(0);
	}
	assert_int_equal(memory_open(pid, 0, &m), 0);
	assert_true(m.nr > 0);
	assert_int_equal(memory_read(&m, (uintptr_t)page, got, sizeof(got)), 0);
	assert_string_equal(got, text);
	assert_int_equal(memory_read(&m, 8, got, sizeof(got)), -EFAULT);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(memory_read(&m, (uintptr_t)page, got, sizeof(got)), -ESRCH);
	assert_int_equal(memory_reread(&m), -ESRCH);
	memory_close(&m);
	assert_int_equal(memory_open(pid, 0, &m), -ESRCH);
	memory_close(&m);
	munmap(page, 4096);
}

static bool is_mapped(const struct memory *m, const void *p)
{
	for (unsigned int i = 0; i < m->nr; i++)
		if (m->range[i].start <= (uintptr_t)p && (uintptr_t)p < m->range[i].end)
			return true;
	return false;
}

static void memory_that_is_mapped_later(void **state)
{
	struct memory m;
	char *page;

	(void)state;
	assert_int_equal(memory_open(getpid(), 0, &m), 0);
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_false(is_mapped(&m, page));
	assert_int_equal(memory_reread(&m), 0);
	assert_true(is_mapped(&m, page));
	munmap(page, 4096);
	assert_int_equal(memory_reread(&m), 0);
	assert_false(is_mapped(&m, page));
	memory_close(&m);
}

static int set_up(void **state)
{
	(void)state;
	bytes = malloc(BYTES);
	return !bytes;
}

static int tear_down(void **state)
{
	(void)state;
	free(bytes);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(split_is_read),
		cmocka_unit_test(event_indices_are_read),
		cmocka_unit_test(indices_wrap),
		cmocka_unit_test(packed_is_read),
		cmocka_unit_test(older_layout),
		cmocka_unit_test(what_is_none),
		cmocka_unit_test(pieces_overlap),
		cmocka_unit_test(hostile_values),
		cmocka_unit_test(it_moves),
		cmocka_unit_test(maps_lines),
		cmocka_unit_test(memory_of_a_process),
		cmocka_unit_test(memory_that_is_mapped_later),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
