// SPDX-License-Identifier: GPL-2.0-or-later
/* perf.data in pipe format, built byte by byte: contains what a recording on this machine may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "readers/perf/perfdata.h"
#include "readers/perf/perfdata_file.h"
#include "readers/perf/perfdata_scan.h"

/* TID TIME ID CPU RAW, as perf has it for tracepoints with several events */
#define SAMPLE_TYPE (1u << 1 | 1u << 2 | 1u << 6 | 1u << 7 | 1u << 10)
#define SAMPLE_ALL  (1ull << 18)

static uint8_t image[1 << 20];
static size_t used;

static void put(const void *data, size_t len)
{
	memcpy(image + used, data, len);
	used += len;
}

static void put_u16(uint16_t v)
{
	put(&v, 2);
}

static void put_u32(uint32_t v)
{
	put(&v, 4);
}

static void put_u64(uint64_t v)
{
	put(&v, 8);
}

static size_t record_begin(uint32_t type)
{
	size_t at = used;

	put_u32(type);
	put_u32(0);
	return at;
}

static void record_end(size_t at)
{
	uint16_t size = (uint16_t)(used - at);

	memcpy(image + at + 6, &size, 2);
}

static void attr(uint32_t type, uint64_t config, uint64_t id)
{
	size_t at = record_begin(PERFDATA_HEADER_ATTR), begin = used;

	put_u32(type);
	put_u32(128);
	put_u64(config);
	put_u64(1);
	put_u64(SAMPLE_TYPE);
	put_u64(0);
	put_u64(SAMPLE_ALL);
	while (used - begin < 128)
		put("", 1);
	put_u64(id);
	record_end(at);
}

static void sized(const char *text)
{
	put_u64(strlen(text));
	put(text, strlen(text));
}

static void formats(void)
{
	static const char entry[] =
		"name: kvm_entry\nID: 5\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
		"\tfield:unsigned int vcpu_id;\toffset:8;\tsize:4;\tsigned:0;\n"
		"\tfield:unsigned long rip;\toffset:16;\tsize:8;\tsigned:0;\n\n"
		"print fmt: \"vcpu %u\", REC->vcpu_id\n";
	static const char magic[] = "\x17\x08\x44tracing0.6";
	size_t at = record_begin(PERFDATA_TRACING_DATA), len_at = used, begin;
	uint32_t len;

	put_u32(0);
	record_end(at);
	begin = used;
	put(magic, sizeof(magic));
	put("\0\x08", 2);
	put_u32(4096);
	put("header_page", 12);
	sized("");
	put("header_event", 13);
	sized("");
	put_u32(0); /* ftrace's own */
	put_u32(1);
	put("kvm", 4);
	put_u32(1);
	sized(entry);
	while ((used - begin) % 8)
		put("", 1);
	len = (uint32_t)(used - begin);
	memcpy(image + len_at, &len, 4);
}

static void sample(uint64_t id, uint64_t time, uint32_t cpu, uint64_t rip)
{
	size_t at = record_begin(PERFDATA_SAMPLE);

	put_u32(100); /* pid, tid */
	put_u32(101);
	put_u64(time);
	put_u64(id);
	put_u32(cpu);
	put_u32(0);
	put_u32(28); /* raw: the size makes the record a multiple of 8 */
	put_u16(5);
	put_u16(0);
	put_u32(999); /* common_pid: of another namespace */
	put_u64(3);   /* vcpu_id */
	put_u64(rip);
	put_u32(0);
	record_end(at);
}

static void trailer(uint64_t time, uint32_t cpu)
{
	put_u32(100);
	put_u32(101);
	put_u64(time);
	put_u64(7);
	put_u32(cpu);
	put_u32(0);
}

static void lost(uint64_t nr, uint64_t time, uint32_t cpu)
{
	size_t at = record_begin(PERFDATA_LOST);

	put_u64(7);
	put_u64(nr);
	trailer(time, cpu);
	record_end(at);
}

static void comm(uint32_t tid, const char *name, uint64_t time)
{
	size_t at = record_begin(PERFDATA_COMM);
	char text[16] = "";

	snprintf(text, sizeof(text), "%s", name);
	put_u32(100);
	put_u32(tid);
	put(text, sizeof(text));
	trailer(time, 0);
	record_end(at);
}

static void forked(uint32_t tid, uint32_t parent, uint64_t time)
{
	size_t at = record_begin(PERFDATA_FORK);

	put_u32(100);
	put_u32(100);
	put_u32(tid);
	put_u32(parent);
	put_u64(time);
	trailer(time, 1);
	record_end(at);
}

static void round_end(void)
{
	record_end(record_begin(PERFDATA_FINISHED_ROUND));
}

static void image_begin(void)
{
	used = 0;
	put("PERFILE2", 8);
	put_u64(16);
	attr(2, 5, 7);
	attr(1, 0, 8); /* a software clock */
	formats();
}

static struct batch batch;

static struct reader *image_open(bool guest, char *path)
{
	struct read_hint hint = {.until_ns = UINT64_MAX, .guest = guest};
	struct reader *r = NULL;
	int fd = memfd_create("perf.data", 0);

	assert_true(write(fd, image, used) == (ssize_t)used);
	sprintf(path, "/proc/self/fd/%d", fd);
	assert_int_equal(perfdata_reader.open(path, &hint, &r), 0);
	return r;
}

static unsigned int times_read(struct reader *r, uint64_t *time, const char **name)
{
	unsigned int nr = 0;

	while (reader_next(r, &batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++) {
			if (name)
				name[nr] = batch.ev[i].type->name;
			time[nr++] = batch.ev[i].time_ns;
		}
	return nr;
}

static void test_order(void **state)
{
	static const uint64_t want[] = {1000, 1010, 1020, 1030, 2000, 2010, 3000, 3005};
	uint64_t got[16];
	struct reader *r;
	char path[64];

	(void)state;
	image_begin();
	sample(7, 1010, 0, 1);
	sample(7, 1030, 0, 1);
	sample(7, 1000, 1, 1);
	round_end();
	sample(7, 2000, 0, 1);
	sample(7, 1020, 1, 1); /* older than the first round's newest */
	round_end();
	sample(7, 3005, 1, 1);
	round_end();
	sample(7, 3000, 0, 1);
	sample(7, 2010, 1, 1);
	r = image_open(false, path);
	assert_int_equal(r->info.start_ns, 1000);
	assert_int_equal(times_read(r, got, NULL), 8);
	assert_memory_equal(got, want, sizeof(want));
	assert_int_equal(r->info.late, 0);
	assert_int_equal(r->info.end_ns, 3005);
	reader_close(r);
}

static void test_ours(void **state)
{
	struct reader *r;
	char path[64];

	(void)state;
	image_begin();
	comm(100, "qemu", 0);
	comm(101, "CPU 3/KVM", 500);
	sample(7, 1000, 2, 0xfff0);
	sample(8, 1001, 2, 0); /* not a tracepoint's */
	r = image_open(false, path);
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(r->info.meta, "threads"), "100")),
		"qemu");
	assert_int_equal(reader_next(r, &batch), 1);
	assert_int_equal(batch.nr, 3);
	assert_int_equal(batch.ev[0].type->id, EV_thread);
	assert_int_equal(batch.ev[1].type->id, EV_kvm_entry);
	assert_int_equal(batch.ev[1].pid, 100);
	assert_int_equal(batch.ev[1].tid, 101);
	assert_int_equal(batch.ev[1].cpu, 2);
	assert_int_equal(batch.ev[1].vcpu, 3);
	assert_int_equal(event_u64(&batch.ev[1], event_field(batch.ev[1].type, "rip")), 0xfff0);
	assert_string_equal(batch.ev[2].type->name, "perf:type1-0");
	reader_close(r);

	r = image_open(true, path);
	assert_int_equal(reader_next(r, &batch), 1);
	assert_string_equal(batch.ev[0].type->name, "guest:kvm_entry");
	assert_int_equal(batch.ev[0].vcpu, 2);
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "clock")),
			    "guest-perf");
	reader_close(r);
}

/* CPU 1's buffer is written before CPU 0's: the name comes later in the file, earlier in time. */
static void test_names(void **state)
{
	static const char *const want[] = {"qemu", "qemu", "qemu"};
	struct reader *r;
	char path[64];

	(void)state;
	image_begin();
	forked(102, 101, 900);
	comm(101, "qemu", 800);
	forked(103, 102, 950);
	r = image_open(false, path);
	assert_int_equal(reader_next(r, &batch), 1);
	assert_int_equal(batch.nr, 3);
	for (unsigned int i = 0; i < 3; i++) {
		char text[16];

		assert_int_equal(batch.ev[i].tid, 101 + i);
		event_text(&batch.ev[i], event_field(batch.ev[i].type, "comm"), text, sizeof(text));
		assert_string_equal(text, want[i]);
	}
	reader_close(r);
}

static void test_lost(void **state)
{
	const struct field *f;
	uint64_t got[16];
	const char *name[16];
	struct reader *r;
	char path[64];

	(void)state;
	image_begin();
	sample(7, 1000, 1, 1);
	sample(7, 1500, 0, 1);
	lost(23, 2000, 1); /* since this CPU's last event */
	sample(7, 2000, 1, 1);
	r = image_open(false, path);
	assert_int_equal(reader_next(r, &batch), 1);
	assert_int_equal(batch.nr, 4);
	assert_int_equal(batch.ev[1].type->id, EV_lost);
	assert_int_equal(batch.ev[1].time_ns, 1001);
	f = event_field(batch.ev[1].type, "until");
	assert_int_equal(event_u64(&batch.ev[1], f), 2000);
	f = event_field(batch.ev[1].type, "count");
	assert_int_equal(event_u64(&batch.ev[1], f), 23);
	assert_int_equal(reader_next(r, &batch), 0);
	assert_int_equal(r->info.lost, 23);
	reader_close(r);

	r = image_open(true, path); /* counted, but no event of the host's */
	assert_int_equal(times_read(r, got, name), 3);
	assert_int_equal(r->info.lost, 23);
	reader_close(r);
}

static void test_time_conv(void **state)
{
	struct reader *r;
	json_t *map;
	char path[64];
	size_t at;

	(void)state;
	image_begin();
	at = record_begin(PERFDATA_TIME_CONV);
	put_u64(31); /* shift */
	put_u64(1ull << 30);
	put_u64(12345); /* zero */
	record_end(at);
	sample(7, 1000, 0, 1);
	r = image_open(false, path);
	map = json_object_get(r->info.meta, "tsc_map");
	assert_true(json_real_value(json_object_get(map, "ns_per_tick")) == 0.5);
	assert_int_equal(json_integer_value(json_object_get(map, "ns_offset")), 12345);
	assert_int_equal(json_integer_value(json_object_get(r->info.meta, "tsc_khz")), 2000000);
	reader_close(r);
}

/* Records packed so that one begins in a COMPRESSED record and ends in the next. */
static void test_packed(void **state)
{
	static uint8_t plain[1 << 18], packed[1 << 18];
	ZSTD_CStream *z = ZSTD_createCStream();
	size_t begin, len, done = 0;
	uint64_t got[4096];
	struct reader *r;
	char path[64];

	(void)state;
	image_begin();
	begin = used;
	for (uint64_t i = 0; i < 2000; i++)
		sample(7, 1000 + i, 0, i * 0x9e3779b97f4a7c15ull);
	len = used - begin;
	memcpy(plain, image + begin, len);
	used = begin;
	assert_false(ZSTD_isError(ZSTD_initCStream(z, 1)));
	while (done < len) {
		ZSTD_inBuffer in = {plain + done, len - done < 7001 ? len - done : 7001, 0};
		ZSTD_outBuffer out = {packed, sizeof(packed), 0};
		bool second = done / 7001 % 2;
		size_t at;

		while (in.pos < in.size)
			assert_false(ZSTD_isError(ZSTD_compressStream(z, &out, &in)));
		assert_int_equal(ZSTD_flushStream(z, &out), 0);
		done += in.size;
		at = record_begin(second ? PERFDATA_COMPRESSED2 : PERFDATA_COMPRESSED);
		if (second)
			put_u64(out.pos);
		put(packed, out.pos);
		while (second && (used - at) % 8)
			put("", 1);
		record_end(at);
		round_end();
	}
	ZSTD_freeCStream(z);
	lost(23, 5000, 0);
	r = image_open(false, path);
	assert_null(((struct perfdata *)r)->stream.zstd); /* the window is freed after the look at the beginning */
	assert_int_equal(times_read(r, got, NULL), 2001);
	for (unsigned int i = 0; i < 2000; i++)
		assert_int_equal(got[i], 1000 + i);
	assert_int_equal(r->info.lost, 23);
	assert_int_equal(json_array_size(r->info.caveats), 1); /* of the clock */
	reader_close(r);

	image[begin + 40] ^= 0xff; /* compressed data after it is lost, and this is reported */
	r = image_open(false, path);
	assert_true(times_read(r, got, NULL) < 2000);
	assert_true(json_array_size(r->info.caveats) > 1);
	reader_close(r);
}

/* A frame that says its window is 2^log: perf record -z22 writes 27, and nothing more. */
static size_t caveats_of_window(uint8_t log)
{
	uint8_t frame[] = {0x28, 0xb5, 0x2f, 0xfd, 0, (uint8_t)((log - 10) << 3), 1, 0, 0}; /* no data */
	struct reader *r;
	uint64_t got[1];
	char path[64];
	size_t at, nr;

	image_begin();
	at = record_begin(PERFDATA_COMPRESSED);
	put(frame, sizeof(frame));
	record_end(at);
	r = image_open(false, path);
	assert_int_equal(times_read(r, got, NULL), 0);
	nr = json_array_size(r->info.caveats);
	if (nr > 1)
		assert_non_null(strstr(json_string_value(json_array_get(r->info.caveats, 0)),
				       "window of more than 128 MiB"));
	reader_close(r);
	return nr;
}

static void test_window(void **state)
{
	(void)state;
	assert_int_equal(caveats_of_window(19), 1); /* of the clock */
	assert_int_equal(caveats_of_window(27), 1);
	assert_int_equal(caveats_of_window(28), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),	  cmocka_unit_test(test_ours),
		cmocka_unit_test(test_names),	  cmocka_unit_test(test_lost),
		cmocka_unit_test(test_time_conv),
		cmocka_unit_test(test_packed),	  cmocka_unit_test(test_window),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
