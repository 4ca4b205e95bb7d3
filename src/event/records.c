// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Binds the fields of an input's schema to ours by name, when a type is registered; a record whose layout differs is
 * copied field by field.
 */
#include "event/records.h"

static bool is_text(const struct field *f)
{
	return f->kind == FIELD_TEXT || f->kind == FIELD_DYNTEXT;
}

static bool same_place(const struct field *a, const struct field *b)
{
	return a->kind == b->kind && a->offset == b->offset && a->size == b->size;
}

#define KIND_u32 FIELD_UINT
#define KIND_u64 FIELD_UINT
#define EXTRAS(event) static const struct field extras_##event[] = {
#define EXTRA(type, field, fmt, doc) {#field, #fmt, doc, KIND_##type, 0, sizeof(hr_##type), 0},
#define EXTRAS_END(event) };
#include "event/extra_fields.def"
#undef EXTRAS
#undef EXTRA
#undef EXTRAS_END

#define EXTRAS(event)                                                                              \
	case EV_##event:                                                                           \
		*ret_nr = sizeof(struct extra_index_##event);                                      \
		return extras_##event;
#define EXTRA(type, field, fmt, doc)
#define EXTRAS_END(event)
const struct field *event_extra_fields(unsigned int id, unsigned int *ret_nr)
{
	switch (id) {
#include "event/extra_fields.def"
	default:
		*ret_nr = 0;
		return NULL;
	}
}
#undef EXTRAS
#undef EXTRA
#undef EXTRAS_END

/* Fields that are not ours, or of another kind: where ours are not. */
static bool is_behind(const struct field *f, const struct event_type *ours)
{
	return f->offset >= ours->size;
}

void record_bind(struct event_type *type, const struct event_type *ours,
		 const struct field **bound)
{
	unsigned int in_place = 0, behind = 0;

	_Static_assert(EVENT_FIELDS_MAX <= 64, "a bit for each field");
	type->present = 0;
	for (unsigned int i = 0; i < ours->nr_fields; i++) {
		const struct field *own = &ours->fields[i], *f = event_field(type, own->name);

		bound[i] = f && is_text(f) == is_text(own) ? f : NULL;
		if (!bound[i])
			continue;
		type->present |= UINT64_C(1) << i;
		in_place += same_place(f, own);
	}
	type->bound = bound;
	/* Other bytes of the record, where ours has a field, must be zero: a reader's that event_type_with() made. */
	for (unsigned int i = 0; i < type->nr_fields; i++)
		behind += is_behind(&type->fields[i], ours);
	type->direct =
		type->size >= ours->size && in_place + behind == type->nr_fields ? ours->id : 0;
}

static void field_copy(const struct event *ev, const struct field *from, const struct field *own,
		       uint8_t *record)
{
	uint64_t value;

	if (is_text(own)) {
		event_text(ev, from, (char *)record + own->offset, own->size);
		return;
	}
	value = event_u64(ev, from);
	memcpy(record + own->offset, &value, own->size);
}

const void *record_copy(const struct event *ev, unsigned int id, void *record, size_t size)
{
	const struct event_type *ours = event_type_ours(id);

	memset(record, 0, size);
	for (unsigned int i = 0; ev->type->id == id && i < ours->nr_fields; i++)
		if (ev->type->bound[i])
			field_copy(ev, ev->type->bound[i], &ours->fields[i], record);
	return record;
}

char *record_text(const char *text, size_t text_size, char *buf, size_t size)
{
	size_t len = strnlen(text, text_size < size ? text_size : size - 1);

	memcpy(buf, text, len);
	buf[len] = '\0';
	text_sanitize(buf);
	return buf;
}

const char *record_stack(const struct event *ev, char *buf, size_t size)
{
	if (ev->type->id == EV_sched_holder) {
		RECORD(sched_holder, holder, ev);
		return record_text(holder->stack, sizeof(holder->stack), buf, size);
	}
	RECORD(sched_stack, stack, ev);
	return record_text(stack->stack, sizeof(stack->stack), buf, size);
}

/* Adds the extra fields of the mask behind those of ours. */
static void extras_add(struct event_type *type, struct field *fields, uint64_t present)
{
	const struct event_type *ours = event_type_ours(type->id);
	unsigned int nr, at = ours->size;
	const struct field *extra = event_extra_fields(type->id, &nr);

	for (unsigned int i = 0; i < nr; at += extra[i++].size) {
		if (!(present >> (ours->nr_fields + i) & 1))
			continue;
		fields[type->nr_fields] = extra[i];
		fields[type->nr_fields++].offset = (uint16_t)at;
		type->size = (uint16_t)((at + extra[i].size + 7) & ~7u);
	}
}

const struct event_type *event_type_with(unsigned int id, uint64_t present)
{
	const struct event_type *ours = event_type_ours(id), *made;
	struct field fields[EVENT_FIELDS_MAX];
	struct event_type type = *ours;
	unsigned int nr;

	event_extra_fields(id, &nr);
	if ((present & ours->present) == ours->present &&
	    !(present >> ours->nr_fields & ((UINT64_C(1) << nr) - 1)))
		return ours;
	type.fields = fields;
	type.nr_fields = 0;
	for (unsigned int i = 0; i < ours->nr_fields; i++)
		if (present >> i & 1)
			fields[type.nr_fields++] = ours->fields[i];
	extras_add(&type, fields, present);
	return event_type_register(&type, &made) ? NULL : made;
}

const struct event_type *event_shape_type(struct event_shapes *s, const struct event_type *whole,
					  uint64_t present)
{
	const struct event_type *type;

	for (unsigned int i = 0; i < s->nr; i++)
		if (s->shape[i].present == present)
			return s->shape[i].type;
	type = s->nr < EVENT_SHAPES_MAX ? event_type_with(whole->id, present) : NULL;
	if (!type)
		return whole;
	s->shape[s->nr++] = (struct event_shape){present, type};
	return type;
}
