// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A parser by recursive descent, one function for each rule, which makes the nodes of a condition:
 *
 *	or      = and { "||" and }
 *	and     = not { "&&" not }
 *	not     = "!" not | "(" or ")" | compare
 *	compare = FIELD [ OPERATOR value | "in" "(" value { "," value } ")" ]
 *	value   = NUMBER | STRING
 *
 * The recursion is bounded by CONDITION_DEPTH_MAX.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/condition_private.h"
#include "base/error.h"

/* The longer of two that begin alike comes first. */
static const struct {
	const char *text;
	enum condition_op op;
	bool numbers, strings;
} operators[] = {
	{"==", OP_EQ, true, true},  {"!=", OP_NE, true, true},	 {"!~", OP_NO_GLOB, false, true},
	{"<=", OP_LE, true, false}, {">=", OP_GE, true, false},	 {"<", OP_LT, true, false},
	{">", OP_GT, true, false},  {"~", OP_GLOB, false, true},
};

/* Times are in ns. */
static const struct {
	const char *name;
	long double factor;
} units[] = {
	{"ns", 1},    {"us", 1e3L},   {"ms", 1e6L}, {"s", 1e9L},
	{"m", 60e9L}, {"h", 3600e9L}, {"k", 1e3L},  {"M", 1e6L},
};

struct parser {
	struct condition *c;
	const char *p;
	unsigned int depth;
};

/* ---- messages ---- */

enum { SHOWN_BEFORE = 40, SHOWN = 72 };

static bool is_continuation(char c)
{
	return (c & 0xc0) == 0x80;
}

/* In characters, from 1. */
static unsigned int column_of(const char *text, size_t at)
{
	unsigned int column = 1;

	for (size_t i = 0; i < at; i++)
		column += !is_continuation(text[i]);
	return column;
}

/* The part of the text around `at`, on one line; returns the column there. */
static unsigned int line_cut(const char *text, size_t at, char *line, size_t size)
{
	size_t from = at > SHOWN_BEFORE ? at - SHOWN_BEFORE : 0;

	while (from && is_continuation(text[from]))
		from--;
	snprintf(line, size, "%.*s", SHOWN, text + from);
	for (char *p = line; *p; p++)
		if (isspace((unsigned char)*p))
			*p = ' ';
	return column_of(text + from, at - from);
}

static int fail_at(const struct condition *c, int err, size_t at, const char *fmt, va_list ap)
{
	char what[640], line[SHOWN + 1];
	unsigned int column = line_cut(c->text, at, line, sizeof(line));

	vsnprintf(what, sizeof(what), fmt, ap);
	fail_usage(err, "%s: column %u: %s", c->option, column_of(c->text, at), what);
	return fail_at_column(err, line, column);
}

int condition_field_fail(const struct condition *c, unsigned int i, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = fail_at(c, -EINVAL, c->field[i].at, fmt, ap);
	va_end(ap);
	return err;
}

static int __attribute__((format(printf, 3, 4)))
syntax_error(const struct parser *in, const char *at, const char *fmt, ...)
{
	va_list ap;
	int err;

	va_start(ap, fmt);
	err = fail_at(in->c, -EINVAL, (size_t)(at - in->c->text), fmt, ap);
	va_end(ap);
	return err;
}

/* ---- words ---- */

static void blanks_skip(struct parser *in)
{
	in->p += strspn(in->p, " \t\n\r");
}

static bool is_name_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

/* Names have what those of events, fields and analyzers have: "guest:sched_switch", "exit-latency". */
static size_t name_length(const char *p)
{
	size_t len = 0;

	while (is_name_start(*p) && (is_name_start(p[len]) || isdigit((unsigned char)p[len]) ||
				     (p[len] && strchr(".:-", p[len]))))
		len++;
	return len;
}

static bool token_is(struct parser *in, const char *text)
{
	blanks_skip(in);
	if (strncmp(in->p, text, strlen(text)) != 0)
		return false;
	in->p += strlen(text);
	return true;
}

static int missing(struct parser *in, const char *what)
{
	blanks_skip(in);
	return syntax_error(
		in, in->p,
		*in->p || in->p == in->c->text ? "expected %s" : "expected %s after this", what);
}

/* ---- values ---- */

static int value_room(struct parser *in)
{
	if (in->c->nr_values == CONDITION_VALUES_MAX)
		return syntax_error(in, in->p, "more than %d values", CONDITION_VALUES_MAX);
	return 0;
}

static int string_parse(struct parser *in, struct value *v)
{
	const char *begin = in->p + 1, *end = strchr(begin, *in->p);

	if (!end)
		return syntax_error(in, in->p, "the string has no end");
	if (end - begin >= CONDITION_TEXT_MAX)
		return syntax_error(in, in->p, "the string is longer than %d bytes",
				    CONDITION_TEXT_MAX - 1);
	v->text = strndup(begin, (size_t)(end - begin));
	if (!v->text)
		return fail(-ENOMEM, "out of memory");
	in->p = end + 1;
	return 0;
}

static int unit_parse(struct parser *in, struct value *v)
{
	size_t len = 0;

	while (isalnum((unsigned char)in->p[len]) || in->p[len] == '_' || in->p[len] == '.')
		len++;
	for (size_t i = 0; len && i < sizeof(units) / sizeof(*units); i++)
		if (strlen(units[i].name) == len && !strncmp(in->p, units[i].name, len)) {
			v->number *= units[i].factor;
			in->p += len;
			return 0;
		}
	return len ? syntax_error(in, in->p, "unknown unit '%.*s' (supported: ns us ms s m h, k M)",
				  (int)len, in->p)
		   : 0;
}

static long double hex_parse(const char **p)
{
	long double number = 0;

	for (; isxdigit((unsigned char)**p); ++*p)
		number = number * 16 +
			 (isdigit((unsigned char)**p) ? **p - '0' : (**p | 32) - 'a' + 10);
	return number;
}

/* Not by strtold(), which depends on the locale. */
static long double decimal_parse(const char **p)
{
	long double number = 0, unit = 1;

	for (; isdigit((unsigned char)**p); ++*p)
		number = number * 10 + (**p - '0');
	if (**p == '.' && isdigit((unsigned char)(*p)[1]))
		for (++*p; isdigit((unsigned char)**p); ++*p)
			number += (**p - '0') * (unit /= 10);
	return number;
}

static int number_parse(struct parser *in, struct value *v)
{
	const char *begin = in->p;
	bool negative = *in->p == '-';
	int err;

	in->p += negative;
	if (in->p[0] == '0' && (in->p[1] | 32) == 'x' && isxdigit((unsigned char)in->p[2])) {
		in->p += 2;
		v->number = hex_parse(&in->p);
	} else {
		v->number = decimal_parse(&in->p);
	}
	err = unit_parse(in, v);
	if (!err && v->number > (long double)UINT64_MAX)
		err = syntax_error(in, begin, "the number is larger than 64 bits");
	if (negative)
		v->number = -v->number;
	return err;
}

static int value_parse(struct parser *in)
{
	struct value *v = &in->c->value[in->c->nr_values];
	int err = value_room(in);
	const char *begin;

	if (err)
		return err;
	blanks_skip(in);
	begin = in->p;
	if (*in->p == '"' || *in->p == '\'')
		err = string_parse(in, v);
	else if (isdigit((unsigned char)in->p[*in->p == '-']))
		err = number_parse(in, v);
	else if (is_name_start(*in->p))
		err = syntax_error(in, in->p,
				   "expected a number or a string, which is in quotes: "
				   "\"%.*s\"",
				   (int)name_length(in->p), in->p);
	else
		err = missing(in, "a number or a string");
	v->at = (size_t)(begin - in->c->text);
	v->len = (size_t)(in->p - begin);
	in->c->nr_values += !err;
	return err;
}

static int values_parse(struct parser *in)
{
	int err;

	if (!token_is(in, "("))
		return missing(in, "'(' and values");
	do {
		err = value_parse(in);
	} while (!err && token_is(in, ","));
	if (!err && !token_is(in, ")"))
		err = missing(in, "',' or ')'");
	return err;
}

/* ---- rules ---- */

static int node_add(struct parser *in, struct node node, unsigned int *ret)
{
	struct condition *c = in->c;

	if (c->nr_nodes == CONDITION_NODES_MAX)
		return syntax_error(in, in->p, "more than %d comparisons and operators",
				    CONDITION_NODES_MAX);
	c->node[c->nr_nodes] = node;
	*ret = c->nr_nodes++;
	return 0;
}

static int field_add(struct parser *in, const char *name, size_t len, bool is_text,
		     unsigned int *ret)
{
	struct condition *c = in->c;
	struct condition_field *f = c->field;

	for (; f < c->field + c->nr_fields; f++)
		if (f->is_text == is_text && strlen(f->name) == len && !strncmp(f->name, name, len))
			break;
	*ret = (unsigned int)(f - c->field);
	if (*ret < c->nr_fields)
		return 0;
	if (*ret == CONDITION_FIELDS_MAX)
		return syntax_error(in, name, "more than %d fields", CONDITION_FIELDS_MAX);
	if (len >= sizeof(f->name))
		return syntax_error(in, name, "the name of a field is longer than %d bytes",
				    CONDITION_NAME_MAX - 1);
	*f = (struct condition_field){.is_text = is_text, .at = (size_t)(name - c->text)};
	memcpy(f->name, name, len);
	c->nr_fields++;
	return 0;
}

/* OP_NONE: the field alone. The index in operators[] is for messages. */
static int operator_parse(struct parser *in, enum condition_op *ret, size_t *ret_index)
{
	const char *begin;

	blanks_skip(in);
	begin = in->p;
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (token_is(in, operators[i].text)) {
			*ret = operators[i].op;
			*ret_index = i;
			return 0;
		}
	*ret = OP_NONE;
	if (name_length(in->p) == 2 && token_is(in, "in"))
		*ret = OP_IN;
	else if (*begin == '=')
		return syntax_error(in, begin, "expected ==");
	return 0;
}

/* All values of a comparison are of one kind, which its operator has. */
static int kinds_check(struct parser *in, const struct node *n, size_t index)
{
	const struct value *v = &in->c->value[n->first];

	for (unsigned int i = 1; i < n->nr; i++)
		if (!v[i].text != !v->text)
			return syntax_error(in, in->c->text + v[i].at,
					    "strings and numbers in one list");
	if (n->op == OP_IN || (v->text ? operators[index].strings : operators[index].numbers))
		return 0;
	return syntax_error(
		in, in->c->text + v->at,
		v->text ? "%s compares numbers; strings: == != ~ !~ in"
			: "%s compares strings with a pattern; numbers: == != < <= > >= in",
		operators[index].text);
}

static int compare_parse(struct parser *in, unsigned int *ret)
{
	struct node n = {.kind = NODE_COMPARE, .first = in->c->nr_values};
	const char *name;
	size_t len, index = 0;
	int err;

	blanks_skip(in);
	name = in->p;
	len = name_length(name);
	if (!len)
		return missing(in, "a field");
	in->p += len;
	err = operator_parse(in, &n.op, &index);
	if (!err && n.op == OP_IN)
		err = values_parse(in);
	else if (!err && n.op != OP_NONE)
		err = value_parse(in);
	n.nr = in->c->nr_values - n.first;
	if (!err && n.nr)
		err = kinds_check(in, &n, index);
	if (!err)
		err = field_add(in, name, len, n.nr && in->c->value[n.first].text, &n.field);
	return err ? err : node_add(in, n, ret);
}

static int or_parse(struct parser *in, unsigned int *ret);

static int parentheses_parse(struct parser *in, unsigned int *ret)
{
	int err = or_parse(in, ret);

	if (!err && !token_is(in, ")"))
		err = missing(in, "&&, || or ')'");
	return err;
}

static int not_parse(struct parser *in, unsigned int *ret)
{
	struct node n = {.kind = NODE_NOT};
	int err = 0;

	if (in->depth == CONDITION_DEPTH_MAX)
		return syntax_error(in, in->p, "nested deeper than %d", CONDITION_DEPTH_MAX);
	in->depth++;
	if (token_is(in, "!")) {
		err = not_parse(in, &n.left);
		if (!err)
			err = node_add(in, n, ret);
	} else if (token_is(in, "(")) {
		err = parentheses_parse(in, ret);
	} else {
		err = compare_parse(in, ret);
	}
	in->depth--;
	return err;
}

static int and_parse(struct parser *in, unsigned int *ret)
{
	int err = not_parse(in, ret);

	while (!err && token_is(in, "&&")) {
		struct node n = {.kind = NODE_AND, .left = *ret};

		err = not_parse(in, &n.right);
		if (!err)
			err = node_add(in, n, ret);
	}
	return err;
}

static int or_parse(struct parser *in, unsigned int *ret)
{
	int err = and_parse(in, ret);

	while (!err && token_is(in, "||")) {
		struct node n = {.kind = NODE_OR, .left = *ret};

		err = and_parse(in, &n.right);
		if (!err)
			err = node_add(in, n, ret);
	}
	return err;
}

/* ---- a condition ---- */

static int text_parse(struct condition *c)
{
	struct parser in = {.c = c, .p = c->text};
	int err = or_parse(&in, &c->root);

	blanks_skip(&in);
	if (!err && *in.p)
		err = syntax_error(&in, in.p, "expected &&, || or the end");
	if (!err && c->nr_values == 1 && !c->value[0].text) {
		c->single = strndup(c->text + c->value[0].at, c->value[0].len);
		err = c->single ? 0 : fail(-ENOMEM, "out of memory");
	}
	return err;
}

int condition_parse(const char *option, const char *text, struct condition **ret)
{
	_cleanup_condition_ struct condition *c = calloc(1, sizeof(*c));
	int err;

	*ret = NULL;
	if (strlen(text) > CONDITION_BYTES_MAX)
		return fail_usage(-E2BIG, "%s: the condition is longer than %d bytes", option,
				  CONDITION_BYTES_MAX);
	if (c) {
		c->option = strdup(option);
		c->text = strdup(text);
	}
	if (!c || !c->option || !c->text)
		return fail(-ENOMEM, "out of memory");
	err = text_parse(c);
	if (!err)
		*ret = take_ptr(c);
	return err;
}

void condition_free(struct condition *c)
{
	if (!c)
		return;
	for (unsigned int i = 0; i < CONDITION_VALUES_MAX; i++)
		free(c->value[i].text);
	free(c->single);
	free(c->option);
	free(c->text);
	free(c);
}

const char *condition_text(const struct condition *c)
{
	return c->text;
}

const struct condition_field *condition_fields(const struct condition *c, unsigned int *ret_nr)
{
	*ret_nr = c->nr_fields;
	return c->field;
}

bool condition_is_single(const struct condition *c, struct condition_single *ret)
{
	const struct node *n = &c->node[c->root];

	if (n->kind != NODE_COMPARE || n->op == OP_IN)
		return false;
	*ret = (struct condition_single){.name = c->field[n->field].name};
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++)
		if (operators[i].op == n->op)
			ret->op = operators[i].text;
	if (ret->op) {
		ret->value = c->single;
		ret->number = c->value[0].number;
	}
	return true;
}
