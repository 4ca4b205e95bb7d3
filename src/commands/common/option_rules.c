// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An option that has no effect is an error: who gives it expects one. Commands share tables of options, so a command
 * lists those that it does not use, and rules say in which formats, or together with what, an option is used.
 * tests/options/run.py tries every option of every command.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/compat_option.h"
#include "commands/common/output.h"

/* Of every command that has these options, unless it has a rule of its own for one. */
static const struct option_rule common_rules[] = {
	{"wide", .formats = "text"},
	{"multiline", .formats = "text", .with = "backtrace"},
	{"exe", .unless = "no-resolve"},
	{"debug", .unless = "no-resolve"},
	{"module", .unless = "no-resolve"},
	{"symbols", .unless = "no-resolve"},
	{"use-symbols-file", .unless = "no-resolve"},
	{"no-inlined-by", .unless = "no-resolve"},
	{"show-line-number", .unless = "no-resolve"},
	{"show-file-name", .unless = "no-resolve"},
	{"show-address", .unless = "no-resolve"},
	{0},
};

static const struct option_row *row_find(const struct command *c, const char *option)
{
	for (const struct option_row *const *t = c->options; *t; t++)
		for (const struct option_row *o = *t; o->name; o++)
			if (!strcmp(o->name, option))
				return o;
	return NULL;
}

static bool is_given(const struct command *c, const char *option)
{
	const struct option_row *o = row_find(c, option);

	return o && option_is_given(command_given, o);
}

/* The commands that use the option. */
static void users_print(const char *option, char *buf, size_t size)
{
	*buf = '\0';
	for (const struct command *const *c = commands; *c; c++) {
		size_t len = strlen(buf);

		if (row_find(*c, option) && !word_is_listed((*c)->unused, option))
			snprintf(buf + len, size - len, "%s%s", len ? ", " : "", (*c)->name);
	}
}

static int unused_check(const struct command *c)
{
	char option[64], users[512];

	for (const char *p = c->unused; p && *p; p += strcspn(p, " "), p += *p == ' ') {
		snprintf(option, sizeof(option), "%.*s", (int)strcspn(p, " "), p);
		if (!is_given(c, option))
			continue;
		users_print(option, users, sizeof(users));
		return fail(-EINVAL, "'%s' does not support --%s (supported by: %s)", c->name,
			    option, *users ? users : "no command");
	}
	return 0;
}

/* The first of the list that was given, in `buf`; NULL: none was, or there is no list. */
static const char *given_find(const struct command *c, const char *list,
			      char *buf, size_t size)
{
	for (const char *p = list; p && *p; p += strcspn(p, " "), p += *p == ' ') {
		snprintf(buf, size, "%.*s", (int)strcspn(p, " "), p);
		if (is_given(c, buf))
			return buf;
	}
	return NULL;
}

int options_unused_check(const char *list, const char *where)
{
	char buf[64];
	const char *option = compat_given
				     ? NULL
				     : given_find(command_now, list, buf, sizeof(buf));

	return option ? fail_usage(-EINVAL, "--%s has no effect %s", option, where) : 0;
}

int options_used_check(const char *list, const char *where)
{
	for (const struct option_row *const *t = command_now->options; *t; t++)
		for (const struct option_row *o = *t; o->name; o++)
			if (!word_is_listed(list, o->name) && option_is_given(command_given, o))
				return fail_usage(-EINVAL, "--%s has no effect %s", o->name, where);
	return 0;
}

/* "a b c" as "--a, --b, --c" */
static void options_print(const char *list, char *buf, size_t size)
{
	*buf = '\0';
	for (const char *p = list; *p; p += strcspn(p, " "), p += *p == ' ') {
		size_t len = strlen(buf);

		snprintf(buf + len, size - len, "%s--%.*s", len ? ", " : "", (int)strcspn(p, " "),
			 p);
	}
}

static int rule_check(const struct command *c, const struct option_rule *r)
{
	char with[256], other[64];

	if (!is_given(c, r->option) ||
	    given_find(c, r->except, other, sizeof(other)))
		return 0;
	if (r->formats && !word_is_listed(r->formats, output_format()))
		return fail(-EINVAL,
			    "--%s has no effect on '%s' in format '%s' (supported: %s)",
			    r->option, c->name, output_format(), r->formats);
	if (given_find(c, r->unless, other, sizeof(other)))
		return fail(-EINVAL, "--%s has no effect on '%s' together with --%s", r->option,
			    c->name, other);
	if (!r->with || given_find(c, r->with, other, sizeof(other)))
		return 0;
	options_print(r->with, with, sizeof(with));
	return fail(-EINVAL, "--%s has no effect on '%s' without %s%s", r->option, c->name,
		    strchr(r->with, ' ') ? "one of " : "", with);
}

static const struct option_rule *rule_find(const struct option_rule *rules, const char *option)
{
	while (rules && rules->option && strcmp(rules->option, option) != 0)
		rules++;
	return rules && rules->option ? rules : NULL;
}

/* Options of every command that are about a report as text: --color=never and auto ask for nothing else. */
static int text_options_check(const struct command *c)
{
	bool always = common.color && !strcmp(common.color, "always");
	const char *option = common.notes ? "notes" : "color=always";

	if (common.color && !word_is_listed("auto always never", common.color))
		return fail(-EINVAL, "invalid --color '%s' (expected auto, always or never)",
			    common.color);
	if (!common.notes && !always)
		return 0;
	if (!row_find(c, "format") || word_is_listed(c->unused, "format"))
		return fail(-EINVAL, "--%s has no effect on '%s', which prints no report", option,
			    c->name);
	if (strcmp(output_format(), "text") != 0)
		return fail(-EINVAL, "--%s has no effect on '%s' in format '%s' (supported: text)",
			    option, c->name, output_format());
	return always && output_file() && strcmp(output_file(), "-") != 0
		       ? fail(-EINVAL, "--color=always has no effect with --output")
		       : 0;
}

int option_rules_check(const struct command *c)
{
	int err;

	if (compat_given) /* OSv's tool accepts options that it ignores, and counts the last of several values */
		return 0;
	err = options_values_check(command_given);
	if (!err)
		err = text_options_check(c);
	if (!err)
		err = unused_check(c);
	for (const struct option_rule *r = c->rules; !err && r && r->option; r++)
		err = rule_check(c, r);
	for (const struct option_rule *r = common_rules; !err && r->option; r++)
		err = rule_find(c->rules, r->option) ? 0 : rule_check(c, r);
	return err || !c->check ? err : c->check();
}
