/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options as tables: a command's options are rows; parsing, --help, completion and the man-page check come from
 * them. A row points at the variable that it sets.
 */
#ifndef HOSTRACE_OPTIONS_H
#define HOSTRACE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum option_kind {
	OPT_FLAG,     /* bool: --name sets it, --no-name clears it */
	OPT_TEXT,     /* const char *: points into argv */
	OPT_LIST,     /* struct text_list: repeatable */
	OPT_NUMBERS,  /* struct number_list: 0,2,5 or 0-7,16-31:2; repeatable */
	OPT_U64,      /* uint64_t, decimal or 0x */
	OPT_DURATION, /* uint64_t ns: 3s, 10ms, 250us; a bare number is seconds */
	OPT_SPAN,     /* as OPT_DURATION, and not 0: how long a command works */
	OPT_SIZE,     /* uint64_t bytes: 64K, 16M, 1G */
	OPT_TIME,     /* struct time_arg: as OPT_DURATION, and the text as given */
	OPT_WORDS,    /* struct text_list: all words up to the next option; `given` is set even if there are none */
};

enum { OPTION_LIST_MAX = 64, NUMBER_LIST_MAX = 1024 };

struct text_list {
	const char *item[OPTION_LIST_MAX];
	unsigned int nr;
	bool given;
};

struct time_arg {
	const char *text; /* NULL: not given */
	uint64_t ns;	  /* 0 for a negative one */
};

struct number_list {
	uint32_t item[NUMBER_LIST_MAX];
	unsigned int nr;
};

struct option_row {
	char letter;	  /* 0: none */
	const char *name; /* long name without dashes */
	enum option_kind kind;
	void *to;
	const char *arg;  /* name of the argument in --help; NULL for a flag */
	const char *help;
};

enum { OPTIONS_GIVEN_MAX = 128 };

/* The options that were given, whatever their value. --no-NAME takes an earlier --NAME back. */
struct options_given {
	const struct option_row *row[OPTIONS_GIVEN_MAX];
	unsigned int nr;
	const struct option_row *repeated, *empty; /* the first ones that options_values_check() rejects */
};

bool option_is_given(const struct options_given *given, const struct option_row *o);

/*
 * Parses argv[1..] against the rows of all tables (NULL-terminated array of tables, each ended by a row without
 * name). A long name may be abbreviated where it stays unique. Options and arguments may be mixed; "--" ends the
 * options. Arguments are moved to the front of argv; *ret_argc is their number (argv[0..]). If stop_at_dashes is not
 * NULL, it gets the index in argv after "--", or 0. `given`, which may be NULL, gets the options that are found.
 * Errors: -EINVAL, -E2BIG with the error message set (exit status 2).
 */
int options_parse(int argc, char **argv, const struct option_row *const *tables,
		  struct options_given *given, int *ret_argc, int *stop_at_dashes);

/*
 * Parses the options before the first argument; *ret_next is the index in argv of that argument, or argc.
 * Errors: as options_parse().
 */
int options_parse_leading(int argc, char **argv, const struct option_row *const *tables,
			  struct options_given *given, int *ret_next);

/*
 * What one of two values replaces would be lost without a word, and an empty one selects nothing or all: -EINVAL with
 * the error message set if an option that takes one value was given twice, or a value or an element of a list ("a,,b")
 * is empty.
 */
int options_values_check(const struct options_given *given);

/* Prints one row per option, wrapped at 80 columns; not those of `unused`: names separated by blanks, may be NULL. */
void options_help(const struct option_row *const *tables, const char *unused, FILE *out);

/* Is the word in the list, whose words are separated by blanks? The list may be NULL. */
bool word_is_listed(const char *list, const char *word);

/* The size of the variable that the row sets. */
size_t option_bytes(const struct option_row *o);

/* "10", "10%" as a part of 1: 0, or -EINVAL with the error message set. `option`: for the message. */
int percent_parse(const char *option, const char *text, double *ret);

#endif
