/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of ours as the structs that events.def declares: what analyzers read.
 *
 *	RECORD(kvm_exit, exit, ev);            const struct rec_kvm_exit *exit
 *	if (record_has(ev, kvm_exit, reason))
 *		count(exit->reason);
 *
 * A recording has its own schema: that of an older or newer hostrace, of a kernel whose tracepoint lacks a field, of a
 * text file. So a type's fields are looked up by name once, when it is registered (event_type_register()), and the
 * result is kept with the type: which of our fields it has (`present`), where each is (`bound`), and whether its
 * records begin with exactly our struct (`direct`). Nothing is looked up when an event is read: a direct record is the
 * struct itself, in the reader's memory; of any other type each field that it has is copied into a struct of the
 * caller's.
 *
 * A field that the recording lacks reads as 0 or "", which is not a value: where it matters, ask record_has(), and
 * report "not recorded". A misspelt field or event does not compile, and values have the types of events.def.
 *
 * Other systems' events (a guest's sched_switch, ...) are bound the same way: guest_fields.h.
 */
#ifndef HOSTRACE_RECORDS_H
#define HOSTRACE_RECORDS_H

#include <string.h>

#include "event/event.h"

/* struct index_kvm_exit { char rip, info1, ...; }: the offset of a field is its index among the event's fields. */
#define EVENT(id, name, doc)	     struct index_##name {
#define FIELD(type, field, fmt, doc) char field;
#define TEXT(len, field, doc)	     char field;
#define PAD(bytes)
#define END(name)		     };
#include "events.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END

/*
 * extra_fields.def: struct extra_kvm_exit { hr_u64 requests; ... }, behind struct rec_kvm_exit in records of other
 * recordings; struct extra_index_kvm_exit { char requests, ... }.
 */
#define EXTRAS(event)		     struct extra_##event {
#define EXTRA(type, field, fmt, doc) hr_##type field;
#define EXTRAS_END(event)	     };
#include "event/extra_fields.def"
#undef EXTRAS
#undef EXTRA
#define EXTRAS(event)		     struct extra_index_##event {
#define EXTRA(type, field, fmt, doc) char field;
#include "event/extra_fields.def"
#undef EXTRAS
#undef EXTRA
#undef EXTRAS_END

/* Bit of a field in a mask of present ones. */
#define RECORD_BIT(event, field) (UINT64_C(1) << offsetof(struct index_##event, field))

/* The same of an extra field: they follow those of the event. */
#define EXTRA_INDEX(event, field)                                                                  \
	(sizeof(struct index_##event) + offsetof(struct extra_index_##event, field))
#define EXTRA_BIT(event, field)	   (UINT64_C(1) << EXTRA_INDEX(event, field))
#define EXTRA_OFFSET(event, field)                                                                 \
	(sizeof(struct rec_##event) + offsetof(struct extra_##event, field))

/* Does the recording have the field? The event must be of this type. */
#define record_has(ev, event, field) (((ev)->type->present & RECORD_BIT(event, field)) != 0)

/* Declares a pointer to the event's record, and the memory for a copy of it. The event must be of this type. */
#define RECORD(event, name, ev)                                                                    \
	struct rec_##event name##_copy;                                                            \
	const struct rec_##event *name = record_##event(ev, &name##_copy)

/* Copies a text field of a record into an array, at most its size - 1 bytes and a NUL, sanitized. Returns the array. */
#define RECORD_TEXT(record, field, array)                                                          \
	record_text((record)->field, sizeof((record)->field), array, sizeof(array))

/* Fills a zeroed record of `size` bytes with what the event has. Returns it; 0 everywhere if the type is another. */
const void *record_copy(const struct event *ev, unsigned int id, void *record, size_t size);

static inline const void *record_of(const struct event *ev, unsigned int id, void *copy,
				    size_t size)
{
	if (ev->type->direct == id && ev->size >= size && !((uintptr_t)ev->data % 8))
		return ev->data;
	return record_copy(ev, id, copy, size);
}

/* const struct rec_kvm_exit *record_kvm_exit(const struct event *ev, struct rec_kvm_exit *copy) ... */
#define EVENT(id, name, doc)                                                                       \
	static inline const struct rec_##name *record_##name(const struct event *ev,               \
							     struct rec_##name *copy)              \
	{                                                                                          \
		return record_of(ev, id, copy, sizeof(*copy));                                     \
	}
#define FIELD(type, field, fmt, doc)
#define TEXT(len, field, doc)
#define PAD(bytes)
#define END(name)
#include "events.def"
#undef EVENT
#undef FIELD
#undef TEXT
#undef PAD
#undef END

/* The same, with the sizes. The record is untrusted: its text may lack the NUL. */
char *record_text(const char *text, size_t text_size, char *buf, size_t size);

/* The call stack of a sched_holder or sched_stack, sanitized; "" if there is none. Returns buf. */
const char *record_stack(const struct event *ev, char *buf, size_t size);

/* The extra fields of the event; *ret_nr may be 0. */
const struct field *event_extra_fields(unsigned int id, unsigned int *ret_nr);

/*
 * The type of a reader's records that are our struct `id`, and the extra fields behind it if there are any, zero in
 * those fields that are not in the mask `present`. NULL: there are too many types, or no memory.
 */
const struct event_type *event_type_with(unsigned int id, uint64_t present);

/*
 * The fields that mean something in a record that is our struct `id`, of those in `present`. KVM_RUN that failed leaves
 * the reason of an earlier exit in kvm_userspace_exit.
 */
static inline uint64_t record_fields(unsigned int id, const void *record, uint64_t present)
{
	const struct rec_kvm_userspace_exit *exit = record;

	return id == EV_kvm_userspace_exit && exit->error < 0
		       ? present & ~RECORD_BIT(kvm_userspace_exit, reason)
		       : present;
}

/* Does record_fields() depend on the record? */
static inline bool record_fields_vary(unsigned int id)
{
	return id == EV_kvm_userspace_exit;
}

enum { EVENT_SHAPES_MAX = 16 };

/* The types of one event's records in an input, by the fields that they have. */
struct event_shapes {
	struct event_shape {
		uint64_t present;
		const struct event_type *type;
	} shape[EVENT_SHAPES_MAX];
	unsigned int nr;
};

/*
 * event_type_with(), kept. An input has an event in few shapes; one with more is damaged, and its other records count
 * as complete: `whole` is returned, as where event_type_with() fails.
 */
const struct event_type *event_shape_type(struct event_shapes *s, const struct event_type *whole,
					  uint64_t present);

/* The type of a record of the type `whole`, with record_fields() only. Records of another layout than ours keep it. */
static inline const struct event_type *record_type(struct event_shapes *s,
						   const struct event_type *whole,
						   const void *record)
{
	uint64_t present;

	if (!record_fields_vary(whole->id) || whole->direct != whole->id)
		return whole;
	present = record_fields(whole->id, record, whole->present);
	return present == whole->present ? whole : event_shape_type(s, whole, present);
}

/* ---- for the registry ---- */

/*
 * Sets present, bound and direct of a type by those of ours with its name. `bound` is memory for as many pointers as
 * ours has fields.
 */
void record_bind(struct event_type *type, const struct event_type *ours,
		 const struct field **bound);

#endif
