// SPDX-License-Identifier: GPL-2.0-or-later
/* record --filter: the comparisons that programs evaluate decide as base/condition.h does; what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#ifdef HOSTRACE_LIVE
#include "base/error.h"
#include "collector/any_probe.h"
#include "event/event_where.h"
#include "random_util.h"
#endif

#include <cmocka.h>

#ifdef HOSTRACE_LIVE
enum { HEAD = sizeof(struct record_hdr), FIELDS = 7, BYTES = HEAD + 48 };

/* A tracepoint; the first 8 bytes of its entry are the kernel's. */
static const struct field fields[FIELDS] = {
	{"s8", "dec", "", FIELD_SINT, HEAD + 8, 1},
	{"u16", "dec", "", FIELD_UINT, HEAD + 10, 2},
	{"s32", "dec", "", FIELD_SINT, HEAD + 12, 4},
	{"u64", "hex", "", FIELD_UINT, HEAD + 16, 8},
	{"s64", "dec", "", FIELD_SINT, HEAD + 24, 8},
	{"comm", "text", "", FIELD_TEXT, HEAD + 32, 8},
	{"path", "text", "", FIELD_DYNTEXT, HEAD + 40, 4},
};

static struct any_events *events_make(const char *const *names, unsigned int nr)
{
	static struct any_event event[2];
	static struct any_events all;

	memset(event, 0, sizeof(event));
	all = (struct any_events){.event = event, .nr = nr};
	for (unsigned int i = 0; i < nr; i++) {
		snprintf(event[i].name, sizeof(event[i].name), "%s", names[i]);
		assert_int_equal(0, event_type_register(&(struct event_type){.name = event[i].name,
									     .doc = "",
									     .fields = fields,
									     .nr_fields = FIELDS,
									     .size = BYTES},
							&event[i].format.type));
	}
	return &all;
}

/* As bpf/any.bpf.c. */
static bool program_holds(const struct any_settings *s, const uint8_t *entry)
{
	uint32_t next = s->nr_tests ? 0 : ANY_TEST_TRUE;

	for (uint32_t i = 0; i < s->nr_tests; i++) {
		uint64_t word = 0;

		if (i != next)
			continue;
		memcpy(&word, entry + s->test[i].at, s->test[i].size);
		next = any_test_next(&s->test[i], word);
		assert_true(next > i);
	}
	assert_true(next == ANY_TEST_TRUE || next == ANY_TEST_FALSE);
	return next == ANY_TEST_TRUE;
}

static void random_fill(uint8_t *record, struct random *seed)
{
	static const uint64_t edges[] = {0,	1,     2,	 127, 128, 255, 256,
					 32767, 65535, 1u << 31, -1,  -2,  -128};
	static const char *const comms[] = {"a", "ab", "abcdefgh", "abcdefg", "", "redis"};

	memset(record, 0, BYTES);
	for (unsigned int i = 0; i < FIELDS; i++) {
		uint64_t v = edges[random_next(seed) % (sizeof(edges) / sizeof(*edges))];

		if (fields[i].kind <= FIELD_SINT)
			memcpy(record + fields[i].offset, &v, fields[i].size);
	}
	strncpy((char *)record + fields[5].offset, comms[random_next(seed) % 6], 8);
}

static const char *const conditions[] = {
	"s8 < 0",
	"s8 >= -128 && s8 <= 127 && u16 >= 1",
	"u16 > 255 || s32 == -1",
	"!(u16 > 255 || s32 == -1) && u64",
	"u64 == 0xffffffffffffffff || u64 > 0x7fffffff",
	"s64 > -2 && s64 < 1.5",
	"s32 in (1, -2, 0x7fff) || s8 == 200 || u16 == 65536 && s64",
	"s64 <= -1 || !s64",
	"u16 != 1 && u16 != 70000",
	"comm == \"ab\"",
	"comm != 'abcdefgh' && comm != 'longer than the field'",
	"comm ~ \"ab*\" && !(comm !~ \"abcdefg*\")",
	"comm == \"\" || comm in ('a', \"redis\")",
	"(s8 == 1000 && u16 > 1) || s32 > 0",
	"(event == \"x:y\" && u16 > 1) || s32 > 0",
	"event != \"t:filtered\" || s32 > 0",
	"event ~ \"t:*\" && s8 == -1",
};

static void as_conditions(void **state)
{
	const char *const name = "t:filtered";
	uint8_t record[BYTES];
	struct random seed = {7};

	(void)state;
	for (size_t i = 0; i < sizeof(conditions) / sizeof(*conditions); i++) {
		struct any_events *all = events_make(&name, 1);
		struct event_where *w = event_where_new("--where", conditions[i]);
		unsigned int held = 0;

		if (any_events_filter(all, conditions[i]))
			fail_msg("%s: %s", conditions[i], error_text());
		for (unsigned int k = 0; k < 2000; k++) {
			struct event ev = {
				.type = all->event[0].format.type, .data = record, .size = BYTES};
			bool holds;

			random_fill(record, &seed);
			holds = event_where_matches(w, &ev);
			held += holds;
			if (program_holds(&all->event[0].settings, record + HEAD) != holds)
				fail_msg("%s", conditions[i]);
		}
		assert_true(held && held < 2000);
		event_where_free(w);
	}
}

/* A probe has a word for each value, of which the field is the first bytes. */
static void of_probes(void **state)
{
	const char *const name = "kprobe:f";
	struct any_events *all = events_make(&name, 1);
	const struct any_settings *s = &all->event[0].settings;

	(void)state;
	all->event[0].kind = ANY_KPROBE;
	assert_int_equal(0, any_events_filter(all, "u64 > 7"));
	assert_int_equal(1, s->nr_tests);
	assert_int_equal(2, s->test[0].at);
	assert_int_equal(ANY_TEST_TRUE, any_test_next(&s->test[0], 8));
	assert_int_equal(ANY_TEST_FALSE, any_test_next(&s->test[0], 7));
	all->event[0].settings = (struct any_settings){0};
	assert_int_equal(0, any_events_filter(all, "s8 < 0"));
	assert_int_equal(ANY_TEST_TRUE, any_test_next(&s->test[0], 0x1234ff));
	assert_int_equal(ANY_TEST_FALSE, any_test_next(&s->test[0], 0xff01));
}

static void of_several(void **state)
{
	const char *const names[] = {"t:one", "t:two"};
	struct any_events *all = events_make(names, 2);

	(void)state;
	assert_int_equal(0, any_events_filter(all, "event == \"t:one\" || s32 < 0"));
	assert_int_equal(0, all->event[0].settings.nr_tests);
	assert_int_equal(1, all->event[1].settings.nr_tests);
	assert_int_equal(0, any_events_filter(all, "event != \"t:two\" || s32 < 0"));
	assert_int_equal(-EINVAL, any_events_filter(all, "event == \"t:one\" && s32 < 0"));
	assert_string_equal(
		"--filter: no t:two can meet 'event == \"t:one\" && s32 < 0' (fields: event, "
		"s8 (s8), u16 (u16), s32 (s32), u64 (u64), s64 (s64), comm (text), path (text))",
		error_text());
}

static void refused(void **state)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{"ret < 0", "column 1: t:filtered has no field 'ret' (fields: event, s8 (s8), "},
		{"s32 < 0 && (u64 || ret)", "column 20: t:filtered has no field 'ret'"},
		{"u16 < 0", "no t:filtered can meet 'u16 < 0'"},
		{"s32 == 'x'", "'s32' of t:filtered is a number: compare it with a number"},
		{"comm == 1", "'comm' of t:filtered is a text: compare it with a string"},
		{"event == 1", "'event' is a text"},
		{"path == \"x\"", "'path' of t:filtered cannot be compared while it is recorded"},
		{"comm ~ \"*a\"", "a pattern is a text and a '*' at its end: '*a'"},
		{"comm ~ \"[a]\"", "a pattern is a text and a '*' at its end"},
		{"s32 = 1", "column 5: expected =="},
		{"s32 in "
		 "(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,"
		 "30,31,32,33)",
		 "more than 32 comparisons for t:filtered"},
	};
	const char *const name = "t:filtered";

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		int err = any_events_filter(events_make(&name, 1), wrong[i].text);

		if ((err != -EINVAL && err != -E2BIG) || !strstr(error_text(), wrong[i].message))
			fail_msg("%s: %s", wrong[i].text, error_text());
	}
	assert_int_equal(-EINVAL, any_events_filter(events_make(&name, 0), "s32 == 1"));
	assert_non_null(strstr(error_text(), "--filter requires a tracepoint"));
}
#endif

int main(void)
{
#ifdef HOSTRACE_LIVE
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(as_conditions),
		cmocka_unit_test(of_probes),
		cmocka_unit_test(of_several),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
#else
	return 0;
#endif
}
