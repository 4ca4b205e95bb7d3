// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An event type as a tracepoint of ftrace, and its records. What the kernel's tracepoints have is written with their
 * systems and fields, so that the plugins of trace-cmd and KernelShark know it.
 */
#include <ctype.h>
#include <string.h>

#include "base/array.h"
#include "output/event_formats.h"
#include "readers/ftrace/kernel_events.h"

enum { COMMON_BYTES = 8, NAME_BYTES = EVENT_NAME_MAX + 8 };

static bool format_begins(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static void identifier(const char *name, size_t len, char *to, size_t size)
{
	snprintf(to, size, "%.*s", (int)len, name);
	for (char *p = to; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
}

void tracedat_system(const struct event_type *type, char system[EVENT_NAME_MAX])
{
	const char *colon = strchr(type->name, ':');
	const char *ours = format_begins(type->name, "kvm_")	 ? "kvm"
			   : format_begins(type->name, "sched_") ? "sched"
								 : "hostrace";

	if (colon)
		identifier(type->name, (size_t)(colon - type->name), system, EVENT_NAME_MAX);
	else
		snprintf(system, EVENT_NAME_MAX, "%s", ours);
}

static const char *their_name(const struct event_type *type, const struct field *f)
{
	return type->id ? kernel_field_name(type->name, f->name) : f->name;
}

/* Our events of the kernel name their vCPU; kvm_write_tsc_offset and kvm_pvclock_update have it as a field. */
static bool has_vcpu(const struct event_type *type)
{
	if (!type->id || !format_begins(type->name, "kvm_"))
		return false;
	return !array_any(type->nr_fields, i,
			  !strcmp(their_name(type, &type->fields[i]), "vcpu_id"));
}

static size_t vcpu_offset(const struct event_type *type)
{
	size_t at = COMMON_BYTES;

	for (unsigned int i = 0; i < type->nr_fields; i++)
		at += type->fields[i].size;
	return at;
}

/* ---- records ---- */

static uint64_t number_of(const struct event *ev, const struct field *f)
{
	uint64_t v = event_number_stable(ev, f);

	return ev->type->id && !strcmp(f->name, "prev_state") ? ftrace_reported_state(v) : v;
}

size_t tracedat_record(const struct event_row *row, uint8_t *to, size_t size)
{
	const struct event *ev = row->ev;
	const uint16_t id = (uint16_t)(ev->type->index + TRACEDAT_FIRST_ID);
	size_t at = COMMON_BYTES, end = vcpu_offset(ev->type) + 4u * has_vcpu(ev->type);
	int32_t vcpu = row->vcpu == RECORD_NO_VCPU ? -1 : row->vcpu;
	char text[EVENT_RECORD_MAX];

	if (end > size)
		return 0;
	memset(to, 0, end);
	memcpy(to, &id, sizeof(id));
	memcpy(to + 4, &ev->tid, sizeof(ev->tid));
	for (unsigned int i = 0; i < ev->type->nr_fields; at += ev->type->fields[i++].size) {
		const struct field *f = &ev->type->fields[i];
		uint64_t v = f->kind > FIELD_SINT ? 0 : number_of(ev, f);
		size_t len;

		if (f->kind <= FIELD_SINT) {
			memcpy(to + at, &v, f->size); /* little-endian, as this machine */
			continue;
		}
		event_text(ev, f, text, sizeof(text));
		len = strlen(text) + 1;
		if (f->kind == FIELD_TEXT) {
			memcpy(to + at, text, len < f->size ? len : f->size);
			continue;
		}
		if (end + len > size)
			return 0;
		memcpy(to + end, text, len);
		memcpy(to + at, &(uint32_t){(uint32_t)(len << 16 | end)}, 4);
		end += len;
	}
	if (has_vcpu(ev->type))
		memcpy(to + at, &vcpu, sizeof(vcpu));
	for (; end % 4; end++)
		if (end < size)
			to[end] = 0;
	return end <= size ? end : 0;
}

/* ---- formats ---- */

static void field_names(const struct event_type *type, char name[][NAME_BYTES])
{
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		identifier(their_name(type, &type->fields[i]), EVENT_NAME_MAX, name[i],
			   EVENT_NAME_MAX);
		for (unsigned int k = 0; k < i; k++)
			if (!strcmp(name[i], name[k])) {
				size_t len = strlen(name[i]);

				snprintf(name[i] + len, NAME_BYTES - len, "_%u", i);
				break;
			}
	}
}

static bool is_hex(const struct field *f)
{
	return !strcmp(f->fmt, "hex") || !strcmp(f->fmt, "addr") || !strcmp(f->fmt, "frame");
}

static void print_field(const struct field *f, const char *name, size_t at, FILE *out)
{
	static const char *const types[] = {[1] = "u8", [2] = "u16", [4] = "u32", [8] = "u64"};
	static const char *const signed_types[] = {
		[1] = "s8", [2] = "s16", [4] = "s32", [8] = "s64"};
	bool is_signed = f->kind == FIELD_SINT;

	if (f->kind == FIELD_TEXT)
		fprintf(out, "\tfield:char %s[%u];", name, f->size);
	else if (f->kind == FIELD_DYNTEXT)
		fprintf(out, "\tfield:__data_loc char[] %s;", name);
	else
		fprintf(out, "\tfield:%s %s;", (is_signed ? signed_types : types)[f->size], name);
	fprintf(out, "\toffset:%zu;\tsize:%u;\tsigned:%d;\n", at, f->size, is_signed);
}

static void print_fmt(const struct event_type *type, char name[][NAME_BYTES], FILE *out)
{
	fputs("\nprint fmt: \"", out);
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		const struct field *f = &type->fields[i];

		fprintf(out, "%s%s=%s", i ? " " : "", name[i],
			f->kind > FIELD_SINT	? "%s"
			: is_hex(f)		? f->size == 8 ? "0x%llx" : "0x%x"
			: f->kind == FIELD_SINT ? f->size == 8 ? "%lld" : "%d"
			: f->size == 8		? "%llu"
						: "%u");
	}
	fputc('"', out);
	for (unsigned int i = 0; i < type->nr_fields; i++)
		fprintf(out,
			type->fields[i].kind == FIELD_DYNTEXT ? ", __get_str(%s)" : ", REC->%s",
			name[i]);
	fputc('\n', out);
}

void tracedat_format(const struct event_type *type, FILE *out)
{
	const char *colon = strchr(type->name, ':');
	char name[EVENT_FIELDS_MAX][NAME_BYTES], event[EVENT_NAME_MAX];
	size_t at = COMMON_BYTES;

	identifier(colon ? colon + 1 : type->name, EVENT_NAME_MAX, event, sizeof(event));
	field_names(type, name);
	fprintf(out,
		"name: %s\nID: %d\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
		"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"
		"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n"
		"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n",
		event, type->index + TRACEDAT_FIRST_ID);
	for (unsigned int i = 0; i < type->nr_fields; at += type->fields[i++].size)
		print_field(&type->fields[i], name[i], at, out);
	if (has_vcpu(type))
		fprintf(out, "\tfield:int vcpu_id;\toffset:%zu;\tsize:4;\tsigned:1;\n", at);
	print_fmt(type, name, out);
}
