// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KVM's tracepoints that are no events of ours, from text: "cr_write 3 = 0x1000". A pattern of
 * readers/ftrace/kernel_texts.def, "cr_{rw=read,write} {cr:x} = {val:h}", becomes a record with the kernel's fields, as
 * trace.dat and perf.data have it. Every field has 8 bytes here, in the order of the pattern.
 */
#include "event/event.h"
#include "readers/text/lines.h"
#include "readers/text/tracetext.h"

enum { PATTERN_FIELDS_MAX = 16, WORD_MAX = 32 };

/* One "{name...}" of a pattern. */
struct pattern_field {
	const char *name, *how;
	size_t name_len, how_len;
};

/* The field at *pattern, which is set behind it. */
static struct pattern_field pattern_field_take(const char **pattern)
{
	const char *name = *pattern + 1;
	size_t len = strcspn(name, "}"), name_len = strcspn(name, ":=@}");

	*pattern = name + len + 1;
	return (struct pattern_field){name, name + name_len, name_len, len - name_len};
}

/* ---- lists ---- */

struct word_value {
	const char *word;
	uint64_t value;
};

/* uapi/asm/apicdef.h */
static const struct word_value apic_registers[] = {
	{"ID", 0x20},	    {"LVR", 0x30},     {"TASKPRI", 0x80}, {"ARBPRI", 0x90},
	{"PROCPRI", 0xa0},  {"EOI", 0xb0},     {"RRR", 0xc0},	  {"LDR", 0xd0},
	{"DFR", 0xe0},	    {"SPIV", 0xf0},    {"ISR", 0x100},	  {"TMR", 0x180},
	{"IRR", 0x200},	    {"ESR", 0x280},    {"ICR2", 0x310},	  {"ICR", 0x300},
	{"LVTTHMR", 0x330}, {"LVTPC", 0x340},  {"LVT0", 0x350},	  {"LVT1", 0x360},
	{"LVTERR", 0x370},  {"LVTT", 0x320},   {"TMICT", 0x380},  {"TMCCT", 0x390},
	{"TDCR", 0x3e0},    {"SELF_IPI", 0x3f0}, {"EFEAT", 0x400}, {"ECTRL", 0x410},
	{NULL, 0}};

static const struct word_value exceptions[] = {
	{"DE", 0},  {"DB", 1},	{"BP", 3},  {"OF", 4},	{"BR", 5},  {"UD", 6},
	{"NM", 7},  {"DF", 8},	{"TS", 10}, {"NP", 11}, {"SS", 12}, {"GP", 13},
	{"PF", 14}, {"MF", 16}, {"AC", 17}, {"MC", 18}, {"XM", 19}, {"VE", 20},
	{"CP", 21}, {"HV", 28}, {"VC", 29}, {"SX", 30}, {NULL, 0}};

static const struct word_value faults[] = {{"PK", 1 << 5},   {"P", 1 << 0},   {"W", 1 << 1},
					   {"U", 1 << 2},    {"SS", 1 << 6},  {"SGX", 1 << 15},
					   {"RSVD", 1 << 3}, {"F", 1 << 4},   {NULL, 0}};

static const struct word_value modes[] = {
	{"Fixed", 0}, {"LowPrio", 1}, {"SMI", 2},  {"Res3", 3}, {"NMI", 4},
	{"INIT", 5},  {"SIPI", 6},    {"ExtINT", 7}, {NULL, 0}};

static const struct word_value shorthands[] = {
	{"dst", 0}, {"self", 1}, {"all-but-self", 3}, {"all", 2}, {NULL, 0}};

static bool begins_with(const char *p, const char *end, const char *word)
{
	size_t len = strlen(word);

	return p <= end && (size_t)(end - p) >= len && !memcmp(p, word, len);
}

/* Behind the word of the list at p, or behind a number; NULL: neither. */
static const char *word_parse(const char *p, const char *end, const struct word_value *list,
			      uint64_t *ret)
{
	const char *begin = p;

	for (; list->word; list++)
		if (begins_with(p, end, list->word)) {
			*ret = list->value;
			return p + strlen(list->word);
		}
	*ret = text_number(&p);
	return p > begin ? p : NULL;
}

/* Adds the bit if the word is at *p, and goes behind it, or behind the other word. */
static void choice_add(const char **p, const char *end, const char *set, const char *clear,
		       uint64_t bit, uint64_t *value)
{
	bool is_set = begins_with(*p, end, set);

	*value |= is_set ? bit : 0;
	*p += is_set ? strlen(set) : begins_with(*p, end, clear) ? strlen(clear) : 0;
}

/* ---- values of several parts ---- */

static const char *apic_parse(const char *p, const char *end, uint64_t *ret)
{
	return word_parse(p + (begins_with(p, end, "APIC_") ? 5 : 0), end, apic_registers, ret);
}

static const char *exception_parse(const char *p, const char *end, uint64_t *ret)
{
	return word_parse(p + (*p == '#'), end, exceptions, ret);
}

static const char *fault_parse(const char *p, const char *end, uint64_t *ret)
{
	uint64_t bit, sum = 0;

	while (p && p < end && *p != ' ') {
		p = word_parse(p, end, faults, &bit);
		sum |= bit;
		p += p && *p == '|';
	}
	*ret = sum;
	return p;
}

/* The APIC's interrupt command and the redirection entry have the vector and the mode at the same place. */
static const char *vector_and_mode(const char *p, const char *end, uint64_t *value)
{
	const char *begin = p;
	uint64_t mode;

	*value = text_decimal(&p);
	if (p == begin || !begins_with(p, end, " ("))
		return NULL;
	p = word_parse(p + 2, end, modes, &mode);
	if (p)
		*value |= (mode & 7) << 8;
	return p;
}

/* "48 (Fixed|physical|assert|edge|dst)" */
static const char *icr_parse(const char *p, const char *end, uint64_t *ret)
{
	uint64_t shorthand = 0;

	p = vector_and_mode(p, end, ret);
	if (!p)
		return NULL;
	choice_add(&p, end, "|logical", "|physical", 1 << 11, ret);
	choice_add(&p, end, "|assert", "|de-assert", 1 << 14, ret);
	choice_add(&p, end, "|level", "|edge", 1 << 15, ret);
	p = *p == '|' ? word_parse(p + 1, end, shorthands, &shorthand) : NULL;
	*ret |= shorthand << 18;
	return p && *p == ')' ? p + 1 : NULL;
}

/* "dst 1 vec 48 (Fixed|physical|level|masked)" */
static const char *entry_parse(const char *p, const char *end, uint64_t *ret)
{
	uint64_t dest;

	if (!begins_with(p, end, "dst "))
		return NULL;
	p += 4;
	dest = text_hex(&p);
	p = begins_with(p, end, " vec ") ? vector_and_mode(p + 5, end, ret) : NULL;
	if (!p)
		return NULL;
	*ret |= dest << 56;
	choice_add(&p, end, "|logical", "|physical", 1 << 11, ret);
	choice_add(&p, end, "|level", "|edge", 1 << 15, ret);
	choice_add(&p, end, "|masked", "", 1 << 16, ret);
	return *p == ')' ? p + 1 : NULL;
}

static const char *mode_parse(const char *p, const char *end, uint64_t *ret)
{
	p = word_parse(p, end, modes, ret);
	*ret <<= 8;
	return p;
}

static const char *level_parse(const char *p, const char *end, uint64_t *ret)
{
	static const struct word_value levels[] = {{"edge", 0}, {"level", 0x8000}, {NULL, 0}};

	return word_parse(p, end, levels, ret);
}

static const char *remark_parse(const char *p, const char *end, const char *remark, uint64_t *ret)
{
	*ret = begins_with(p, end, remark);
	return p + (*ret ? strlen(remark) : 0);
}

static const char *max_parse(const char *p, const char *end, uint64_t *ret)
{
	return remark_parse(p, end, ", used max basic", ret);
}

static const char *reinjected_parse(const char *p, const char *end, uint64_t *ret)
{
	return remark_parse(p, end, " [reinjected]", ret);
}

static const char *coalesced_parse(const char *p, const char *end, uint64_t *ret)
{
	return remark_parse(p, end, " (coalesced)", ret);
}

/* The code is a field of its own. */
static const char *error_parse(const char *p, const char *end, uint64_t *ret)
{
	remark_parse(p, end, " (", ret);
	return p;
}

/* ---- a value ---- */

static const char *list_parse(const struct pattern_field *f, const char *p, const char *end,
			      uint64_t *ret)
{
	static const struct {
		const char *name;
		const char *(*parse)(const char *p, const char *end, uint64_t *ret);
	} lists[] = {{"apic", apic_parse},	 {"coalesced", coalesced_parse},
		     {"entry", entry_parse},	 {"error", error_parse},
		     {"exception", exception_parse}, {"fault", fault_parse},
		     {"icr", icr_parse},	 {"level", level_parse},
		     {"max", max_parse},	 {"mode", mode_parse},
		     {"reinjected", reinjected_parse}};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (strlen(lists[i].name) == f->how_len - 1 &&
		    !memcmp(lists[i].name, f->how + 1, f->how_len - 1))
			return lists[i].parse(p, end, ret);
	return NULL;
}

/* "=read,write" */
static const char *choices_parse(const struct pattern_field *f, const char *p, const char *end,
				 uint64_t *ret)
{
	const char *word = f->how + 1, *last = f->how + f->how_len, *begin = p;
	uint64_t value = 0;

	for (; word < last; value++) {
		size_t len = strcspn(word, ",}");

		if ((size_t)(end - p) >= len && !memcmp(p, word, len)) {
			*ret = value;
			return p + len;
		}
		word += len + 1;
	}
	*ret = text_number(&p);
	return p > begin ? p : NULL;
}

static const char *field_parse(const struct pattern_field *f, const char *p, const char *end,
			       uint64_t *ret)
{
	const char *begin;

	if (f->how_len && *f->how == '@')
		return list_parse(f, p, end, ret);
	if (f->how_len && *f->how == '=')
		return choices_parse(f, p, end, ret);
	if (f->how_len && p[0] == '0' && p[1] == 'x')
		p += 2;
	begin = p;
	*ret = f->how_len ? text_hex(&p) : text_number(&p);
	return p > begin && text_number_ends(p) ? p : NULL;
}

/* ---- an event ---- */

const struct event_type *text_fields_type(const struct kernel_text *form, bool guest,
					  uint64_t present)
{
	char name[EVENT_NAME_MAX], names[PATTERN_FIELDS_MAX][WORD_MAX];
	struct field field[PATTERN_FIELDS_MAX];
	struct event_type type = {.name = name, .doc = form->system, .fields = field};
	const struct event_type *made;
	unsigned int i = 0;

	for (const char *p = form->pattern; *(p += strcspn(p, "{")); i++) {
		struct pattern_field f = pattern_field_take(&p);
		bool decimal = !f.how_len, hex = f.how_len && f.how[1] == 'h' && *f.how == ':';

		if (i == PATTERN_FIELDS_MAX || !(present >> i & 1))
			continue;
		snprintf(names[i], sizeof(names[i]), "%.*s", (int)f.name_len, f.name);
		field[type.nr_fields++] = (struct field){
			.name = names[i],
			.fmt = hex ? "hex" : "dec",
			.doc = "",
			.kind = decimal ? FIELD_SINT : FIELD_UINT,
			.offset = (uint16_t)(sizeof(struct record_hdr) + 8 * i),
			.size = 8};
	}
	type.size = (uint16_t)(sizeof(struct record_hdr) + 8 * i);
	snprintf(name, sizeof(name), "%s:%s", guest ? "guest" : form->system, form->name);
	return event_type_register(&type, &made) ? NULL : made;
}

/* After a part of the pattern that may be missing. */
static const char *group_skip(const char *pattern, unsigned int *field)
{
	for (; *pattern != '>'; pattern++)
		*field += *pattern == '{';
	return pattern;
}

/* Behind what "*" stands for: where what follows it in the pattern is in the text. */
static const char *any_skip(const char *pattern, const char *p, const char *end)
{
	size_t len = strcspn(pattern, "{<*");
	const char *found = len ? memmem(p, (size_t)(end - p), pattern, len) : NULL;

	return found ? found : p < end && *pattern == '{' ? p + 1 : NULL;
}

static void value_put(uint8_t *record, unsigned int i, uint64_t value)
{
	memcpy(record + sizeof(struct record_hdr) + 8 * i, &value, sizeof(value));
}

/* "[FAILED TO PARSE] exception=0 has_error=0": where libtraceevent does not understand the kernel's print format. */
static bool listed_find(const struct pattern_field *f, struct text_slice text, uint64_t *ret)
{
	char word[WORD_MAX + 2];
	int len = snprintf(word, sizeof(word), " %.*s=", (int)f->name_len, f->name);
	const char *at = memmem(text.at, text.len, word + 1, (size_t)len - 1);

	if (at != text.at)
		at = memmem(text.at, text.len, word, (size_t)len);
	*ret = 0;
	if (!at)
		return false;
	at += at == text.at ? len - 1 : len;
	*ret = text_number(&at);
	return true;
}

static uint64_t listed_fill(const struct kernel_text *form, struct text_slice text, uint8_t *record)
{
	uint64_t present = 0, value;
	unsigned int i = 0;

	for (const char *p = form->pattern; *(p += strcspn(p, "{")); i++) {
		struct pattern_field f = pattern_field_take(&p);

		present |= (uint64_t)listed_find(&f, text, &value) << i;
		value_put(record, i, value);
	}
	return present;
}

static uint64_t printed_fill(const struct kernel_text *form, struct text_slice text,
			     uint8_t *record)
{
	const char *pattern = form->pattern, *p = text.at, *end = p + text.len, *before = NULL;
	uint64_t present = 0, value = 0;
	unsigned int i = 0;

	while (*pattern && p) {
		const char *at = p;

		if (*pattern == '<' || *pattern == '>') {
			before = *pattern++ == '<' ? p : NULL;
			continue;
		}
		if (*pattern == '{') {
			struct pattern_field f = pattern_field_take(&pattern);

			p = field_parse(&f, p, end, &value);
			value_put(record, i, p ? value : 0);
			present |= (uint64_t)(p != NULL) << i++;
		} else if (*pattern == '*') {
			p = any_skip(++pattern, p, end);
		} else {
			p = p < end && *p == *pattern++ ? p + 1 : NULL;
		}
		if (!p && before) {
			pattern = group_skip(pattern, &i) + 1;
			p = before;
			before = NULL;
		}
		if (p > end)
			p = at == end ? at : NULL;
	}
	return p ? present : 0;
}

uint64_t text_fields_fill(const struct kernel_text *form, struct text_slice text, uint8_t *record)
{
	uint64_t present = printed_fill(form, text, record);

	return present ? present : listed_fill(form, text, record);
}
