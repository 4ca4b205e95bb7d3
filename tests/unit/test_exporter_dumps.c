// SPDX-License-Identifier: GPL-2.0-or-later
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "exporter/page.h"
#include "tracefile/tracefile.h"

static json_t *meta_make(int pid, int when, int value, const char *labels)
{
	return json_pack("{s:[{s:i,s:s,s:s},{s:i,s:s}],s:{s:s,s:I,s:I,s:i,s:i,s:s}}", "vms", "pid",
			 7, "name", "web1", "uuid", "u-1", "pid", 8, "name", "db", "trigger",
			 "name", "exit-latency", "value_ns", (json_int_t)value * 1000000,
			 "realtime_ns", (json_int_t)when * 1000000000, "pid", pid, "vcpu", 3,
			 "labels", labels);
}

static void parse(void **state)
{
	static const char *const bad[] = {
		"{}",
		"[]",
		"{\"trigger\":7}",
		"{\"trigger\":{},\"vms\":{}}",
		"{\"trigger\":{\"pid\":7,\"value_ns\":1,\"realtime_ns\":1,\"name\":\"x\"},\"vms\":["
		"]}",
		"{\"trigger\":{\"pid\":7,\"value_ns\":1,\"realtime_ns\":1},"
		"\"vms\":[{\"pid\":7,\"name\":\"a\"}]}",
		"{\"trigger\":{\"pid\":7,\"value_ns\":0,\"realtime_ns\":1,\"name\":\"vm-end\"},"
		"\"vms\":[{\"pid\":7,\"name\":\"a\"}]}",
		"{\"trigger\":{\"pid\":-7,\"value_ns\":1,\"realtime_ns\":1,\"name\":\"x\"},"
		"\"vms\":[{\"pid\":-7,\"name\":\"a\"}]}",
	};
	json_t *meta = meta_make(7, 1000, 52, "reason=io vcpu=3");
	struct exported_dump d;

	(void)state;
	assert_true(exported_dump_parse(meta, &d));
	assert_int_equal(d.pid, 7);
	assert_string_equal(d.vm, "web1");
	assert_string_equal(d.uuid, "u-1");
	assert_string_equal(d.trigger, "exit-latency");
	assert_string_equal(d.what, "io");
	assert_int_equal(d.vcpu, 3);
	assert_int_equal(d.value_ns, 52000000);
	assert_int_equal(d.unix_ms, 1000000);
	json_decref(meta);
	meta = meta_make(8, 1000, 52, "device=/machine/peripheral/disk/virtio-backend queue=0");
	json_object_set_new(json_object_get(meta, "trigger"), "vcpu", json_integer(-1));
	assert_true(exported_dump_parse(meta, &d));
	assert_string_equal(d.what, "disk");
	assert_int_equal(d.vcpu, UINT_MAX);
	json_decref(meta);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		meta = json_loads(bad[i], 0, NULL);
		assert_non_null(meta);
		if (exported_dump_parse(meta, &d))
			fail_msg("%s", bad[i]);
		json_decref(meta);
	}
}

static void dump_write(const char *name, json_t *meta)
{
	struct trace_writer *w;

	assert_int_equal(trace_writer_open(name, &(struct trace_writer_options){0}, meta, &w), 0);
	assert_int_equal(trace_writer_close(w, NULL), 0);
	json_decref(meta);
}

static void text_write(const char *name, const char *text)
{
	FILE *f = fopen(name, "we");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static const struct exported_dump like = {
	.pid = 7, .vm = "web1", .uuid = "u-1", .trigger = "exit-latency", .what = "io"};

static const char *found(const struct exported_dumps *d, const struct exported_dump *wanted)
{
	const struct exported_dump *dump = exported_dumps_find(d, wanted, 0, 7);

	return dump ? dump->file : "";
}

/* Only the newest of this VM, with the reason and vCPU, of files that can be trusted. */
static void directory(void **state)
{
	struct exported_dump other = like;
	struct exported_dumps *d;
	char long_name[160];

	(void)state;
	dump_write("a.hrt", meta_make(7, 1000, 52, "reason=io"));
	dump_write("b.hrt", meta_make(7, 3000, 53, "reason=io"));
	dump_write("c.hrt", meta_make(7, 2000, 54, "reason=io"));
	dump_write("msr.hrt", meta_make(7, 9000, 54, "reason=msr"));
	dump_write("db.hrt", meta_make(8, 9000, 55, "reason=io"));
	memset(long_name, 'x', sizeof(long_name));
	strcpy(long_name + DUMP_FILE_MAX - 4, ".hrt"); /* one too long */
	dump_write(long_name, meta_make(7, 9000, 55, "reason=io"));
	dump_write("two words.hrt", meta_make(7, 9000, 55, "reason=io"));
	dump_write("without.hrt", json_object());
	text_write("broken.hrt", "no trace");
	text_write("b.txt", "a report");
	assert_int_equal(symlink("b.hrt", "link.hrt"), 0);
	assert_int_equal(mkfifo("fifo.hrt", 0600), 0);
	assert_int_equal(mkdir("dir.hrt", 0700), 0);

	d = exported_dumps_new(".");
	assert_non_null(d);
	for (int i = 0; i < 4; i++) /* a few files at a time */
		assert_int_equal(exported_dumps_scan(d), 0);
	assert_int_equal(exported_dumps_nr(d), 5);
	assert_int_equal(exported_dumps_ignored(d), 7);
	assert_string_equal(found(d, &like), "b.hrt");
	assert_null(exported_dumps_find(d, &like, 0, 2));
	assert_non_null(exported_dumps_find(d, &like, 3, 3));
	strcpy(other.uuid, "u-2");
	assert_string_equal(found(d, &other), "");
	other = like;
	other.pid = 8;
	assert_string_equal(found(d, &other), "");
	strcpy(other.vm, "db");
	*other.uuid = '\0';
	assert_string_equal(found(d, &other), "db.hrt");
	other = like;
	strcpy(other.trigger, "userspace-exit");
	assert_string_equal(found(d, &other), "");

	/* a file that is gone, and a new one */
	assert_int_equal(unlink("b.hrt"), 0);
	assert_int_equal(exported_dumps_scan(d), 0);
	assert_string_equal(found(d, &like), "c.hrt");
	dump_write("new.hrt", meta_make(7, 4000, 1, "reason=io"));
	assert_int_equal(exported_dumps_scan(d), 0);
	assert_string_equal(found(d, &like), "new.hrt");
	exported_dumps_free(d);
	assert_null(exported_dumps_new("missing"));
}

/* Of a user who is neither root nor the owner of the directory. */
static void other_owner(void **state)
{
	struct exported_dumps *d;

	(void)state;
	if (geteuid()) {
		print_message("# SKIP only root can change an owner\n");
		skip();
	}
	dump_write("own.hrt", meta_make(7, 1000, 52, "reason=io"));
	dump_write("other.hrt", meta_make(7, 2000, 52, "reason=io"));
	assert_int_equal(chown("other.hrt", 12345, 12345), 0);
	d = exported_dumps_new(".");
	assert_int_equal(exported_dumps_scan(d), 0);
	assert_string_equal(found(d, &like), "own.hrt");
	assert_int_equal(exported_dumps_ignored(d), 1);
	exported_dumps_free(d);
	assert_int_equal(chown(".", 12345, 12345), 0);
	d = exported_dumps_new(".");
	assert_int_equal(exported_dumps_scan(d), 0);
	assert_string_equal(found(d, &like), "other.hrt");
	exported_dumps_free(d);
}

static int begin(void **state)
{
	static char dir[64];

	snprintf(dir, sizeof(dir), "/tmp/exporter-dumps-XXXXXX");
	*state = mkdtemp(dir);
	return *state ? chdir(dir) : -1;
}

static int file_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st, (void)type, (void)at;
	return remove(path);
}

static int end(void **state)
{
	return chdir("/") || nftw(*state, file_remove, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parse),
		cmocka_unit_test_setup_teardown(directory, begin, end),
		cmocka_unit_test_setup_teardown(other_owner, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
