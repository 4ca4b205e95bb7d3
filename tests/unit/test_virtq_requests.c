// SPDX-License-Identifier: GPL-2.0-or-later
/* Requests read out of rings and QEMU's elements in simulated process memory, valid and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vm/virtq_requests.h"

enum {
	BASE = 0x10000000,
	BYTES = 1 << 20,
	DESC = 0x1000,
	AVAIL = 0x2000,
	USED = 0x3000,
	HEAP = 0x8000, /* elements */
	RAM = 0x20000, /* guest address 0 */
	RAM_BYTES = 0x10000,
	HEADERS = 0x4000, /* guest addresses */
	DATA = 0x5000,
	SIZE = 16,
	VDEV = BASE + 0x400,
	VQ = BASE + 0x800,
	BLK_REQUEST = 232, /* sizeof(VirtIOBlockReq) of QEMU 7.2 */
	NOW = 5000,
};

struct setup {
	uint8_t bytes[BYTES];
	uint64_t lowest, highest; /* addresses that were read */
	struct memory_range range;
	struct memory m;
	struct guest_ram ram;
	struct virtq_device device;
	struct virtq_state s;
	struct virtq_elements elements;
	struct virtq_request *list;
	unsigned int nr;
	int64_t ahead_ns;
};

static struct setup *reading; /* what image_read() notes accesses in */

static int image_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	if (addr < BASE || addr - BASE > BYTES || size > BYTES - (addr - BASE))
		return -EFAULT;
	if (addr >= BASE + RAM) {
		reading->lowest = addr < reading->lowest ? addr : reading->lowest;
		reading->highest = addr + size > reading->highest ? addr + size : reading->highest;
	}
	memcpy(buf, (const uint8_t *)m->image + (addr - BASE), size);
	return 0;
}

static void put(struct setup *t, size_t at, uint64_t v, size_t size)
{
	memcpy(t->bytes + at, &v, size);
}

static void desc_put(struct setup *t, size_t at, uint64_t addr, uint32_t len, unsigned int flags,
		     unsigned int next)
{
	put(t, at, addr, 8);
	put(t, at + 8, len, 4);
	put(t, at + 12, flags, 2);
	put(t, at + 14, next, 2);
}

/* A read of one sector by descriptors h, h + 1, h + 2 at `table`. */
static void chain_put(struct setup *t, size_t table, unsigned int h, unsigned int first,
		      uint64_t sector)
{
	desc_put(t, table + 16ul * first, HEADERS + 16 * h, 16, 1, first + 1);
	desc_put(t, table + 16ul * (first + 1), DATA, 512, 3, first + 2);
	desc_put(t, table + 16ul * (first + 2), DATA + 512, 1, 2, 0);
	put(t, RAM + HEADERS + 16 * h, 0, 8);
	put(t, RAM + HEADERS + 16 * h + 8, sector, 8);
}

static void element_put(struct setup *t, unsigned int slot, unsigned int head, uint64_t sector,
			uint64_t begin_ns)
{
	size_t at = HEAP + 512ul * slot;
	uint64_t in_addr = BASE + at + BLK_REQUEST, out_addr = in_addr + 2 * 8;

	put(t, at, head, 4);
	put(t, at + 8, 3, 4);
	put(t, at + 12, 1, 4); /* out */
	put(t, at + 16, 2, 4); /* in */
	put(t, at + 24, in_addr, 8);
	put(t, at + 32, out_addr, 8);
	put(t, at + 40, out_addr + 8, 8);
	put(t, at + 48, out_addr + 8 + 2 * 16, 8);
	put(t, at + 64, VDEV, 8);
	put(t, at + 72, VQ, 8);
	put(t, at + 64 + 72 + 8, sector, 8);
	put(t, at + BLK_REQUEST - 16, begin_ns, 8);
	put(t, at + BLK_REQUEST, DATA, 8);
	put(t, at + BLK_REQUEST + 8, DATA + 512, 8);
	put(t, at + BLK_REQUEST + 16, HEADERS + 16 * head, 8);
}

/* Heads 0, 3, 6, 9 offered; three popped; head 3 returned. */
static void split_put(struct setup *t)
{
	for (unsigned int i = 0; i < 4; i++) {
		chain_put(t, DESC, 3 * i, 3 * i, 100 + i);
		put(t, AVAIL + 4 + 2ul * i, 3 * i, 2);
	}
	put(t, AVAIL + 2, 4, 2);
	put(t, USED + 2, 1, 2);
	put(t, USED + 4, 3, 4);
	t->s = (struct virtq_state){
		.vq = VQ,
		.size = SIZE,
		.ready = true,
		.rings = true,
		.last_avail_idx = 3,
		.ring_avail_idx = 4,
		.used_idx = 1,
		.ring_used_idx = 1,
		.posted = 1,
		.inuse = 2,
		.at = {.desc = BASE + DESC, .avail = BASE + AVAIL, .used = BASE + USED}};
}

static int setup_make(void **state)
{
	struct setup *t = calloc(1, sizeof(*t));

	if (!t)
		return -1;
	t->lowest = UINT64_MAX;
	t->range = (struct memory_range){
		.start = BASE, .end = BASE + RAM, .read = true, .write = true};
	t->m = (struct memory){.read = image_read, .image = t->bytes, .range = &t->range, .nr = 1};
	t->ram = (struct guest_ram){.base = BASE + RAM, .low = 0xc0000000, .size = RAM_BYTES};
	t->device = (struct virtq_device){.vdev = VDEV, .array = VQ, .vdev_offset = 96};
	reading = t;
	*state = t;
	return 0;
}

static int setup_free(void **state)
{
	struct setup *t = *state;

	free(t->list);
	virtq_elements_free(&t->elements);
	free(t);
	return 0;
}

/* Reads all, and checks that of guest memory only RAM was read. */
static void requests_read(struct setup *t)
{
	free(t->list);
	virtq_elements_free(&t->elements);
	assert_int_equal(virtq_elements_find(&t->m, 0, &t->elements), 0);
	struct virtq_view v = {.m = &t->m,
			       .ram = &t->ram,
			       .elements = &t->elements,
			       .now_ns = NOW + (uint64_t)t->ahead_ns,
			       .ahead_ns = t->ahead_ns};

	assert_int_equal(virtq_requests_read(&v, &t->device, &t->s, &t->list, &t->nr), 0);
	assert_true(t->lowest >= BASE + RAM);
	assert_true(t->highest <= BASE + RAM + RAM_BYTES);
}

static void request_is(const struct virtq_request *q, unsigned int head, enum virtq_stage stage,
		       bool certain)
{
	assert_int_equal(q->head, head);
	assert_int_equal(q->stage, stage);
	assert_int_equal(q->certain, certain);
	assert_false(q->broken);
	assert_int_equal(q->out_bytes, 16);
	assert_int_equal(q->in_bytes, 513);
	assert_int_equal(q->header_bytes, 16);
}

static void split_without_elements(void **state)
{
	struct setup *t = *state;

	split_put(t);
	requests_read(t);
	assert_int_equal(t->nr, 3);
	request_is(&t->list[0], 0, VIRTQ_POPPED, true);
	request_is(&t->list[1], 6, VIRTQ_POPPED, true);
	request_is(&t->list[2], 9, VIRTQ_OFFERED, true);
	assert_false(t->list[0].element || t->list[0].block);
	assert_int_equal(memory_le(t->list[1].header + 8, 8), 102);
}

/* Head 0 was returned and popped again: the rings cannot tell, the elements can. */
static void elements_decide(void **state)
{
	struct setup *t = *state;

	split_put(t);
	put(t, AVAIL + 4 + 2 * 2, 0, 2); /* popped: 0, 3, 0 */
	put(t, USED + 2, 2, 2);
	put(t, USED + 12, 0, 4); /* returned: 3, 0 */
	t->s.used_idx = t->s.ring_used_idx = 2;
	t->s.inuse = 1;
	requests_read(t);
	assert_int_equal(t->nr, 2);
	assert_false(t->list[0].certain);
	element_put(t, 1, 0, 77, 1000);
	requests_read(t);
	assert_int_equal(t->nr, 2);
	request_is(&t->list[0], 0, VIRTQ_POPPED, true);
	assert_true(t->list[0].element && t->list[0].block);
	assert_int_equal(t->list[0].note.sector, 77);
	assert_int_equal(t->list[0].note.begin_ns, 1000);
	element_put(t, 1, 0, 77, NOW + 1); /* a begin in the future is none */
	requests_read(t);
	assert_int_equal(t->list[0].note.begin_ns, 0);
	t->ahead_ns = 500; /* a VM in a time namespace */
	requests_read(t);
	assert_int_equal(t->list[0].note.begin_ns, NOW + 1 - 500);
}

/* A request that is held while the ring wraps many times is in QEMU's memory only. */
static void held_while_the_ring_wraps(void **state)
{
	struct setup *t = *state;

	split_put(t);
	chain_put(t, DESC, 12, 12, 9);
	for (unsigned int i = 0; i < SIZE; i++) {
		put(t, AVAIL + 4 + 2ul * i, 3, 2);
		put(t, USED + 4 + 8ul * i, 3, 4);
	}
	put(t, AVAIL + 2, 1000, 2);
	t->s.last_avail_idx = t->s.ring_avail_idx = 1000;
	t->s.used_idx = t->s.ring_used_idx = 999;
	t->s.posted = 0;
	t->s.inuse = 1;
	element_put(t, 3, 12, 9, 10);
	requests_read(t);
	assert_int_equal(t->nr, 1);
	request_is(&t->list[0], 12, VIRTQ_POPPED, true);
}

/* The allocator's list pointers are over the first 16 bytes of what was freed. */
static void freed_elements_are_none(void **state)
{
	struct setup *t = *state;

	split_put(t);
	element_put(t, 1, 0, 1, 1);
	put(t, HEAP + 512 + 8, 0x123456789abcdef0, 8);
	requests_read(t);
	assert_int_equal(t->elements.nr, 0);
}

static void indirect_is_followed(void **state)
{
	struct setup *t = *state;

	split_put(t);
	desc_put(t, DESC, 0x6000, 3 * 16, 4, 0);
	chain_put(t, RAM + 0x6000, 0, 0, 55);
	requests_read(t);
	request_is(&t->list[0], 0, VIRTQ_POPPED, true);
	assert_true(t->list[0].indirect);
	assert_int_equal(memory_le(t->list[0].header + 8, 8), 55);
}

static void outside_qemu(void **state)
{
	struct setup *t = *state;

	split_put(t);
	t->s.elsewhere = true;
	t->s.used_idx = t->s.last_avail_idx = 0;
	requests_read(t);
	assert_int_equal(t->nr, 3);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(t->list[i].stage, VIRTQ_OUTSIDE);
}

/* Descriptor of a packed ring: id where a split ring has flags. */
static void packed_put(struct setup *t, unsigned int i, unsigned int id, unsigned int flags,
		       uint64_t addr, uint32_t len)
{
	desc_put(t, DESC + 16ul * i, addr, len, id, flags);
}

/* Two popped, of 3 and 1 descriptors, and one offered past the end of the ring. */
static void packed_is_read(void **state)
{
	enum { AVAILABLE = 0x80, USED_TOO = 0x8000 };
	struct setup *t = *state;

	packed_put(t, 11, 7, AVAILABLE | 1, HEADERS, 16);
	packed_put(t, 12, 7, AVAILABLE | 3, DATA, 512);
	packed_put(t, 13, 7, AVAILABLE | 2, DATA + 512, 1);
	packed_put(t, 14, 2, AVAILABLE | 2, DATA, 64);
	packed_put(t, 15, 5, AVAILABLE | 1, HEADERS, 16);
	packed_put(t, 0, 5, USED_TOO | 2, DATA, 512); /* the other lap's marks */
	t->s = (struct virtq_state){.vq = VQ,
				    .size = SIZE,
				    .ready = true,
				    .rings = true,
				    .packed = true,
				    .used_idx = 11,
				    .used_wrap = true,
				    .last_avail_idx = 15,
				    .last_avail_wrap = true,
				    .inuse = 4,
				    .posted = 2,
				    .at = {.desc = BASE + DESC}};
	requests_read(t);
	assert_int_equal(t->nr, 3);
	request_is(&t->list[0], 7, VIRTQ_POPPED, true);
	assert_int_equal(t->list[1].head, 2);
	assert_int_equal(t->list[1].in_bytes, 64);
	assert_int_equal(t->list[2].head, 5);
	assert_int_equal(t->list[2].stage, VIRTQ_OFFERED);
	assert_int_equal(t->list[2].in_bytes, 512);
}

/* ---- hostile guests ---- */

static void loops_end(void **state)
{
	struct setup *t = *state;

	split_put(t);
	desc_put(t, DESC, HEADERS, 16, 1, 0);		  /* to itself */
	desc_put(t, DESC + 16 * 8, DATA + 512, 1, 3, 6);  /* to its beginning */
	desc_put(t, DESC + 16 * 9, HEADERS, 16, 1, 0xffff); /* beyond the table */
	requests_read(t);
	assert_int_equal(t->nr, 3);
	for (unsigned int i = 0; i < 3; i++) {
		assert_true(t->list[i].broken);
		assert_true(t->list[i].descs <= SIZE);
	}
}

static void indirect_tables_are_bounded(void **state)
{
	static const struct {
		uint64_t addr;
		uint32_t len;
	} bad[] = {
		{0x6000, 0},		     {0x6000, 17},	    {0x6000, 0xfffffff0},
		{0x6000, 1025 * 16},	     {RAM_BYTES - 16, 32},  {0xbffffff0, 16},
		{UINT64_MAX - 15, 16},	     {0x100000000, 16},	    {1ull << 63, 48},
	};
	struct setup *t = *state;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		split_put(t);
		desc_put(t, DESC, bad[i].addr, bad[i].len, 4, 0);
		requests_read(t);
		assert_int_equal(t->nr, 3);
		assert_true(t->list[0].broken);
	}
	split_put(t); /* a table in a table, and one that loops */
	desc_put(t, DESC, 0x6000, 32, 4, 0);
	desc_put(t, RAM + 0x6000, 0x6000, 32, 4, 0);
	requests_read(t);
	assert_true(t->list[0].broken);
	desc_put(t, RAM + 0x6000, DATA, 32, 1, 1);
	desc_put(t, RAM + 0x6010, DATA, 32, 1, 0);
	requests_read(t);
	assert_true(t->list[0].broken);
	assert_int_equal(t->list[0].descs, 2);
}

static void wild_indices(void **state)
{
	struct setup *t = *state;

	split_put(t);
	for (unsigned int i = 0; i < SIZE; i++) { /* heads and ids beyond the queue */
		put(t, AVAIL + 4 + 2ul * i, 0xffff, 2);
		put(t, USED + 4 + 8ul * i, 0xfffffff0, 4);
	}
	t->s.posted = 0x8000;
	t->s.inuse = UINT32_MAX;
	requests_read(t);
	assert_int_equal(t->nr, SIZE); /* offered ones only, a queue of them */
	for (unsigned int i = 0; i < t->nr; i++)
		assert_true(t->list[i].broken && !t->list[i].certain);
	t->s.size = 4096; /* QEMU has none */
	requests_read(t);
	assert_int_equal(t->nr, 0);
}

/* Buffers whose sum passes 32 bits, and a header outside RAM. */
static void lengths_do_not_wrap(void **state)
{
	struct setup *t = *state;

	split_put(t);
	desc_put(t, DESC, 0xdead0000, UINT32_MAX, 1, 1);
	desc_put(t, DESC + 16, DATA, UINT32_MAX, 1, 2);
	requests_read(t);
	assert_int_equal(t->list[0].out_bytes, UINT32_MAX);
	assert_int_equal(t->list[0].header_bytes, 0);
}

static void packed_flags_of_all_kinds(void **state)
{
	struct setup *t = *state;

	srandom(1);
	for (unsigned int round = 0; round < 2000; round++) {
		for (size_t i = 0; i < 16ul * SIZE; i++)
			t->bytes[DESC + i] = (uint8_t)random();
		t->s = (struct virtq_state){.vq = VQ,
					    .size = SIZE,
					    .ready = true,
					    .rings = true,
					    .packed = true,
					    .used_idx = (uint16_t)(random() % (2 * SIZE)),
					    .used_wrap = random() & 1,
					    .last_avail_idx = (uint16_t)(random() % SIZE),
					    .last_avail_wrap = random() & 1,
					    .inuse = (uint32_t)random() % 64,
					    .posted = (uint32_t)random() % (SIZE + 1),
					    .at = {.desc = BASE + DESC}};
		requests_read(t);
		assert_true(t->nr <= 2 * SIZE);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup_make, setup_free)
	const struct CMUnitTest tests[] = {
		TEST(split_without_elements),
		TEST(elements_decide),
		TEST(held_while_the_ring_wraps),
		TEST(freed_elements_are_none),
		TEST(indirect_is_followed),
		TEST(outside_qemu),
		TEST(packed_is_read),
		TEST(loops_end),
		TEST(indirect_tables_are_bounded),
		TEST(wild_indices),
		TEST(lengths_do_not_wrap),
		TEST(packed_flags_of_all_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
