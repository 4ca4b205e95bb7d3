/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command: one file in src/commands/, one line in src/commands/all.c. Only commands print to
 * stderr and decide exit statuses.
 */
#ifndef HOSTRACE_COMMAND_H
#define HOSTRACE_COMMAND_H

#include "base/options.h"
#include "base/version.h"

enum exit_status {
	EXIT_FINE = 0,
	EXIT_FAILED = 1, /* the message says what to do next */
	EXIT_USAGE = 2,
	EXIT_FOUND = 3, /* it ran and found what it checks for */
};

/* When an option has an effect. */
struct option_rule {
	const char *option;  /* its long name; NULL ends the rules */
	const char *formats; /* in these formats only, separated by blanks; NULL: in all */
	const char *with;    /* with one of these options only, separated by blanks; NULL: always */
	const char *unless;  /* not with one of these; NULL: always */
	const char *except;  /* the rule does not hold with one of these; NULL: always */
};

struct report_ops;

struct command {
	const char *name;
	const char *args;    /* after "hostrace NAME [OPTIONS]" */
	const char *summary; /* one line */
	const char *group;   /* heading in `hostrace --help`: "Record", "Report", ... */
	const char *details; /* paragraphs for --help; may be NULL */
	const char *examples;
	const struct option_row *const *options; /* NULL-terminated array of tables */

	/*
	 * An option that has no effect is an error. Those of its tables that it never uses, separated by blanks: they
	 * are not in --help; and those that it uses sometimes, besides the rules for all commands. May be NULL.
	 */
	const char *unused;
	const struct option_rule *rules;
	int (*check)(void); /* what no rule can say: 0, or -EINVAL with the error message set; may be NULL */

	int (*run)(int argc, char **argv); /* argv[0..argc) are the arguments */

	/* Of a command whose `run` is report_command_run(), and whose arguments are files: the report, its options. */
	const struct report_ops *report;
	const void *query;	/* NULL: it has none */
	const char *formats;	/* separated by blanks */
	const bool *exit_found; /* is what the report looks for exit status 3? NULL: no */
	bool ticks;		/* times may be ticks of an unknown rate */
	bool order;		/* an input without any times will do */

	bool starts_command; /* what follows "--" is one that it starts (command_rest), and no argument */

	/*
	 * If the first argument makes it another command: the words that take the place of both, separated by
	 * blanks, such as "timeline -f perfetto" for "export perfetto"; else NULL. May be NULL.
	 */
	const char *(*instead)(const char *first);
};

extern const struct command *const commands[]; /* ends with NULL */

/* Has every option that was given (command_given) an effect on the command? Else -EINVAL with the error message set. */
int option_rules_check(const struct command *c);

/*
 * For what a command only knows from its arguments or inputs: are none of `list` given, options of the command being
 * run, separated by blanks? Else -EINVAL with the error message set: "--OPTION has no effect WHERE". Always 0 with
 * --compat.
 */
int options_unused_check(const char *list, const char *where);

/* The same for all options of the command that are not in the list. */
int options_used_check(const char *list, const char *where);

/* The command being run, for messages and for the JSON head; NULL before it is known. */
extern const struct command *command_now;

/* Of one that starts a command: its arguments after "--", NULL-terminated; NULL: there was none. */
extern char **command_rest;

/* Its options that were given. */
extern const struct options_given *command_given;

/* Options that every command has: --help, -q, -v, --color, --no-pager. */
extern const struct option_row common_options[];
struct common {
	bool help, quiet, notes, verbose, no_pager;
	const char *color; /* auto, always, never */
	struct capture *capture; /* receives what the command prints (capture.h); NULL: it prints */
};
extern struct common common;

/* May colour be used on this stream? Honours --color, NO_COLOR, TERM=dumb. */
bool color_wanted(FILE *out);

/* Prints "hostrace: NAME: MESSAGE" with the message of the last fail(). Returns EXIT_FAILED, or
 * EXIT_USAGE after fail_usage(). */
int command_failed(void);

/* Prints the error message, and "see 'hostrace NAME --help'" unless it ends with a question.
 * Returns EXIT_USAGE. */
int command_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* From now on a terminal shows how much has been read (base/progress.h), unless --quiet. */
void command_progress(void);

/* Prints a note or a warning to stderr, unless --quiet. */
void command_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
