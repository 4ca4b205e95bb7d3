// SPDX-License-Identifier: GPL-2.0-or-later
/* The values of probes: types and places by BTF that is made here, and which of them are chosen. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef HOSTRACE_LIVE
#include <bpf/btf.h>
#include <linux/bpf.h>

#include "base/error.h"
#include "collector/any_probe.h"
#endif

#include <cmocka.h>

#ifdef HOSTRACE_LIVE
/* long f(u64 gpa, bool on, struct pair by_value, s32 n, enum e e, void *p, u16 seventh, struct big big, char last) */
static struct btf *types_make(unsigned int *ret_proto)
{
	struct btf *b = btf__new_empty();
	int u64 = btf__add_int(b, "u64", 8, 0), boolean = btf__add_int(b, "bool", 1, BTF_INT_BOOL);
	int s32 = btf__add_int(b, "int", 4, BTF_INT_SIGNED), u16 = btf__add_int(b, "u16", 2, 0);
	int s64 = btf__add_int(b, "long", 8, BTF_INT_SIGNED),
	    s8 = btf__add_int(b, "char", 1, BTF_INT_SIGNED);
	int ptr = btf__add_ptr(b, 0), e, pair, big, gpa;

	e = btf__add_enum(b, "e", 4);
	btf__add_enum_value(b, "MINUS", -1);
	pair = btf__add_struct(b, "pair", 16);
	big = btf__add_struct(b, "big", 24);
	gpa = btf__add_typedef(b, "gpa_t", u64);
	*ret_proto = (unsigned int)btf__add_func_proto(b, s64);
	btf__add_func_param(b, "gpa", gpa);
	btf__add_func_param(b, "on", boolean);
	btf__add_func_param(b, "by_value", pair);
	btf__add_func_param(b, "n", s32);
	btf__add_func_param(b, "e", e);
	btf__add_func_param(b, "p", ptr);
	btf__add_func_param(b, "seventh", u16);
	btf__add_func_param(b, "big", big);
	btf__add_func_param(b, "last", s8);
	return b;
}

static void value_is(const struct probe_value *v, const char *name, int kind, int size, int source,
		     const char *fmt)
{
	assert_string_equal(name, v->name);
	assert_null(v->why_not);
	assert_int_equal(kind, v->kind);
	assert_int_equal(size, v->size);
	assert_int_equal(source, v->source);
	assert_string_equal(fmt, v->fmt);
}

/* 3.2.3 of the ABI: a structure of two words takes two registers, a longer one is in memory, and so is what is left. */
static void places_of_kprobes(void **state)
{
	struct probe_values v;
	unsigned int proto;
	struct btf *b = types_make(&proto);

	(void)state;
	probe_values_of(b, "f", proto, false, true, true, &v);
	assert_int_equal(9, v.nr_args);
	value_is(&v.arg[0], "gpa", FIELD_UINT, 8, ANY_ARG + 0, "hex");
	value_is(&v.arg[1], "on", FIELD_UINT, 1, ANY_ARG + 1, "dec");
	assert_non_null(v.arg[2].why_not);
	value_is(&v.arg[3], "n", FIELD_SINT, 4, ANY_ARG + 4, "dec");
	value_is(&v.arg[4], "e", FIELD_SINT, 4, ANY_ARG + 5, "dec");
	value_is(&v.arg[5], "p", FIELD_UINT, 8, ANY_STACK + 1, "addr");
	value_is(&v.arg[6], "seventh", FIELD_UINT, 2, ANY_STACK + 2, "dec");
	assert_non_null(v.arg[7].why_not);
	value_is(&v.arg[8], "last", FIELD_SINT, 1, ANY_STACK + 6, "dec");
	value_is(&v.ret, "ret", FIELD_SINT, 8, ANY_RET, "dec");
	assert_string_equal(
		"long f(gpa_t gpa, bool on, struct pair by_value, int n, enum e e, void *p, "
		"u16 seventh, struct big big, char last)",
		v.signature);
	btf__free(b);
}

/* Trampolines number words. */
static void places_of_trampolines(void **state)
{
	struct probe_values v;
	unsigned int proto;
	struct btf *b = types_make(&proto);

	(void)state;
	probe_values_of(b, "f", proto, true, true, true, &v);
	assert_int_equal(1, v.arg[1].source);
	assert_int_equal(4, v.arg[3].source);
	assert_int_equal(7, v.arg[6].source);
	assert_int_equal(11, v.arg[8].source);
	assert_int_equal(ANY_TRAMPOLINE_RET, v.ret.source);
	probe_values_of(b, "f", proto, false, false, true, &v);
	assert_int_equal(0, v.nr_args);
	assert_true(v.has_ret);
	btf__free(b);
}

static int choose(const char *words, struct any_event *e)
{
	struct probe_values v;
	unsigned int proto;
	struct btf *b = types_make(&proto);
	int err;

	*e = (struct any_event){.name = "kprobe:f", .kind = ANY_KPROBE};
	probe_values_of(b, "f", proto, false, true, false, &v);
	err = probe_choose(e, &v, words);
	btf__free(b);
	return err;
}

static void chosen(void **state)
{
	struct any_event e;

	(void)state;
	assert_int_equal(0, choose("n  address=arg0\targ1", &e));
	assert_int_equal(3, e.settings.nr);
	assert_int_equal(sizeof(struct record_hdr) + 24, e.settings.bytes);
	assert_int_equal(ANY_ARG + 4, e.settings.source[0]);
	assert_int_equal(ANY_ARG + 0, e.settings.source[1]);
	assert_string_equal("address", e.format.type->fields[1].name);
	assert_string_equal("arg1", e.format.type->fields[2].name);
	assert_int_equal(sizeof(struct record_hdr) + 16, e.format.type->fields[2].offset);
	assert_int_equal(1, e.format.type->fields[2].size);
	assert_string_equal("", e.note);
}

static void all_that_can_be(void **state)
{
	struct any_event e;

	(void)state;
	assert_int_equal(0, choose("", &e));
	assert_int_equal(7, e.settings.nr);
	assert_non_null(strstr(e.note, "'by_value' is not recorded: "));
	assert_non_null(strstr(e.note, "'big' is not recorded: "));
}

static void wrong_words(void **state)
{
	static const char *const words[] = {
		"x",	 "arg9", "arg",	    "arg1x", "ret",
		"big",	 "n n",	 "a=n a=p", "1=n",   "=n",
		"a b=n", "n=",	 "a.b=n",   "arg-1", "arg99999999999999999999999"};
	struct any_event e;

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (choose(words[i], &e) != -EINVAL)
			fail_msg("'%s'", words[i]);
	choose("gap", &e);
	assert_non_null(strstr(error_text(), "kprobe:f has no argument 'gap': long f(gpa_t gpa, "));
}

static void nearest_names(void **state)
{
	struct nearest n = {.word = "vfs_raed"};
	char text[256];

	(void)state;
	nearest_try(&n, "vfs_write");
	nearest_try(&n, "vfs_reap");
	nearest_try(&n, "schedule");
	nearest_try(&n, "vfs_read");
	assert_string_equal("; the nearest: 'vfs_read', 'vfs_reap'",
			    nearest_print(&n, text, sizeof(text)));
}
#endif

int main(void)
{
#ifdef HOSTRACE_LIVE
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_of_kprobes),
		cmocka_unit_test(places_of_trampolines),
		cmocka_unit_test(chosen),
		cmocka_unit_test(all_that_can_be),
		cmocka_unit_test(wrong_words),
		cmocka_unit_test(nearest_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
#else
	return 0;
#endif
}
