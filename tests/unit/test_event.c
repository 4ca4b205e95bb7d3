// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Before cmocka.h, which has a macro of the name fail. */
#include "base/error.h"

#include <cmocka.h>

#include "event/records.h"

/* Every entry of events.def: field offsets in the schema equal those of the struct. A missing PAD aborts earlier. */
static void ours_match_their_structs(void **state)
{
	unsigned int checked = 0;

	(void)state;
/* clang-format off */
#define EVENT(ev_id, ev_name, ev_doc)                                                          \
	{                                                                                      \
		typedef struct rec_##ev_name rec_t;                                            \
		const struct event_type *t = event_type_ours(ev_id);                           \
		assert_non_null(t);                                                            \
		assert_string_equal(t->name, #ev_name);                                        \
		assert_int_equal(t->size, sizeof(rec_t));                                      \
		assert_ptr_equal(event_type_named(#ev_name), t);
#define FIELD(type, field, fmt, doc)                                                           \
		assert_non_null(event_field(t, #field));                                       \
		assert_int_equal(event_field(t, #field)->offset, offsetof(rec_t, field));      \
		checked++;
#define TEXT(len, field, doc) FIELD(u8, field, text, doc)
#define PAD(bytes)
#define END(name) }
#include "events.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END
	/* clang-format on */
	assert_true(checked > 100);
}

static void unknown_ids_and_names(void **state)
{
	(void)state;
	assert_null(event_type_ours(0));
	assert_null(event_type_ours(EV_LIMIT));
	assert_null(event_type_ours(100000));
	assert_null(event_type_named("no such event"));
	assert_null(event_type_at(event_types_count()));
	assert_null(event_field(event_type_ours(EV_kvm_pio), "no such field"));
}

static void same_type_is_registered_once(void **state)
{
	struct field f[] = {{"a", "dec", "", FIELD_UINT, 24, 4},
			    {"b", "dec", "", FIELD_SINT, 28, 4}};
	struct event_type t = {
		.name = "guest:x", .doc = "", .fields = f, .nr_fields = 2, .size = 32};
	const struct event_type *one, *two, *three;
	unsigned int before = event_types_count();

	(void)state;
	assert_int_equal(event_type_register(&t, &one), 0);
	assert_int_equal(event_type_register(&t, &two), 0);
	assert_ptr_equal(one, two);
	assert_int_equal(event_types_count(), before + 1);
	assert_ptr_not_equal(one, &t); /* a copy */
	f[1].kind = FIELD_UINT;
	assert_int_equal(event_type_register(&t, &three), 0);
	assert_ptr_not_equal(one, three);
	assert_ptr_equal(event_type_named("guest:x"), one);
}

/* A file with an older kvm_pio: another type, but still "kvm_pio" to those who ask by id. */
static void namesake_keeps_the_id(void **state)
{
	struct field f[] = {{"port", "hex", "", FIELD_UINT, 24, 4}};
	struct event_type t = {
		.name = "kvm_pio", .doc = "", .fields = f, .nr_fields = 1, .size = 32};
	const struct event_type *old;

	(void)state;
	assert_int_equal(event_type_register(&t, &old), 0);
	assert_ptr_not_equal(old, event_type_ours(EV_kvm_pio));
	assert_int_equal(old->id, EV_kvm_pio);
}

/* Older files declare tsc_shift, which is -1 at 2 to 4 GHz, as unsigned. */
static void signed_fields_of_ours_stay_signed(void **state)
{
	struct field fields[] = {
		{.name = "shift", .fmt = "dec", .kind = FIELD_UINT, .offset = 24, .size = 1},
		{.name = "mul", .fmt = "dec", .kind = FIELD_UINT, .offset = 28, .size = 4}};
	struct event_type t = {.name = "kvm_pvclock_update", .fields = fields, .nr_fields = 2,
			       .size = 32};
	uint8_t record[32] = {[24] = 0xff, [28] = 0xff, 0xff, 0xff, 0xff};
	const struct event_type *type, *again;

	(void)state;
	assert_int_equal(event_type_register(&t, &type), 0);
	assert_int_equal(event_type_register(&t, &again), 0);
	assert_ptr_equal(type, again);
	struct event ev = {.type = type, .data = record, .size = sizeof(record)};

	assert_int_equal((int64_t)event_u64(&ev, event_field(type, "shift")), -1);
	assert_int_equal(event_u64(&ev, event_field(type, "mul")), UINT32_MAX);
	RECORD(kvm_pvclock_update, update, &ev);
	assert_int_equal(update->shift, -1);
}

static void refused(const char *name, unsigned int size, struct field f)
{
	struct event_type t = {
		.name = name, .doc = "", .fields = &f, .nr_fields = 1, .size = (uint16_t)size};
	const struct event_type *ret;

	assert_int_equal(event_type_register(&t, &ret), -EINVAL);
	assert_true(strlen(error_text()) > 10);
}

static void bad_types_are_refused(void **state)
{
	static const struct field good = {"f", "dec", "", FIELD_UINT, 24, 4};
	char longname[EVENT_NAME_MAX + 1];

	(void)state;
	memset(longname, 'x', sizeof(longname));
	longname[EVENT_NAME_MAX] = 0;
	refused("", 32, good);
	refused(longname, 32, good);
	refused("e", 16, good);
	refused("e", 24, good);	   /* field after the record */
	refused("e", 65535, good); /* longer than a record may be */
	refused("e", 32, (struct field){"f", "dec", "", FIELD_UINT, 20, 4}); /* in the header */
	refused("e", 32, (struct field){"f", "dec", "", FIELD_UINT, 24, 3});
	refused("e", 32, (struct field){"f", "dec", "", FIELD_UINT, 30, 4});
	refused("e", 32, (struct field){"f", "dec", "", FIELD_TEXT, 24, 0});
	refused("e", 32, (struct field){"f", "dec", "", FIELD_DYNTEXT, 24, 8});
	refused("e", 32, (struct field){"f", "dec", "", (enum field_kind)9, 24, 4});
	refused("e", 32, (struct field){"f", "dec", "", FIELD_UINT, 65535, 8});
}

static void integers(void **state)
{
	uint8_t data[40] = {[24] = 0xfe, 0xff, 0xff, 0xff, 0x80};
	struct field s32 = {"a", "dec", "", FIELD_SINT, 24, 4},
		     u32 = {"b", "dec", "", FIELD_UINT, 24, 4};
	struct field s8 = {"c", "dec", "", FIELD_SINT, 28, 1},
		     out = {"d", "dec", "", FIELD_UINT, 36, 8};
	struct event ev = {.data = data, .size = sizeof(data)};

	(void)state;
	assert_true((int64_t)event_u64(&ev, &s32) == -2);
	assert_true(event_u64(&ev, &u32) == 0xfffffffe);
	assert_true((int64_t)event_u64(&ev, &s8) == -128);
	assert_true(event_u64(&ev, &out) == 0); /* past the record's end */
}

static void dyn(uint8_t *data, uint32_t from, uint32_t len)
{
	uint32_t loc = from | len << 16;

	memcpy(data + 24, &loc, 4);
}

static void texts_stay_in_the_record(void **state)
{
	uint8_t data[40] = {0};
	struct field d = {"d", "text", "", FIELD_DYNTEXT, 24, 4},
		     t = {"t", "text", "", FIELD_TEXT, 32, 8};
	struct event ev = {.data = data, .size = sizeof(data)};
	char buf[16];

	(void)state;
	memcpy(data + 32, "abcdefgh", 8); /* no NUL within the field */
	assert_string_equal(event_text(&ev, &t, buf, sizeof(buf)), "abcdefgh");
	assert_string_equal(event_text(&ev, &t, buf, 4), "abc");
	dyn(data, 34, 3);
	assert_string_equal(event_text(&ev, &d, buf, sizeof(buf)), "cde");
	dyn(data, 38, 60000);
	assert_string_equal(event_text(&ev, &d, buf, sizeof(buf)), "gh");
	dyn(data, 50000, 4);
	assert_string_equal(event_text(&ev, &d, buf, sizeof(buf)), "");
	ev.size = 26;
	assert_string_equal(event_text(&ev, &d, buf, sizeof(buf)), "");
}

static void names_cannot_control_a_terminal(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"web \u00e9\u4e2d", "web \u00e9\u4e2d"},
		{"a\033[31mb\x7f", "a?[31mb?"},
		{"a\xc2\x9b"
		 "b",
		 "a??b"},
		{"\xff\xc3!", "?"
			      "?!"},
		{"safe\u202egnp.exe", "safe???gnp.exe"}, /* right-to-left override */
		{"\u2066x\u2069\u200f\u061c", "???x????????"},
		{"a\u2028b", "a???b"},
		{"\xe0\x80\xaf|\xed\xa0\x80|\xf0\x80\x80\xaf|\xf4\x90\x80\x80",
		 "???|???|????|????"},
		{"\u0800\ud7ff\ue000\U00010000\U0010ffff",
		 "\u0800\ud7ff\ue000\U00010000\U0010ffff"},
		{"\u2027\u202f\u2070\u3163\ufefe", "\u2027\u202f\u2070\u3163\ufefe"},
		{"we\u200db1\ufeff", "we???b1???"}, /* not shown */
		{"web1\U000e0001\U000e0fff\u00ad", "web1??????????"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char text[64];

		strcpy(text, cases[i].from);
		text_sanitize(text);
		assert_string_equal(text, cases[i].to);
	}
}

/* Types of 64 fields with long names: their memory ends before their number does. */
static void types_are_bounded(void **state)
{
	struct field fields[EVENT_FIELDS_MAX];
	char name[32], names[EVENT_FIELDS_MAX][EVENT_NAME_MAX];
	const struct event_type *t;
	unsigned int nr = 0;
	int err;

	(void)state;
	for (unsigned int i = 0; i < EVENT_FIELDS_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "f%0100u", i);
		fields[i] = (struct field){.name = names[i], .fmt = "dec", .kind = FIELD_UINT,
					   .offset = 24, .size = 8};
	}
	do {
		snprintf(name, sizeof(name), "t:type%u", nr++);
		err = event_type_register(&(struct event_type){.name = name, .fields = fields,
							       .nr_fields = EVENT_FIELDS_MAX,
							       .size = 32},
					  &t);
	} while (!err);
	assert_int_equal(err, -E2BIG);
	assert_non_null(strstr(error_text(), "event types of the inputs need more than 24 MiB"));
	assert_in_range(nr, EVENT_TYPES_BYTES / 12000, EVENT_TYPES_BYTES / 9000);
	event_types_forget();
	fields[0].name = "other"; /* there is space again */
	assert_int_equal(event_type_register(&(struct event_type){.name = "t:x", .fields = fields,
								  .nr_fields = 1, .size = 32},
					     &t),
			 0);
	event_types_forget();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ours_match_their_structs),
		cmocka_unit_test(unknown_ids_and_names),
		cmocka_unit_test(same_type_is_registered_once),
		cmocka_unit_test(namesake_keeps_the_id),
		cmocka_unit_test(signed_fields_of_ours_stay_signed),
		cmocka_unit_test(bad_types_are_refused),
		cmocka_unit_test(integers),
		cmocka_unit_test(texts_stay_in_the_record),
		cmocka_unit_test(names_cannot_control_a_terminal),
		cmocka_unit_test(types_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
