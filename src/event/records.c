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

void record_bind(struct event_type *type, const struct event_type *ours,
		 const struct field **bound)
{
	unsigned int in_place = 0;

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
	type->direct = type->size == ours->size && in_place == type->nr_fields ? ours->id : 0;
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

const struct event_type *event_type_with(unsigned int id, uint64_t present)
{
	const struct event_type *ours = event_type_ours(id), *made;
	struct field fields[EVENT_FIELDS_MAX];
	struct event_type type = *ours;

	if ((present & ours->present) == ours->present)
		return ours;
	type.fields = fields;
	type.nr_fields = 0;
	for (unsigned int i = 0; i < ours->nr_fields; i++)
		if (present >> i & 1)
			fields[type.nr_fields++] = ours->fields[i];
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
