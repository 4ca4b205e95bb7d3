// SPDX-License-Identifier: GPL-2.0-or-later
/* Parsing of words and the texts of --help from tables of options; values are checked before they are set. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/options.h"
#include "base/suggest.h"
#include "base/units.h"

static bool number_read(const char **p, uint32_t *ret)
{
	char *end;

	errno = 0;
	unsigned long v = strtoul(*p, &end, 0);
	if (!isdigit((unsigned char)**p) || errno || v > UINT32_MAX)
		return false;
	*p = end;
	*ret = (uint32_t)v;
	return true;
}

/* FIRST[-LAST[:STRIDE]], as taskset has it. */
static bool range_read(const char **p, uint32_t *first, uint32_t *last, uint32_t *stride)
{
	if (!number_read(p, first))
		return false;
	*last = *first;
	*stride = 1;
	if (**p == '-' && (++*p, !number_read(p, last) || *last < *first))
		return false;
	if (**p == ':' && *last > *first && (++*p, !number_read(p, stride) || !*stride))
		return false;
	return !**p || **p == ',';
}

static int numbers_add(const struct option_row *o, const char *text)
{
	struct number_list *list = o->to;
	uint32_t first, last, stride;

	for (const char *p = text;; p++) {
		if (!range_read(&p, &first, &last, &stride))
			return fail(-EINVAL,
				    "--%s: invalid list of numbers '%s' (expected e.g. 0,2,5 or "
				    "0-7)", o->name, text);
		for (uint64_t v = first; v <= last; v += stride) {
			if (list->nr == NUMBER_LIST_MAX)
				return fail(-EINVAL, "--%s: more than %d numbers", o->name,
					    NUMBER_LIST_MAX);
			list->item[list->nr++] = (uint32_t)v;
		}
		if (!*p)
			return 0;
	}
}

static int span_set(const char *value, uint64_t *ret)
{
	int err = parse_duration(value, ret);

	return !err && !*ret ? fail(-EINVAL, "'%s' is no time: it has to be more than 0", value)
			     : err;
}

static int value_set(const struct option_row *o, const char *value, bool on)
{
	struct text_list *list;
	struct time_arg *time;

	switch (o->kind) {
	case OPT_FLAG:
		*(bool *)o->to = on;
		return 0;
	case OPT_TEXT:
		*(const char **)o->to = value;
		return 0;
	case OPT_LIST:
	case OPT_WORDS:
		list = o->to;
		if (list->nr == OPTION_LIST_MAX)
			return fail(-EINVAL, "--%s given more than %d times", o->name,
				    OPTION_LIST_MAX);
		list->item[list->nr++] = value;
		list->given = true;
		return 0;
	case OPT_NUMBERS:
		return numbers_add(o, value);
	case OPT_U64:
		return parse_u64(value, o->to);
	case OPT_DURATION:
		return parse_duration(value, o->to);
	case OPT_SPAN:
		return span_set(value, o->to);
	case OPT_SIZE:
		return parse_size(value, o->to);
	case OPT_TIME:
		time = o->to;
		time->text = value;
		if (*value == '-') { /* before the start of everything */
			time->ns = 0;
			value++;
			return parse_duration(value, &(uint64_t){0});
		}
		return parse_duration(value, &time->ns);
	}
	return fail(-EINVAL, "--%s: option of unknown kind", o->name);
}

/* What is parsed: argv[at] is the current word. */
struct words {
	int argc, at;
	char **argv;
	const struct option_row *const *tables;
	struct options_given *given; /* NULL: not asked for */
};

static int given_add(struct options_given *given, const struct option_row *o)
{
	if (!given || option_is_given(given, o))
		return 0;
	if (given->nr == OPTIONS_GIVEN_MAX)
		return fail(-E2BIG, "more than %d different options", OPTIONS_GIVEN_MAX);
	given->row[given->nr++] = o;
	return 0;
}

/* Of the same variable: two options may have one. */
static void repeated_note(struct options_given *given, const struct option_row *o)
{
	bool several = o->kind == OPT_FLAG || o->kind == OPT_LIST || o->kind == OPT_NUMBERS;

	if (given && !several && !given->repeated &&
	    array_any(given->nr, i, given->row[i]->to == o->to))
		given->repeated = o;
}

/* A list's elements are separated by commas where the name of its argument says so. */
static bool has_empty(const struct option_row *o, const char *value)
{
	size_t len = strlen(value);
	bool is_list = o->arg && (strchr(o->arg, ',') || !strcmp(o->arg, "LIST"));

	return !len || (is_list && (*value == ',' || value[len - 1] == ',' || strstr(value, ",,")));
}

static int option_set(struct words *w, const struct option_row *o, const char *value)
{
	int err = value_set(o, value, true);

	if (err)
		return err;
	repeated_note(w->given, o);
	if (w->given && value && !w->given->empty && has_empty(o, value))
		w->given->empty = o;
	return given_add(w->given, o);
}

int options_values_check(const struct options_given *given)
{
	const struct option_row *o = given->repeated;

	if (o)
		return fail(-EINVAL, "--%s: given twice (it takes one value)", o->name);
	o = given->empty;
	return o ? fail(-EINVAL, "--%s: empty value (expected %s)", o->name, o->arg) : 0;
}

/* --no-NAME: an earlier --NAME does not count. */
static int flag_clear(struct words *w, const struct option_row *o)
{
	for (unsigned int i = 0; w->given && i < w->given->nr; i++)
		if (w->given->row[i] == o)
			w->given->row[i] = w->given->row[--w->given->nr];
	return value_set(o, NULL, false);
}

static const struct option_row *find_long(const struct option_row *const *tables, const char *name,
					  size_t len)
{
	for (; *tables; tables++)
		for (const struct option_row *o = *tables; o->name; o++)
			if (strlen(o->name) == len && !strncmp(o->name, name, len))
				return o;
	return NULL;
}

enum { AMBIGUOUS_MAX = 8 };

/* The only option that begins with `name`; NULL if there is none, or several, which `others` then
 * lists. */
static const struct option_row *find_prefix(const struct option_row *const *tables,
					    const char *name, size_t len, char *others, size_t size)
{
	const struct option_row *found = NULL;
	unsigned int nr = 0;

	others[0] = '\0';
	for (; *tables && len; tables++)
		for (const struct option_row *o = *tables; o->name; o++) {
			size_t at = strlen(others);

			if (strncmp(o->name, name, len) || (found && !strcmp(found->name, o->name)))
				continue;
			found = o;
			if (nr++ < AMBIGUOUS_MAX)
				snprintf(others + at, size - at, "%s--%s", at ? ", " : "", o->name);
		}
	return nr == 1 ? found : NULL;
}

static const struct option_row *find_letter(const struct option_row *const *tables, char letter)
{
	for (; *tables; tables++)
		for (const struct option_row *o = *tables; o->name; o++)
			if (o->letter == letter)
				return o;
	return NULL;
}

/* Adds the words after the current one up to the next option. */
static int words_set(struct words *w, const struct option_row *o)
{
	int err;

	repeated_note(w->given, o);
	err = given_add(w->given, o);

	*(struct text_list *)o->to = (struct text_list){.given = true}; /* the last one counts */
	while (!err && w->at + 1 < w->argc && w->argv[w->at + 1][0] != '-')
		err = value_set(o, w->argv[++w->at], true);
	return err;
}

static int unknown_option(const struct option_row *const *tables, const char *name, size_t len)
{
	struct suggestion s = {0};
	char word[64];

	snprintf(word, sizeof(word), "%.*s", (int)len, name);
	for (; *tables; tables++)
		for (const struct option_row *o = *tables; o->name; o++)
			suggest_try(&s, word, o->name);
	fail(-EINVAL, "unknown option --%.*s", (int)len, name);
	return s.name ? fail_hint(-EINVAL, "did you mean --%s?", s.name) : -EINVAL;
}

/*
 * The current word is "--name", "--name=value" or "--no-name"; the name may be abbreviated where it stays
 * unique. Reads the next word as the value where one is needed.
 */
static int parse_long(struct words *w)
{
	const char *name = w->argv[w->at] + 2;
	size_t len = strcspn(name, "=");
	const char *value = name[len] ? name + len + 1 : NULL;
	const struct option_row *o = find_long(w->tables, name, len);
	char others[256] = "";

	if (!o && !value && !strncmp(name, "no-", 3)) {
		o = find_long(w->tables, name + 3, len - 3);
		if (o && o->kind == OPT_FLAG)
			return flag_clear(w, o);
		o = NULL;
	}
	if (!o)
		o = find_prefix(w->tables, name, len, others, sizeof(others));
	if (!o && *others)
		return fail(-EINVAL, "ambiguous option --%.*s (could be %s)", (int)len, name,
			    others);
	if (!o)
		return unknown_option(w->tables, name, len);
	if (o->kind == OPT_FLAG)
		return value ? fail(-EINVAL, "--%s takes no value", o->name)
			     : option_set(w, o, NULL);
	if (!value && o->kind == OPT_WORDS)
		return words_set(w, o);
	if (!value && w->at + 1 >= w->argc)
		return fail(-EINVAL, "--%s needs %s", o->name, o->arg);
	return option_set(w, o, value ? value : w->argv[++w->at]);
}

/* The current word is "-abc" or "-aVALUE" or "-a". */
static int parse_letters(struct words *w)
{
	for (const char *p = w->argv[w->at] + 1; *p; p++) {
		const struct option_row *o = find_letter(w->tables, *p);
		int err;

		if (!o)
			return fail(-EINVAL, "unknown option -%c", *p);
		if (o->kind == OPT_FLAG) {
			err = option_set(w, o, NULL);
			if (err)
				return err;
			continue;
		}
		if (p[1])
			return option_set(w, o, p + 1);
		if (o->kind == OPT_WORDS)
			return words_set(w, o);
		if (w->at + 1 >= w->argc)
			return fail(-EINVAL, "-%c needs %s", *p, o->arg);
		return option_set(w, o, w->argv[++w->at]);
	}
	return 0;
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

static int parse_option(struct words *w)
{
	return w->argv[w->at][1] == '-' ? parse_long(w) : parse_letters(w);
}

int options_parse_leading(int argc, char **argv, const struct option_row *const *tables,
			  struct options_given *given, int *ret_next)
{
	struct words w = {
		.argc = argc, .at = 1, .argv = argv, .tables = tables, .given = given};
	int err = 0;

	for (; !err && w.at < argc && is_option(argv[w.at]); w.at++)
		err = parse_option(&w);
	*ret_next = w.at;
	return err;
}

int options_parse(int argc, char **argv, const struct option_row *const *tables,
		  struct options_given *given, int *ret_argc, int *stop_at_dashes)
{
	struct words w = {
		.argc = argc, .at = 1, .argv = argv, .tables = tables, .given = given};
	int nr = 0;

	if (stop_at_dashes)
		*stop_at_dashes = 0;
	for (; w.at < argc; w.at++) {
		int err = 0;

		if (!strcmp(argv[w.at], "--")) {
			if (stop_at_dashes) {
				*stop_at_dashes = w.at + 1;
				break;
			}
			while (++w.at < argc)
				argv[nr++] = argv[w.at];
			break;
		}
		if (is_option(argv[w.at]))
			err = parse_option(&w);
		else
			argv[nr++] = argv[w.at];
		if (err)
			return err;
	}
	*ret_argc = nr;
	return 0;
}

static void help_row(const struct option_row *o, FILE *out)
{
	char left[64], letter[8] = "    ";

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(left, sizeof(left), "  %s--%s%s%s", letter, o->name, o->arg ? " " : "",
		 o->arg ? o->arg : "");
	if (strlen(left) < 30)
		fprintf(out, "%-30s", left);
	else
		fprintf(out, "%s\n%30s", left, "");
	/* Wraps the help text at 80 columns. */
	int col = 30;
	for (const char *p = o->help; *p;) {
		int len = (int)strcspn(p, " ");

		if (col > 30 && col + 1 + len > 79) {
			fprintf(out, "\n%30s", "");
			col = 30;
		} else if (col > 30) {
			fputc(' ', out);
			col++;
		}
		fprintf(out, "%.*s", len, p);
		col += len;
		p += len;
		p += strspn(p, " ");
	}
	fputc('\n', out);
}

void options_help(const struct option_row *const *tables, const char *unused, FILE *out)
{
	for (; *tables; tables++)
		for (const struct option_row *o = *tables; o->name; o++)
			if (!word_is_listed(unused, o->name))
				help_row(o, out);
}

bool word_is_listed(const char *list, const char *word)
{
	size_t len = strlen(word);

	for (; list && *list; list += strcspn(list, " "), list += *list == ' ')
		if (strcspn(list, " ") == len && !strncmp(list, word, len))
			return true;
	return false;
}

bool option_is_given(const struct options_given *given, const struct option_row *o)
{
	return array_any(given->nr, i, given->row[i] == o);
}

size_t option_bytes(const struct option_row *o)
{
	switch (o->kind) {
	case OPT_FLAG:
		return sizeof(bool);
	case OPT_TEXT:
		return sizeof(const char *);
	case OPT_LIST:
	case OPT_WORDS:
		return sizeof(struct text_list);
	case OPT_NUMBERS:
		return sizeof(struct number_list);
	case OPT_TIME:
		return sizeof(struct time_arg);
	default:
		return sizeof(uint64_t);
	}
}

int percent_parse(const char *option, const char *text, double *ret)
{
	char *end;
	double v = strtod(text, &end);

	end += *end == '%';
	if (end == text || *end || !(v >= 0) || v > 1e6)
		return fail_usage(-EINVAL, "%s: invalid percentage '%s' (expected e.g. 10%%)",
				  option, text);
	*ret = v / 100;
	return 0;
}
