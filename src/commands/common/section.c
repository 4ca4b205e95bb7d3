// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Options are variables that stay set: those of the command that is run are saved and restored around it, as are the
 * inputs, which commands add to.
 */
#include "commands/common/section.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/memory.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"

enum {
	TABLES_MAX = 8,
	SAVED_BYTES_MAX = 64 << 10, /* of all options of one command */
};

static const struct command *find(const char *name)
{
	const struct command *const *c = commands;

	while (*c && strcmp((*c)->name, name) != 0)
		c++;
	return *c;
}

static int parse_and_run(const struct command *c, const char *const *words)
{
	const struct option_row *tables[TABLES_MAX + 1] = {0};
	char *argv[SECTION_WORDS_MAX + 3] = {0};
	struct options_given given = {0};
	int argc = 0, nr = 0;

	for (int i = 0; i < TABLES_MAX && c->options[i]; i++)
		tables[i] = c->options[i];
	argv[argc++] = (char *)words[0]; /* are not written to */
	argv[argc++] = (char *)"-f";
	argv[argc++] = (char *)"json";
	for (int i = 1; i < SECTION_WORDS_MAX && words[i]; i++)
		argv[argc++] = (char *)words[i];
	command_given = &given;
	if (options_parse(argc, argv, tables, &given, &nr, NULL))
		return EXIT_USAGE;
	return c->run(nr, argv, NULL);
}

static int run_quietly(const struct command *c, const char *const *words, FILE *to)
{
	const struct command *outer = command_now;
	const struct options_given *outer_given = command_given;
	bool quiet = common.quiet;
	int status;

	command_now = c;
	common.quiet = true;
	command_keep_errors(true);
	output_capture(to);
	status = parse_and_run(c, words);
	output_capture(NULL);
	command_keep_errors(false);
	common.quiet = quiet;
	command_now = outer;
	command_given = outer_given;
	return status;
}

static int capture(const struct command *c, const char *const *words, char **ret, size_t *ret_len)
{
	FILE *f = open_memstream(ret, ret_len);
	int status;

	if (!f)
		return fail(-ENOMEM, "out of memory");
	status = run_quietly(c, words, f);
	if (!memstream_close(f, ret))
		return fail(-ENOMEM, "out of memory");
	return status == EXIT_FINE || status == EXIT_FOUND ? 0 : error_code();
}

/* ---- numbers beyond jansson's integers ---- */

/* A token of this length that begins at p: a number without sign, point and exponent, above INT64_MAX? */
static bool is_too_big(const char *p, size_t len)
{
	static const char max[] = "9223372036854775807";

	if (strspn(p, "0123456789") != len)
		return false;
	return len > strlen(max) || (len == strlen(max) && memcmp(p, max, len) > 0);
}

/* The end of what begins at p: a string, a number, or a single character. */
static const char *token_end(const char *p)
{
	const char *q = p + 1;

	if (*p == '"') {
		for (; *q && *q != '"'; q++)
			q += *q == '\\' && q[1];
		return q + (*q == '"');
	}
	return p + (strspn(p, "0123456789+-.eE") ?: 1);
}

/* Our reports print 64-bit numbers, as a guest's sector 2^64 - 1: they become strings here. */
static int big_numbers_quote(const char *text, FILE *to)
{
	const char *done = text, *end;

	for (const char *p = text; *p; p = end) {
		end = token_end(p);
		if (!is_too_big(p, (size_t)(end - p)))
			continue;
		fwrite(done, 1, (size_t)(p - done), to);
		fprintf(to, "\"%.*s\"", (int)(end - p), p);
		done = end;
	}
	fputs(done, to);
	return ferror(to) ? fail(-ENOMEM, "out of memory") : 0;
}

static int parse(const struct command *c, const char *text, json_t **ret)
{
	_cleanup_free_ char *quoted = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&quoted, &len);
	json_error_t wrong;
	int err = f ? big_numbers_quote(text, f) : -ENOMEM;

	if (f && !memstream_close(f, &quoted))
		err = -ENOMEM;
	if (err)
		return fail(-ENOMEM, "out of memory");
	*ret = json_loadb(quoted, len, 0, &wrong);
	return *ret ? 0 : fail(-EINVAL, "%s: invalid JSON: %s", c->name, wrong.text);
}

int section_print(const char *name, int (*print)(void *arg, FILE *to), void *arg, json_t **ret)
{
	const struct command *outer = command_now;
	_cleanup_free_ char *text = NULL;
	bool quiet = common.quiet;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	*ret = NULL;
	if (!f)
		return fail(-ENOMEM, "out of memory");
	command_now = find(name);
	common.quiet = true;
	int err = print(arg, f);

	common.quiet = quiet;
	command_now = outer;
	if (!memstream_close(f, &text) && !err)
		err = fail(-ENOMEM, "out of memory");
	return err ? err : parse(find(name), text, ret);
}

int section_run(const char *const *words, json_t **ret)
{
	const struct command *c = find(words[0]);
	struct input_options inputs = input_given;
	_cleanup_free_ char *saved = malloc(SAVED_BYTES_MAX), *text = NULL;
	size_t len = 0;
	int err;

	*ret = NULL;
	if (!saved)
		return fail(-ENOMEM, "out of memory");
	if (!c || !options_copy(c->options, saved, SAVED_BYTES_MAX, false))
		return fail(-EINVAL, "command '%s' cannot be run in a report", words[0]);
	err = capture(c, words, &text, &len);
	options_copy(c->options, saved, SAVED_BYTES_MAX, true);
	input_given = inputs;
	return err ? err : parse(c, text, ret);
}
