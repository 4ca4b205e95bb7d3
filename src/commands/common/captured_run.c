// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A command keeps its options in variables of its own. What a captured run sets there is taken back at its end: the
 * variables that rows of its tables name, and the structs that commands also set themselves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error.h"
#include "base/memory.h"
#include "commands/common/captured_run.h"
#include "commands/common/input.h"
#include "commands/common/output.h"

enum { SAVED_MAX = 256, CAPTURED_WORDS_MAX = 128, OWN_WORDS = 5 };

/* Nobody reads these while a captured command runs, or they need more than the inputs. */
static const char captured_never[] = "output live follow state tcpdump compat";

struct saved {
	void *at;
	size_t bytes;
	void *copy;
};

struct saved_state {
	struct saved saved[SAVED_MAX];
	unsigned int nr;
	struct common common;
	const struct command *command;
	const struct options_given *given;
	char **rest;
};

static int state_add(struct saved_state *s, void *at, size_t bytes)
{
	void *copy = s->nr < SAVED_MAX ? malloc(bytes) : NULL;

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	memcpy(copy, at, bytes);
	s->saved[s->nr++] = (struct saved){at, bytes, copy};
	return 0;
}

static int state_save(struct saved_state *s, const struct command *c)
{
	int err = state_add(s, &input_given, sizeof(input_given));

	s->common = common;
	s->command = command_now;
	s->given = command_given;
	s->rest = command_rest;
	if (!err)
		err = state_add(s, &output_given, sizeof(output_given));
	for (const struct option_row *const *t = c->options; *t; t++)
		for (const struct option_row *o = *t; o->name && !err; o++)
			err = state_add(s, o->to, option_bytes(o));
	return err;
}

static void state_restore(struct saved_state *s)
{
	int kallsyms = input_given.code.kallsyms;

	for (unsigned int i = 0; i < s->nr; i++) {
		memcpy(s->saved[i].at, s->saved[i].copy, s->saved[i].bytes);
		free(s->saved[i].copy);
	}
	if (kallsyms && kallsyms != input_given.code.kallsyms)
		close(kallsyms);
	common = s->common;
	command_now = s->command;
	command_given = s->given;
	command_rest = s->rest;
}

/* By the name of its argument, as --help has it. */
static bool names_file(const struct option_row *o)
{
	return o->arg && word_is_listed("FILE DIR PATH SOCKET", o->arg);
}

bool captured_option_is_possible(const struct command *c, const struct option_row *o, bool only)
{
	return !word_is_listed(captured_never, o->name) && !word_is_listed(c->unused, o->name) &&
	       !(only && names_file(o));
}

static int captured_options_check(const struct command *c, const struct options_given *given,
				  const struct capture *to)
{
	for (unsigned int i = 0; i < given->nr; i++) {
		const struct option_row *o = given->row[i];

		if (word_is_listed(captured_never, o->name) ||
		    (to->only && names_file(o) && o->to != &input_given.files))
			return fail_usage(-EINVAL, "--%s is not possible here", o->name);
	}
	if (to->only && input_given.files.nr != 1)
		return fail_usage(-EINVAL, "--input is not possible here");
	return option_rules_check(c);
}

/* Those that are files; a view's first argument is an analyzer, and a query is no file. */
static int captured_arguments_check(const struct command *c, int argc, char **argv,
				    const struct capture *to)
{
	int first = argc && strstr(c->args, "ANALYZER") && !strchr(argv[0], '/') &&
		    access(argv[0], F_OK);
	int files = argc - !strcmp(c->name, "sql");

	for (int i = first; to->only && i < files; i++)
		if (!array_any(to->only->nr, k, !strcmp(to->only->item[k], argv[i])))
			return fail_usage(-EINVAL, "unexpected argument '%s'", argv[i]);
	return 0;
}

static int captured_start(const struct command *c, int argc, char **argv)
{
	struct options_given given = {0};
	int nr = 0;

	command_now = c;
	command_given = &given;
	command_rest = NULL;
	if (options_parse(argc, argv, c->options, &given, &nr, NULL) ||
	    captured_options_check(c, &given, common.capture) ||
	    captured_arguments_check(c, nr, argv, common.capture) || input_spool_all(nr, argv))
		return command_usage("%s", error_text());
	return c->run(nr, argv);
}

/* The command line: its words are borrowed, and may be put in another order. */
static int words_collect(const char *const *words, const char **argv, int *argc)
{
	for (; *words; words++) {
		if (*argc == CAPTURED_WORDS_MAX)
			return fail_usage(-E2BIG, "more than %d options and arguments",
					  CAPTURED_WORDS_MAX - OWN_WORDS);
		argv[(*argc)++] = *words;
	}
	return 0;
}

/* An answer that lacks an allocation is incomplete. */
static int captured_status(struct capture *to, int status, unsigned long failures)
{
	if (memory_failures() == failures || (status != EXIT_FINE && status != EXIT_FOUND))
		return status;
	to->complete = false;
	capture_error(to, "out of memory");
	return EXIT_FAILED;
}

int command_run_captured(const struct command *c, const char *path, const char *format,
			 const char *const *words, struct capture *to)
{
	const char *argv[CAPTURED_WORDS_MAX + 1] = {c->name, "-i", path, "-f", format};
	unsigned long failures = memory_failures();
	struct saved_state state = {0};
	int argc = OWN_WORDS, status = EXIT_FAILED;

	if (state_save(&state, c)) {
		capture_error(to, "%s", error_text());
	} else if (words_collect(words, argv, &argc)) {
		capture_error(to, "%s", error_text());
		status = EXIT_USAGE;
	} else {
		struct host_code code = input_given.code;

		common = (struct common){.capture = to};
		input_given = (struct input_options){.code = code};
		output_given = (struct output_options){0};
		status = captured_start(c, argc, (char **)argv);
	}
	state_restore(&state);
	return captured_status(to, status, failures);
}
