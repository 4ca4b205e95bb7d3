/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON as text, by jansson, but each real as the shortest text that reads back equal: jansson prints 0.1 as
 * 0.10000000000000001.
 */
#ifndef HOSTRACE_JSON_TEXT_H
#define HOSTRACE_JSON_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/*
 * An integer. Beyond 2^63 - 1, jansson's largest, a string of its decimal digits, and not the negative number with the
 * same bits. New reference.
 */
json_t *json_u64(uint64_t v);

/* The number that json_u64() made; of anything else 0. */
uint64_t json_u64_value(const json_t *json);

enum { JSON_LOADED_MAX = 64 << 20 }; /* bytes of memory for the values of a text that another made */

/* As json_loadb() of a text that another made: NULL and why->text also if its values need more than JSON_LOADED_MAX. */
json_t *json_text_load(const char *text, size_t len, size_t flags, json_error_t *why);

/* An upper bound of what the values of a text need of memory, without parsing it. */
size_t json_text_bytes(const char *text, size_t len);

/* Is the member with this key, as it is in the text, to be loaded, although it needs so many bytes of memory? */
typedef bool json_member_wanted(void *arg, const char *key, size_t len, size_t bytes);

/*
 * The object that a text of another holds, with the members that are wanted: what the others need is never allocated.
 * Their text, and what follows the object, may be invalid. Changes the text. NULL and why->text: it is no such object.
 */
json_t *json_text_load_members(char *text, size_t len, json_member_wanted *wanted, void *arg,
			       json_error_t *why);

/* What a value needs of memory with all that it holds, about; of NULL 0. */
size_t json_bytes(const json_t *value);

/* A member of an object; 0, "": it has none of this type. */
static inline int64_t number_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static inline const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* As json_dumps(): the caller frees it; NULL: out of memory, or `json` is NULL. */
char *json_text_make(const json_t *json, size_t flags);

/*
 * As json_dumpf(), with shortened reals: 0 or -1. The flag JSON_ENSURE_ASCII is added: what controls a terminal, or the
 * direction of a text, is escaped, as is DEL, which the flag leaves.
 */
int json_text_put(const json_t *json, FILE *f, size_t flags);

/* The same with the reals as jansson prints them. */
int json_text_put_exact(const json_t *json, FILE *f, size_t flags);

/* Shortens the reals of a JSON text in place; other numbers, and what strings hold, stay. Returns the text. */
char *json_text_shorten(char *text);

/* Number of characters in UTF-8 text: every byte but the continuation bytes (RFC 3629, section 3). */
static inline size_t utf8_length(const char *text, size_t len)
{
	size_t nr = 0;

	for (size_t i = 0; i < len; i++)
		nr += ((uint8_t)text[i] & 0xc0) != 0x80;
	return nr;
}

#endif
