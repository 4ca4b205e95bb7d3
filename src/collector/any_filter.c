// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * record --filter: a condition (base/condition.h) becomes comparisons that the programs evaluate (bpf/any.bpf.c), of
 * each event that the user names by its own fields. `event` is known beforehand, so that a condition can be about
 * one of several events: event != "kprobe:f" || ret < 0.
 *
 * A comparison is of whole numbers: ns > 1.5 is ns > 1, and what no number of the field's size can meet leaves none.
 * A text is compared as numbers of 8, 4, 2 and 1 bytes, with its NUL or, if it is the begin of others ("a*"), without.
 */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/condition.h"
#include "base/error.h"
#include "collector/any_probe.h"

enum {
	HEAD = sizeof(struct record_hdr),
	WORD = 8,
	ENTRY_COMMON = 8, /* of the kernel's entry: its first fields cannot be read */
	LIST_BYTES = 512,
};

struct filter {
	const struct condition *condition;
	const struct condition_field *field;
	struct any_event *event;
	struct any_test test[ANY_TESTS_MAX]; /* from the last one to the first */
	unsigned int nr;
};

/* ---- comparisons ---- */

static bool is_event(const struct condition_field *f)
{
	return !strcmp(f->name, "event");
}

static bool event_known(void *arg, unsigned int i, struct condition_value *v)
{
	const struct filter *f = arg;

	v->text = f->event->name;
	return is_event(&f->field[i]) && f->field[i].is_text;
}

static int test_add(struct filter *f, struct any_test t, unsigned int *ret)
{
	if (f->nr == ANY_TESTS_MAX)
		return fail_usage(-E2BIG, "--filter: more than %d comparisons for %s: '%s'",
				  ANY_TESTS_MAX, f->event->name, condition_text(f->condition));
	f->test[f->nr] = t;
	*ret = f->nr++;
	return 0;
}

static struct any_test test_of(const struct filter *f, const struct field *field,
			       const struct condition_comparison *c)
{
	unsigned int at = field->offset - HEAD;

	return (struct any_test){
		.at = (uint16_t)(f->event->kind == ANY_TRACEPOINT ? at : at / WORD),
		.size = (uint8_t)field->size,
		.flags = field->kind == FIELD_SINT ? ANY_TEST_SIGNED : 0,
		.yes = (uint8_t)c->yes,
		.no = (uint8_t)c->no};
}

/* As the program shifts and inverts the value. */
static uint64_t what_of(const struct any_test *t, long double number)
{
	uint64_t word = number < 0 ? -(uint64_t)-number : (uint64_t)number;

	word <<= 64 - 8 * t->size;
	return t->flags & ANY_TEST_SIGNED ? word ^ 1ull << 63 : word;
}

struct range {
	long double least, most;
};

static struct range range_of(const struct field *f)
{
	long double values = ldexpl(1, 8 * f->size);

	return f->kind == FIELD_SINT ? (struct range){-values / 2, values / 2 - 1}
				     : (struct range){0, values - 1};
}

static int equal_make(struct filter *f, const struct field *field,
		      const struct condition_comparison *c, unsigned int *ret)
{
	struct any_test t = test_of(f, field, c);
	struct range r = range_of(field);

	*ret = c->no;
	if (c->number < r.least || c->number > r.most || c->number != floorl(c->number))
		return 0;
	t.what = what_of(&t, c->number);
	return test_add(f, t, ret);
}

/* value > number, a whole one */
static int greater_make(struct filter *f, const struct field *field,
			const struct condition_comparison *c, long double number, unsigned int *ret)
{
	struct any_test t = test_of(f, field, c);
	struct range r = range_of(field);

	*ret = number < r.least ? c->yes : c->no;
	if (number < r.least || number >= r.most)
		return 0;
	t.flags |= ANY_TEST_GREATER;
	t.what = what_of(&t, number);
	return test_add(f, t, ret);
}

static int number_make(struct filter *f, const struct field *field,
		       const struct condition_comparison *c, unsigned int *ret)
{
	struct condition_comparison opposite = *c;

	opposite.yes = c->no;
	opposite.no = c->yes;
	switch (c->op) {
	case OP_EQ:
		return equal_make(f, field, c, ret);
	case OP_LT:
		return greater_make(f, field, &opposite, ceill(c->number) - 1, ret);
	case OP_LE:
		return greater_make(f, field, &opposite, floorl(c->number), ret);
	case OP_GT:
		return greater_make(f, field, c, floorl(c->number), ret);
	case OP_GE:
		return greater_make(f, field, c, ceill(c->number) - 1, ret);
	default: /* !=, or the field alone: it is not 0 */
		return equal_make(f, field, &opposite, ret);
	}
}

static int bytes_make(struct filter *f, const struct field *field,
		      const struct condition_comparison *c, size_t len, unsigned int *ret)
{
	int err = 0;

	*ret = c->yes;
	for (size_t end = len; end && !err;) {
		size_t size = end >= 8 ? 8 : end >= 4 ? 4 : end >= 2 ? 2 : 1;
		struct any_test t = test_of(f, field, c);

		end -= size;
		t.at = (uint16_t)(t.at + end);
		t.size = (uint8_t)size;
		t.flags = 0;
		t.yes = (uint8_t)*ret;
		memcpy(&t.what, c->text + end, size);
		t.what <<= 64 - 8 * size;
		err = test_add(f, t, ret);
	}
	return err;
}

static int text_make(struct filter *f, const struct field *field,
		     const struct condition_comparison *c, unsigned int *ret)
{
	struct condition_comparison own = *c;
	size_t len = strlen(c->text);
	bool is_glob = c->op == OP_GLOB || c->op == OP_NO_GLOB;
	bool is_begin = is_glob && len && c->text[len - 1] == '*';

	if (is_glob && strcspn(c->text, "*?[\\") + is_begin < len)
		return condition_field_fail(f->condition, c->field,
					    "a pattern is a text and a '*' at its end: '%s'",
					    c->text);
	if (c->op == OP_NE || c->op == OP_NO_GLOB) {
		own.yes = c->no;
		own.no = c->yes;
	}
	*ret = own.no;
	if (len - is_begin > field->size)
		return 0;
	/* One that fills its field has no NUL. */
	return bytes_make(f, field, &own, is_begin ? len - 1 : len + (len < field->size), ret);
}

/* ---- fields ---- */

static const char *kind_print(const struct field *f, char buf[8])
{
	if (f->kind > FIELD_SINT)
		return "text";
	snprintf(buf, 8, "%c%u", f->kind == FIELD_SINT ? 's' : 'u', 8u * f->size);
	return buf;
}

/* "event, ret (s32), comm (text)" */
static const char *fields_print(const struct event_type *type, char list[LIST_BYTES])
{
	size_t len = (size_t)snprintf(list, LIST_BYTES, "event");
	char kind[8];

	for (unsigned int i = 0; i < type->nr_fields && len < LIST_BYTES; i++)
		len += (size_t)snprintf(list + len, LIST_BYTES - len, ", %s (%s)",
					type->fields[i].name, kind_print(&type->fields[i], kind));
	if (len >= LIST_BYTES)
		memcpy(list + LIST_BYTES - 4, "...", 4);
	return list;
}

static int field_absent(const struct filter *f, unsigned int i)
{
	char list[LIST_BYTES];

	return condition_field_fail(f->condition, i, "%s has no field '%s' (fields: %s)",
				    f->event->name, f->field[i].name,
				    fields_print(f->event->format.type, list));
}

static int field_check(const struct filter *f, unsigned int i, const struct field *field)
{
	const struct condition_field *c = &f->field[i];
	bool is_text;

	if (is_event(c))
		return condition_field_fail(f->condition, i,
					    "'event' is a text: compare it with a string");
	if (!field)
		return field_absent(f, i);
	is_text = field->kind == FIELD_TEXT || field->kind == FIELD_DYNTEXT;
	if (is_text != c->is_text)
		return condition_field_fail(
			f->condition, i, "'%s' of %s is a %s: compare it with a %s", c->name,
			f->event->name, is_text ? "text" : "number", is_text ? "string" : "number");
	if (field->kind == FIELD_DYNTEXT ||
	    field->offset < HEAD + (f->event->kind == ANY_TRACEPOINT ? ENTRY_COMMON : 0))
		return condition_field_fail(f->condition, i,
					    "'%s' of %s cannot be compared while it is recorded: "
					    "use --where on a report",
					    c->name, f->event->name);
	return 0;
}

static int comparison_make(void *arg, const struct condition_comparison *c, unsigned int *ret)
{
	struct filter *f = arg;
	const struct event_type *type = f->event->format.type;
	const struct field *field = event_field(type, f->field[c->field].name);
	int err = field_check(f, c->field, field);

	if (err)
		return err;
	return c->text ? text_make(f, field, c, ret) : number_make(f, field, c, ret);
}

/* ---- filters ---- */

/* Programs go on to comparisons with higher numbers: they begin with the first. */
static uint8_t forward(unsigned int nr, uint8_t to)
{
	return to >= ANY_TEST_FALSE ? to : (uint8_t)(nr - 1 - to);
}

static void settings_fill(const struct filter *f, struct any_settings *s)
{
	s->nr_tests = f->nr;
	for (unsigned int i = 0; i < f->nr; i++) {
		struct any_test *t = &s->test[f->nr - 1 - i];

		*t = f->test[i];
		t->yes = forward(f->nr, t->yes);
		t->no = forward(f->nr, t->no);
	}
}

static int event_filter(struct filter *f)
{
	const struct condition_maker maker = {f, event_known, comparison_make};
	unsigned int begin;
	char list[LIST_BYTES];
	int err = condition_make(f->condition, &maker, ANY_TEST_TRUE, ANY_TEST_FALSE, &begin);

	if (err)
		return err;
	if (begin == ANY_TEST_FALSE)
		return fail_usage(-EINVAL, "--filter: no %s can meet '%s' (fields: %s)",
				  f->event->name, condition_text(f->condition),
				  fields_print(f->event->format.type, list));
	if (begin == ANY_TEST_TRUE)
		return 0;
	f->nr = begin + 1; /* what was made later is entered no more */
	settings_fill(f, &f->event->settings);
	return 0;
}

int any_events_filter(struct any_events *a, const char *text)
{
	_cleanup_condition_ struct condition *c = NULL;
	struct filter f;
	unsigned int nr;
	int err = condition_parse("--filter", text, &c);

	if (!err && !a->nr)
		err = fail_usage(-EINVAL,
				 "--filter requires a tracepoint of the kernel or a probe "
				 "in --events (SUBSYSTEM:EVENT): it is about their fields");
	for (unsigned int i = 0; i < a->nr && !err; i++) {
		f = (struct filter){
			.condition = c, .field = condition_fields(c, &nr), .event = &a->event[i]};
		err = event_filter(&f);
	}
	return err;
}
