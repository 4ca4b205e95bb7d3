// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One event's description (tracefs's events/SYSTEM/NAME/format) becomes a type of ours: libtraceevent parses the text,
 * and each field that has an equivalent keeps its offset, after our record's header. So a record is the header and
 * the kernel's bytes; only the words that place dynamic texts count from the record's head instead of the entry's.
 */
#include <ctype.h>
#include <errno.h>
#include <traceevent/event-parse.h>

#include "base/error.h"
#include "readers/ftrace/ftrace_kvm.h"
#include "readers/ftrace/kernel_events.h"

enum {
	HEAD = sizeof(struct record_hdr),
	ARRAY_FIELDS_MAX = 8, /* elements of an array that become fields: args[6] -> args0 ... args5 */
};

/* ---- the text ---- */

static unsigned int print_facts(const char *print)
{
	return (strstr(print, "\"K\"") ? FTRACE_PRINT_OWN_STATE : 0) |
	       (strstr(print, "1, \"SERROR\"") ? FTRACE_PRINT_SERROR : 0);
}

/*
 * The print format is not needed (but see print_facts()), and it is the part that requires a parser of C expressions:
 * it is replaced by an empty one.
 */
char *ftrace_text_take(const char *text, size_t len, unsigned int *ret_print)
{
	static const char empty[] = "print fmt: \"\"\n";
	char *copy = malloc(len + sizeof(empty)), *print;

	if (!copy)
		return NULL;
	memcpy(copy, text, len);
	copy[len] = '\0';
	print = strstr(copy, "print fmt:");
	*ret_print = print ? print_facts(print) : 0;
	strcpy(print ? print : copy + strlen(copy), empty);
	return copy;
}

unsigned int ftrace_text_id(const char *text)
{
	const char *id = strstr(text, "\nID:");

	return id ? (unsigned int)strtoul(id + 4, NULL, 10) : FTRACE_IDS;
}

/* libtraceevent (1.7) follows a null pointer if there is no word after a '[': other characters, or the text's end. */
static bool is_parseable(const char *text)
{
	const char *open = strrchr(text, '[');

	for (const char *p = text; *p; p++)
		if (!isprint((unsigned char)*p) && !isspace((unsigned char)*p))
			return false;
	return !open || open[1 + strspn(open + 1, " \t\n\v\f\r")];
}

struct tep_handle *ftrace_text_parse(const char *text, const char *system, int id,
				     struct tep_event **ret)
{
	struct tep_handle *tep = tep_alloc();

	*ret = NULL;
	if (!tep)
		return NULL;
	tep_set_long_size(tep, 8);
	if (is_parseable(text) && !tep_parse_event(tep, text, strlen(text), system))
		*ret = tep_find_event(tep, id);
	if (*ret)
		return tep;
	tep_free(tep);
	return NULL;
}

/* ---- fields ---- */

struct making {
	struct field field[EVENT_FIELDS_MAX];
	char names[EVENT_FIELDS_MAX][64];
	unsigned int nr;
	size_t end; /* of the furthest field, in the record */
	const char *system, *event;
};

static const char *printer_of(const struct tep_format_field *f)
{
	if (f->flags & TEP_FIELD_IS_ARRAY && f->elementsize == 8 && !strcmp(f->name, "caller"))
		return "frame";
	if (f->flags & TEP_FIELD_IS_POINTER)
		return "addr";
	if (!strcmp(f->type, "dev_t"))
		return "device";
	return f->flags & TEP_FIELD_IS_LONG && !(f->flags & TEP_FIELD_IS_SIGNED) ? "hex" : "dec";
}

static void field_add(struct making *m, const struct tep_format_field *f, int index,
		      enum field_kind kind, size_t offset, size_t size)
{
	char *name = m->names[m->nr];

	if (m->nr == EVENT_FIELDS_MAX || offset + size > FTRACE_PAGE_MAX / 32)
		return;
	if (index < 0)
		snprintf(name, sizeof(m->names[0]), "%.60s",
			 kernel_field_renamed(m->system, f->name));
	else
		snprintf(name, sizeof(m->names[0]), "%.52s%d", f->name, index);
	text_sanitize(name);
	m->field[m->nr++] = (struct field){.name = name,
					   .fmt = kind == FIELD_TEXT || kind == FIELD_DYNTEXT
							  ? "text"
							  : printer_of(f),
					   .doc = "",
					   .kind = kind,
					   .offset = (uint16_t)(HEAD + offset),
					   .size = (uint16_t)size};
	if (HEAD + offset + size > m->end)
		m->end = HEAD + offset + size;
}

/*
 * The kernel's backtraces (kernel_stack, user_stack) say "caller[8]", which is only how many its own format prints: the
 * record ends with as many as there are.
 */
static bool is_backtrace(const char *event, const struct tep_format_field *array)
{
	return !array->next && array->elementsize == 8 && !strcmp(array->name, "caller") &&
	       strstr(event, "_stack");
}

static bool is_integer(int size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* Fields without an equivalent in our types (structures, long arrays) stay in the record and are not shown. */
static void field_take(struct ftrace_format *to, struct making *m,
		       const struct tep_format_field *f)
{
	enum field_kind number = f->flags & TEP_FIELD_IS_SIGNED ? FIELD_SINT : FIELD_UINT;
	int nr = f->elementsize > 0 ? f->size / f->elementsize : 0;
	int most = ARRAY_FIELDS_MAX;

	if (is_backtrace(m->event, f))
		nr = most = (int)(EVENT_FIELDS_MAX - m->nr);
	if (f->offset < 0 || f->size <= 0 || f->offset > FTRACE_PAGE_MAX ||
	    f->size > FTRACE_PAGE_MAX)
		return;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		if (!(f->flags & TEP_FIELD_IS_STRING) || f->size != 4 || m->nr == EVENT_FIELDS_MAX)
			return;
		to->dyn[to->nr_dyn].place = (uint16_t)(HEAD + f->offset);
		to->dyn[to->nr_dyn++].relative = f->flags & TEP_FIELD_IS_RELATIVE;
		field_add(m, f, -1, FIELD_DYNTEXT, (size_t)f->offset, 4);
	} else if (f->flags & TEP_FIELD_IS_ARRAY) {
		if (f->flags & TEP_FIELD_IS_STRING && (f->elementsize <= 1 || nr == f->size))
			field_add(m, f, -1, FIELD_TEXT, (size_t)f->offset, (size_t)f->size);
		else if (is_integer((int)f->elementsize) && nr <= most)
			for (int i = 0; i < nr; i++)
				field_add(m, f, i, number,
					  (size_t)f->offset + (size_t)i * f->elementsize,
					  f->elementsize);
	} else if (is_integer(f->size)) {
		field_add(m, f, -1, number, (size_t)f->offset, (size_t)f->size);
	}
}

int ftrace_format_make(const char *prefix, const struct tep_event *event, struct ftrace_format *ret)
{
	_cleanup_free_ struct making *m = calloc(1, sizeof(*m));
	char name[2 * EVENT_NAME_MAX];

	if (!m)
		return fail(-ENOMEM, "out of memory");
	m->end = HEAD + FTRACE_COMMON;
	m->system = event->system;
	m->event = event->name;
	for (struct tep_format_field *f = event->format.fields; f; f = f->next)
		field_take(ret, m, f);
	snprintf(name, sizeof(name), "%.60s:%.60s", prefix, event->name);
	text_sanitize(name);
	return event_type_register(&(struct event_type){.name = name,
							.doc = event->system,
							.fields = m->field,
							.nr_fields = (uint16_t)m->nr,
							.size = (uint16_t)((m->end + 7) & ~7ul)},
				   &ret->type);
}

int ftrace_format_read(const char *system, const char *text, size_t len, struct ftrace_format *ret)
{
	unsigned int print;
	_cleanup_free_ char *copy = ftrace_text_take(text, len, &print);
	struct tep_event *event;
	struct tep_handle *tep;
	int err;

	*ret = (struct ftrace_format){0};
	if (!copy)
		return fail(-ENOMEM, "out of memory");
	tep = ftrace_text_parse(copy, system, (int)ftrace_text_id(copy), &event);
	if (!tep)
		return fail(-EBADMSG, "unknown format");
	err = ftrace_format_make(system, event, ret);
	tep_free(tep);
	return err;
}

/* ---- records ---- */

/* ftrace's offsets count from its own entry (or from the word's end), ours from the record's head. */
void ftrace_format_move(const struct ftrace_format *f, uint8_t *record, size_t size)
{
	for (unsigned int i = 0; i < f->nr_dyn; i++) {
		size_t place = f->dyn[i].place, from;
		uint32_t loc = 0;

		if (place + 4 > size)
			continue;
		memcpy(&loc, record + place, 4);
		from = (loc & 0xffff) + (f->dyn[i].relative ? place + 4 : HEAD);
		loc = from > 0xffff || from > size ? 0 : (loc & 0xffff0000) | (uint32_t)from;
		memcpy(record + place, &loc, 4);
	}
}
