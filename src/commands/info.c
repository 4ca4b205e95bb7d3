// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a trace holds. Of a .hrt file only the index, the metadata and the few chunks with losses and TSC offsets are
 * read, so it is quick however large the file is.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "output/report.h"

static const struct option_row *const options[] = {input_rows, output_options, NULL};

struct summary {
	uint64_t counts[EVENT_TYPES_MAX]; /* by registry index */
	json_t *lost;			  /* {event: count} */
	json_t *vcpus; /* [{"vcpu","offset","scale","scale_bits"}], the newest of each */
};

static bool wants(const char *event, void *arg)
{
	(void)arg;
	return !strcmp(event, "lost") || !strcmp(event, "vcpu_tsc") ||
	       !strcmp(event, "kvm_write_tsc_offset");
}

static void add_lost(struct summary *s, const struct event *ev)
{
	const struct event_type *t = event_type_ours((unsigned int)event_value(ev, "lost_event"));
	const char *name = t ? t->name : "other";
	json_int_t before = json_integer_value(json_object_get(s->lost, name));

	if (event_value(ev, "count")) /* none: the event was dropped by intent */
		json_object_set_new(s->lost, name,
				    json_integer(before + (json_int_t)event_value(ev, "count")));
}

/* The row of a vCPU, made if it is new. */
static json_t *vcpu_row(struct summary *s, unsigned int pid, unsigned int vcpu)
{
	json_t *row;
	size_t i;

	json_array_foreach (s->vcpus, i, row)
		if (json_integer_value(json_object_get(row, "vcpu")) == vcpu &&
		    json_integer_value(json_object_get(row, "pid")) == pid)
			return row;
	row = json_pack("{s:i, s:i, s:i, s:i, s:i}", "pid", pid, "vcpu", vcpu, "offset", 0, "scale",
			0, "scale_bits", 0);
	json_array_append_new(s->vcpus, row);
	return row;
}

static void set_number(json_t *row, const char *key, uint64_t number)
{
	json_object_set_new(row, key, json_integer((json_int_t)number));
}

static void set_vcpu(struct summary *s, const struct event *ev)
{
	json_t *row = vcpu_row(s, ev->pid, ev->vcpu);

	set_number(row, "offset", event_value(ev, "offset"));
	set_number(row, "scale", event_value(ev, "scale"));
	set_number(row, "scale_bits", event_value(ev, "scale_bits"));
}

/* A vCPU is first seen before its offset is written: the write counts. */
static void set_offset(struct summary *s, const struct event *ev)
{
	set_number(vcpu_row(s, ev->pid, (unsigned int)event_value(ev, "target")), "offset",
		   event_value(ev, "new"));
}

/* Where the file itself knows its counts, reading only adds what the counts do not tell. */
static int summarise(const struct input_set *in, struct summary *s)
{
	_cleanup_free_ struct batch *batch = malloc(sizeof(*batch));
	bool counted[INPUTS_MAX] = {false};
	int more;

	if (!batch)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < input_set_nr(in) && !in->is_trimmed; i++) {
		struct reader *r = in->input[i].reader;

		counted[i] = r->ops->counts != NULL;
		if (counted[i] && r->ops->counts(r, s->counts))
			return -1;
	}
	while ((more = reader_next(in->reader, batch)) > 0)
		for (unsigned int i = 0; i < batch->nr; i++) {
			const struct event *ev = &batch->ev[i];

			s->counts[ev->type->index] += !counted[ev->source];
			if (ev->type->id == EV_lost)
				add_lost(s, ev);
			else if (ev->type->id == EV_vcpu_tsc)
				set_vcpu(s, ev);
			else if (ev->type->id == EV_kvm_write_tsc_offset)
				set_offset(s, ev);
		}
	return more;
}

/* ---- the result ---- */

static json_t *events_json(const struct summary *s)
{
	json_t *events = json_object();

	for (unsigned int i = 0; i < event_types_count(); i++) {
		const char *name = event_type_at(i)->name;
		json_int_t before = json_integer_value(json_object_get(events, name));

		if (s->counts[i])
			json_object_set_new(events, name,
					    json_integer(before + (json_int_t)s->counts[i]));
	}
	return events;
}

static json_t *vms_json(const json_t *meta)
{
	json_t *list = json_array(), *vm;
	size_t i;

	json_array_foreach (json_object_get(meta, "vms"), i, vm) {
		json_t *copy = json_copy(vm), *vcpus = json_object_get(vm, "vcpus");

		if (!copy)
			continue;
		json_object_set_new(copy, "vcpus",
				    json_integer((json_int_t)json_array_size(vcpus)));
		if (vcpus)
			json_object_set(copy, "vcpu_threads", vcpus);
		json_array_append_new(list, copy);
	}
	return list;
}

static json_t *clocks_json(const struct summary *s, const json_t *meta, const json_t *events)
{
	json_t *khz = json_object_get(meta, "tsc_khz"),
	       *pairs = json_object_get(events, "clock_pair");

	return json_pack("[{s:s, s:s, s:O?, s:I, s:O}]", "source", "host", "clock", "monotonic",
			 "tsc_khz", khz ? khz : json_null(), "pairs",
			 (json_int_t)json_integer_value(pairs), "vcpus", s->vcpus);
}

static void set_meta(json_t *result, const json_t *meta, const char *key)
{
	json_t *v = json_object_get(meta, key);

	if (v)
		json_object_set(result, key, v);
	else
		json_object_set_new(result, key, json_null());
}

static json_t *result_json(const struct reader *r, const struct summary *s)
{
	const json_t *meta = r->info.meta;
	json_t *o = json_object(), *events = events_json(s), *vms = vms_json(meta), *probes;
	json_t *vm = json_array_get(vms, 0);
	static const char *const optional[] = {"cost", "budget"};

	json_object_set_new(o, "format", json_string(r->info.kind));
	set_meta(o, meta, "host");
	set_meta(o, meta, "kernel");
	json_object_set(o, "vm", vm ? vm : json_null());
	json_object_set_new(o, "vms", vms);
	json_object_set_new(o, "start_ns", json_integer((json_int_t)r->info.start_ns));
	json_object_set_new(o, "span_ns",
			    json_integer((json_int_t)(r->info.end_ns - r->info.start_ns)));
	set_meta(o, meta, "start_realtime_ns");
	json_object_set_new(o, "clocks", clocks_json(s, meta, events));
	json_object_set_new(o, "events", events);
	json_object_set(o, "lost", s->lost);
	probes = json_object_get(meta, "probes");
	json_object_set_new(o, "probes", probes ? json_incref(probes) : json_array());
	if (json_object_get(meta, "guests"))
		set_meta(o, meta, "guests");
	set_meta(o, meta, "command");
	set_meta(o, meta, "end");
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		if (json_object_get(meta, optional[i]))
			set_meta(o, meta, optional[i]);
	return o;
}

/* ---- text ---- */

/* A line of the text form; what comes from the file is neutralised. */
static void line(FILE *f, const char *key, const char *text)
{
	char copy[1024];

	snprintf(copy, sizeof(copy), "%s", text);
	text_neutralise(copy);
	fprintf(f, "%-10s%s\n", key, copy);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "";
}

static int64_t number_of(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

/* What is unknown of a VM (a VMM that is not a QEMU, a backend without an ISA) is skipped. */
static void print_vm(const json_t *vm, FILE *f)
{
	const char *version = text_of(vm, "version");
	char text[512], isa[32], memory[32] = "";
	int64_t vcpus = number_of(vm, "vcpus"), mib = number_of(vm, "memory_bytes") >> 20;

	value_print("isa", (uint64_t)number_of(vm, "isa"), 0, isa, sizeof(isa));
	if (mib)
		snprintf(memory, sizeof(memory), ", %" PRId64 " MiB", mib);
	snprintf(text, sizeof(text), "%s (pid %" PRId64 "), %" PRId64 " vCPU%s%s, %s%s%s%s%s",
		 text_of(vm, "name"), number_of(vm, "pid"), vcpus, vcpus == 1 ? "" : "s", memory,
		 text_of(vm, "accel"), *version ? " " : "", version,
		 number_of(vm, "isa") ? ", isa " : "", number_of(vm, "isa") ? isa : "");
	line(f, "vm", text);
}

static void print_time(const json_t *result, FILE *f)
{
	int64_t at = number_of(result, "start_realtime_ns"), span = number_of(result, "span_ns");
	time_t seconds = at / 1000000000;
	char date[64] = "", text[256], length[32];
	struct tm tm;

	if (at > 0 && gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC, ", &tm);
	seconds_print((uint64_t)span, length, sizeof(length));
	snprintf(text, sizeof(text), "%s%s s%s%s", date, length,
		 *text_of(result, "end") ? ", ended by " : "", text_of(result, "end"));
	line(f, "recorded", text);
}

static void print_probes(const json_t *probes, FILE *f)
{
	size_t i;
	json_t *p;
	char text[1024];

	json_array_foreach (probes, i, p) {
		const char *reason = text_of(p, "reason");

		snprintf(text, sizeof(text), "%-20s %-10s %s%s%s", text_of(p, "event"),
			 text_of(p, "how"), text_of(p, "where"),
			 *reason && *text_of(p, "where") ? "; " : "", reason);
		line(f, i ? "" : "probes", text);
	}
}

/* The guest's own trace, recorded in the same recording. */
static void print_guests(const json_t *guests, FILE *f)
{
	size_t i;
	json_t *g;
	char text[1024];

	json_array_foreach (guests, i, g) {
		bool ring = !strcmp(text_of(g, "kind"), "guest-ring");

		snprintf(text, sizeof(text), "%s from %s, %" PRId64 " %s%s%s", text_of(g, "file"),
			 text_of(g, "source"), number_of(g, "units"), ring ? "records" : "frames",
			 *text_of(g, "error") ? "; " : "", text_of(g, "error"));
		line(f, i ? "" : "guest", text);
	}
}

static void print_clock(const json_t *clock, FILE *f)
{
	char text[256];
	size_t i;
	json_t *v;
	double scale;

	snprintf(text, sizeof(text), "TSC %" PRId64 " kHz, %" PRId64 " pairs with CLOCK_MONOTONIC",
		 number_of(clock, "tsc_khz"), number_of(clock, "pairs"));
	if (number_of(clock, "tsc_khz") || number_of(clock, "pairs"))
		line(f, "clock", text);
	json_array_foreach (json_object_get(clock, "vcpus"), i, v) {
		/* KVM's ratio, a fixed-point number; 0: the CPU does not scale */
		scale = ldexp((double)number_of(v, "scale"), -(int)number_of(v, "scale_bits"));
		snprintf(text, sizeof(text),
			 "vCPU %" PRId64 ": TSC offset %" PRId64 ", scale %.9g",
			 number_of(v, "vcpu"), number_of(v, "offset"), scale ? scale : 1);
		line(f, "", text);
	}
}

static void print_counts(const json_t *counts, const char *key, FILE *f)
{
	const char *name;
	json_t *n;
	bool first = true;
	char text[256];

	json_object_foreach ((json_t *)counts, name, n) {
		snprintf(text, sizeof(text), "%12" JSON_INTEGER_FORMAT " %s", json_integer_value(n),
			 name);
		line(f, first ? key : "", text);
		first = false;
	}
	if (first)
		line(f, key, "        none");
}

/* What --cost has counted; events without a call are not in it. */
static void print_cost(const json_t *cost, FILE *f)
{
	char text[256], all[16];
	size_t i;
	json_t *p;

	if (!cost)
		return;
	snprintf(text, sizeof(text), "%.2f %% of the VM's CPU time (%s)",
		 json_number_value(json_object_get(cost, "share_percent")),
		 duration_print((uint64_t)number_of(cost, "ns"), all, sizeof(all)));
	line(f, "cost", text);
	json_array_foreach (json_object_get(cost, "probes"), i, p) {
		int64_t calls = number_of(p, "calls");
		int64_t ns = number_of(p, "ns") + number_of(p, "trap_ns");

		snprintf(text, sizeof(text),
			 "%-20s %10" PRId64 " calls, %6" PRId64 " ns each, %.2f %%",
			 text_of(p, "event"), calls, calls ? ns / calls : 0,
			 json_number_value(json_object_get(p, "share_percent")));
		line(f, "", text);
	}
}

static void print_text(const struct input_set *in, const json_t *result, FILE *f)
{
	char text[512];
	size_t i;
	json_t *vm;

	for (i = 0; i < input_set_nr(in); i++) {
		const struct trace_info *info = &in->input[i].reader->info;

		snprintf(text, sizeof(text), "%s (%s)", info->file, info->kind);
		line(f, "file", text);
	}
	if (*text_of(result, "host") || *text_of(result, "kernel")) {
		snprintf(text, sizeof(text), "%s, kernel %s", text_of(result, "host"),
			 text_of(result, "kernel"));
		line(f, "host", text);
	}
	print_time(result, f);
	json_array_foreach (json_object_get(result, "vms"), i, vm)
		print_vm(vm, f);
	print_clock(json_array_get(json_object_get(result, "clocks"), 0), f);
	print_counts(json_object_get(result, "events"), "events", f);
	print_counts(json_object_get(result, "lost"), "lost", f);
	print_guests(json_object_get(result, "guests"), f);
	print_probes(json_object_get(result, "probes"), f);
	print_cost(json_object_get(result, "cost"), f);
	input_foot(in, NULL, f);
}

static void print_json(const struct input_set *in, json_t *result, FILE *f)
{
	json_t *head = input_head(in, NULL);

	json_object_set(head, "result", result);
	json_dumpf(head, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
	fputc('\n', f);
	json_decref(head);
}

static int report(const struct input_set *in, struct output *out)
{
	struct summary *s = calloc(1, sizeof(*s));
	json_t *result;
	int err;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->lost = json_object();
	s->vcpus = json_array();
	err = summarise(in, s);
	if (!err) {
		result = result_json(in->reader, s);
		if (!strcmp(out->format, "json"))
			print_json(in, result, out->file);
		else
			print_text(in, result, out->file);
		json_decref(result);
	}
	json_decref(s->lost);
	json_decref(s->vcpus);
	free(s);
	return err;
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct output out;

	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open("text json", &out))
		return command_failed();
	bool all = !input_options_have_window(&input_given) &&
		   !input_options_have_filter(&input_given);
	int err = input_open(false, all ? wants : NULL, NULL, &in);

	if (!err)
		err = report(in, &out);
	return report_end(err, &out, in, false);
}

const struct command info_command = {
	.name = "info",
	.args = "[FILE...]",
	.summary = "Describe a trace: VMs, events, losses, clocks, probes.",
	.group = "Report",
	.examples = "  hostrace info vm.hrt\n"
		    "  hostrace info vm.hrt -f json | jq .result.events",
	.options = options,
	.run = run,
};
