// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "guestside/agent/stream.h"
#include "readers/readers.h"
#include "readers/ring/stream_reader.h"

#include <cmocka.h> /* after ours: it has a fail() too */

static uint8_t stream[65536];
static size_t len;
static char path[64];
static int fd = -1;

static const char begin[] =
	STREAM_GREETING "version 1\nagent test\nhost g\033[1m\nkernel 6.1\nclock x86-tsc\n"
			"page_size 4096\nlong 8\ncpus 2\nlater is passed over\n";
static const char format[] =
	"sched\0name: tick\nID: 77\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:u64 nr;\toffset:8;\tsize:8;\tsigned:0;\n\nprint fmt: \"\"\n";

static void frame(unsigned int kind, unsigned int cpu, const void *data, size_t bytes)
{
	stream_head_write(stream + len, (uint8_t)kind, (uint16_t)cpu, data, (uint32_t)bytes);
	memcpy(stream + len + STREAM_HEAD, data, bytes);
	len += STREAM_HEAD + bytes;
}

/* A page with `nr` events 10 ticks apart, numbered from `first`. */
static void page(unsigned int cpu, uint64_t time, uint64_t first, unsigned int nr)
{
	uint8_t buf[4096];
	size_t at = 16;

	for (unsigned int i = 0; i < nr; i++) {
		uint32_t head = 4 | 10 << 5; /* 16 bytes, 10 ticks later */
		uint16_t type = 77;
		uint32_t pid = 500 + cpu;
		uint64_t n = first + i;

		memcpy(buf + at, &head, 4);
		memcpy(buf + at + 4, &type, 2);
		memset(buf + at + 6, 0, 2);
		memcpy(buf + at + 8, &pid, 4);
		memcpy(buf + at + 12, &n, 8);
		at += 20;
	}
	memcpy(buf, &time, 8);
	memcpy(buf + 8, &(uint64_t){at - 16}, 8);
	frame(STREAM_PAGE, cpu, buf, at);
}

static void whole(void)
{
	static const char stats[] =
		"entries: 0\noverrun: 0\ncommit overrun: 0\nbytes: 0\n"
		"oldest event ts: 0\nnow ts: 0\ndropped events: 0\nread events: 6\n";

	len = 0;
	frame(STREAM_BEGIN, 0, begin, sizeof(begin) - 1);
	frame(STREAM_FORMAT, 0, format, sizeof(format) - 1);
	frame(STREAM_NAMES, 0, "500 first\n501 second\n", 21);
	page(0, 1000, 0, 3);
	page(1, 1005, 100, 3);
	frame(200, 0, "a kind to come", 14);
	page(0, 2000, 3, 3);
	page(1, 2005, 103, 3);
	frame(STREAM_NAMES, 0, "501 renamed\n", 12);
	frame(STREAM_STATS, 0, stats, sizeof(stats) - 1);
	frame(STREAM_STATS, 1, stats, sizeof(stats) - 1);
	frame(STREAM_END, 0, "duration", 8);
}

static int open_bytes(size_t bytes, struct reader **ret)
{
	if (fd < 0)
		fd = memfd_create("stream", MFD_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, stream, bytes, 0), bytes);
	return reader_open(path, NULL, ret);
}

/* Reads all; events must be in order of time. */
static unsigned int events(struct reader *r)
{
	static struct batch batch;
	unsigned int nr = 0;
	uint64_t last = 0;

	while (reader_next(r, &batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++, nr++) {
			const struct field *f = event_field(batch.ev[i].type, "nr");

			assert_string_equal(batch.ev[i].type->name, "guest:tick");
			assert_true(batch.ev[i].time_ns >= last);
			last = batch.ev[i].time_ns;
			assert_int_equal(event_u64(&batch.ev[i], f) >= 100, batch.ev[i].cpu);
			assert_int_equal(batch.ev[i].tid, 500 + batch.ev[i].cpu);
			assert_int_equal(batch.ev[i].vcpu, batch.ev[i].cpu);
		}
	return nr;
}

static const char *caveats(struct reader *r)
{
	static char text[2048];
	size_t i;
	json_t *one;

	text[0] = '\0';
	json_array_foreach (r->info.caveats, i, one)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s\n",
			 json_string_value(one));
	return text;
}

static void all_is_read(void **state)
{
	struct reader *r;
	json_t *threads;

	(void)state;
	whole();
	assert_int_equal(open_bytes(len, &r), 0);
	assert_string_equal(r->info.kind, "guest-stream");
	threads = json_object_get(r->info.meta, "threads");
	assert_string_equal(json_string_value(json_object_get(threads, "500")), "first");
	assert_string_equal(json_string_value(json_object_get(threads, "501")), "renamed");
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "clock")), "guest-tsc");
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "kernel")), "6.1");
	assert_string_equal(json_string_value(json_object_get(r->info.meta, "end")), "duration");
	assert_null(strchr(json_string_value(json_object_get(r->info.meta, "host")), 27));
	assert_int_equal(events(r), 12);
	assert_int_equal(r->info.lost, 0);
	assert_null(strstr(caveats(r), "end marker"));
	reader_close(r);
}

/* Cut at any length: complete parts are read, and the loss is reported. */
static void cut_anywhere(void **state)
{
	(void)state;
	whole();
	for (size_t bytes = 0; bytes < len; bytes++) {
		struct reader *r;
		int err = open_bytes(bytes, &r);

		if (err) {
			assert_true(bytes < STREAM_HEAD + sizeof(begin) - 1);
			continue;
		}
		assert_true(events(r) <= 12);
		assert_true(strstr(caveats(r), "no end marker") ||
			    strstr(caveats(r), "no complete frame"));
		reader_close(r);
	}
}

/* A byte that is wrong costs at most its own frame, or what follows it. */
static void damaged_anywhere(void **state)
{
	(void)state;
	for (size_t at = 0;; at++) {
		struct reader *r;

		whole();
		if (at >= len)
			break;
		stream[at] ^= 0x40;
		if (open_bytes(len, &r))
			continue;
		assert_true(events(r) <= 12);
		assert_non_null(caveats(r));
		reader_close(r);
	}
}

static void a_damaged_page_is_counted(void **state)
{
	struct reader *r;
	size_t at;

	(void)state;
	whole();
	at = 3 * STREAM_HEAD + sizeof(begin) - 1 + sizeof(format) - 1 + 21 + STREAM_HEAD + 30;
	stream[at] ^= 1;
	assert_int_equal(open_bytes(len, &r), 0);
	assert_int_equal(events(r), 9);
	assert_non_null(strstr(caveats(r), "corrupt"));
	reader_close(r);
}

/* A page of CPU 0, and statistics of one CPU. */
static struct reader *with_stats(uint16_t cpu, const char *stats)
{
	struct reader *r;

	len = 0;
	frame(STREAM_BEGIN, 0, begin, sizeof(begin) - 1);
	frame(STREAM_FORMAT, 0, format, sizeof(format) - 1);
	page(0, 1000, 0, 3);
	frame(STREAM_STATS, cpu, stats, strlen(stats));
	frame(STREAM_END, 0, "host", 4);
	assert_int_equal(open_bytes(len, &r), 0);
	return r;
}

static void losses(void **state)
{
	struct reader *r = with_stats(0, "entries: 4\noverrun: 7\ncommit overrun: 0\n"
					 "dropped events: 0\nread events: 3\n");

	(void)state;
	assert_int_equal(events(r), 3);
	assert_int_equal(r->info.lost, 11); /* overwritten, and 4 that nobody fetched */
	reader_close(r);
}

/* CPU 1 has no page, only a note that it had events: the trace must not begin at time 0. */
static void a_cpu_without_pages(void **state)
{
	struct reader *r = with_stats(1, "entries: 4\noverrun: 0\ncommit overrun: 0\n"
					 "dropped events: 0\nread events: 0\n");

	(void)state;
	assert_true(r->info.start_ns >= 1000);
	assert_int_equal(events(r), 3);
	assert_int_equal(r->info.lost, 4);
	reader_close(r);
}

static void refused(void **state)
{
	static const char newer[] = STREAM_GREETING "version 2\n", nonsense[] = STREAM_GREETING
						    "version 1\npage_size 7\n";
	struct reader *r;

	(void)state;
	len = 0;
	frame(STREAM_BEGIN, 0, newer, sizeof(newer) - 1);
	assert_int_equal(open_bytes(len, &r), -EPROTONOSUPPORT);
	len = 0;
	frame(STREAM_BEGIN, 0, nonsense, sizeof(nonsense) - 1);
	assert_int_equal(open_bytes(len, &r), -EBADMSG);
	assert_non_null(strstr(error_text(), "invalid page size 7"));
}

static void the_second_recording_is_told(void **state)
{
	struct reader *r;

	(void)state;
	whole();
	memcpy(stream + len, stream, len);
	len *= 2;
	assert_int_equal(open_bytes(len, &r), 0);
	assert_int_equal(events(r), 12);
	assert_non_null(strstr(caveats(r), "2 recordings"));
	reader_close(r);
}

/* They come in pieces, and end where the pages begin. */
static void symbols(void **state)
{
	static const char first[] = "ffffffff81000000 T do_work\n",
			  second[] = "ffffffff81000100 t idle\n";
	char *text;
	size_t bytes;
	struct reader *r;

	(void)state;
	whole();
	assert_int_equal(open_bytes(len, &r), 0);
	reader_close(r);
	assert_int_equal(stream_symbols(path, NULL, &text, &bytes), 0);
	assert_null(text);
	len = 0;
	frame(STREAM_BEGIN, 0, begin, sizeof(begin) - 1);
	frame(STREAM_SYMBOLS, 0, first, sizeof(first) - 1);
	frame(STREAM_SYMBOLS, 0, "damaged", 7);
	stream[len - 1] ^= 1;
	frame(STREAM_SYMBOLS, 0, second, sizeof(second) - 1);
	page(0, 1000, 0, 3);
	frame(STREAM_SYMBOLS, 0, "too late", 8);
	assert_int_equal(open_bytes(len, &r), 0);
	reader_close(r);
	assert_int_equal(stream_symbols(path, NULL, &text, &bytes), 0);
	assert_int_equal(bytes, sizeof(first) + sizeof(second) - 2);
	assert_memory_equal(text, first, sizeof(first) - 1);
	assert_memory_equal(text + sizeof(first) - 1, second, sizeof(second) - 1);
	free(text);
}

static void append(unsigned int kind, const void *data, size_t bytes)
{
	uint8_t head[STREAM_HEAD];

	stream_head_write(head, (uint8_t)kind, 0, data, (uint32_t)bytes);
	assert_int_equal(write(fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(write(fd, data, bytes), bytes);
}

/* 8 MiB of names and 64 MiB of symbols are kept. */
static void budgets(void **state)
{
	static char much[STREAM_PAYLOAD_MAX];
	struct reader *r;
	json_t *threads;
	char *text;
	size_t bytes;

	(void)state;
	len = 0;
	frame(STREAM_BEGIN, 0, begin, sizeof(begin) - 1);
	frame(STREAM_FORMAT, 0, format, sizeof(format) - 1);
	frame(STREAM_NAMES, 0, "500 first\n", 10);
	assert_int_equal(open_bytes(len, &r), 0);
	reader_close(r);
	assert_int_equal(lseek(fd, 0, SEEK_END), len);
	for (size_t i = 0; i < sizeof(much); i += 4)
		memcpy(much + i, "1 a\n", 4);
	for (int i = 0; i < 7; i++) /* a newline is added to each */
		append(STREAM_NAMES, much, sizeof(much) - 1);
	append(STREAM_NAMES, much, sizeof(much) - 1 - 11);
	append(STREAM_NAMES, "500 renamed\n", 12);
	for (int i = 0; i < 66; i++)
		append(STREAM_SYMBOLS, much, sizeof(much));
	assert_int_equal(stream_symbols(path, NULL, &text, &bytes), 0);
	assert_int_equal(bytes, 64 << 20);
	free(text);
	assert_int_equal(reader_open(path, NULL, &r), 0);
	threads = json_object_get(r->info.meta, "threads");
	assert_string_equal(json_string_value(json_object_get(threads, "1")), "a");
	assert_string_equal(json_string_value(json_object_get(threads, "500")), "first");
	reader_close(r);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_is_read),	  cmocka_unit_test(cut_anywhere),
		cmocka_unit_test(damaged_anywhere), cmocka_unit_test(a_damaged_page_is_counted),
		cmocka_unit_test(losses),	  cmocka_unit_test(a_cpu_without_pages),
		cmocka_unit_test(refused),
		cmocka_unit_test(the_second_recording_is_told), cmocka_unit_test(symbols),
		cmocka_unit_test(budgets),
	};

	if (argc == 2) { /* a seed for the fuzzer, a file for tests/broken */
		FILE *f = fopen(argv[1], "wb");

		whole();
		if (!f || fwrite(stream, len, 1, f) != 1)
			return 1;
		return fclose(f) != 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
