/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of a JSON text that this process wrote, in place: what is copied from them is the same text, whatever its
 * numbers are, and a long array needs no memory for its values.
 */
#ifndef HOSTRACE_JSON_SLICE_H
#define HOSTRACE_JSON_SLICE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct json_slice {
	const char *at; /* not terminated; NULL: no value */
	size_t len;
};

/* A whole text, without the blanks around it. */
struct json_slice json_slice_of(const char *text, size_t len);

/*
 * The element of an array, or the value of a member of an object with its key (quotes included; may be NULL for
 * arrays), that begins at *offset; 0 at first. False: there are no more, or this is neither.
 */
bool json_slice_next(struct json_slice of, size_t *offset, struct json_slice *key,
		     struct json_slice *ret);

/* The member of an object, whose name has no escape sequences. at is NULL: it has none. */
struct json_slice json_slice_member(struct json_slice object, const char *key);

/*
 * The value, a new reference; NULL: no memory, or not JSON. Numbers above 2^63 - 1 become strings of their digits, as
 * json_u64() has them.
 */
json_t *json_slice_load(struct json_slice of);

/* Removes the blanks between the values of a text, in place; returns its length, where it ends with a 0. */
size_t json_slice_compact(char *text, size_t len);

#endif
