/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The page: one HTML file with the data as JSON, one script and one style, and nothing from elsewhere.
 *
 *	{"version", "findings": [{"kind", "section", "text", "share"}], "notes": [text],
 *	 "sections": {KEY: {"command", "data": the command's JSON, "error", "cut": [..]}}}
 *
 * Text of a recording is untrusted. The page has it in two places only: in the JSON, in which everything that could end
 * or confuse a script element is escaped, and in the summary's sentences, as escaped markup. The script makes text
 * nodes of it, and no markup. A Content-Security-Policy permits this script and this style, by their hashes, and no
 * request of any kind.
 */
#ifndef HOSTRACE_REPORT_PAGE_H
#define HOSTRACE_REPORT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* ASCII only: U+2028 and the like are \u escapes. */
#define PAGE_JSON_FLAGS (JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6))

enum { PAGE_ESCAPE_BYTES = 6 }; /* \u003c */

/* Bytes of JSON that HTML could take for markup. They are in strings only. */
static inline bool page_byte_is_escaped(char c)
{
	return c == '<' || c == '>' || c == '&';
}

/* Both return 0 or -errno with the error message set; the caller finds write errors when it closes the file. */
int page_write(const json_t *page, FILE *f);
int page_write_json(const json_t *page, FILE *f);

#endif
