// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Types of CTF's metadata (https://diamon.org/ctf/v1.8.3/, section 7.3): integers, floats, enumerations, strings,
 * structures, variants, arrays whose length is a number or a field before. Names of types, "uint32_t" as well as
 * "unsigned long" and "struct packet_context", are known to the end of the block in which they are declared.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/event.h"
#include "readers/ctf/tsdl.h"

enum { DIMENSIONS_MAX = 4, WORDS_BYTES = 256 };

static const struct ctf_type *name_find(struct tsdl *t, const char *name)
{
	for (unsigned int i = t->nr_names; i > 0; i--)
		if (!strcmp(t->name[i - 1].name, name))
			return t->name[i - 1].type;
	return tsdl_fail(t, "unknown type '%s'", name);
}

static void name_add(struct tsdl *t, const char *name, const struct ctf_type *type)
{
	const char *copy = tsdl_text_keep(t, name, strlen(name));

	if (copy && type && t->nr_names < TSDL_NAMES_MAX)
		t->name[t->nr_names++] = (struct type_name){copy, type};
	else
		tsdl_fail(t, "too many names of types");
}

static struct ctf_type *type_new(struct tsdl *t, enum ctf_kind kind)
{
	struct ctf_type *type = tsdl_keep(t, 1, sizeof(*type));

	if (type)
		*type = (struct ctf_type){.kind = kind, .align = 1};
	return type;
}

static void attribute_set(const struct tsdl *t, struct ctf_type *type, const char *name,
			  const struct tsdl_value *v, bool *aligned)
{
	if (!strcmp(name, "size"))
		type->bits = v->number <= 64 ? (uint32_t)v->number : 0;
	else if (!strcmp(name, "exp_dig") || !strcmp(name, "mant_dig"))
		type->bits += v->number <= 64 ? (uint32_t)v->number : 128;
	else if (!strcmp(name, "align"))
		type->align = v->number <= 4096 ? (uint32_t)v->number : 0;
	else if (!strcmp(name, "signed"))
		type->is_signed = v->number;
	else if (!strcmp(name, "byte_order"))
		type->order = tsdl_order_of(v);
	else if (!strcmp(name, "base"))
		type->is_hex = v->number == 16 || *v->text == 'h' || *v->text == 'x';
	else if (!strcmp(name, "encoding"))
		type->is_text = strcmp(v->text, "none") != 0;
	else if (!strcmp(name, "map"))
		type->clock = tsdl_clock_of(t, v->text);
	*aligned |= !strcmp(name, "align");
}

/* "{ size = 32; align = 8; }" of an integer, a float or a string. */
static const struct ctf_type *scalar_parse(struct tsdl *t, enum ctf_kind kind)
{
	struct ctf_type *type = type_new(t, kind);
	bool aligned = false;

	tsdl_next(t);
	if (type && kind == CTF_STRING)
		type->align = 8;
	if (kind == CTF_STRING && !tsdl_is(t, "{"))
		return type;
	tsdl_expect(t, "{");
	while (type && !t->err && !tsdl_accept(t, "}")) {
		char name[32];
		struct tsdl_value v;

		snprintf(name, sizeof(name), "%.*s", (int)(t->len < 31 ? t->len : 31), t->at);
		tsdl_next(t);
		tsdl_expect(t, "=");
		tsdl_value_read(t, &v);
		tsdl_expect(t, ";");
		attribute_set(t, type, name, &v, &aligned);
	}
	if (!type || t->err)
		return NULL;
	if (!aligned)
		type->align = type->bits % 8 && kind != CTF_STRING ? 1 : 8;
	if (!type->align || type->align & (type->align - 1))
		return tsdl_fail(t, "invalid alignment");
	if (kind == CTF_INTEGER && !type->bits)
		return tsdl_fail(t, "an integer's size must be from 1 to 64");
	if (kind == CTF_FLOAT && type->bits != 32 && type->bits != 64)
		return tsdl_fail(t, "a float's size must be 32 or 64");
	return type;
}

static void labels_parse(struct tsdl *t, struct ctf_type *type)
{
	struct ctf_label *list = NULL;
	uint32_t nr = 0;
	int64_t following = 0;

	while (!t->err && !tsdl_accept(t, "}")) {
		struct ctf_label l = {.from = following};
		struct tsdl_value v;

		if (array_room(list, nr)) {
			t->err = -ENOMEM;
			break;
		}
		l.name = tsdl_plain_name_keep(t);
		if (tsdl_accept(t, "=")) {
			tsdl_value_read(t, &v);
			l.from = (int64_t)v.number;
		}
		l.to = l.from;
		if (tsdl_accept(t, "...")) {
			tsdl_value_read(t, &v);
			l.to = (int64_t)v.number;
		}
		following = (int64_t)((uint64_t)l.to + 1);
		list[nr++] = l;
		if (!tsdl_accept(t, ",") && !tsdl_is(t, "}"))
			tsdl_expect(t, "}");
	}
	type->label = tsdl_keep(t, nr, sizeof(*list));
	if (type->label && nr)
		memcpy(type->label, list, nr * sizeof(*list));
	type->nr_labels = type->label ? nr : 0;
	free(list);
}

/* "NAME" after "enum", "struct", "variant": "struct NAME", or empty. */
static void tagged_name(struct tsdl *t, const char *keyword, char *ret, size_t size)
{
	*ret = '\0';
	if (t->token != T_NAME)
		return;
	snprintf(ret, size, "%s %.*s", keyword, (int)(t->len < 200 ? t->len : 200), t->at);
	tsdl_next(t);
}

static const struct ctf_type *enum_parse(struct tsdl *t)
{
	char name[WORDS_BYTES];
	const struct ctf_type *base;
	struct ctf_type *type;

	tsdl_next(t);
	tagged_name(t, "enum", name, sizeof(name));
	if (*name && !tsdl_is(t, ":") && !tsdl_is(t, "{"))
		return name_find(t, name);
	base = tsdl_accept(t, ":") ? tsdl_type_parse(t, NULL) : name_find(t, "int");
	type = base ? type_new(t, CTF_INTEGER) : NULL;
	if (!type || base->kind != CTF_INTEGER)
		return tsdl_fail(t, "an enumeration's type is no integer");
	*type = *base;
	tsdl_expect(t, "{");
	labels_parse(t, type);
	if (*name)
		name_add(t, name, type);
	return type;
}

static const struct ctf_type *array_of(struct tsdl *t, const struct ctf_type *element)
{
	struct ctf_type *dimension[DIMENSIONS_MAX];
	unsigned int nr = 0;

	while (!t->err && tsdl_accept(t, "[")) {
		struct ctf_type *array = nr < DIMENSIONS_MAX ? type_new(t, CTF_ARRAY)
							     : tsdl_fail(t, "too many dimensions");

		if (!array)
			return NULL;
		dimension[nr++] = array;
		array->length = t->number;
		if (t->token == T_NAME)
			array->tag = tsdl_tag_keep(t);
		else if (t->token != T_NUMBER)
			tsdl_fail(t, "an array's length is missing");
		else
			tsdl_next(t);
		tsdl_expect(t, "]");
	}
	for (; nr; nr--) {
		dimension[nr - 1]->element = element;
		dimension[nr - 1]->align = element->align;
		element = dimension[nr - 1];
	}
	return t->err ? NULL : element;
}

/* "typealias TYPE := NAME;", "typedef TYPE NAME;". False: something else is there. */
bool tsdl_alias_parse(struct tsdl *t)
{
	char name[WORDS_BYTES] = "";
	const struct ctf_type *type;
	const char *declared = NULL;

	if (tsdl_accept(t, "typealias")) {
		type = tsdl_type_parse(t, NULL);
		tsdl_expect(t, ":=");
		while (t->token == T_NAME && strlen(name) + t->len + 2 < sizeof(name)) {
			size_t at = strlen(name);

			snprintf(name + at, sizeof(name) - at, "%s%.*s", at ? " " : "", (int)t->len,
				 t->at);
			tsdl_next(t);
		}
	} else if (tsdl_accept(t, "typedef")) {
		type = tsdl_type_parse(t, &declared);
		type = type ? array_of(t, type) : NULL;
		snprintf(name, sizeof(name), "%s", declared ? declared : "");
	} else {
		return false;
	}
	if (!t->err && !*name)
		tsdl_fail(t, "a type has no name");
	if (!t->err)
		name_add(t, name, type);
	tsdl_expect(t, ";");
	return true;
}

bool tsdl_in_block(const struct tsdl *t)
{
	return !t->err && !tsdl_is(t, "}");
}

/* What is between the braces of a structure or a variant. */
static void fields_parse(struct tsdl *t, struct ctf_type *type)
{
	unsigned int names = t->nr_names;
	struct ctf_field *list = NULL;
	uint32_t nr = 0;

	if (++t->depth > CTF_DEPTH_MAX)
		tsdl_fail(t, "more than %d structures in each other", CTF_DEPTH_MAX);
	while (tsdl_in_block(t)) {
		struct ctf_field f = {.name = NULL};

		if (tsdl_alias_parse(t))
			continue;
		f.type = tsdl_type_parse(t, &f.name);
		if (!f.name && tsdl_accept(t, ";"))
			continue; /* a type that is only declared */
		f.type = f.type ? array_of(t, f.type) : NULL;
		tsdl_expect(t, ";");
		if (t->err || nr == CTF_FIELDS_MAX || array_room(list, nr)) {
			tsdl_fail(t, "more than %d fields", CTF_FIELDS_MAX);
			break;
		}
		if (type->kind == CTF_STRUCT && f.type->align > type->align)
			type->align = f.type->align;
		list[nr++] = f;
	}
	t->depth--;
	t->nr_names = names;
	tsdl_expect(t, "}");
	type->field = tsdl_keep(t, nr, sizeof(*list));
	if (type->field && nr)
		memcpy(type->field, list, nr * sizeof(*list));
	type->nr_fields = type->field ? nr : 0;
	free(list);
}

static const struct ctf_type *struct_parse(struct tsdl *t)
{
	struct ctf_type *type;
	char name[WORDS_BYTES];
	uint32_t least;

	tsdl_next(t);
	tagged_name(t, "struct", name, sizeof(name));
	if (*name && !tsdl_is(t, "{"))
		return name_find(t, name);
	type = type_new(t, CTF_STRUCT);
	if (!type || !tsdl_expect(t, "{"))
		return NULL;
	fields_parse(t, type);
	if (tsdl_accept(t, "align")) {
		tsdl_expect(t, "(");
		least = t->number && t->number <= 4096 ? (uint32_t)t->number : 1;
		tsdl_next(t);
		tsdl_expect(t, ")");
		if (least & (least - 1))
			return tsdl_fail(t, "invalid alignment");
		type->align = type->align > least ? type->align : least;
	}
	if (*name && !t->err)
		name_add(t, name, type);
	return type;
}

static const struct ctf_type *variant_parse(struct tsdl *t)
{
	const struct ctf_type *named;
	struct ctf_type *type = type_new(t, CTF_VARIANT);
	char name[WORDS_BYTES];
	const char *tag = NULL;

	tsdl_next(t);
	tagged_name(t, "variant", name, sizeof(name));
	if (tsdl_accept(t, "<")) {
		tag = tsdl_tag_keep(t);
		tsdl_expect(t, ">");
	}
	if (!type)
		return NULL;
	if (tsdl_accept(t, "{")) {
		fields_parse(t, type);
		if (*name && !t->err)
			name_add(t, name, type);
	} else {
		named = name_find(t, name);
		if (named)
			*type = *named;
	}
	type->tag = tag ? tag : type->tag;
	return type;
}

/* Names of a type, of which the last is the field's if ret_name is not NULL. */
static const struct ctf_type *words_parse(struct tsdl *t, const char **ret_name)
{
	char words[WORDS_BYTES] = "";
	const char *last = NULL;
	size_t last_len = 0;

	while (t->token == T_NAME && strlen(words) + last_len + 2 < sizeof(words)) {
		size_t at = strlen(words);

		if (last)
			snprintf(words + at, sizeof(words) - at, "%s%.*s", at ? " " : "",
				 (int)last_len, last);
		last = t->at;
		last_len = t->len;
		tsdl_next(t);
	}
	if (!last)
		return tsdl_fail(t, "a type is missing");
	if (ret_name) {
		size_t skip = last_len > 1 && *last == '_';

		*ret_name = tsdl_text_keep(t, last + skip, last_len - skip);
	} else {
		size_t at = strlen(words);

		snprintf(words + at, sizeof(words) - at, "%s%.*s", at ? " " : "", (int)last_len,
			 last);
	}
	return t->err ? NULL : name_find(t, words);
}

/* A type; with ret_name also the name that it declares, which may be missing after braces. */
const struct ctf_type *tsdl_type_parse(struct tsdl *t, const char **ret_name)
{
	const struct ctf_type *type;

	tsdl_accept(t, "const");
	if (tsdl_is(t, "integer"))
		type = scalar_parse(t, CTF_INTEGER);
	else if (tsdl_is(t, "floating_point"))
		type = scalar_parse(t, CTF_FLOAT);
	else if (tsdl_is(t, "string"))
		type = scalar_parse(t, CTF_STRING);
	else if (tsdl_is(t, "enum"))
		type = enum_parse(t);
	else if (tsdl_is(t, "struct"))
		type = struct_parse(t);
	else if (tsdl_is(t, "variant"))
		type = variant_parse(t);
	else
		return words_parse(t, ret_name);
	if (!t->err && ret_name && t->token == T_NAME)
		*ret_name = tsdl_plain_name_keep(t);
	return t->err ? NULL : type;
}
