// SPDX-License-Identifier: GPL-2.0-or-later
/* What a trace holds, as text: the object of info_report.c, line by line. */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/json_text.h"
#include "event/exit_reason.h"
#include "base/units.h"
#include "output/info_report.h"

enum { WIDTH = 80, KEY_WIDTH = 10, ABSENT_TOGETHER = 3, PID_BYTES = 24 };

/* A line of the text form; what comes from the file is sanitized. */
static void line(FILE *f, const char *key, const char *text)
{
	char copy[1024];

	snprintf(copy, sizeof(copy), "%s", text);
	text_sanitize(copy);
	fprintf(f, "%-*s%s\n", KEY_WIDTH, key, copy);
}

static const char *pid_print(int64_t pid, char buf[PID_BYTES])
{
	snprintf(buf, PID_BYTES, "%" PRId64, pid);
	return buf;
}

/* "web (pid 12)"; a VM without a name is called "pid 12" or "tid 12" already, or has not even a pid. */
static void vm_title(const json_t *vm, char *buf, size_t size)
{
	const char *name = text_of(vm, "name");
	int64_t pid = number_of(vm, "pid");
	char number[PID_BYTES];

	pid_print(pid, number);
	if (!*name && !pid)
		snprintf(buf, size, "unnamed");
	else if ((!strncmp(name, "pid ", 4) || !strncmp(name, "tid ", 4)) &&
		 !strcmp(name + 4, number))
		snprintf(buf, size, "%s", name);
	else
		snprintf(buf, size, "%s (pid %s)", name, number);
}

/* What is unknown of a VM (a VMM that is not a QEMU, a backend without an ISA) is skipped. */
static void print_vm(const json_t *vm, FILE *f)
{
	const char *accel = text_of(vm, "accel"), *version = text_of(vm, "version");
	const char *encryption = text_of(vm, "encryption");
	char title[300], text[512], isa[32], memory[32] = "";
	int64_t vcpus = number_of(vm, "vcpus"), mib = number_of(vm, "memory_bytes") >> 20;

	vm_title(vm, title, sizeof(title));
	value_print("isa", (uint64_t)number_of(vm, "isa"), 0, isa, sizeof(isa));
	if (mib)
		snprintf(memory, sizeof(memory), ", %" PRId64 " MiB", mib);
	snprintf(text, sizeof(text), "%s, %" PRId64 " vCPU%s%s%s%s%s%s%s%s", title, vcpus,
		 vcpus == 1 ? "" : "s", memory, *accel ? ", " : "", accel, *version ? " " : "",
		 version, number_of(vm, "isa") ? ", isa " : "", number_of(vm, "isa") ? isa : "");
	line(f, "vm", text);
	if (*encryption) {
		snprintf(text, sizeof(text), "encrypted (%s): %s", encryption,
			 strcmp(encryption, "SEV") ? "neither memory nor registers were readable"
						   : "its memory was not readable");
		line(f, "", text);
	}
	if (json_is_true(json_object_get(vm, "hypervisor")))
		line(f, "",
		     "a hypervisor: 'hostrace exits --by level' separates its guests' exits");
}

/* "vCPU threads: 0=101, 1=102", in lines of at most 80 columns; ones that are unknown are skipped. */
static void print_threads(const json_t *vm, FILE *f)
{
	char text[WIDTH - KEY_WIDTH + 32];
	size_t len = 0, i;
	json_t *v;

	json_array_foreach (json_object_get(vm, "vcpu_threads"), i, v) {
		char one[48];
		int n = snprintf(one, sizeof(one), "%" PRId64 "=%" PRId64, number_of(v, "index"),
				 number_of(v, "tid"));

		if (!number_of(v, "tid"))
			continue;
		if (len && len + (size_t)n + 2 > WIDTH - KEY_WIDTH - 1) {
			snprintf(text + len, sizeof(text) - len, ",");
			line(f, "", text);
			len = (size_t)snprintf(text, sizeof(text), "  %s", one);
		} else {
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? ", " : "vCPU threads: ", one);
		}
	}
	if (len)
		line(f, "", text);
}

/* "; memory: 512.0 MiB, reached 25 times"; "": it has no limit. */
static const char *memory_limit_print(const json_t *group, char *buf, size_t size)
{
	const json_t *bytes = json_object_get(group, "memory"),
		     *reached = json_object_get(group, "memory_reached");
	char times[40] = "";

	*buf = '\0';
	if (json_is_integer(reached))
		snprintf(times, sizeof(times), ", reached %" JSON_INTEGER_FORMAT " times",
			 json_integer_value(reached));
	if (json_is_integer(bytes))
		snprintf(buf, size, "; memory: %.1f MiB%s",
			 (double)json_integer_value(bytes) / (1 << 20), times);
	return buf;
}

/* "cgroup /web of pid 71: 0.50 CPUs, throttled 20 times for 1.2s (sum of all CPUs); I/O: 8:0 riops=20". */
static void print_limits(const json_t *limits, FILE *f)
{
	char text[1024], quota[64], throttled[96], memory[96], time[16];
	const json_t *group, *cpus, *weight, *ns;
	size_t i;

	json_array_foreach (json_object_get(limits, "cgroups"), i, group) {
		const char *io = text_of(group, "io_limits");

		*quota = *throttled = '\0';
		cpus = json_object_get(group, "cpus");
		weight = json_object_get(group, "weight");
		ns = json_object_get(group, "throttled_ns");
		if (json_is_number(cpus))
			snprintf(quota, sizeof(quota), ": %.2f CPUs", json_number_value(cpus));
		else if (json_number_value(weight) > 0 && json_number_value(weight) < 1)
			snprintf(quota, sizeof(quota), ": %.3g of the default weight",
				 json_number_value(weight));
		if (json_is_integer(ns) && json_integer_value(ns) >= 0)
			snprintf(throttled, sizeof(throttled),
				 ", throttled %" PRId64 " times for %s (sum of all CPUs)",
				 number_of(group, "throttled"),
				 duration_print((uint64_t)json_integer_value(ns), time,
						sizeof(time)));
		snprintf(text, sizeof(text), "cgroup %s of pid %" PRId64 "%s%s%s%s%s",
			 text_of(group, "path"), number_of(group, "pid"), quota, throttled,
			 *io ? "; I/O: " : "", io,
			 memory_limit_print(group, memory, sizeof(memory)));
		line(f, i ? "" : "limits", text);
	}
}

/* "217 requests of d0 (ide-hd): 46.1ms on average; QEMU limits it: iops=20". */
static void print_disks(const json_t *disks, FILE *f)
{
	const json_t *disk, *limit;
	const char *name;
	char text[1024], each[16];
	size_t i;

	if (*text_of(disks, "error")) {
		snprintf(text, sizeof(text), "not recorded: %s", text_of(disks, "error"));
		line(f, "disks", text);
	}
	json_array_foreach (json_object_get(disks, "list"), i, disk) {
		int64_t nr = (int64_t)((uint64_t)number_of(disk, "reads") +
				       (uint64_t)number_of(disk, "writes") +
				       (uint64_t)number_of(disk, "flushes")),
			ns = number_of(disk, "time_ns");
		size_t len = (size_t)snprintf(
			text, sizeof(text), "%.128s (%.64s): %" PRId64 " requests, %s on average",
			text_of(disk, "device"), text_of(disk, "model"), nr,
			duration_print(nr > 0 && ns > 0 ? (uint64_t)(ns / nr) : 0, each,
				       sizeof(each)));

		json_object_foreach (json_object_get(disk, "limits"), name, limit)
			if (len < sizeof(text))
				len += (size_t)snprintf(text + len, sizeof(text) - len,
							"; %.16s=%" JSON_INTEGER_FORMAT, name,
							json_integer_value(limit));
		line(f, i ? "" : "disks", text);
	}
}

/* When `record` looked for what stood still, and what it saw. */
static void print_stuck(const json_t *result, FILE *f)
{
	const json_t *stuck = json_object_get(result, "stuck"), *one;
	int64_t at = number_of(stuck, "end_ns") - number_of(result, "start_ns");
	char text[1024], time[16];
	size_t i;

	if (*text_of(stuck, "error")) {
		snprintf(text, sizeof(text), "not recorded: %s", text_of(stuck, "error"));
		line(f, "stuck", text);
		return;
	}
	if (!stuck)
		return;
	snprintf(text, sizeof(text), "looked at until %s after the start; findings: %zu",
		 duration_print(at > 0 ? (uint64_t)at : 0, time, sizeof(time)),
		 json_array_size(json_object_get(stuck, "findings")));
	line(f, "stuck", text);
	json_array_foreach (json_object_get(stuck, "findings"), i, one) {
		snprintf(text, sizeof(text), "%s: %s", text_of(one, "kind"), text_of(one, "text"));
		line(f, "", text);
	}
}

static void print_time(const json_t *result, FILE *f)
{
	int64_t at = number_of(result, "start_realtime_ns"), span = number_of(result, "span_ns");
	time_t seconds = at / 1000000000;
	char date[64] = "", text[256], length[48], number[32];
	struct tm tm;

	if (at > 0 && gmtime_r(&seconds, &tm))
		strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S UTC, ", &tm);
	if (json_object_get(result, "span_ticks"))
		snprintf(length, sizeof(length), "%" PRId64 " ticks",
			 number_of(result, "span_ticks"));
	else
		snprintf(length, sizeof(length), "%s s",
			 seconds_print((uint64_t)span, number, sizeof(number)));
	snprintf(text, sizeof(text), "%s%s%s%s", date, length,
		 *text_of(result, "end") ? ", ended by " : "", text_of(result, "end"));
	line(f, "recorded", text);
}

/* {reason: {event: null}} of the events that are absent; several VMs have the same events. */
static json_t *absent_by_reason(const json_t *probes)
{
	json_t *reasons = json_object(), *p;
	size_t i;

	json_array_foreach (probes, i, p) {
		const char *reason = text_of(p, "reason");

		if (strcmp(text_of(p, "how"), "absent"))
			continue;
		if (!json_object_get(reasons, reason))
			json_object_set_new(reasons, reason, json_object());
		json_object_set_new(json_object_get(reasons, reason), text_of(p, "event"),
				    json_null());
	}
	return reasons;
}

/* The names of the events, in lines that fit. */
static void absent_names_print(const json_t *events, FILE *f)
{
	char text[WIDTH] = "";
	size_t len = 0;
	const char *name;
	json_t *unused;

	json_object_foreach ((json_t *)events, name, unused) {
		if (len && KEY_WIDTH + len + 1 + strlen(name) > WIDTH) {
			line(f, "", text);
			len = 0;
		}
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s", len ? " " : "  ",
					name);
		len = len < sizeof(text) ? len : sizeof(text) - 1;
	}
	line(f, "", text);
}

/*
 * Events that are absent for the same reason are listed where the first of them is, if they are several. False: this
 * one is none of these.
 */
static bool absent_print(const json_t *probe, const char *key, json_t *reasons, FILE *f)
{
	const char *reason = text_of(probe, "reason");
	const json_t *events = json_object_get(reasons, reason);
	char text[512], count[32];

	if (strcmp(text_of(probe, "how"), "absent"))
		return false;
	if (json_is_true(events))
		return true;
	if (json_object_size(events) < ABSENT_TOGETHER)
		return false;
	snprintf(count, sizeof(count), "%zu events", json_object_size(events));
	snprintf(text, sizeof(text), "%-20s %-10s %s", count, "absent", reason);
	line(f, key, text);
	absent_names_print(events, f);
	json_object_set_new(reasons, reason, json_true()); /* they are printed */
	return true;
}

static void print_probes(const json_t *probes, FILE *f)
{
	json_t *reasons = absent_by_reason(probes), *p;
	size_t i;
	char text[1024];

	json_array_foreach (probes, i, p) {
		const char *reason = text_of(p, "reason");

		if (absent_print(p, i ? "" : "probes", reasons, f))
			continue;
		snprintf(text, sizeof(text), "%-20s %-10s %s%s%s", text_of(p, "event"),
			 text_of(p, "how"), text_of(p, "where"),
			 *reason && *text_of(p, "where") ? "; " : "", reason);
		line(f, i ? "" : "probes", text);
	}
	json_decref(reasons);
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

/* {pid: name} of VMs, with a blank after each name; empty in a trace of one VM. */
static json_t *clock_vms(const json_t *vms)
{
	json_t *names = json_object(), *vm;
	char pid[PID_BYTES];
	size_t i;

	if (json_array_size(vms) > 1)
		json_array_foreach (vms, i, vm)
			json_object_set_new(names, pid_print(number_of(vm, "pid"), pid),
					    json_sprintf("%s ", text_of(vm, "name")));
	return names;
}

static const char *offset_print(const json_t *vcpu, char *buf, size_t size)
{
	if (!json_is_integer(json_object_get(vcpu, "offset")))
		return "not recorded";
	snprintf(buf, size, "%" PRId64, number_of(vcpu, "offset"));
	return buf;
}

/* KVM's ratio, a fixed-point number; 0: the CPU does not scale. */
static const char *scale_print(const json_t *vcpu, char *buf, size_t size)
{
	double scale = ldexp((double)number_of(vcpu, "scale"), -(int)number_of(vcpu, "scale_bits"));

	if (!json_is_integer(json_object_get(vcpu, "scale")))
		return "not recorded";
	snprintf(buf, size, "%.9g", scale ? scale : 1);
	return buf;
}

/* What the host's and guests' clocks are made of. */
static const char *counter_name(const json_t *vms)
{
	json_t *vm;
	size_t i;

	json_array_foreach (vms, i, vm)
		if (number_of(vm, "isa") == EXIT_ISA_ARM64)
			return "CNTVCT";
	return "TSC";
}

static void print_clock(const json_t *clock, const json_t *vms, FILE *f)
{
	json_t *names = clock_vms(vms), *v;
	const char *counter = counter_name(vms);
	char text[512], pid[PID_BYTES], offset[32], scale[32];
	size_t i;

	snprintf(text, sizeof(text), "%s %" PRId64 " kHz, %" PRId64 " pairs with CLOCK_MONOTONIC",
		 counter, number_of(clock, "tsc_khz"), number_of(clock, "pairs"));
	if (number_of(clock, "tsc_khz") || number_of(clock, "pairs"))
		line(f, "clock", text);
	json_array_foreach (json_object_get(clock, "vcpus"), i, v) {
		snprintf(text, sizeof(text), "%svCPU %" PRId64 ": %s offset %s, scale %s",
			 text_of(names, pid_print(number_of(v, "pid"), pid)), number_of(v, "vcpu"),
			 counter,
			 offset_print(v, offset, sizeof(offset)),
			 scale_print(v, scale, sizeof(scale)));
		line(f, "", text);
	}
	json_decref(names);
}

static void print_counts(const json_t *counts, const char *key, FILE *f)
{
	const char *name;
	json_t *n;
	bool first = true;
	char text[256];

	json_object_foreach ((json_t *)counts, name, n) {
		snprintf(text, sizeof(text), "%12" PRIu64 " %s", json_u64_value(n), name);
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

void info_report_text(const struct input_set *in, const json_t *result, FILE *f)
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
	json_array_foreach (json_object_get(result, "vms"), i, vm) {
		print_vm(vm, f);
		print_threads(vm, f);
	}
	print_limits(json_object_get(result, "limits"), f);
	print_disks(json_object_get(result, "disks"), f);
	print_stuck(result, f);
	print_clock(json_array_get(json_object_get(result, "clocks"), 0),
		    json_object_get(result, "vms"), f);
	print_counts(json_object_get(result, "events"), "events", f);
	print_counts(json_object_get(result, "lost"), "lost", f);
	if (json_object_get(result, "truncated"))
		line(f, "", "     unknown after the end of the truncated file");
	if (json_object_get(result, "in_flight"))
		print_counts(json_object_get(result, "in_flight"), "in flight", f);
	print_guests(json_object_get(result, "guests"), f);
	print_probes(json_object_get(result, "probes"), f);
	print_cost(json_object_get(result, "cost"), f);
}
