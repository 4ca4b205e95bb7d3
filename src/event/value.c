// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How values are written for people: one printer per `format` name of events.def. Unknown numbers
 * stay numbers and are never dropped. A new format is one function and one row in the table at the
 * end.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/array.h"
#include "base/digits.h"
#include "event/exit_reason.h"
#include "event/records.h"

typedef void value_printer(uint64_t v, uint64_t aux, char *buf, size_t size);

/* Copies what fits; all buffers are longer than a number. */
static void copy(const char *text, size_t len, char *buf, size_t size)
{
	len = len < size ? len : size - 1;
	memcpy(buf, text, len);
	buf[len] = 0;
}

static void print_name(const char *name, char *buf, size_t size)
{
	copy(name, strlen(name), buf, size);
}

static void print_dec(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	char text[DIGITS_MAX];

	(void)aux;
	copy(text, (size_t)(put_dec(text, v) - text), buf, size);
}

static void print_signed(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	char text[1 + DIGITS_MAX] = "-";
	bool negative = v >> 63;

	(void)aux;
	copy(text, (size_t)(put_dec(text + negative, negative ? -v : v) - text), buf, size);
}

static void print_hex(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	char text[2 + 16] = "0x";

	(void)aux;
	copy(text, (size_t)(put_hex(text + 2, v) - text), buf, size);
}

static const char *isa_name(uint64_t isa)
{
	switch (isa) {
	case EXIT_ISA_VMX:
		return "vmx";
	case EXIT_ISA_SVM:
		return "svm";
	case EXIT_ISA_ARM64:
		return "arm64";
	case EXIT_ISA_NAMED:
		return "unknown";
	default:
		return NULL;
	}
}

/* A failed VM entry keeps its reason; an unknown one is printed so that it can be looked up: "0x82 (isa 3)". */
static void print_reason(uint64_t v, uint64_t isa, char *buf, size_t size)
{
	const char *name = exit_reason_name((uint32_t)v, (uint32_t)isa);
	bool failed = isa == EXIT_ISA_VMX && (v & 0x80000000);

	if (name && !failed)
		print_name(name, buf, size);
	else if (name)
		snprintf(buf, size, "%s FAILED_VMENTRY", name);
	else if (isa == EXIT_ISA_ARM64 && v >= EXIT_ARM64_RET)
		snprintf(buf, size, "0x%" PRIx64, v - EXIT_ARM64_RET);
	else if (isa_name(isa))
		snprintf(buf, size, "0x%" PRIx64, v);
	else if (!isa)
		snprintf(buf, size, "0x%" PRIx64 " (isa not recorded)", v);
	else
		snprintf(buf, size, "0x%" PRIx64 " (isa %" PRIu64 ")", v, isa);
}

static void print_userspace_reason(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	const char *name = userspace_reason_name((uint32_t)v);

	(void)aux;
	if (name)
		print_name(name, buf, size);
	else
		print_dec(v, 0, buf, size);
}

static void print_isa(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	const char *name = isa_name(v);

	if (name)
		print_name(name, buf, size);
	else
		print_dec(v, aux, buf, size);
}

static void print_dir(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	(void)aux;
	print_name(v ? "out" : "in", buf, size);
}

static void print_mmio_type(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	static const char *const name[] = {"unsatisfied-read", "read", "write"};

	if (v < 3)
		print_name(name[v], buf, size);
	else
		print_dec(v, aux, buf, size);
}

/* enum BlockAcctType of QEMU (include/block/accounting.h): 8.1 added zone append after unmap. */
static void print_block_type(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	static const char *const name[] = {"none",  "read",  "write",
					   "flush", "unmap", "zone-append"};

	if (v < sizeof(name) / sizeof(name[0]))
		print_name(name[v], buf, size);
	else
		print_dec(v, aux, buf, size);
}

static void print_event(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	const struct event_type *t = event_type_numbered(v);

	if (!t && v < RECORD_DECLARED_FIRST) {
		print_dec(v, aux, buf, size);
		return;
	}
	print_name(t ? t->name : "undeclared", buf, size);
	text_sanitize(buf);
}

static void print_sample_where(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	static const char *const name[] = {"guest", "kernel", "vmm"};

	(void)aux;
	print_name(v < 3 ? name[v] : "unknown", buf, size);
}

static void print_stack_error(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	static const char *const name[] = {"none",    "frame-pointer", "guest-unmapped",
					   "host-unmapped", "too-many",      "no-memslots",
					   "not-64-bits"};

	(void)aux;
	print_name(v < 7 ? name[v] : "unknown", buf, size);
}

static void print_migrate_step(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	static const char *const name[] = {"save-ram", "save-devices", "load",	      "loaded",
					   "stop",     "sent",	       "load-devices"};

	(void)aux;
	print_name(v - 1 < 7 ? name[v - 1] : "unknown", buf, size);
}

static void print_level(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	(void)aux;
	snprintf(buf, size, "L%" PRIu64, v);
}

/* The kernel's dev_t: "254,0" */
static void print_device(uint64_t v, uint64_t aux, char *buf, size_t size)
{
	(void)aux;
	snprintf(buf, size, "%" PRIu64 ",%" PRIu64, v >> 20, v & ((1u << 20) - 1));
}

static const struct {
	const char *fmt;
	value_printer *print;
	enum field_class class;
} printers[] = {
	{"dec", print_dec, FIELD_PLAIN},
	{"signed", print_signed, FIELD_PLAIN},
	{"hex", print_hex, FIELD_HEX},
	{"addr", print_hex, FIELD_HEX},
	{"frame", print_hex, FIELD_HEX}, /* one of a backtrace; 0: no further frames */
	{"reason", print_reason, FIELD_NAMED},
	{"userspace_reason", print_userspace_reason, FIELD_NAMED},
	{"isa", print_isa, FIELD_NAMED},
	{"dir", print_dir, FIELD_NAMED},
	{"mmio_type", print_mmio_type, FIELD_NAMED},
	{"block_type", print_block_type, FIELD_NAMED},
	{"sample_where", print_sample_where, FIELD_NAMED},
	{"stack_error", print_stack_error, FIELD_NAMED},
	{"migrate_step", print_migrate_step, FIELD_NAMED},
	{"level", print_level, FIELD_PLAIN}, /* of virtualization: L0 is the host, L1 the guest, L2 a guest of it */
	{"event", print_event, FIELD_NAMED},
	{"device", print_device, FIELD_NAMED},
};

uint8_t field_printer(const char *fmt)
{
	for (uint8_t i = 0; i < sizeof(printers) / sizeof(printers[0]); i++)
		if (!strcmp(printers[i].fmt, fmt))
			return (uint8_t)(i + 1);
	return 1;
}

static uint8_t printer_of(const struct field *f)
{
	return (uint8_t)((f->printer ? f->printer : field_printer(f->fmt)) - 1);
}

enum field_class field_class(const struct field *f)
{
	return printers[printer_of(f)].class;
}

const char *value_print(const char *fmt, uint64_t value, uint64_t aux, char *buf, size_t size)
{
	printers[field_printer(fmt) - 1].print(value, aux, buf, size);
	return buf;
}

/* What a reason depends on is bound to our events. */
static const struct field *isa_of(const struct event_type *type)
{
	switch (type->id) {
	case EV_kvm_exit:
		return type->bound[offsetof(struct index_kvm_exit, isa)];
	case EV_kvm_nested_vmexit:
		return type->bound[offsetof(struct index_kvm_nested_vmexit, isa)];
	default:
		return event_field(type, "isa");
	}
}

const char *field_print(const struct event *ev, const struct field *f, char *buf, size_t size)
{
	uint8_t i = printer_of(f);
	const struct field *isa;

	if (f->kind == FIELD_TEXT || f->kind == FIELD_DYNTEXT) {
		event_text(ev, f, buf, size);
		text_sanitize(buf);
		return buf;
	}
	if (f->kind == FIELD_SINT && printers[i].class != FIELD_HEX) {
		print_signed(event_u64(ev, f), 0, buf, size);
		return buf;
	}
	isa = printers[i].print == print_reason ? isa_of(ev->type) : NULL;
	printers[i].print(event_u64(ev, f), isa ? event_u64(ev, isa) : 0, buf, size);
	return buf;
}

/* Overlong sequences, UTF-16 surrogates, and what is beyond U+10FFFF; of a sequence of three or four bytes. */
static bool is_excluded(const unsigned char *p)
{
	return (*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0) ||
	       (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90);
}

size_t utf8_sequence(const char *text)
{
	const unsigned char *p = (const unsigned char *)text;
	size_t len = *p < 0x80		       ? 1
		     : *p >= 0xc2 && *p < 0xe0 ? 2
		     : (*p & 0xf0) == 0xe0     ? 3
		     : *p >= 0xf0 && *p < 0xf5 ? 4
					       : 0;

	for (size_t i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return len > 2 && is_excluded(p) ? 0 : len;
}

/*
 * Characters that drive a terminal, or that let text look like other text: C0 and C1 controls, marks, embeddings,
 * overrides and isolates of the bidirectional algorithm (UAX #9), line and paragraph separators, which end a line in
 * some terminals, what is not shown (Default_Ignorable_Code_Point, interlinear annotations, the blank of Braille;
 * Unicode 15), and noncharacters, which XML does not allow.
 */
static const struct {
	uint32_t first, last;
} unsafe[] = {
	{0, 0x1f},	    {0x7f, 0x9f},	{0xad, 0xad},	    {0x34f, 0x34f},
	{0x61c, 0x61c},	    {0x115f, 0x1160},	{0x17b4, 0x17b5},   {0x180b, 0x180f},
	{0x200b, 0x200f},   {0x2028, 0x202e},	{0x2060, 0x206f},   {0x2800, 0x2800},
	{0x3164, 0x3164},   {0xfdd0, 0xfdef},	{0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
	{0xffa0, 0xffa0},   {0xfff0, 0xfffb},	{0xfffe, 0xffff},   {0x1bca0, 0x1bca3},
	{0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool is_unsafe(const unsigned char *p, size_t len)
{
	uint32_t c = len == 1 ? *p : *p & (0x7fu >> len);

	for (size_t i = 1; i < len; i++)
		c = c << 6 | (p[i] & 0x3f);
	if (c >= 0x20 && c < 0x7f)
		return false;
	return array_any(sizeof(unsafe) / sizeof(unsafe[0]), i,
			 c >= unsafe[i].first && c <= unsafe[i].last);
}

void text_sanitize(char *text)
{
	for (unsigned char *p = (unsigned char *)text; *p;) {
		size_t len = utf8_sequence((const char *)p);

		if (!len || is_unsafe(p, len)) {
			size_t bad = len ? len : 1;

			memset(p, '?', bad);
			len = bad;
		}
		p += len;
	}
}
