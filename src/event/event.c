// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registry of event types. Ours are created here from events.def; others are copied in when readers find them.
 * It is process-wide by design, like a table of interned names: readers of all inputs give equal types the same
 * address and index without being passed a context. The table only grows and types are never freed before the
 * program ends (but see event_types_forget()), so a `const struct event_type *` may be stored and compared by address.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/guest_fields.h"
#include "event/records.h"

#define KIND_u8  FIELD_UINT
#define KIND_u16 FIELD_UINT
#define KIND_u32 FIELD_UINT
#define KIND_u64 FIELD_UINT
#define KIND_s8  FIELD_SINT
#define KIND_s32 FIELD_SINT
#define KIND_s64 FIELD_SINT

/* static const struct field fields_kvm_exit[] = { ... }; the empty last row allows events without fields. */
#define EVENT(id, name, doc) static const struct field fields_##name[] = {
#define FIELD(type, field, fmt, doc) {#field, #fmt, doc, KIND_##type, 0, sizeof(hr_##type)},
#define TEXT(len, field, doc)	     {#field, "text", doc, FIELD_TEXT, 0, len},
#define PAD(bytes)		     {NULL, NULL, NULL, FIELD_UINT, 0, bytes},
#define END(name)		     {0}};
#include "events.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END

/* static const struct event_type ours[] = { ... }; */
#define EVENT(ev_id, ev_name, ev_doc)                                                              \
	{.name = #ev_name, .doc = ev_doc, .id = ev_id, .fields = fields_##ev_name,                 \
	 .nr_fields = sizeof(fields_##ev_name) / sizeof(fields_##ev_name[0]) - 1,                  \
	 .size = sizeof(struct rec_##ev_name)},
#define FIELD(type, field, fmt, doc)
#define TEXT(len, field, doc)
#define PAD(bytes)
#define END(name)
static const struct event_type ours[] = {
#include "events.def"
};
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END

enum { NR_OURS = sizeof(ours) / sizeof(ours[0]) };

#define EVENT(id, name, doc)
#define FIELD(type, field, fmt, doc) +1
#define TEXT(len, field, doc)	     +1
#define PAD(bytes)
#define END(name)
enum { NR_OUR_FIELDS = 0
#include "events.def"
};
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END

struct registry {
	struct event_type our_types[NR_OURS];
	struct field our_fields[NR_OUR_FIELDS];
	const struct field *our_bound[NR_OUR_FIELDS];
	unsigned int nr_our_fields;
	const struct event_type *type[EVENT_TYPES_MAX];
	unsigned int nr;
	size_t bytes; /* of those that inputs brought */
	const struct event_type *by_id[EV_LIMIT];
	struct hash_index by_name; /* the first type of each name */
	struct hash_index by_content;
};

static bool fields_equal(const struct event_type *a, const struct event_type *b)
{
	if (strcmp(a->name, b->name) || a->size != b->size || a->nr_fields != b->nr_fields)
		return false;
	for (unsigned int i = 0; i < a->nr_fields; i++) {
		const struct field *f = &a->fields[i], *g = &b->fields[i];

		if (strcmp(f->name, g->name) || strcmp(f->fmt, g->fmt) || f->kind != g->kind ||
		    f->offset != g->offset || f->size != g->size)
			return false;
	}
	return true;
}

/* Of what fields_equal() compares. */
static uint64_t content_hash(const struct event_type *t)
{
	uint64_t h =
		hash_keyed_pair(hash_keyed_text(t->name), (uint64_t)t->size << 16 | t->nr_fields);

	for (unsigned int i = 0; i < t->nr_fields; i++) {
		const struct field *f = &t->fields[i];
		uint64_t word[] = {h, hash_keyed_text(f->name), hash_keyed_text(f->fmt),
				   (uint64_t)f->offset << 32 | (uint64_t)f->size << 8 | f->kind};

		h = hash_words(word, sizeof(word) / sizeof(word[0]));
	}
	return h;
}

static int field_check(const struct event_type *t, const struct field *f)
{
	bool is_int = f->kind == FIELD_UINT || f->kind == FIELD_SINT;
	bool size_ok = is_int ? f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8
			      : f->kind == FIELD_DYNTEXT ? f->size == 4 : f->size > 0;

	if (f->kind > FIELD_DYNTEXT || !size_ok)
		return fail(-EINVAL, "event %s: field %s has an unknown kind or size", t->name,
			    f->name);
	if (f->offset < sizeof(struct record_hdr) || f->offset + f->size > t->size)
		return fail(-EINVAL, "event %s: field %s is outside the record", t->name,
			    f->name);
	return 0;
}

static int type_check(const struct event_type *t)
{
	if (!t->name[0] || strlen(t->name) >= EVENT_NAME_MAX)
		return fail(-EINVAL, "an event's name is empty or longer than %d bytes",
			    EVENT_NAME_MAX - 1);
	if (t->nr_fields > EVENT_FIELDS_MAX)
		return fail(-EINVAL, "event %s has %u fields; at most %d are supported", t->name,
			    t->nr_fields, EVENT_FIELDS_MAX);
	if (t->size < sizeof(struct record_hdr) || t->size > EVENT_RECORD_MAX)
		return fail(-EINVAL, "event %s: invalid record size %u", t->name,
			    t->size);
	for (unsigned int i = 0; i < t->nr_fields; i++) {
		int err = field_check(t, &t->fields[i]);

		if (err)
			return err;
	}
	return 0;
}

/* Rows of events.def have only sizes; offsets follow from the order, as in the struct itself. PADs are skipped. */
static struct event_type *copy_ours(struct registry *r, const struct event_type *from)
{
	struct event_type *t = &r->our_types[r->nr];
	struct field *fields = &r->our_fields[r->nr_our_fields];
	uint16_t offset = sizeof(struct record_hdr), nr = 0;

	for (unsigned int i = 0; i < from->nr_fields; i++) {
		if (from->fields[i].name) {
			fields[nr] = from->fields[i];
			fields[nr].printer = field_printer(fields[nr].fmt);
			fields[nr++].offset = offset;
		}
		offset = (uint16_t)(offset + from->fields[i].size);
	}
	*t = *from;
	t->fields = fields;
	t->nr_fields = nr;
	record_bind(t, t, &r->our_bound[r->nr_our_fields]);
	r->nr_our_fields += nr;
	if (offset != from->size) /* a PAD is missing in events.def; tests/unit/test_event.c finds it first */
		abort();
	return t;
}

/* Of what an input brings: the type, its fields and all texts are one block. */

static size_t text_size(const char *text)
{
	return strlen(text ? text : "") + 1;
}

static size_t type_bytes(const struct event_type *t)
{
	size_t bytes = sizeof(*t) + t->nr_fields * sizeof(*t->fields) + text_size(t->name) +
		       text_size(t->doc);

	for (unsigned int i = 0; i < t->nr_fields; i++)
		bytes += text_size(t->fields[i].name) + text_size(t->fields[i].fmt) +
			 text_size(t->fields[i].doc);
	return bytes;
}

static const char *text_copy(char **to, const char *from)
{
	char *copy = *to;

	*to = stpcpy(copy, from ? from : "") + 1;
	return copy;
}

/* NULL: out of memory. */
static struct event_type *copy_type(const struct event_type *from)
{
	struct event_type *t = malloc(type_bytes(from));

	if (!t)
		return NULL;
	struct field *fields = (struct field *)(t + 1);
	char *texts = (char *)(fields + from->nr_fields);

	*t = *from;
	t->fields = fields;
	t->name = text_copy(&texts, from->name);
	t->doc = text_copy(&texts, from->doc);
	for (unsigned int i = 0; i < t->nr_fields; i++) {
		const struct field *f = &from->fields[i];

		fields[i] = *f;
		fields[i].printer = field_printer(f->fmt ? f->fmt : "");
		fields[i].name = text_copy(&texts, f->name);
		fields[i].fmt = text_copy(&texts, f->fmt);
		fields[i].doc = text_copy(&texts, f->doc);
	}
	return t;
}

static void type_free(const struct event_type *t)
{
	free((void *)t->bound);
	free((void *)t);
}

static const struct event_type *type_named(const struct registry *r, const char *name)
{
	uint64_t probe = 0, hash = hash_keyed_text(name);

	for (uint32_t i; (i = hash_index_next(&r->by_name, hash, &probe)) != HASH_NONE;)
		if (!strcmp(r->type[i]->name, name))
			return r->type[i];
	for (unsigned int i = 0; r->by_name.refused && i < r->nr; i++) /* no memory for the index */
		if (!strcmp(r->type[i]->name, name))
			return r->type[i];
	return NULL;
}

static const struct event_type *type_equal(const struct registry *r, const struct event_type *t)
{
	uint64_t probe = 0, hash = content_hash(t);

	for (uint32_t i; (i = hash_index_next(&r->by_content, hash, &probe)) != HASH_NONE;)
		if (fields_equal(r->type[i], t))
			return r->type[i];
	return NULL;
}

static void index_add(struct registry *r, const struct event_type *t)
{
	if (!type_named(r, t->name))
		hash_index_add(&r->by_name, hash_keyed_text(t->name), t->index);
	hash_index_add(&r->by_content, content_hash(t), t->index);
}

/* Of a type that an input brought. False: out of memory. */
static bool bind_foreign(struct registry *r, struct event_type *t)
{
	const struct event_type *own = t->id ? r->by_id[t->id] : NULL;
	unsigned int nr = own ? own->nr_fields : guest_fields_bound(t);
	const struct field **bound = nr ? calloc(nr, sizeof(*bound)) : NULL;

	if (nr && !bound)
		return false;
	if (own)
		record_bind(t, own, bound);
	else if (nr)
		guest_fields_bind(t, bound);
	return true;
}

static void event_type_insert(struct registry *r, struct event_type *t)
{
	t->index = (uint16_t)r->nr;
	r->type[r->nr++] = t;
	index_add(r, t);
}

static void indexes_clear(struct registry *r)
{
	hash_index_deinit(&r->by_name);
	hash_index_deinit(&r->by_content);
	r->by_name = r->by_content = HASH_INDEX(EVENT_TYPES_MAX);
}

/* The only access to the table; the first call adds our own types. */
static struct registry *registry(void)
{
	static struct registry process_wide;
	struct registry *r = &process_wide;

	if (!r->nr)
		indexes_clear(r);
	while (r->nr < NR_OURS) {
		struct event_type *t = copy_ours(r, &ours[r->nr]);

		event_type_insert(r, t);
		r->by_id[t->id] = t;
	}
	return r;
}

/* A field of ours that older files declare as unsigned, and is signed: its bytes are the same (kvm_pvclock_update). */
static void signs_mend(const struct event_type *own, struct field *fields, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		const struct field *f = event_field(own, fields[i].name);

		if (f && f->kind == FIELD_SINT && f->size == fields[i].size &&
		    fields[i].kind == FIELD_UINT)
			fields[i].kind = FIELD_SINT;
	}
}

int event_type_register(const struct event_type *declared, const struct event_type **ret)
{
	struct registry *r = registry();
	struct field fields[EVENT_FIELDS_MAX];
	struct event_type mended = *declared, *type = &mended;
	int err = type_check(type);

	if (err)
		return err;
	const struct event_type *namesake = type_named(r, type->name);

	if (namesake && namesake->id) {
		memcpy(fields, type->fields, type->nr_fields * sizeof(*fields));
		signs_mend(event_type_ours(namesake->id), fields, type->nr_fields);
		mended.fields = fields;
	}
	*ret = type_equal(r, type);
	if (*ret)
		return 0;
	if (r->nr == EVENT_TYPES_MAX)
		return fail(-E2BIG, "more than %d event types in the inputs", EVENT_TYPES_MAX);
	if (r->bytes + type_bytes(type) > EVENT_TYPES_BYTES)
		return fail(-E2BIG, "the event types of the inputs need more than %d MiB of memory",
			    EVENT_TYPES_BYTES >> 20);
	struct event_type *t = copy_type(type);

	if (!t)
		return fail(-ENOMEM, "out of memory");
	t->id = namesake ? namesake->id : 0;
	t->guest = (uint8_t)guest_event_named(t->name);
	t->kernel = (uint8_t)kernel_event_named(t->name);
	if (!bind_foreign(r, t))
		return fail(-ENOMEM, "out of memory");
	r->bytes += type_bytes(t);
	event_type_insert(r, t);
	*ret = t;
	return 0;
}

const struct event_type *event_type_ours(unsigned int id)
{
	return id < EV_LIMIT ? registry()->by_id[id] : NULL;
}

uint32_t event_type_number(const struct event_type *type)
{
	return type->id ? type->id : EVENT_NUMBERS_FIRST + type->index;
}

const struct event_type *event_type_numbered(uint64_t number)
{
	if (number < EVENT_NUMBERS_FIRST)
		return event_type_ours((unsigned int)number);
	number -= EVENT_NUMBERS_FIRST;
	return number < EVENT_TYPES_MAX ? event_type_at((unsigned int)number) : NULL;
}

static bool is_type_number(const struct field *f)
{
	return f->kind == FIELD_UINT && f->size >= sizeof(uint32_t) && !strcmp(f->fmt, "event");
}

bool event_type_names_types(const struct event_type *type)
{
	return array_any(type->nr_fields, i, is_type_number(&type->fields[i]));
}

void event_type_numbers_convert(const struct event_type *type, uint8_t *record,
				uint32_t (*convert)(void *arg, uint64_t number), void *arg)
{
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		const struct field *f = &type->fields[i];
		uint64_t number = 0;

		if (!is_type_number(f))
			continue;
		memcpy(&number, record + f->offset, f->size);
		if (number < RECORD_DECLARED_FIRST)
			continue;
		number = convert(arg, number);
		memcpy(record + f->offset, &number, f->size);
	}
}

const struct event_type *event_type_named(const char *name)
{
	return type_named(registry(), name);
}

const struct event_type *event_type_at(unsigned int index)
{
	const struct registry *r = registry();

	return index < r->nr ? r->type[index] : NULL;
}

void event_types_forget(void)
{
	struct registry *r = registry();

	while (r->nr > NR_OURS)
		type_free(r->type[--r->nr]);
	r->bytes = 0;
	indexes_clear(r);
	for (unsigned int i = 0; i < r->nr; i++)
		index_add(r, r->type[i]);
}

unsigned int event_types_count(void)
{
	return registry()->nr;
}

const struct field *event_field(const struct event_type *type, const char *name)
{
	return array_find(type->fields, type->nr_fields, i, !strcmp(type->fields[i].name, name));
}

uint64_t event_u64_of(const struct event *ev, const struct field *f)
{
	uint64_t v = 0;

	if (f->kind > FIELD_SINT || f->offset + f->size > ev->size)
		return 0;
	memcpy(&v, ev->data + f->offset, f->size);
	if (f->kind == FIELD_SINT && f->size < 8) {
		unsigned int shift = 64 - 8u * f->size;

		v = (uint64_t)((int64_t)(v << shift) >> shift);
	}
	return v;
}

const char *event_text(const struct event *ev, const struct field *f, char *buf, size_t size)
{
	size_t from = f->offset, len = f->size;

	buf[0] = 0;
	if (f->kind == FIELD_DYNTEXT) {
		uint32_t loc = 0;

		if (f->offset + 4u > ev->size)
			return buf;
		memcpy(&loc, ev->data + f->offset, 4);
		from = loc & 0xffff;
		len = loc >> 16;
	} else if (f->kind != FIELD_TEXT) {
		return buf;
	}
	if (from > ev->size)
		return buf;
	if (len > ev->size - from)
		len = ev->size - from;
	len = strnlen((const char *)ev->data + from, len);
	if (len > size - 1)
		len = size - 1;
	memcpy(buf, ev->data + from, len);
	buf[len] = 0;
	return buf;
}
