// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Boots as spans of OpenTelemetry, as JSON that a receiver takes at /v1/traces
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding): a span for each boot, and in it one for each
 * phase. Identifiers are made of the time at which the boot began, so that exporting it again makes the same.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/version.h"
#include "event/vm_names.h"
#include "output/boot_report.h"
#include "output/report.h"

enum { SPAN_KIND_INTERNAL = 1 };

struct span_writer {
	const struct boot_report *r;
	const struct boot_vm *vm;
	int64_t realtime_ns;
	json_t *list;
};

static json_t *attribute_text(const char *key, const char *value)
{
	return json_pack("{s:s, s:{s:o}}", "key", key, "value", "stringValue", json_text(value));
}

/* 64 bits are texts in this form of JSON. */
static json_t *attribute_number(const char *key, uint64_t value)
{
	return json_pack("{s:s, s:{s:o}}", "key", key, "value", "intValue",
			 json_sprintf("%" PRIu64, value));
}

static uint64_t unix_ns(const struct span_writer *w, uint64_t ns)
{
	return ns + (uint64_t)w->realtime_ns;
}

/* number: 0: the boot; others: its phases. */
static json_t *span_id(const struct span_writer *w, unsigned int number)
{
	return json_sprintf("%016" PRIx64, unix_ns(w, w->vm->begin_ns) << 8 | (number + 1));
}

static json_t *trace_id(const struct span_writer *w)
{
	if (*w->r->parent.trace)
		return json_string(w->r->parent.trace);
	return json_sprintf("%016" PRIx64 "%016" PRIx64, unix_ns(w, w->vm->begin_ns),
			    (uint64_t)w->vm->pid);
}

/* NULL: none. */
static json_t *parent_id(const struct span_writer *w, unsigned int number)
{
	if (number)
		return span_id(w, 0);
	return *w->r->parent.span ? json_string(w->r->parent.span) : NULL;
}

/* Steals the attributes. */
static void span_add(const struct span_writer *w, unsigned int number, const char *name,
		     uint64_t begin_ns, uint64_t end_ns, json_t *attributes)
{
	json_t *span = json_pack(
		"{s:o, s:o, s:o*, s:o, s:i, s:o, s:o, s:o}", "traceId", trace_id(w), "spanId",
		span_id(w, number), "parentSpanId", parent_id(w, number), "name", json_text(name),
		"kind", SPAN_KIND_INTERNAL, "startTimeUnixNano",
		json_sprintf("%" PRIu64, unix_ns(w, begin_ns)), "endTimeUnixNano",
		json_sprintf("%" PRIu64, unix_ns(w, end_ns)), "attributes", attributes);

	json_array_append_new(w->list, span);
}

static json_t *causes_attributes(const struct boot_vm *vm, unsigned int phase)
{
	json_t *list = json_array();
	char key[48];

	for (unsigned int i = 0; i < BOOT_CAUSES; i++) {
		if (!vm->causes[phase][i])
			continue;
		snprintf(key, sizeof(key), "hostrace.%s_ns", boot_cause_names[i]);
		json_array_append_new(list, attribute_number(key, vm->causes[phase][i]));
	}
	return list;
}

static json_t *boot_attributes(const struct span_writer *w)
{
	json_t *list = json_array();
	char name[VM_NAME_BYTES];

	json_array_append_new(list, attribute_number("process.pid", w->vm->pid));
	if (w->r->vms) {
		vm_name(w->r->vms, w->vm->pid, name, sizeof(name));
		json_array_append_new(list, attribute_text("hostrace.vm", name));
	}
	return list;
}

static void boot_add(const struct span_writer *w)
{
	const struct boot_vm *vm = w->vm;

	span_add(w, 0, "boot", vm->begin_ns, vm->end_ns, boot_attributes(w));
	for (unsigned int phase = 0; phase < BOOT_MARKER + w->r->nr_markers; phase++)
		if (vm->at[phase])
			span_add(w, phase + 1, boot_phase_name(w->r, phase), vm->at[phase],
				 boot_phase_end(vm, phase), causes_attributes(vm, phase));
}

int boot_otlp_write(const struct boot_report *r, int64_t realtime_ns, FILE *out)
{
	struct span_writer w = {.r = r, .realtime_ns = realtime_ns, .list = json_array()};
	json_t *all;
	int err;

	if (!realtime_ns) {
		json_decref(w.list);
		return fail(-ENODATA, "the recording does not have the time of day, which spans of "
				      "OpenTelemetry need");
	}
	for (size_t i = 0; i < r->nr; i++) {
		w.vm = r->boot[i];
		boot_add(&w);
	}
	all = json_pack("{s:[{s:{s:[o]}, s:[{s:{s:s, s:s}, s:o}]}]}", "resourceSpans", "resource",
			"attributes", attribute_text("service.name", "hostrace"), "scopeSpans",
			"scope", "name", "hostrace", "version", HOSTRACE_VERSION, "spans", w.list);
	err = all ? json_dumpf(all, out, JSON_INDENT(1) | JSON_ENSURE_ASCII) : -1;
	err = err ? fail(-ENOMEM, "out of memory") : 0;
	json_decref(all);
	fputc('\n', out);
	return err;
}

/* ---- the parent ---- */

static bool hex_copy(const char **text, size_t len, char *ret)
{
	if (strspn(*text, "0123456789abcdef") != len || strspn(*text, "0") == len)
		return false;
	memcpy(ret, *text, len);
	ret[len] = 0;
	*text += len;
	return true;
}

int trace_parent_parse(const char *text, struct trace_parent *ret)
{
	const char *p = text;

	*ret = (struct trace_parent){0};
	if (strspn(p, "0123456789abcdef") == 2 && p[2] == '-' && strncmp(p, "ff", 2) != 0) {
		p += 3;
		if (hex_copy(&p, sizeof(ret->trace) - 1, ret->trace) && *p++ == '-' &&
		    hex_copy(&p, sizeof(ret->span) - 1, ret->span) && *p == '-')
			return 0;
	}
	return fail(-EINVAL,
		    "invalid --traceparent '%s' (expected 00-TRACE-SPAN-01, as "
		    "www.w3.org/TR/trace-context has it)",
		    text);
}
