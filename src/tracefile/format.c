// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers and layouts of a .hrt file as bytes, its schema, and what metadata of a recording say of losses. Everything
 * read is foreign: lengths are checked before they are used, and a schema names the offsets of its fields, which must
 * lie inside the record.
 */
#include <errno.h>

#include "base/buffer.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "tracefile/format.h"
#include "tracefile/tracefile.h"

#define TRAILER_MAGIC "HRTINDEX"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "trace files are little-endian, and so is the code");

static void format_copy(uint8_t **p, const void *from, size_t len)
{
	memcpy(*p, from, len);
	*p += len;
}

/* Every structure ends with the CRC of the bytes before it. */
static void put_crc(uint8_t *start, size_t size)
{
	uint32_t crc = crc32c(0, start, size - 4);

	memcpy(start + size - 4, &crc, 4);
}

static bool crc_ok(const uint8_t *start, size_t size)
{
	uint32_t crc;

	memcpy(&crc, start + size - 4, 4);
	return crc == crc32c(0, start, size - 4);
}

void trace_header_encode(const struct trace_header *h, uint8_t out[TRACE_HEADER_SIZE])
{
	uint16_t version = TRACE_VERSION, size = TRACE_HEADER_SIZE;
	uint8_t *p = out;

	memset(out, 0, TRACE_HEADER_SIZE);
	format_copy(&p, TRACE_MAGIC, 8);
	format_copy(&p, &version, 2);
	format_copy(&p, &size, 2);
	p += 4; /* flags: none yet */
	format_copy(&p, &h->start_monotonic_ns, 8);
	format_copy(&p, &h->start_realtime_ns, 8);
	format_copy(&p, h->id, 16);
	put_crc(out, TRACE_HEADER_SIZE);
}

int trace_header_decode(const uint8_t *in, size_t len, const char *file, struct trace_header *ret)
{
	struct buffer b = buffer_of(in, len, file, 0);
	const uint8_t *magic = buffer_bytes(&b, 8), *id;
	uint16_t version = buffer_u16(&b), size = buffer_u16(&b);

	buffer_u32(&b);
	ret->start_monotonic_ns = buffer_u64(&b);
	ret->start_realtime_ns = buffer_u64(&b);
	id = buffer_bytes(&b, 16);
	if (!magic || memcmp(magic, TRACE_MAGIC, 8))
		return fail(-EBADMSG, "%s is not a hostrace trace file", file);
	if (len < TRACE_HEADER_SIZE)
		return fail(-EBADMSG, "%s is truncated within its header (%zu of %d bytes)", file,
			    len, TRACE_HEADER_SIZE);
	if (!crc_ok(in, TRACE_HEADER_SIZE))
		return fail(-EBADMSG, "%s: corrupt header (CRC mismatch)", file);
	if (version != TRACE_VERSION || size != TRACE_HEADER_SIZE)
		return fail(-ENOTSUP,
			    "%s: unsupported format version %u; this hostrace reads version %d",
			    file, version, TRACE_VERSION);
	memcpy(ret->id, id, 16);
	return 0;
}

void chunk_header_encode(const struct chunk_header *h, uint8_t out[CHUNK_HEADER_SIZE])
{
	uint8_t *p = out;

	format_copy(&p, CHUNK_MAGIC, 4);
	format_copy(&p, &h->kind, 1);
	format_copy(&p, &h->encoding, 1);
	format_copy(&p, &h->nr_counts, 2);
	format_copy(&p, &h->stored, 4);
	format_copy(&p, &h->raw, 4);
	format_copy(&p, &h->nr_records, 4);
	format_copy(&p, &h->counts_crc, 4);
	format_copy(&p, &h->first_ns, 8);
	format_copy(&p, &h->last_ns, 8);
	format_copy(&p, &h->watermark_ns, 8);
	format_copy(&p, &h->types_bloom, 8);
	format_copy(&p, &h->payload_crc, 4);
	put_crc(out, CHUNK_HEADER_SIZE);
}

/* A zstd payload is smaller than what it unpacks to, else it is stored raw: so `stored` is bounded by `raw`. */
static bool lengths_ok(const struct chunk_header *h)
{
	uint32_t limit = h->kind == CHUNK_RECORDS ? RECORDS_RAW_MAX : OTHER_RAW_MAX;

	return h->raw <= limit && h->stored <= h->raw && (h->encoding || h->stored == h->raw);
}

bool chunk_header_decode(const uint8_t in[CHUNK_HEADER_SIZE], struct chunk_header *ret)
{
	struct buffer b = buffer_of(in, CHUNK_HEADER_SIZE, "", 0);
	const uint8_t *magic = buffer_bytes(&b, 4);

	if (memcmp(magic, CHUNK_MAGIC, 4) || !crc_ok(in, CHUNK_HEADER_SIZE))
		return false;
	ret->kind = buffer_u8(&b);
	ret->encoding = buffer_u8(&b);
	ret->nr_counts = buffer_u16(&b);
	ret->stored = buffer_u32(&b);
	ret->raw = buffer_u32(&b);
	ret->nr_records = buffer_u32(&b);
	ret->counts_crc = buffer_u32(&b);
	ret->first_ns = buffer_u64(&b);
	ret->last_ns = buffer_u64(&b);
	ret->watermark_ns = buffer_u64(&b);
	ret->types_bloom = buffer_u64(&b);
	ret->payload_crc = buffer_u32(&b);
	return lengths_ok(ret);
}

void trace_trailer_encode(const struct trace_trailer *t, uint8_t out[TRAILER_SIZE])
{
	uint8_t *p = out;

	memset(out, 0, TRAILER_SIZE);
	format_copy(&p, TRAILER_MAGIC, 8);
	format_copy(&p, &t->index_offset, 8);
	format_copy(&p, &t->nr_index, 4);
	put_crc(out, TRAILER_SIZE);
}

bool trace_trailer_decode(const uint8_t in[TRAILER_SIZE], struct trace_trailer *ret)
{
	struct buffer b = buffer_of(in, TRAILER_SIZE, "", 0);

	if (memcmp(buffer_bytes(&b, 8), TRAILER_MAGIC, 8) || !crc_ok(in, TRAILER_SIZE))
		return false;
	ret->index_offset = buffer_u64(&b);
	ret->nr_index = buffer_u32(&b);
	return true;
}

/*
 * Event types as JSON, in the schema chunks of a trace file and in the text twin's "# type" lines:
 *   {"id":5,"name":"kvm_pio","size":40,"doc":"...","fields":[{"name":"port","kind":"uint","offset":24,"size":4,
 *    "fmt":"hex","doc":"..."}]}
 */

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

uint32_t schema_number_of_id(void *arg, uint64_t id)
{
	const struct event_type *const *types = arg;

	return id < NR_TYPE_IDS && types[id] ? event_type_number(types[id]) : EVENT_UNDECLARED;
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

/* Losses without a place, and notes, as a converted recording keeps them in its metadata. */

json_t *meta_losses_make(const struct trace_info *info, uint64_t placed)
{
	json_t *meta = json_object();

	if (info->lost > placed)
		json_object_set_new(meta, "lost_unplaced",
				    json_integer((json_int_t)(info->lost - placed)));
	if (json_array_size(info->caveats))
		json_object_set(meta, "notes", info->caveats);
	return meta;
}

void meta_losses_read(struct trace_info *info, uint64_t *taken)
{
	json_int_t unplaced = json_integer_value(json_object_get(info->meta, "lost_unplaced"));
	json_t *note;
	size_t i;

	if (unplaced > 0) {
		info->lost += (uint64_t)unplaced - *taken;
		*taken = (uint64_t)unplaced;
	}
	json_array_foreach (json_object_get(info->meta, "notes"), i, note) {
		char text[512];

		if (!json_is_string(note) || !trace_info_more_notes(info))
			break;
		snprintf(text, sizeof(text), "%s", json_string_value(note));
		text_sanitize(text);
		trace_info_caveat(info, "%s", text);
	}
}
