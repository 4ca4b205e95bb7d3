// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What other tools write and no reader reads, recognized to say what it is and how to get what is read: tables of
 * counts, which have no times and no threads (tool_table.h), and traces that another program prints as text.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "event/reader.h"
#include "readers/perf/perfdata.h"
#include "readers/readers.h"
#include "readers/text/tool_table.h"

enum {
	BASE64_WIDTH_MIN = 60, /* of base64, uuencode -m, OpenSSL, and mails: 60 to 76 */
	HEX_BYTES_MIN = 16,
};

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

static const char histogram_instead[] =
	"it has no exits and no reasons: record the events (hostrace record --vm PID, trace-cmd "
	"record -e kvm), of which 'hostrace histogram exit-latency' shows the same; without a "
	"recording: hostrace stat --vm PID";

static const char strace_instead[] =
	"record the exits: hostrace record --vm PID, or trace-cmd record -e kvm; system calls "
	"alone: perf trace -s -p PID, whose table 'hostrace exits' shows";

static const char buffers_instead[] = "it counts all events of each CPU, lost ones as 'overrun', "
				      "and says nothing of exits: give the "
				      "recording, trace.dat, or its text, trace-cmd report";

static const char hist_instead[] =
	"'hostrace exits trace.dat' and 'hostrace count trace.dat' show the same of the recording";

static const char bpftrace_json[] = "output of bpftrace -f json";

static const char bpftrace_instead[] =
	"run bpftrace without -f json: 'hostrace exits' shows the counts of its maps; latencies: "
	"hostrace record --vm PID, or hostrace stat --vm PID without a recording";

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
	{" : count     distribution", "a histogram of bcc (funclatency, runqlat)",
	 histogram_instead},
	{"#   DURATION     |      COUNT", "a histogram of perf ftrace latency", histogram_instead},
	{"{Trace 0, Stream class ID ", "text of babeltrace2's sink.text.details",
	 babeltrace_instead},
	{"|512n8u  131u2m", "a heat map of stap/exitheatmap.stp", stap_instead},
	{"{\"type\": \"map\", \"data\": {", bpftrace_json, bpftrace_instead},
	{"{\"type\": \"hist\", \"data\": {", bpftrace_json, bpftrace_instead},
	{"{\"type\": \"stats\", \"data\": {", bpftrace_json, bpftrace_instead},
	{"{\"type\": \"attached_probes\", \"data\": {", bpftrace_json, bpftrace_instead},
	{"queue verdict       device", "a table of stap/virtqueueleaks.stp", stap_instead},
	{"\ncommit overrun: ", "statistics of ftrace's buffers (trace-cmd stat, per_cpu/*/stats)",
	 buffers_instead},
	{"\n       --- *", "a call graph of trace-cmd hist", hist_instead},
};

/* Files that were made text for a mail: what makes them again, before the file's name. */
static const struct encoded {
	const char *mark; /* in a line that begins with it */
	const char *what, *instead;
} encodings[] = {
	{"begin-base64 ", "uuencoded", "decode it: uudecode -o trace.dat"},
	{"begin 644 ", "uuencoded", "decode it: uudecode -o trace.dat"},
	{"begin 600 ", "uuencoded", "decode it: uudecode -o trace.dat"},
	{"Content-Transfer-Encoding: base64", "a mail with an attachment in base64",
	 "save the attachment with the mail program, or: munpack"},
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

/* ---- files as text ---- */

static const char *line_end(const char *p, const char *end)
{
	const char *newline = memchr(p, '\n', (size_t)(end - p));

	return newline ? newline : end;
}

static const struct encoded *encoded_find(const char *text, size_t len)
{
	const char *end = text + len;

	for (const char *p = text; p < end; p = line_end(p, end) + 1)
		for (size_t i = 0; i < sizeof(encodings) / sizeof(*encodings); i++)
			if ((size_t)(end - p) > strlen(encodings[i].mark) &&
			    !strncasecmp(p, encodings[i].mark, strlen(encodings[i].mark)))
				return &encodings[i];
	return NULL;
}

static const char hex_digits[] = "0123456789abcdefABCDEF";

static bool is_base64_digit(char c)
{
	return isalnum((unsigned char)c) || c == '+' || c == '/' || c == '=' || c == '\r';
}

/* Lines of one length, but for the last, or a single one, with nothing but digits of base64. */
static bool is_base64(const char *text, size_t len)
{
	const char *end = text + len;
	size_t width = 0, size;

	for (const char *p = text; p < end; p += size + 1) {
		size = (size_t)(line_end(p, end) - p);
		width = p == text ? size : width;
		if (size > width || (size < width && p + size + 1 < end))
			return false;
		for (size_t i = 0; i < size; i++)
			if (!is_base64_digit(p[i]))
				return false;
	}
	return width >= BASE64_WIDTH_MIN && isalnum((unsigned char)*text);
}

/* "00000010: 6e67 3600" of xxd, "00000010  17 08 44" of hexdump -C, "000010 17 08" of od -A x -t x1 */
static bool is_hex_line(const char *s, const char *end, bool *ret_xxd)
{
	size_t len = (size_t)(end - s), digits, bytes = 0, word;
	char line[64] = "";
	const char *p = line;

	memcpy(line, s, len < sizeof(line) - 1 ? len : sizeof(line) - 1);
	digits = strspn(p, hex_digits);
	p += digits;
	*ret_xxd = *p == ':';
	p += *ret_xxd;
	for (; *p == ' '; p += word) {
		p += strspn(p, " ");
		word = strspn(p, hex_digits);
		if (word % 2 || !word)
			break;
		bytes += word / 2;
	}
	return digits >= 6 && digits <= 16 && bytes >= HEX_BYTES_MIN;
}

static bool is_hex_dump(const char *text, size_t len, bool *ret_xxd)
{
	const char *end = text + len, *first = line_end(text, end), *second;

	if (first == end)
		return false;
	second = line_end(first + 1, end);
	return is_hex_line(text, first, ret_xxd) && is_hex_line(first + 1, second, ret_xxd);
}

/* "[pid  4325] ioctl(23, KVM_RUN, 0) = 0", "4325  12:00:00.1 <... ioctl resumed>", "% time  seconds  usecs/call" */
static bool is_strace_line(const char *p, const char *end)
{
	static const char heading[] = "% time     seconds  usecs/call     calls";
	char line[256] = "";
	size_t n, len = (size_t)(end - p);
	const char *call;

	memcpy(line, p, len < sizeof(line) - 1 ? len : sizeof(line) - 1);
	if (!strncmp(line, heading, sizeof(heading) - 1))
		return true;
	p = line + strspn(line, " ");
	if (!strncmp(p, "[pid ", 5))
		p += strcspn(p, "]") + (strchr(p, ']') != NULL);
	p += strspn(p, " 0123456789.:");
	if (!strncmp(p, "<... ", 5))
		return strstr(p, " resumed>");
	call = p;
	n = strspn(p, "abcdefghijklmnopqrstuvwxyz_0123456789");
	p += n;
	return n && isalpha((unsigned char)*call) && *p == '(' &&
	       (strstr(p, ") = ") || strstr(p, ")     = ") || strstr(p, "<unfinished ...>") ||
		strstr(p, ", KVM_"));
}

static bool is_strace(const char *text, size_t len)
{
	const char *end = text + len;

	for (const char *p = text; p < end; p = line_end(p, end) + 1)
		if (is_strace_line(p, line_end(p, end)))
			return true;
	return false;
}

/* Some of their lines look like those of tables. */
static int dump_refuse(const char *path, const char *text, size_t len)
{
	bool xxd;

	if (is_base64(text, len))
		return fail_hint(fail(-EINVAL, "%s is base64, not a trace", path),
				 "decode it: base64 -d %s >trace.dat", path);
	if (!is_hex_dump(text, len, &xxd))
		return 0;
	fail(-EINVAL, "%s is a dump in hexadecimal, not a trace", path);
	if (xxd)
		return fail_hint(-EINVAL, "restore the file: xxd -r %s >trace.dat", path);
	return fail_hint(-EINVAL, "give the file itself: hexdump and od leave out repeated lines");
}

static int encoded_refuse(const char *path, const char *text, size_t len)
{
	const struct encoded *e = encoded_find(text, len);

	return e ? fail_hint(fail(-EINVAL, "%s is %s, not a trace", path, e->what), "%s %s",
			     e->instead, path)
		 : 0;
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
	int err = dump_refuse(path, (const char *)head, len);
	const char *tool = err ? NULL : tool_table_probe((const char *)head, len);

	if (err)
		return err;
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
	err = encoded_refuse(path, (const char *)head, len);
	if (err)
		return err;
	if (is_strace((const char *)head, len))
		return refuse(path, "text of strace", strace_instead);
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
