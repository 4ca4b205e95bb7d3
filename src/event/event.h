/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event, and the registry of event types.
 *
 * Types come from three sources and look the same to all users: ours (bpf/events.def), the schema that a trace
 * file carries (which may be older or newer than this program), and guests' and peers' traces, whose readers
 * register what their metadata declares ("osv:vfs_pwritev", "guest:sched_switch"). Code that needs a field of ours
 * reads it as a struct member (records.h); code that works on any field looks it up by name once per type. The registry
 * is process-wide by design, like a table of interned names: it only grows, and equal types of all inputs share one
 * address and index.
 */
#ifndef HOSTRACE_EVENT_H
#define HOSTRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record.h"

enum field_kind {
	FIELD_UINT,   /* little-endian, 1, 2, 4 or 8 bytes */
	FIELD_SINT,   /* the same, two's complement */
	FIELD_TEXT,   /* NUL-terminated within `size` bytes */
	FIELD_DYNTEXT /* u32: offset in the record | length << 16, as ftrace's __data_loc */
};

enum {
	EVENT_FIELDS_MAX = 64,	  /* fields of one type; a schema with more is rejected */
	EVENT_TYPES_MAX = 16384,  /* types of one run, over all inputs */
	EVENT_TYPES_BYTES = 24 << 20, /* of memory, for those that the inputs bring */
	EVENT_NAME_MAX = 128,	  /* bytes of a type's or field's name, with its NUL */
	EVENT_RECORD_MAX = 65528, /* bytes of one record, header included */
};

struct field {
	const char *name, *fmt, *doc; /* fmt: the printer, see field_print() */
	enum field_kind kind;
	uint16_t offset, size; /* within the record, header included */
	uint8_t printer;       /* number of that printer; set when the type is registered, 0: see fmt */
};

struct event_type {
	const char *name, *doc;
	const struct field *fields;
	uint16_t nr_fields;
	uint16_t size;	/* of a whole record of fixed size; longer records end in dynamic text */
	uint16_t index; /* in the registry: dense from 0, for tables of one's own */
	uint16_t id;	/* EV_* where it is one of ours (same name), else 0 */
	uint8_t guest, kernel; /* enum guest_event, by its name: of a guest; of a guest or host. See guest_fields.h */
	/* Set when it is registered, for records.h and guest_fields.h: */
	uint16_t direct;  /* EV_*: its records are that struct; 0: they are not */
	uint64_t present; /* which fields of ours it has, a bit each */
	const struct field *const *bound; /* by the same index: its own field, NULL: absent */
};

enum { EVENT_FLAGS_MAX = 8 };

/*
 * One event in a batch. `data` is the whole record, header included, `size` bytes; it belongs to the reader and
 * is valid until the reader's next call. Header fields are already removed.
 */
struct event {
	uint64_t time_ns; /* host CLOCK_MONOTONIC, after alignment */
	const struct event_type *type;
	const uint8_t *data;
	uint32_t pid, tid;
	uint16_t size, cpu, vcpu; /* RECORD_CPU_UNKNOWN: not recorded; RECORD_NO_VCPU: none */
	uint16_t source;	  /* which input, 0 the first; see struct trace_info */
	/*
	 * ftrace's latency flags, "dNh2.": irqs off, need-resched, in a hard or soft irq, preempt depth, depth of
	 * migrate_disable(); a dot is none of it. "": not recorded, as in our own recordings.
	 */
	char flags[EVENT_FLAGS_MAX];
	uint64_t guest_ns; /* of an aligned guest's event: the time that the guest recorded; else undefined */
};

/*
 * Registers a type and returns the registry's own: the existing one if name, size and fields are the same as
 * those of a registered type, else a copy (names and fields included). At most EVENT_TYPES_MAX of EVENT_TYPES_BYTES.
 * Errors: -EINVAL (a field outside the record, a bad size or kind), -E2BIG; the error message is set.
 */
int event_type_register(const struct event_type *type, const struct event_type **ret);

/* Ours by id; NULL if there is no such event. */
const struct event_type *event_type_ours(unsigned int id);

/*
 * Fields with the format "event" name a type by its number: its id if it is ours, else EVENT_NUMBERS_FIRST + its index
 * here. In a file it is the file's id, from RECORD_DECLARED_FIRST on: readers and writers convert it. NULL: none has
 * this number.
 */
enum { EVENT_NUMBERS_FIRST = 1 << 16, EVENT_UNDECLARED = EVENT_NUMBERS_FIRST - 1 };
uint32_t event_type_number(const struct event_type *type);
const struct event_type *event_type_numbered(uint64_t number);

/* Has it such fields? */
bool event_type_names_types(const struct event_type *type);

/* Replaces the number of a type in each such field of the record by convert()'s, if it is not one of ours. */
void event_type_numbers_convert(const struct event_type *type, uint8_t *record,
				uint32_t (*convert)(void *arg, uint64_t number), void *arg);

/* The first type of this name, ours first; NULL if none. */
const struct event_type *event_type_named(const char *name);

/* By registry index, 0 <= index < event_types_count(). */
const struct event_type *event_type_at(unsigned int index);
unsigned int event_types_count(void);

/* Frees the types that inputs brought: for a program that reads many unrelated inputs one after another (fuzzing). */
void event_types_forget(void);

/* NULL if the type has no such field. */
const struct field *event_field(const struct event_type *type, const char *name);

/* For event_u64(): of any length, sign-extended. */
uint64_t event_u64_of(const struct event *ev, const struct field *f);

/* The value of an integer field, sign-extended where it is signed. 0 for text and for a record too short. */
static inline uint64_t event_u64(const struct event *ev, const struct field *f)
{
	uint64_t wide;
	uint32_t half;

	if (f->kind != FIELD_UINT || f->offset + f->size > ev->size)
		return event_u64_of(ev, f);
	if (f->size == sizeof(wide))
		return memcpy(&wide, ev->data + f->offset, sizeof(wide)), wide;
	if (f->size == sizeof(half))
		return memcpy(&half, ev->data + f->offset, sizeof(half)), half;
	return event_u64_of(ev, f);
}

/* The text of a text field, never more than size - 1 bytes, copied into buf with its NUL. Returns buf. */
const char *event_text(const struct event *ev, const struct field *f, char *buf, size_t size);

/*
 * Prints a field's value for people, by its fmt: dec, hex, addr, reason, ... Escape sequences and other control
 * bytes of text are replaced. Returns buf.
 */
const char *field_print(const struct event *ev, const struct field *f, char *buf, size_t size);

/* What the values of a field are for programs: numbers, numbers that have names, or addresses and the like. */
enum field_class { FIELD_PLAIN, FIELD_NAMED, FIELD_HEX };
enum field_class field_class(const struct field *f);

/* The number of the printer `fmt`; that of "dec" if there is no such printer. */
uint8_t field_printer(const char *fmt);

/* The same for a value alone: `fmt` as in events.def; `aux` is what it depends on (reason: the isa). */
const char *value_print(const char *fmt, uint64_t value, uint64_t aux, char *buf, size_t size);

/* Replaces characters that are controls or not shown, and broken UTF-8, in place: hostile names reach terminals. */
void text_sanitize(char *text);

/* Bytes of the well-formed UTF-8 sequence that the text begins with (Unicode 15, table 3-7); 0: it begins with none. */
size_t utf8_sequence(const char *text);

#endif
