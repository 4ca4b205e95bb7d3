/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conditions on records: the language of --where, of --trigger and of --stop-on (doc/filters.md). A condition is parsed
 * once to nodes, and then evaluated for each record, whose values a function of the caller returns:
 *
 *	condition_parse("--where", "reason == \"io\" && port in (0x70, 0x71) && ns > 1ms", &c);
 *	for (...)
 *		if (condition_holds(c, get_value, record))
 *
 * What a record lacks is unknown, as NULL is in SQL: a comparison with it is neither true nor false, and so is its
 * negation. The condition holds if it is true.
 */
#ifndef HOSTRACE_CONDITION_H
#define HOSTRACE_CONDITION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum {
	CONDITION_BYTES_MAX = 4096, /* of its text */
	CONDITION_NODES_MAX = 256,
	CONDITION_VALUES_MAX = 256, /* numbers and strings in it */
	CONDITION_DEPTH_MAX = 32,   /* of parentheses and negations */
	CONDITION_FIELDS_MAX = 16,
	CONDITION_NAME_MAX = 64,
	CONDITION_TEXT_MAX = 256, /* of a record's value; what follows is not compared */
};

struct condition;

/* A field, as the condition uses it: one that it compares with numbers and with strings is two. */
struct condition_field {
	char name[CONDITION_NAME_MAX];
	bool is_text;
	size_t at; /* where it is in the text, bytes */
};

/* A long double holds every integer of 64 bits. */
struct condition_value {
	long double number;
	const char *text;   /* for fields with is_text; may be in buf */
	const char *others; /* other names of the same, comma-separated; NULL: none */
	bool fold;	    /* upper and lower case are the same */
	char buf[CONDITION_TEXT_MAX];
};

/* Sets the number or the text of field i. False: the record lacks it. */
typedef bool condition_get(void *arg, unsigned int i, struct condition_value *v);

/*
 * `option` is for messages. -EINVAL or -E2BIG with the error message set, which points at the column, as wrong usage;
 * or -ENOMEM.
 */
int condition_parse(const char *option, const char *text, struct condition **ret);
void condition_free(struct condition *c);
DEFINE_CLEANUP(condition, struct condition *, condition_free);
#define _cleanup_condition_ _cleanup_(condition_cleanup_)

const char *condition_text(const struct condition *c);
const struct condition_field *condition_fields(const struct condition *c, unsigned int *ret_nr);
bool condition_holds(const struct condition *c, condition_get *get, void *arg);

/* Sets the error message to "OPTION: column N: MESSAGE", with the line and the column of the field. -EINVAL. */
int condition_field_fail(const struct condition *c, unsigned int i, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Of a condition that is a field alone, or one comparison of a field with one value. */
struct condition_single {
	const char *name;
	const char *op;	   /* ">"; NULL: the field alone */
	const char *value; /* the number as it is written; NULL: a string */
	long double number;
};

/* False: it is more than that. Valid as long as the condition. */
bool condition_is_single(const struct condition *c, struct condition_single *ret);

/* ---- for machines: condition_steps.c ---- */

enum condition_op {
	OP_NONE, /* the field alone */
	OP_EQ,
	OP_NE,
	OP_LT,
	OP_LE,
	OP_GT,
	OP_GE,
	OP_GLOB,
	OP_NO_GLOB,
	OP_IN,
};

/* One comparison with one value, and where to go on. */
struct condition_comparison {
	unsigned int field;
	enum condition_op op; /* never OP_IN */
	long double number;
	const char *text; /* NULL: a number */
	unsigned int yes, no;
};

struct condition_maker {
	void *arg;
	/* Sets the value of field i if it is known beforehand, as for condition_holds(). */
	condition_get *known;
	/* Makes a comparison; *ret is where to enter it, or one of yes and no. -errno: the error message is set. */
	int (*make)(void *arg, const struct condition_comparison *c, unsigned int *ret);
};

/* Makes all comparisons; *ret is where to begin, `yes` or `no` if nothing is to be compared. */
int condition_make(const struct condition *c, const struct condition_maker *m, unsigned int yes,
		   unsigned int no, unsigned int *ret);

#endif
