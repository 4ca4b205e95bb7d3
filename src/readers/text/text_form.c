// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events of the block layer and of interrupts from text: "254,0 RS 4096 () 65536 + 8 [dd]" (of KVM: text_fields.c). A
 * pattern of readers/ftrace/kernel_events.def, "{dev} {rwbs} ...", becomes a record with the kernel's fields, as
 * trace.dat and perf.data have it. What no pattern fits (trace-cmd report -R) remains a line of text.
 */
#include "event/event.h"
#include "readers/text/lines.h"
#include "readers/text/tracetext.h"

enum { FORM_RECORD_BYTES = 512 };

static const char *dev_parse(const char *p, uint64_t *ret)
{
	uint64_t major = text_decimal(&p);

	p += *p == ',';
	*ret = major << 20 | text_decimal(&p);
	return p;
}

/* Of IOPRIO_PRIO_VALUE(): "be,0,4" is the class, the hint and the level. */
static const char *ioprio_parse(const char *p, uint64_t *ret)
{
	static const struct {
		const char *name;
		unsigned int number;
	} classes[] = {{"none", 0}, {"rt", 1}, {"be", 2}, {"idle", 3}, {"invalid", 7}};
	size_t len = strcspn(p, ",\n"), i = 0;
	const char *number = p;
	uint64_t class = text_number(&number);

	while (i < sizeof(classes) / sizeof(classes[0]) &&
	       (strlen(classes[i].name) != len || memcmp(p, classes[i].name, len)))
		i++;
	class = i < sizeof(classes) / sizeof(classes[0]) ? classes[i].number : class;
	p += len;
	p += *p == ',';
	*ret = class << 13 | text_decimal(&p) << 3;
	p += *p == ',';
	*ret |= text_decimal(&p);
	return p;
}

static const char *number_parse(const char *p, uint64_t *ret)
{
	*ret = text_number(&p);
	return p;
}

/* After "0x1f" may be " (31)", as tracefs prints it with options/fields. */
static const char *decimal_skip(const char *value, const char *p)
{
	const char *end = p + 2 + (p[0] == ' ' && p[1] == '(' && p[2] == '-');

	if (value[0] != '0' || value[1] != 'x' || p[0] != ' ' || p[1] != '(')
		return p;
	while (text_is_digit(*end))
		end++;
	return *end == ')' ? end + 1 : p;
}

static const char *ret_parse(const char *p, uint64_t *ret)
{
	size_t len = strcspn(p, " \n");

	if (text_is_digit(*p))
		return number_parse(p, ret);
	*ret = len == 7 && !memcmp(p, "handled", len);
	return p + len;
}

/* "true", or a number. */
static const char *bool_parse(const char *p, uint64_t *ret)
{
	size_t len = strspn(p, "truefals");

	if (text_is_digit(*p))
		return number_parse(p, ret);
	*ret = len == 4 && !memcmp(p, "true", len);
	return *ret || (len == 5 && !memcmp(p, "false", len)) ? p + len : p;
}

/* In the order that all formats have them in. */
static const struct form_field {
	const char *name, *fmt;
	enum field_kind kind;
	uint16_t size;
	const char *(*parse)(const char *p, uint64_t *ret);
} fields[] = {
	{"dev", "device", FIELD_UINT, 4, dev_parse},
	{"sector", "dec", FIELD_UINT, 8, number_parse},
	{"nr_sector", "dec", FIELD_UINT, 4, number_parse},
	{"bytes", "dec", FIELD_UINT, 4, number_parse},
	{"error", "dec", FIELD_SINT, 4, number_parse},
	{"ioprio", "dec", FIELD_UINT, 2, ioprio_parse},
	{"rwbs", "text", FIELD_TEXT, 16, NULL},
	{"comm", "text", FIELD_TEXT, 16, NULL},
	{"cmd", "text", FIELD_TEXT, 64, NULL},
	{"parent_comm", "text", FIELD_TEXT, 16, NULL},
	{"parent_pid", "dec", FIELD_SINT, 4, number_parse},
	{"child_comm", "text", FIELD_TEXT, 16, NULL},
	{"child_pid", "dec", FIELD_SINT, 4, number_parse},
	{"filename", "text", FIELD_TEXT, 128, NULL},
	{"pid", "dec", FIELD_SINT, 4, number_parse},
	{"old_pid", "dec", FIELD_SINT, 4, number_parse},
	{"prio", "dec", FIELD_SINT, 4, number_parse},
	{"group_dead", "dec", FIELD_UINT, 1, bool_parse},
	{"target_cpu", "dec", FIELD_SINT, 4, number_parse},
	{"orig_cpu", "dec", FIELD_SINT, 4, number_parse},
	{"dest_cpu", "dec", FIELD_SINT, 4, number_parse},
	{"irq", "dec", FIELD_SINT, 4, number_parse},
	{"ret", "dec", FIELD_SINT, 4, ret_parse},
	{"vec", "dec", FIELD_UINT, 4, number_parse},
	{"name", "text", FIELD_TEXT, 64, NULL},
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]) };

/* "{rwbs} ..." at *pattern, which is set behind it; its index. */
static unsigned int field_take(const char **pattern)
{
	const char *name = *pattern + 1;
	size_t len = strcspn(name, "}");
	unsigned int i = 0;

	while (i < FIELDS && (strlen(fields[i].name) != len || memcmp(fields[i].name, name, len)))
		i++;
	*pattern = name + len + 1;
	return i;
}

/* Where each field is in a record with those of the pattern; its size. */
static uint16_t layout_make(const char *pattern, uint16_t offset[FIELDS])
{
	uint16_t at = sizeof(struct record_hdr);

	memset(offset, 0, FIELDS * sizeof(*offset));
	while (*(pattern += strcspn(pattern, "{")))
		offset[field_take(&pattern)] = 1;
	for (unsigned int i = 0; i < FIELDS; i++) {
		uint16_t align = fields[i].parse ? fields[i].size : 1;

		if (!offset[i])
			continue;
		at = (uint16_t)((at + align - 1) / align * align);
		offset[i] = at;
		at = (uint16_t)(at + fields[i].size);
	}
	return (uint16_t)((at + 7) & ~7);
}

const struct event_type *text_form_type(const struct kernel_text *form, bool guest)
{
	if (form->of_kvm)
		return text_fields_type(form, guest, UINT64_MAX);
	char name[EVENT_NAME_MAX];
	struct field field[FIELDS];
	uint16_t offset[FIELDS];
	struct event_type type = {.name = name, .doc = form->system, .fields = field};
	const struct event_type *made;

	type.size = layout_make(form->pattern, offset);
	for (unsigned int i = 0; i < FIELDS; i++)
		if (offset[i])
			field[type.nr_fields++] = (struct field){.name = fields[i].name,
								 .fmt = fields[i].fmt,
								 .doc = "",
								 .kind = fields[i].kind,
								 .offset = offset[i],
								 .size = fields[i].size};
	snprintf(name, sizeof(name), "%s:%s", guest ? "guest" : form->system, form->name);
	return event_type_register(&type, &made) ? NULL : made;
}

/*
 * The end of a text value at p: before the pattern's next words; of the last value, before those that end the text. A
 * name that is followed by a colon may have colons: "kworker/0:2:2966 [120]".
 */
static const char *value_end(const char *p, const char *end, const char *pattern)
{
	size_t len = strcspn(pattern, "{");
	const char *word;

	if (!pattern[len])
		return (size_t)(end - p) >= len && !memcmp(end - len, pattern, len) ? end - len
										   : NULL;
	if (*pattern == ':') {
		word = memmem(p, (size_t)(end - p), " [", 2);
		return word ? memrchr(p, ':', (size_t)(word - p)) : NULL;
	}
	word = memmem(p, (size_t)(end - p), pattern, len);
	return word;
}

/* The value of this field at p; its end, NULL: it is none. */
static const char *value_put(const struct form_field *f, const char *p, const char *end,
			     const char *pattern, uint8_t *to)
{
	uint64_t value;
	const char *after;

	if (f->parse) {
		after = f->parse(p, &value);
		memcpy(to, &value, f->size);
		return after > p && text_number_ends(after) ? decimal_skip(p, after) : NULL;
	}
	after = value_end(p, end, pattern);
	if (after)
		memcpy(to, p, (size_t)(after - p) < f->size ? (size_t)(after - p) : f->size - 1u);
	return after;
}

static bool block_fill(const struct kernel_text *form, struct text_slice text, uint8_t *record)
{
	const char *pattern = form->pattern, *p = text.at, *end = p + text.len;
	uint16_t offset[FIELDS];
	unsigned int i;

	memset(record, 0, layout_make(pattern, offset));
	while (*pattern && p) {
		if (*pattern == '{') {
			i = field_take(&pattern);
			p = value_put(&fields[i], p, end, pattern, record + offset[i]);
		} else if (*p++ != *pattern++) {
			return false;
		}
	}
	return p != NULL;
}

uint64_t text_form_fill(const struct kernel_text *form, struct text_slice text, uint8_t *record)
{
	if (form->of_kvm)
		return text_fields_fill(form, text, record);
	return block_fill(form, text, record) ? UINT64_MAX : 0;
}

const struct kernel_text *text_form_find(const struct text_line *l)
{
	uint8_t record[FORM_RECORD_BYTES];
	const struct kernel_text *form = kernel_text_find(l->name.at, l->name.len);

	if (form && l->system.len &&
	    (l->system.len != strlen(form->system) ||
	     memcmp(l->system.at, form->system, l->system.len) != 0))
		return NULL;
	while (form && !text_form_fill(form, l->text, record))
		form = kernel_text_next(form);
	return form;
}

const struct event_type *text_form_shape(struct text_name *n, bool guest, uint64_t present)
{
	struct event_shapes *s = &n->shapes;
	const struct event_type *type;

	if (!n->form->of_kvm)
		return n->type;
	for (unsigned int i = 0; i < s->nr; i++)
		if (s->shape[i].present == present)
			return s->shape[i].type;
	type = s->nr < EVENT_SHAPES_MAX ? text_fields_type(n->form, guest, present) : NULL;
	if (!type)
		return n->type;
	s->shape[s->nr++] = (struct event_shape){present, type};
	return type;
}
