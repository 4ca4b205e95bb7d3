// SPDX-License-Identifier: GPL-2.0-or-later
/* Truncated and damaged files. None may crash the reader, and valid chunks must be read. */
#include <fcntl.h>

#include "base/crc32c.h"
#include "tracefile/out.h"
#include "tracefile_util.h"

enum { CHUNKS_MAX = 256 };

/* Where the chunks lie, found by the specification alone (doc/format.md, 1.2), not by the code under test. */
struct layout {
	unsigned int nr;
	size_t offset[CHUNKS_MAX], end[CHUNKS_MAX], payload[CHUNKS_MAX];
	unsigned int kind[CHUNKS_MAX], records[CHUNKS_MAX];
};

static struct layout layout_of(struct bytes b)
{
	struct layout l = {0};
	size_t at = 64;

	while (at + 64 <= b.len && !memcmp(b.data + at, "HRCK", 4)) {
		size_t counts = 8u * (b.data[at + 6] | b.data[at + 7] << 8);

		assert_true(l.nr < CHUNKS_MAX);
		l.offset[l.nr] = at;
		l.kind[l.nr] = b.data[at + 4];
		l.records[l.nr] = u32_at(b.data + at + 16);
		l.payload[l.nr] = at + 64 + counts;
		at += (64 + counts + u32_at(b.data + at + 8) + 7) & ~7ul;
		l.end[l.nr++] = at;
	}
	return l;
}

/* Records in chunks that end at or before `len`. */
static unsigned int whole_records(const struct layout *l, size_t len)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < l->nr; i++)
		if (l->kind[i] == 3 && l->end[i] <= len)
			n += l->records[i];
	return n;
}

static struct bytes whole;
static struct layout layout;

/* 60 rounds of 300 events; small rounds are collected to chunks of 256 KiB, so one writer a round makes more. */
static int make_trace(void **state)
{
	struct trace_writer *w;
	const char *path;
	uint64_t t = 1000;

	if (scratch_make(state))
		return -1;
	path = in_scratch("whole.hrt");
	w = writer_open(path, (struct trace_writer_options){.zstd = false});
	for (unsigned int r = 0; r < 12; r++) {
		for (unsigned int i = 0; i < 7000; i++)
			assert_int_equal(pio_write(w, t++, 0), 0);
		assert_int_equal(trace_writer_round(w, t), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
	whole = file_read(path);
	layout = layout_of(whole);
	return 0;
}

static int drop_trace(void **state)
{
	free(whole.data);
	return scratch_remove(state);
}

static void check_cut(size_t len)
{
	const char *path = in_scratch("cut.hrt");
	struct seen s;
	int err;

	file_write(path, whole.data, len);
	err = trace_read(path, &s);
	if (len < 64) {
		assert_true(err < 0);
		return;
	}
	assert_int_equal(err, 0);
	assert_int_equal(s.events, whole_records(&layout, len));
	assert_int_equal(s.backwards + s.wrong, 0);
	if (len == whole.len) {
		assert_int_equal(s.nr_caveats, 0);
		return;
	}
	assert_int_equal(s.nr_caveats, 1);
	assert_non_null(strstr(s.caveat, "cut.hrt is truncated"));
}

static void cut_at_every_boundary(void **state)
{
	(void)state;
	assert_true(layout.nr >= 15); /* 12 of records, metadata, schema, index */
	for (unsigned int i = 0; i < layout.nr; i++) {
		check_cut(layout.offset[i]);
		check_cut(layout.offset[i] + 1);
		check_cut(layout.payload[i]);
		check_cut(layout.end[i] - 1);
		check_cut(layout.end[i]);
	}
	check_cut(whole.len - 1);
	check_cut(whole.len);
}

static void cut_at_random_bytes(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++)
		check_cut(dice(&seed) % whole.len);
}

static struct bytes copy_whole(void)
{
	struct bytes b = {malloc(whole.len), whole.len};

	memcpy(b.data, whole.data, whole.len);
	return b;
}

/* One bit flipped at each of 1,000 offsets: at most the chunk with the bit is lost, and this is reported. */
static void flipped_bits(void **state)
{
	const char *path = in_scratch("flip.hrt");
	uint32_t seed = 2;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		struct bytes b = copy_whole();
		size_t at = dice(&seed) % b.len;
		struct seen s;
		int err;

		b.data[at] ^= (uint8_t)(1u << dice(&seed) % 8);
		file_write(path, b.data, b.len);
		free(b.data);
		err = trace_read(path, &s);
		if (err < 0) {
			assert_true(
				at < 64 ||
				at < layout.end[1]); /* header, or a schema that is not JSON any more */
			continue;
		}
		assert_int_equal(s.backwards + s.wrong, 0);
		assert_true(s.events >= 12 * 7000 - 7000 || at < layout.end[1]);
		if (s.events < 12 * 7000)
			assert_true(s.nr_caveats > 0);
	}
}

static void damaged_payload_costs_one_chunk(void **state)
{
	const char *path = in_scratch("middle.hrt");
	struct bytes b = copy_whole();
	struct seen s;

	(void)state;
	assert_int_equal(layout.kind[7], 3);
	b.data[layout.payload[7] + 100] ^= 1;
	file_write(path, b.data, b.len);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 11 * 7000);
	assert_int_equal(s.nr_caveats, 1);
	assert_non_null(strstr(s.caveat, "its 7000 events are missing"));
	/* Without the index, the chunk's header leads to the next chunk. */
	file_write(path, b.data, layout.offset[layout.nr - 1]);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 11 * 7000);
	assert_int_equal(s.nr_caveats, 2);
	free(b.data);
}

/* No index and a chunk header in ruins: the next chunk is found by its magic and CRC. */
static void damaged_header_is_searched_past(void **state)
{
	const char *path = in_scratch("search.hrt");
	struct bytes b = copy_whole();
	struct seen s;

	(void)state;
	memset(b.data + layout.offset[7], 0x55, 64);
	file_write(path, b.data, layout.offset[layout.nr - 1]);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 11 * 7000);
	assert_int_equal(s.nr_caveats, 2);
	/* With the index it is not even missed, its payload is sound. */
	file_write(path, b.data, b.len);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 12 * 7000);
	free(b.data);
}

static void torn_out_bytes_are_searched_past(void **state)
{
	const char *path = in_scratch("torn.hrt");
	struct bytes b = copy_whole();
	size_t at = layout.offset[6] + 1001, gap = 4099;
	struct seen s;

	(void)state;
	memmove(b.data + at, b.data + at + gap, b.len - at - gap);
	file_write(path, b.data, b.len - gap);
	assert_int_equal(trace_read(path, &s), 0);
	assert_true(s.events >= 10 * 7000 && s.events < 12 * 7000);
	assert_int_equal(s.backwards + s.wrong, 0);
	assert_true(s.nr_caveats >= 1);
	free(b.data);
}

/* A file of some KB may have a size of terabytes: who made it must not keep a reader busy. */
static void holes_are_not_read(void **state)
{
	const char *path = in_scratch("hole.hrt");
	struct bytes b = copy_whole();
	size_t at = layout.offset[6];
	const off_t hole = (off_t)4 << 40;
	struct seen s;
	int fd;

	(void)state;
	file_write(path, b.data, at);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, b.data + at, b.len - at, hole), b.len - at);
	assert_int_equal(ftruncate(fd, 2 * hole), 0);
	close(fd);
	alarm(60);
	assert_int_equal(trace_read(path, &s), 0);
	alarm(0);
	assert_int_equal(s.events, 12 * 7000);
	assert_true(s.nr_caveats >= 1);
	unlink(path);
	free(b.data);
}

static void index_that_lies_is_not_believed(void **state)
{
	const char *path = in_scratch("index.hrt");
	struct bytes b = copy_whole();
	size_t payload = layout.payload[layout.nr - 1];
	struct seen s;

	(void)state;
	b.data[payload + 5] ^= 1;
	file_write(path, b.data, b.len);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 12 * 7000);
	assert_int_equal(s.nr_caveats, 1);
	assert_non_null(strstr(s.caveat, "index is corrupt"));
	free(b.data);
}

/* The same with correct CRCs: two entries are swapped, so that time would go back. */
static void index_out_of_order_is_not_believed(void **state)
{
	const char *path = in_scratch("order.hrt");
	struct bytes b = copy_whole();
	unsigned int last = layout.nr - 1;
	uint8_t *head = b.data + layout.offset[last], *payload;
	struct seen s;
	uint32_t crc;

	(void)state;
	/* the index that replaces it is not compressed */
	free(b.data);
	b.len = layout.payload[last] + 72 * last + 32;
	b.data = calloc(1, b.len);
	memcpy(b.data, whole.data, layout.payload[last]);
	head = b.data + layout.offset[last];
	payload = b.data + layout.payload[last];
	for (unsigned int i = 0; i < last; i++) {
		uint64_t offset = layout.offset[i == 8 ? 9 : i == 9 ? 8 : i];

		memcpy(payload + 72 * i, &offset, 8);
		memcpy(payload + 72 * i + 8, b.data + offset, 64);
	}
	head[5] = 0;
	memcpy(head + 8, &(uint32_t){72 * last}, 4);
	memcpy(head + 12, &(uint32_t){72 * last}, 4);
	crc = crc32c(0, payload, 72 * last);
	memcpy(head + 56, &crc, 4);
	crc = crc32c(0, head, 60);
	memcpy(head + 60, &crc, 4);
	memcpy(payload + 72 * last, whole.data + whole.len - 32, 32);
	file_write(path, b.data, b.len);
	assert_int_equal(trace_read(path, &s), 0);
	assert_int_equal(s.events, 12 * 7000);
	assert_int_equal(s.backwards + s.wrong, 0);
	assert_int_equal(s.nr_caveats, 1);
	free(b.data);
}

/* A zstd frame that unpacks to more, or less, than its header allows. */
static void bad_zstd(void **state)
{
	const char *path = in_scratch("zstd.hrt");
	struct bytes b = copy_whole();

	(void)state;
	for (int grow = -8; grow <= 8; grow += 16) {
		uint8_t *head = b.data + layout.offset[4];
		uint32_t raw = u32_at(whole.data + layout.offset[4] + 12) + (uint32_t)grow, crc;
		struct seen s;

		memcpy(head + 12, &raw, 4);
		crc = crc32c(0, head, 60);
		memcpy(head + 60, &crc, 4);
		file_write(path, b.data, layout.offset[layout.nr - 1]);
		assert_int_equal(trace_read(path, &s), 0);
		assert_int_equal(s.events, 11 * 7000);
		assert_int_equal(s.nr_caveats, 2);
	}
	free(b.data);
}

static void other_versions_and_files(void **state)
{
	const char *path = in_scratch("version.hrt");
	struct bytes b = copy_whole();
	struct seen s;
	uint32_t crc;

	(void)state;
	b.data[8] = 2;
	crc = crc32c(0, b.data, 60);
	memcpy(b.data + 60, &crc, 4);
	file_write(path, b.data, b.len);
	assert_int_equal(trace_read(path, &s), -ENOTSUP);
	assert_non_null(strstr(error_text(), "format version 2"));
	b.data[20] ^= 1;
	file_write(path, b.data, b.len);
	assert_int_equal(trace_read(path, &s), -EBADMSG);
	file_write(path, "MZ and so on", 12);
	assert_int_equal(trace_read(path, &s), -EINVAL);
	file_write(path, "", 0);
	assert_int_equal(trace_read(path, &s), -ENODATA);
	assert_int_equal(trace_read(in_scratch("nothing"), &s), -ENOENT);
	assert_int_equal(trace_read(scratch, &s), -EINVAL); /* a folder, but not of ftrace's pages */
	free(b.data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_at_every_boundary),
		cmocka_unit_test(cut_at_random_bytes),
		cmocka_unit_test(flipped_bits),
		cmocka_unit_test(damaged_payload_costs_one_chunk),
		cmocka_unit_test(damaged_header_is_searched_past),
		cmocka_unit_test(torn_out_bytes_are_searched_past),
		cmocka_unit_test(holes_are_not_read),
		cmocka_unit_test(index_that_lies_is_not_believed),
		cmocka_unit_test(index_out_of_order_is_not_believed),
		cmocka_unit_test(bad_zstd),
		cmocka_unit_test(other_versions_and_files),
	};

	return cmocka_run_group_tests(tests, make_trace, drop_trace);
}
