// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What other tools write and no reader reads, recognized to say what it is and how to get what is read: tables of
 * counts, which have no times and no threads (tool_table.h), and traces that another program prints as text.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "event/reader.h"
#include "readers/perf/perfdata.h"
#include "readers/readers.h"
#include "readers/text/tool_table.h"

struct other_format {
	const char *mark; /* in the first bytes of the file */
	const char *what, *instead;
};

static const char ctf_instead[] = "name its directory, which has the metadata: -i DIRECTORY";
static const char babeltrace[] =
	"text of babeltrace2 without CPUs or names of fields, or with broken lines";
static const char babeltrace_instead[] =
	"print each event in one line, with its CPU and the names of its fields, as babeltrace2 "
	"does of a kernel's trace of LTTng without options";
static const char stap_instead[] =
	"record the events: hostrace record --vm PID; reports: heatmap exit-latency, leaks";

static const char perf_trace_instead[] =
	"record the events: perf record -a -e 'kvm:*', and give perf.data or the text of perf "
	"script; or hostrace record --vm PID";

static const struct other_format formats[] = {
	{" kvm:kvm_exit(", "text of perf trace", perf_trace_instead},
	{" kvm:kvm_entry(", "text of perf trace", perf_trace_instead},
	{"\xc1\x1f\xfc\xc1", "a stream of a CTF trace (LTTng)", ctf_instead},
	{"\x57\x1d\xd1\x75", "the metadata of a CTF trace (LTTng)", ctf_instead},
	{"/* CTF 1.8 */", "the metadata of a CTF trace (LTTng)", ctf_instead},
	{"] (+0", babeltrace, babeltrace_instead},
	{"] (+?", babeltrace, babeltrace_instead},
	{", name = kvm_", babeltrace, babeltrace_instead},
	{", name = sched_", babeltrace, babeltrace_instead},
	{" kvm_x86_exit: { ", babeltrace, babeltrace_instead},
	{" kvm_x86_entry: { ", babeltrace, babeltrace_instead},
	{"{Trace 0, Stream class ID ", "text of babeltrace2's sink.text.details",
	 babeltrace_instead},
	{"|512n8u  131u2m", "a heat map of stap/exitheatmap.stp", stap_instead},
	{"queue verdict       device", "a table of stap/virtqueueleaks.stp", stap_instead},
};

static int refuse(const char *path, const char *what, const char *instead)
{
	return fail_hint(fail(-EINVAL, "%s is %s, which cannot be read", path, what), "%s",
			 instead);
}

/* " kvm:kvm_exit:vcpu 0 reason HLT ..." of perf 4.x, where other tools have a blank after the name */
static bool is_perf_trace_event(const char *p)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
	size_t system, event;

	p += strspn(p, " ");
	system = strspn(p, name);
	if (!system || p[system] != ':')
		return false;
	p += system + 1;
	event = strspn(p, name);
	return event && p[event] == ':' && p[event + 1] && !strchr(" \n", p[event + 1]);
}

/* A line of perf trace: "     0.020 ( 0.110 ms): qemu/5001 ioctl(...) = 0"; an event has blanks in the parentheses. */
static bool is_perf_trace_line(const char *p, const char *end)
{
	size_t n, left = (size_t)(end - p);
	char line[64] = "";

	memcpy(line, p, left < sizeof(line) - 1 ? left : sizeof(line) - 1);
	p = line + strspn(line, " ");
	n = strspn(p, "0123456789");
	if (!n || p[n] != '.' || strspn(p + n + 1, "0123456789") != 3)
		return false;
	if (is_perf_trace_event(p + n + 4))
		return true;
	if (strncmp(p + n + 4, " (", 2) != 0)
		return false;
	p += n + 6;
	p += strspn(p, " 0123456789.");
	return !strncmp(p, "ms): ", 5) || !strncmp(p, "): ", 3);
}

static bool is_perf_trace(const char *text, size_t len)
{
	const char *end = text + len, *newline;

	for (const char *p = text; p < end; p = newline ? newline + 1 : end) {
		if (is_perf_trace_line(p, end))
			return true;
		newline = memchr(p, '\n', (size_t)(end - p));
	}
	return false;
}

/* Counts and events in forms that nobody foresaw: what their rows and lines should be like. */
static bool names_exits(const char *text, size_t len)
{
	static const char *const names[] = {
		"kvm_exit",	 "kvm_entry",	  "kvm:kvm_",		"halt_exits",
		"VM-EXIT",	 "EPT_VIOLATION", "EPT_MISCONFIG",	"EXTERNAL_INTERRUPT",
		"MSR_WRITE",	 "KVM_EXIT_",	  "IO_INSTRUCTION",	"prev_comm=",
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (memmem(text, len, names[i], strlen(names[i])))
			return !memchr(text, '\0', len);
	return false;
}

int other_format_refuse(const char *path, struct open_files *files, const uint8_t *head, size_t len)
{
	const char *tool = tool_table_probe((const char *)head, len);

	if (!tool && len == READER_PROBE_BYTES && !memchr(head, '\0', len))
		tool = tool_table_find(path, files);
	if (tool)
		return fail_hint(fail(-EMEDIUMTYPE,
				      "%s is a table of %s, not a trace: it has no times and no "
				      "threads",
				      path, tool),
				 "show its counts: hostrace exits %s; or record the events: "
				 "hostrace record --vm PID, trace-cmd record -e kvm, or perf "
				 "record -a -e 'kvm:*'",
				 path);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		const struct other_format *f = &formats[i];

		if (memmem(head, len, f->mark, strlen(f->mark)))
			return refuse(path, f->what, f->instead);
	}
	if (is_perf_trace((const char *)head, len))
		return refuse(path, "text of perf trace", perf_trace_instead);
	if (names_exits((const char *)head, len))
		return fail_hint(fail(-EINVAL,
				      "%s names KVM's events or exit reasons, but not in a form "
				      "that is recognized",
				      path),
				 "counts: a line '12 kvm_exit: reason HLT' for each (sort | "
				 "uniq -c), or the tables of perf kvm stat, kvm_stat and perf stat "
				 "as printed; events: lines of trace-cmd report or perf script");
	return perfdata_part_refuse(path, head, len);
}

bool directory_holds(const char *directory, const char *name)
{
	_cleanup_free_ char *path = NULL;

	return asprintf(&path, "%s/%s", directory, name) >= 0 && !access(path, F_OK);
}
