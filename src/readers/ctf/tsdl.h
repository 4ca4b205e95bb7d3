/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser of metadata, tsdl.c; its tokens: tsdl_lex.c, its types: tsdl_types.c. The first error counts. */
#ifndef HOSTRACE_TSDL_H
#define HOSTRACE_TSDL_H

#include "readers/ctf/ctf.h"

enum { TSDL_NAMES_MAX = 4096, TSDL_MEMORY_MAX = 4 << 20 /* pieces */ };

enum token { T_END, T_NAME, T_NUMBER, T_STRING, T_SIGN };

struct type_name {
	const char *name; /* "uint32_t", "unsigned long", "struct packet_context" */
	const struct ctf_type *type;
};

struct tsdl {
	struct ctf_meta *m;
	const char *path, *p, *end;
	unsigned int line, depth;
	enum token token;
	const char *at; /* the token */
	size_t len;
	uint64_t number; /* two's complement */
	int err;
	struct type_name name[TSDL_NAMES_MAX];
	unsigned int nr_names;
};

struct tsdl_value {
	uint64_t number;
	char text[CTF_NAME_MAX];
};

/* ---- tsdl_lex.c ---- */

void *tsdl_fail(struct tsdl *t, const char *fmt, ...) __attribute__((format(printf, 2, 3))); /* NULL */

/* Zeroed memory that lives as long as the metadata; NULL: t->err is set. */
void *tsdl_keep(struct tsdl *t, size_t nr, size_t size);
const char *tsdl_text_keep(struct tsdl *t, const char *at, size_t len);

void tsdl_next(struct tsdl *t);
bool tsdl_is(const struct tsdl *t, const char *word);
bool tsdl_accept(struct tsdl *t, const char *word); /* and the next token if it is */
bool tsdl_expect(struct tsdl *t, const char *word); /* it is an error if it is not */

/* The token without LTTng's underscore; the name that "event.fields._len" refers to; a number, text or name. */
const char *tsdl_plain_name_keep(struct tsdl *t);
const char *tsdl_tag_keep(struct tsdl *t);
void tsdl_value_read(struct tsdl *t, struct tsdl_value *v);
enum ctf_order tsdl_order_of(const struct tsdl_value *v);
unsigned int tsdl_clock_of(const struct tsdl *t, const char *map);

/* ---- tsdl_types.c ---- */

/* A type; with ret_name also the name that it declares, which may be missing after braces. NULL: t->err is set. */
const struct ctf_type *tsdl_type_parse(struct tsdl *t, const char **ret_name);

/* "typealias TYPE := NAME;", "typedef TYPE NAME;". False: something else is there. */
bool tsdl_alias_parse(struct tsdl *t);

/* Is there no '}' yet? */
bool tsdl_in_block(const struct tsdl *t);

#endif
