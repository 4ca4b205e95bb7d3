// SPDX-License-Identifier: GPL-2.0-or-later
/* Tokens of CTF's metadata: names with dots, numbers as C has them, strings, signs; comments of C and C++. */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "readers/ctf/tsdl.h"

void *tsdl_fail(struct tsdl *t, const char *fmt, ...)
{
	char what[200];
	va_list args;

	if (!t->err) {
		va_start(args, fmt);
		vsnprintf(what, sizeof(what), fmt, args);
		va_end(args);
		text_sanitize(what);
		t->err = fail(-EBADMSG, "%s: line %u: %s", t->path, t->line, what);
	}
	t->token = T_END;
	return NULL;
}

/* Memory that lives as long as the metadata. */
void *tsdl_keep(struct tsdl *t, size_t nr, size_t size)
{
	void *new = NULL;

	if (t->m->nr_memory < TSDL_MEMORY_MAX && !array_room(t->m->memory, t->m->nr_memory))
		new = calloc(nr ? nr : 1, size);
	if (!new) {
		t->err = t->err ? t->err : fail(-ENOMEM, "%s: out of memory", t->path);
		t->token = T_END;
		return NULL;
	}
	t->m->memory[t->m->nr_memory++] = new;
	return new;
}

/* ---- tokens ---- */

static void blanks_skip(struct tsdl *t)
{
	while (t->p < t->end) {
		bool comment = t->p + 1 < t->end && t->p[0] == '/' && t->p[1] == '*',
		     rest = t->p + 1 < t->end && t->p[0] == '/' && t->p[1] == '/';

		if (!comment && !rest && !isspace((unsigned char)*t->p))
			return;
		if (comment) {
			const char *close = memmem(t->p, (size_t)(t->end - t->p), "*/", 2);

			for (close = close ? close + 1 : t->end - 1; t->p < close; t->p++)
				t->line += *t->p == '\n';
		}
		while (rest && t->p < t->end - 1 && *t->p != '\n')
			t->p++;
		t->line += *t->p++ == '\n';
	}
}

static void number_read(struct tsdl *t)
{
	char digits[32], *stop;
	size_t n = 0;

	while (t->p + n < t->end && n < sizeof(digits) - 1 && isalnum((unsigned char)t->p[n])) {
		digits[n] = t->p[n];
		n++;
	}
	digits[n] = '\0';
	t->number = strtoull(digits, &stop, 0);
	t->p += n;
	if (stop[strspn(stop, "uUlL")])
		tsdl_fail(t, "invalid number '%s'", digits);
}

static void string_read(struct tsdl *t)
{
	t->token = T_STRING;
	t->at = ++t->p;
	while (t->p < t->end && *t->p != '"') {
		t->line += *t->p == '\n';
		t->p += *t->p == '\\' && t->p + 1 < t->end ? 2 : 1;
	}
	if (t->p >= t->end) {
		tsdl_fail(t, "a string has no end");
		return;
	}
	t->len = (size_t)(t->p++ - t->at);
}

void tsdl_next(struct tsdl *t)
{
	if (t->err)
		return;
	blanks_skip(t);
	t->token = T_END;
	t->at = t->p;
	t->len = 0;
	if (t->p >= t->end)
		return;
	if (*t->p == '"') {
		string_read(t);
		return;
	}
	if (isdigit((unsigned char)*t->p)) {
		t->token = T_NUMBER;
		number_read(t);
		return;
	}
	t->token = isalpha((unsigned char)*t->p) || *t->p == '_' ? T_NAME : T_SIGN;
	if (t->token == T_NAME)
		while (t->p < t->end &&
		       (isalnum((unsigned char)*t->p) || *t->p == '_' || *t->p == '.'))
			t->p++;
	else
		t->p += t->p + 1 < t->end && !memcmp(t->p, ":=", 2)    ? 2
			: t->p + 2 < t->end && !memcmp(t->p, "...", 3) ? 3
								       : 1;
	t->len = (size_t)(t->p - t->at);
}

bool tsdl_is(const struct tsdl *t, const char *word)
{
	return (t->token == T_NAME || t->token == T_SIGN) && t->len == strlen(word) &&
	       !memcmp(t->at, word, t->len);
}

bool tsdl_accept(struct tsdl *t, const char *word)
{
	if (!tsdl_is(t, word))
		return false;
	tsdl_next(t);
	return true;
}

bool tsdl_expect(struct tsdl *t, const char *word)
{
	if (tsdl_accept(t, word))
		return true;
	tsdl_fail(t, "expected '%s', found '%.*s'", word, (int)(t->len < 32 ? t->len : 32), t->at);
	return false;
}

const char *tsdl_text_keep(struct tsdl *t, const char *at, size_t len)
{
	char *copy =
		len < CTF_NAME_MAX ? tsdl_keep(t, len + 1, 1) : tsdl_fail(t, "a name is too long");

	return copy ? memcpy(copy, at, len) : NULL;
}

/* LTTng's underscore, which keeps names apart from words of the language. */
const char *tsdl_plain_name_keep(struct tsdl *t)
{
	size_t skip = t->len > 1 && *t->at == '_';
	const char *name = tsdl_text_keep(t, t->at + skip, t->len - skip);

	tsdl_next(t);
	return name;
}

/* The name that "event.fields._len" or "_len" refers to. */
const char *tsdl_tag_keep(struct tsdl *t)
{
	const char *dot = memrchr(t->at, '.', t->len), *name = dot ? dot + 1 : t->at;
	size_t len = (size_t)(t->at + t->len - name), skip = len > 1 && *name == '_';
	const char *tag = tsdl_text_keep(t, name + skip, len - skip);

	tsdl_next(t);
	return tag;
}

/* ---- values: "size = 32;" ---- */


void tsdl_value_read(struct tsdl *t, struct tsdl_value *v)
{
	bool minus = tsdl_accept(t, "-");
	size_t len = t->len < sizeof(v->text) ? t->len : sizeof(v->text) - 1;

	*v = (struct tsdl_value){.number = 0};
	if (t->token == T_NUMBER)
		v->number = minus ? -t->number : t->number;
	else if (t->token == T_NAME || t->token == T_STRING)
		memcpy(v->text, t->at, len);
	else
		tsdl_fail(t, "a value is missing");
	v->number = strcmp(v->text, "true") && strcmp(v->text, "TRUE") ? v->number : 1;
	tsdl_next(t);
}

enum ctf_order tsdl_order_of(const struct tsdl_value *v)
{
	if (!strcmp(v->text, "be") || !strcmp(v->text, "network"))
		return CTF_BIG;
	return strcmp(v->text, "le") ? CTF_NATIVE : CTF_LITTLE;
}

/* "clock.monotonic.value": that clock's index + 1. */
unsigned int tsdl_clock_of(const struct tsdl *t, const char *map)
{
	for (unsigned int i = 0; i < t->m->nr_clocks; i++) {
		size_t len = strlen(t->m->clock[i].name);

		if (!strncmp(map, "clock.", 6) && !strncmp(map + 6, t->m->clock[i].name, len) &&
		    !strcmp(map + 6 + len, ".value"))
			return i + 1;
	}
	return 0;
}
