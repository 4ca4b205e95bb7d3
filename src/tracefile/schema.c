// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "tracefile/schema.h"

static const char *const kind_names[] = {
	[FIELD_UINT] = "uint",
	[FIELD_SINT] = "sint",
	[FIELD_TEXT] = "text",
	[FIELD_DYNTEXT] = "dyntext",
};

enum { NR_KINDS = sizeof(kind_names) / sizeof(kind_names[0]) };

const char *schema_name(const char *name, char buf[EVENT_NAME_MAX])
{
	const char *p = name;

	while (*p > ' ' && *p < 0x7f && *p != '=' && *p != '"')
		p++;
	if (!*p && p > name && p - name < EVENT_NAME_MAX)
		return name;
	snprintf(buf, EVENT_NAME_MAX, "%s", *name ? name : "_");
	text_sanitize(buf);
	for (char *q = buf; *q; q++)
		if (*q == ' ' || *q == '=' || *q == '"')
			*q = '_';
	return buf;
}

static json_t *name_json(const char *name)
{
	char buf[EVENT_NAME_MAX];

	return json_string(schema_name(name, buf));
}

/* Names from a foreign trace may hold any bytes; JSON text is UTF-8. */
static json_t *text_json(const char *s)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", s ? s : "");
	text_sanitize(copy);
	return json_string(copy);
}

static json_t *field_json(const struct field *f)
{
	return json_pack("{s:o, s:s, s:i, s:i, s:o, s:o}", "name", name_json(f->name), "kind",
			 kind_names[f->kind], "offset", f->offset, "size", f->size, "fmt",
			 text_json(f->fmt), "doc", text_json(f->doc));
}

json_t *schema_from_type(const struct event_type *type, uint16_t id)
{
	json_t *o = json_object(), *fields = json_array();

	if (id)
		json_object_set_new(o, "id", json_integer(id));
	json_object_set_new(o, "name", name_json(type->name));
	json_object_set_new(o, "size", json_integer(type->size));
	json_object_set_new(o, "doc", text_json(type->doc));
	for (unsigned int i = 0; i < type->nr_fields; i++)
		json_array_append_new(fields, field_json(&type->fields[i]));
	json_object_set_new(o, "fields", fields);
	return o;
}

static bool get_u16(const json_t *o, const char *key, uint16_t *ret)
{
	const json_t *v = json_object_get(o, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0 || json_integer_value(v) > UINT16_MAX)
		return false;
	*ret = (uint16_t)json_integer_value(v);
	return true;
}

/* Absent is fine where `fallback` is given. */
static bool get_text(const json_t *o, const char *key, const char *fallback, const char **ret)
{
	const json_t *v = json_object_get(o, key);

	*ret = v ? json_string_value(v) : fallback;
	return *ret && (v == NULL || strlen(*ret) == json_string_length(v));
}

static bool get_kind(const json_t *o, enum field_kind *ret)
{
	const char *name = json_string_value(json_object_get(o, "kind"));

	for (unsigned int i = 0; name && i < NR_KINDS; i++)
		if (!strcmp(name, kind_names[i])) {
			*ret = (enum field_kind)i;
			return true;
		}
	return false;
}

/* Names are printed everywhere: texts that could control a terminal or split a line are rejected. */
static bool name_ok(const char *name)
{
	char buf[EVENT_NAME_MAX];

	return name[0] && strlen(name) < EVENT_NAME_MAX && !strcmp(schema_name(name, buf), name);
}

static bool field_parse(const json_t *o, struct field *f)
{
	return get_text(o, "name", NULL, &f->name) && name_ok(f->name) &&
	       get_text(o, "fmt", "dec", &f->fmt) && get_text(o, "doc", "", &f->doc) &&
	       get_kind(o, &f->kind) && get_u16(o, "offset", &f->offset) &&
	       get_u16(o, "size", &f->size);
}

int schema_to_type(const json_t *json, const char *where, const struct event_type **ret,
		   uint16_t *ret_id)
{
	struct field fields[EVENT_FIELDS_MAX];
	struct event_type t = {.fields = fields};
	const json_t *list = json_object_get(json, "fields");
	char why[1024];

	*ret_id = 0;
	if (!get_text(json, "name", NULL, &t.name) || !name_ok(t.name))
		return fail(-EINVAL, "%s: event type without a valid name", where);
	if (!get_u16(json, "size", &t.size) || !get_text(json, "doc", "", &t.doc) ||
	    !json_is_array(list))
		return fail(-EINVAL, "%s: event %s has no size or no fields", where, t.name);
	if (json_object_get(json, "id") && !get_u16(json, "id", ret_id))
		return fail(-EINVAL, "%s: event %s has an invalid ID", where, t.name);
	if (json_array_size(list) > EVENT_FIELDS_MAX)
		return fail(-EINVAL, "%s: event %s has more than %d fields", where, t.name,
			    EVENT_FIELDS_MAX);
	for (t.nr_fields = 0; t.nr_fields < json_array_size(list); t.nr_fields++)
		if (!field_parse(json_array_get(list, t.nr_fields), &fields[t.nr_fields]))
			return fail(-EINVAL, "%s: event %s: invalid field %u", where, t.name,
				    t.nr_fields);
	int err = event_type_register(&t, ret);

	if (!err)
		return 0;
	snprintf(why, sizeof(why), "%s", error_text());
	return fail(err, "%s: %s", where, why);
}
