// SPDX-License-Identifier: GPL-2.0-or-later
/* An event as a line of text or an object of JSON, and the value of a field as each of them, and CSV, has it. */
#include <inttypes.h>

#include "base/digits.h"
#include "output/escape.h"
#include "output/event_rows.h"
#include "symbols/symbols.h"

enum { ROW_BYTES = 4 * ROW_VALUE_MAX };

/* ---- text ---- */

void event_row_text_head(const struct event_row *row, bool with_source, FILE *out)
{
	fprintf(out, "#%11s %s%-*s%s%3s %4s %s%-15s %s\n", row->ticks ? "ticks" : "seconds",
		with_source ? "source " : "", row->vm_width, row->vm_width ? "VM" : "",
		row->vm_width ? " " : "", "cpu", "vcpu", row->with_flags ? "flags  " : "",
		"thread", "event fields");
}

/* "12.000000345", to the right of 12 places. */
static char *put_seconds(char *to, const struct event_row *row, uint64_t start_ns)
{
	const struct event *ev = row->ev;
	bool before = ev->time_ns < start_ns; /* a name from before the window */
	uint64_t ns = before ? start_ns - ev->time_ns : ev->time_ns - start_ns;

	if (!before)
		return row->ticks ? put_dec_right(to, ns, 12) : put_timestamp(to, ns, 12);
	*to = '-';
	if (row->ticks)
		return pad_left(to, put_dec(to + 1, ns), 12);
	return pad_left(to, put_timestamp(to + 1, ns, 0), 12);
}

static char *put_thread(char *to, const struct event_row *row)
{
	const struct event *ev = row->ev;
	size_t len = strnlen(row->comm, 15);
	char *p;

	if (len)
		p = (char *)memcpy(to, row->comm, len) + len;
	else
		p = ev->tid ? put_dec(to, ev->tid) : put_text(to, "-");
	return pad_right(to, p, 15);
}

/* Unused frames and those above --frames are not shown. */
bool event_row_shows(const struct event_row *row, const struct field *f, uint64_t *frames)
{
	if (f->fmt[0] != 'f' || strcmp(f->fmt, "frame"))
		return true;
	return (!row->max_frames || ++*frames <= row->max_frames) && event_u64(row->ev, f);
}

/* An address that has a name, and a kernel's in any number; what else is printed as it is. */
static const char *address_name(const struct event_row *row, const struct field *f)
{
	bool address;
	uint64_t v;

	if (!row->symbols || f->size != 8 || f->kind != FIELD_UINT || field_class(f) != FIELD_HEX)
		return NULL;
	address = strcmp(f->fmt, "hex");
	v = event_u64(row->ev, f);
	return address || v >> 63 ? addresses_name(row->symbols, v) : NULL;
}

void event_row_field_text(const struct event_row *row, const struct field *f, FILE *out)
{
	const char *name = address_name(row, f);
	char text[ROW_VALUE_MAX];

	fputs(name ? name : field_print(row->ev, f, text, sizeof(text)), out);
}

void event_row_text(const struct event_row *row, uint64_t start_ns, bool with_source, FILE *out)
{
	const struct event *ev = row->ev;
	char line[ROW_BYTES], *p = put_seconds(line, row, start_ns), *q;
	uint64_t frames = 0;

	*p++ = ' ';
	if (with_source) {
		q = pad_right(p, put_text(p, row->source), 6);
		*q++ = ' ';
		p = q;
	}
	if (row->vm) {
		q = pad_right(p, put_text(p, row->vm), row->vm_width);
		*q++ = ' ';
		p = q;
	}
	p = pad_left(p, ev->cpu != RECORD_CPU_UNKNOWN ? put_dec(p, ev->cpu) : put_text(p, "-"), 3);
	*p++ = ' ';
	p = pad_left(p, row->vcpu != RECORD_NO_VCPU ? put_dec(p, row->vcpu) : put_text(p, "-"), 4);
	*p++ = ' ';
	if (row->with_flags) {
		p = pad_right(p, put_text(p, *ev->flags ? ev->flags : "-"), ROW_FLAGS_WIDTH - 1);
		*p++ = ' ';
	}
	p = put_thread(p, row);
	*p++ = ' ';
	p = put_text(p, ev->type->name);
	for (unsigned int i = 0; i < ev->type->nr_fields; i++) {
		const struct field *f = &ev->type->fields[i];
		const char *name;

		if (!event_row_shows(row, f, &frames))
			continue;
		name = address_name(row, f);
		if (p > line + ROW_BYTES - ROW_VALUE_MAX - EVENT_NAME_MAX - 3) {
			fwrite(line, 1, (size_t)(p - line), out);
			p = line;
		}
		*p++ = ' ';
		p = put_text(p, f->name);
		*p++ = '=';
		p += name ? (size_t)snprintf(p, ROW_VALUE_MAX, "%.256s", name)
			  : strlen(field_print(ev, f, p, ROW_VALUE_MAX));
	}
	*p++ = '\n';
	fwrite(line, 1, (size_t)(p - line), out);
}

/* ---- JSON ---- */

/* 64 bits are too wide for a JSON number. */
enum row_value event_row_value(const struct field *f)
{
	enum field_class class = field_class(f);

	if (f->kind > FIELD_SINT || class == FIELD_NAMED)
		return ROW_VALUE_TEXT;
	if (class == FIELD_HEX && f->size == 8)
		return ROW_VALUE_HEX;
	return f->kind == FIELD_SINT ? ROW_VALUE_SIGNED : ROW_VALUE_NUMBER;
}

void event_row_field_json(const struct event_row *row, const struct field *f, FILE *out)
{
	const struct event *ev = row->ev;
	char text[ROW_VALUE_MAX];

	switch (event_row_value(f)) {
	case ROW_VALUE_TEXT:
		put_json(out, field_print(ev, f, text, sizeof(text)));
		break;
	case ROW_VALUE_HEX:
		fprintf(out, "\"0x%" PRIx64 "\"", event_u64(ev, f));
		break;
	case ROW_VALUE_SIGNED:
		fprintf(out, "%" PRId64, (int64_t)event_u64(ev, f));
		break;
	case ROW_VALUE_NUMBER:
		fprintf(out, "%" PRIu64, event_u64(ev, f));
		break;
	}
}

char *event_row_cell(const struct event_row *row, const struct field *f, char *to)
{
	char text[ROW_VALUE_MAX];
	int64_t v;

	switch (event_row_value(f)) {
	case ROW_VALUE_TEXT:
		return put_csv_text(to, field_print(row->ev, f, text, sizeof(text)));
	case ROW_VALUE_HEX:
		return put_hex(put_text(to, "0x"), event_u64(row->ev, f));
	case ROW_VALUE_SIGNED:
		v = (int64_t)event_u64(row->ev, f);
		if (v < 0)
			*to++ = '-';
		return put_dec(to, v < 0 ? -(uint64_t)v : (uint64_t)v);
	default:
		return put_dec(to, event_u64(row->ev, f));
	}
}

void event_row_field_csv(const struct event_row *row, const struct field *f, FILE *out)
{
	char cell[ROW_CELL_MAX];

	fwrite(cell, 1, (size_t)(event_row_cell(row, f, cell) - cell), out);
}

/* null instead of the value that stands for none. */
static void put_json_unless(FILE *out, uint16_t value, uint16_t none)
{
	if (value != none)
		fprintf(out, "%u", value);
	else
		fputs("null", out);
}

void event_row_json(const struct event_row *row, FILE *out)
{
	const struct event *ev = row->ev;
	unsigned int nr = 0;
	uint64_t frames = 0;

	fprintf(out, "{\"time_%s\":%" PRIu64 ",\"source\":\"%s\",", row->ticks ? "ticks" : "ns",
		ev->time_ns, row->source);
	if (row->vm) {
		fputs("\"vm\":", out);
		put_json(out, row->vm);
		fputc(',', out);
	}
	fputs("\"cpu\":", out);
	put_json_unless(out, ev->cpu, RECORD_CPU_UNKNOWN);
	fputs(",\"vcpu\":", out);
	put_json_unless(out, row->vcpu, RECORD_NO_VCPU);
	fprintf(out, ",\"tid\":%u,\"comm\":", ev->tid);
	put_json(out, row->comm);
	if (row->with_flags && *ev->flags) {
		fputs(",\"flags\":", out);
		put_json(out, ev->flags);
	}
	fputs(",\"event\":", out);
	put_json(out, ev->type->name);
	fputs(",\"fields\":{", out);
	for (unsigned int i = 0; i < ev->type->nr_fields; i++) {
		if (!event_row_shows(row, &ev->type->fields[i], &frames))
			continue;
		fputs(nr++ ? "," : "", out);
		put_json(out, ev->type->fields[i].name);
		fputc(':', out);
		event_row_field_json(row, &ev->type->fields[i], out);
	}
	fputs("}}", out);
}
