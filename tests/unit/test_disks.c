// SPDX-License-Identifier: GPL-2.0-or-later
/* What a monitor says of disks, and where QEMU's command line has one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vm/disks.h"

#include <cmocka.h>

#define STATS(reads, ns)                                                                           \
	"\"stats\": {\"rd_operations\": " #reads ", \"rd_bytes\": 512, \"rd_total_time_ns\": " #ns \
	", \"flush_total_time_ns\": 5, \"flush_operations\": 2, \"wr_operations\": -1}"

static json_t *parse(const char *blocks, const char *stats, const char *groups)
{
	json_t *b = json_loads(blocks, 0, NULL), *s = json_loads(stats, 0, NULL),
	       *g = json_loads(groups, 0, NULL), *all;

	assert_non_null(b);
	assert_non_null(s);
	assert_non_null(g);
	all = disks_parse(b, s, g);
	json_decref(b);
	json_decref(s);
	json_decref(g);
	return all;
}

static void assert_json(const char *expected, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

	assert_string_equal(expected, text);
	free(text);
}

static void limits_of_the_disk(void **state)
{
	json_t *all = parse("[{\"device\": \"d0\", \"qdev\": \"/machine/a\", \"inserted\": "
			    "{\"iops\": 20, \"bps_rd\": 0, \"iops_size\": -1, \"group\": \"d0\"}},"
			    " {\"device\": \"cd\", \"qdev\": \"cd\"},"
			    " {\"device\": \"gone\", \"inserted\": {}}]",
			    "[{\"device\": \"cd\", " STATS(1, 1) "},"
			    " {\"device\": \"d0\", \"qdev\": \"/machine/b\", " STATS(1, 1) "},"
			    " {\"device\": \"d0\", \"qdev\": \"/machine/a\", " STATS(7, 90) "}]",
			    "{}");

	(void)state;
	assert_json("{\"left_out\":0,\"list\":[{\"device\":\"d0\",\"flushes\":2,"
		    "\"group\":\"d0\",\"limits\":{\"iops\":20},\"qdev\":\"/machine/a\","
		    "\"read_bytes\":512,\"reads\":7,"
		    "\"time_ns\":95,\"write_bytes\":0,\"writes\":0}]}",
		    all);
	json_decref(all);
}

static void limits_of_a_group(void **state)
{
	json_t *all = parse("[{\"device\": \"\", \"qdev\": \"nv\", \"inserted\": {\"file\": "
			    "\"json:{\\\"throttle-group\\\": \\\"slow\\\", \\\"driver\\\": "
			    "\\\"throttle\\\"}\"}}]",
			    "[{\"device\": \"\", \"qdev\": \"nv\", " STATS(7, 90) "}]",
			    "{\"slow\": {\"iops-total\": 7, \"bps-read\": 1, \"bps-write\": 0}}");

	(void)state;
	assert_json("{\"bps_rd\":1,\"iops\":7}",
		    json_object_get(json_array_get(json_object_get(all, "list"), 0), "limits"));
	assert_json("\"slow\"",
		    json_object_get(json_array_get(json_object_get(all, "list"), 0), "group"));
	assert_json("\"nv\"",
		    json_object_get(json_array_get(json_object_get(all, "list"), 0), "device"));
	json_decref(all);
}

static void what_is_no_answer(void **state)
{
	json_t *all = parse("{\"device\": 1}", "[7]", "[]");

	(void)state;
	assert_json("{\"left_out\":0,\"list\":[]}", all);
	json_decref(all);
	all = parse("[7, {\"inserted\": 1, \"device\": 5}]", "[{\"stats\": []}, null]", "{}");
	assert_json("{\"left_out\":0,\"list\":[{\"device\":\"\",\"flushes\":0,\"limits\":{},"
		    "\"qdev\":\"\",\"read_bytes\":0,\"reads\":0,\"time_ns\":0,"
		    "\"write_bytes\":0,\"writes\":0}]}",
		    all);
	json_decref(all);
}

static void too_many(void **state)
{
	json_t *blocks = json_array(), *stats = json_array(), *none = json_object(), *all;

	(void)state;
	for (int i = 0; i < DISKS_MAX + 3; i++) {
		json_array_append_new(blocks, json_pack("{s:o,s:{}}", "qdev",
							json_sprintf("d%d", i), "inserted"));
		json_array_append_new(stats, json_pack("{s:o}", "qdev", json_sprintf("d%d", i)));
	}
	all = disks_parse(blocks, stats, none);
	assert_int_equal(DISKS_MAX, json_array_size(json_object_get(all, "list")));
	assert_int_equal(3, json_integer_value(json_object_get(all, "left_out")));
	json_decref(all);
	json_decref(blocks);
	json_decref(stats);
	json_decref(none);
}

/* A disk that was plugged in since, and one that has another one's name. */
static void between(void **state)
{
	json_t *first = json_loads("{\"list\": [{\"device\": \"a\", \"reads\": 5, \"time_ns\": 50},"
				   " {\"device\": \"c\", \"reads\": 900}]}",
				   0, NULL),
	       *later = json_loads("{\"list\": [{\"device\": \"a\", \"reads\": 7, \"time_ns\": 90},"
				   " {\"device\": \"b\", \"reads\": 4}, {\"device\": \"c\", "
				   "\"reads\": 2}]}",
				   0, NULL),
	       *all = disks_between(first, later);
	const char *reads[] = {"2", "4", "2"};

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_json(reads[i],
			    json_object_get(json_array_get(json_object_get(all, "list"), i),
					    "reads"));
	assert_json("40", json_object_get(json_array_get(json_object_get(all, "list"), 0),
					  "time_ns"));
	json_decref(first);
	json_decref(later);
	json_decref(all);
}

static void monitor_is(const char *expected, char *const *words)
{
	unsigned int nr = 0;
	char path[32];

	while (words[nr])
		nr++;
	disks_monitor_find(words, nr, path, sizeof(path));
	assert_string_equal(expected, path);
}

#define MONITOR(expected, ...) monitor_is(expected, (char *[]){"qemu", __VA_ARGS__, NULL})

static void monitors(void **state)
{
	(void)state;
	MONITOR("/run/q", "-qmp", "unix:/run/q,server=on,wait=off");
	MONITOR("/run/q,x", "--qmp", "unix:/run/q,,x,server,nowait");
	MONITOR("q", "-qmp-pretty", "unix:q,server");
	MONITOR("", "-qmp", "unix:/run/q");
	MONITOR("", "-qmp", "unix:/run/q,server=off");
	MONITOR("", "-qmp", "stdio");
	MONITOR("", "-qmp");
	MONITOR("", "-monitor", "unix:/run/hmp,server=on");
	MONITOR("/run/m", "-chardev", "socket,id=m,path=/run/m,server=on,wait=off", "-mon",
		"chardev=m,mode=control");
	MONITOR("/run/m", "-mon", "m,mode=control", "-chardev", "socket,path=/run/m,server,id=m");
	MONITOR("", "-chardev", "socket,id=m,path=/run/m,server=on", "-mon", "chardev=m");
	MONITOR("", "-chardev", "socket,id=m,fd=24,server=on", "-mon", "chardev=m,mode=control");
	MONITOR("", "-chardev", "socket,id=x,path=/run/m,server=on", "-mon",
		"chardev=m,mode=control");
}

static const char *other_of(const char *vm, json_t **keep)
{
	json_decref(*keep);
	*keep = json_loads(vm, 0, NULL);
	return disks_other_of(*keep);
}

static void other_disks(void **state)
{
	json_t *keep = NULL;

	(void)state;
	assert_string_equal(
		"scsi-hd,drive=d",
		other_of("{\"devices\": [\"lsi53c895a\", \"scsi-hd,drive=d\"]}", &keep));
	assert_null(other_of("{\"devices\": [\"scsi-hd,drive=d\", \"virtio-scsi-pci\"]}", &keep));
	assert_string_equal("nvme,drive=d",
			    other_of("{\"devices\": [7, \"nvme,drive=d\"]}", &keep));
	assert_null(other_of("{}", &keep));
	json_decref(keep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_of_the_disk), cmocka_unit_test(limits_of_a_group),
		cmocka_unit_test(what_is_no_answer),  cmocka_unit_test(too_many),
		cmocka_unit_test(between),	      cmocka_unit_test(monitors),
		cmocka_unit_test(other_disks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
