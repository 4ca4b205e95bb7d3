// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Texts that a user gives and scripts pass on: numbers, durations, sizes, options, "pair:...",
 * triggers. The first byte selects which.
 */
#include "base/condition.h"
#include "base/options.h"
#include "base/units.h"
#include "pairing/analyzer.h"
#include "trigger/watch.h"
#include "walk.h"

enum { WORDS_MAX = 32 };

static void options_walk(char *text, size_t size)
{
	static const char program[] = "fuzz";
	bool flag = false;
	const char *word = NULL;
	struct text_list list = {0}, words = {0};
	struct number_list numbers = {0};
	struct time_arg time = {0};
	uint64_t u64 = 0, duration = 0, bytes = 0;
	const struct option_row rows[] = {{'f', "flag", OPT_FLAG, &flag, NULL, ""},
					  {'t', "text", OPT_TEXT, &word, "X", ""},
					  {0, "list", OPT_LIST, &list, "X", ""},
					  {'n', "numbers", OPT_NUMBERS, &numbers, "N", ""},
					  {0, "number", OPT_U64, &u64, "N", ""},
					  {'d', "duration", OPT_DURATION, &duration, "T", ""},
					  {0, "size", OPT_SIZE, &bytes, "S", ""},
					  {0, "time", OPT_TIME, &time, "T", ""},
					  {0, "words", OPT_WORDS, &words, "X", ""},
					  {0}},
				*const tables[] = {rows, NULL};
	struct options_given given = {0};
	char *argv[WORDS_MAX + 2] = {(char *)program};
	int argc = 1, rest, dashes;

	for (size_t at = 0; at < size && argc <= WORDS_MAX; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	if (!options_parse(argc, argv, tables, &given, &rest, &dashes) &&
	    (rest > argc || list.nr > OPTION_LIST_MAX))
		abort();
}

static void pair_walk(const char *text)
{
	struct pair_analyzer own;
	const struct analyzer *a = analyzer_find(text, &own);

	if (a)
		analyzer_resolve(a);
}

/* Its name becomes part of a file's. */
static void trigger_walk(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789-";
	struct trigger_expression e;

	if (!trigger_parse("--trigger", text, &e) &&
	    (!*e.name || e.name[strspn(e.name, allowed)] || !e.analyzer != !e.min_ns))
		abort();
}

/* Of each field by its number: absent, a number, a name. */
static bool value_get(void *arg, unsigned int i, struct condition_value *v)
{
	(void)arg;
	v->number = i;
	v->text = "io";
	v->others = "IO_INSTRUCTION,KVM_EXIT_IO";
	v->fold = i % 2;
	return i % 3;
}

static void condition_walk(const char *text)
{
	struct condition_single single;
	struct condition *c;

	if (condition_parse("--where", text, &c))
		return;
	condition_holds(c, value_get, NULL);
	if (condition_is_single(c, &single) && !*single.name)
		abort();
	condition_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t v;
	double ns;
	char *text;

	if (!size)
		return 0;
	text = calloc(1, size); /* all but the first byte, and a NUL */
	memcpy(text, data + 1, size - 1);
	switch (data[0] % 9) {
	case 0:
		parse_u64(text, &v);
		break;
	case 1:
		parse_size(text, &v);
		break;
	case 2:
		parse_duration(text, &v);
		break;
	case 3:
		parse_signed_duration(text, 1e9, &ns);
		break;
	case 4:
		parse_seconds(text, &v);
		break;
	case 5:
		pair_walk(text);
		break;
	case 8:
		condition_walk(text);
		break;
	case 7:
		trigger_walk(text);
		break;
	default:
		options_walk(text, size - 1);
	}
	free(text);
	return 0;
}
