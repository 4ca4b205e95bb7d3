// SPDX-License-Identifier: GPL-2.0-or-later
/* Writes the text form, which text.c reads back to the same bytes. Its grammar is in doc/format.md. */
#include <inttypes.h>
#include <string.h>

#include "base/json_text.h"
#include "base/units.h"
#include "tracefile/format.h"
#include "tracefile/tracefile.h"

void textfile_meta(const json_t *meta, FILE *out)
{
	if (!json_object_size(meta))
		return;
	fputs("# meta ", out);
	json_text_put_exact(meta, out, JSON_COMPACT);
	fputc('\n', out);
}

void textfile_head(const struct trace_info *info, FILE *out)
{
	fputs("# hostrace text 1\n", out);
	textfile_meta(info->meta, out);
}

void textfile_type(const struct event_type *type, FILE *out)
{
	json_t *json = schema_from_type(type, 0);

	fputs("# type ", out);
	json_text_put_exact(json, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(json);
}

static void print_text(const char *text, FILE *out)
{
	fputc('"', out);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p < 0x20 || *p >= 0x7f)
			fprintf(out, "\\x%02x", *p);
		else
			fputc(*p, out);
	fputc('"', out);
}

static const struct event_type *named_type(const struct event *ev, const struct field *f)
{
	return strcmp(f->fmt, "event") || event_u64(ev, f) < EVENT_NUMBERS_FIRST
		       ? NULL
		       : event_type_numbered(event_u64(ev, f));
}

static void print_value(const struct event *ev, const struct field *f, FILE *out)
{
	const struct event_type *type = named_type(ev, f);
	char text[EVENT_RECORD_MAX];

	if (type)
		fputs(schema_name(type->name, text), out);
	else if (f->kind == FIELD_TEXT || f->kind == FIELD_DYNTEXT)
		print_text(event_text(ev, f, text, sizeof(text)), out);
	else if (f->kind == FIELD_SINT)
		fprintf(out, "%" PRId64, (int64_t)event_u64(ev, f));
	else if (!strcmp(f->fmt, "hex") || !strcmp(f->fmt, "addr") || !strcmp(f->fmt, "frame"))
		fprintf(out, "0x%" PRIx64, event_u64(ev, f));
	else
		fprintf(out, "%" PRIu64, event_u64(ev, f));
}

/* What every record has; a dot in front where the type has a field of that name too. */
static void print_header_key(const struct event *ev, const char *key, uint32_t value, FILE *out)
{
	fprintf(out, " %s%s=%u", event_field(ev->type, key) ? "." : "", key, value);
}

void textfile_print(const struct event *ev, FILE *out)
{
	char name[EVENT_NAME_MAX], time[32];

	fprintf(out, "%s %s", seconds_print(ev->time_ns, time, sizeof(time)),
		schema_name(ev->type->name, name));
	print_header_key(ev, "pid", ev->pid, out);
	print_header_key(ev, "tid", ev->tid, out);
	if (ev->cpu != RECORD_CPU_UNKNOWN)
		print_header_key(ev, "cpu", ev->cpu, out);
	if (ev->vcpu != RECORD_NO_VCPU)
		print_header_key(ev, "vcpu", ev->vcpu, out);
	for (unsigned int i = 0; i < ev->type->nr_fields; i++) {
		const struct field *f = &ev->type->fields[i];

		fprintf(out, " %s=", schema_name(f->name, name));
		print_value(ev, f, out);
	}
}
