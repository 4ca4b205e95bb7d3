/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Quoted-printable mail (RFC 2045): which parts of a text are encoded so. See paste_printable.c. */
#ifndef HOSTRACE_PASTE_PRINTABLE_H
#define HOSTRACE_PASTE_PRINTABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PRINTABLE_PARTS_MAX = 64, PRINTABLE_BOUNDARIES_MAX = 4, PRINTABLE_BOUNDARY_BYTES = 80 };

struct printable {
	struct printable_part {
		uint64_t first_line, strong, bare; /* see printable_line() */
		bool declared, has_body;	   /* by its header */
	} part[PRINTABLE_PARTS_MAX];		   /* the last one is of all that follow */
	unsigned int nr, now;
	char boundary[PRINTABLE_BOUNDARIES_MAX][PRINTABLE_BOUNDARY_BYTES];
	unsigned int nr_boundaries;
	bool settled; /* what the parts are is known */
	bool any;     /* one of them is encoded */
};

/* A line as it is in the file, in their order, before it is decoded. Returns whether it is of an encoded part. */
bool printable_begin(struct printable *p, const char *s, const char *end, uint64_t number);

/* Any line: characters of UTF-8 that are encoded are in no other text. */
void printable_any_line(struct printable *p, const char *s, const char *end);

/* A line of a trace, or what follows one that goes on: counts what speaks for quoted-printable, and against it. */
void printable_line(struct printable *p, const char *s, const char *end);

/* A soft line break, which the format's grammar proves, in the current part. */
void printable_proved(struct printable *p);

/* All lines were counted. Returns whether a part is encoded. */
bool printable_settle(struct printable *p);

/* Where a newline is encoded, "=0A" or "=0D=0A", and *ret_next after it; NULL: nowhere. */
char *printable_newline(char *s, char *end, char **ret_next);

/* Where the "=" at the end of a line is that says that it goes on; NULL: there is none. */
char *printable_soft(char *s, char *end);

/* The line after a soft line break, without the quote marks that the line before has, too. */
char *printable_quote_skip(const char *before, const char *before_end, char *s, char *end);

/* Decodes "=3D". In place; returns the new end. */
char *printable_decode(char *s, char *end);

#endif
