/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text from outside in each kind of file. For a terminal see text_sanitize() (event/event.h), which every name goes
 * through when it is read: what arrives here is valid UTF-8 without control characters, and is still escaped fully.
 */
#ifndef HOSTRACE_ESCAPE_H
#define HOSTRACE_ESCAPE_H

#include <stdio.h>

/* Between tags and in attributes of SVG and HTML. Controls but tab and newline become "?", as by text_sanitize(). */
void put_markup(FILE *f, const char *text);

/* A JSON string with its quotes. */
void put_json(FILE *f, const char *text);

/* The same to memory of 6 * strlen(text) + PUT_JSON_MORE bytes. Returns its end; no NUL. */
enum { PUT_JSON_MORE = 2 };
char *put_json_text(char *to, const char *text);

/*
 * A cell of CSV (RFC 4180) with text, quoted only where it must be. A spreadsheet takes a cell that begins with = + - @
 * or a tab for a formula: such text gets an apostrophe before it, unless it is a number.
 */
void put_csv(FILE *f, const char *text);

/* The same to memory of 2 * strlen(text) + PUT_CSV_MORE bytes. Returns its end; no NUL. */
enum { PUT_CSV_MORE = 3 };
char *put_csv_text(char *to, const char *text);

#endif
