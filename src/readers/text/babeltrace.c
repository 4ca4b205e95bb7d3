// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What babeltrace and babeltrace2 print of a kernel's trace of LTTng, rewritten line by line to what trace-cmd report
 * -R prints, which the parsers know:
 *
 *	[13:02:11.123456789] (+0.000001000) host1 kvm_x86_exit: { cpu_id = 1 },
 *		{ tid = 77, procname = "CPU 0/KVM" }, { exit_reason = 48, guest_rip = 0xFFFF8102, isa = 1 }
 *
 *	CPU 0/KVM-77 [001] 46931.123456789: kvm_exit: exit_reason=48 guest_rip=0xFFFF8102 isa=1
 *
 * or, with --names=all, of which any part may be there,
 *
 *	timestamp = 13:02:11.123456789, delta = +0.000001000, trace:hostname = host1, name = kvm_x86_exit,
 *		stream.packet.context = { cpu_id = 1 }, stream.event.context = { tid = 77 }, event.fields = { ... }
 *
 * LTTng calls KVM's tracepoints of x86 kvm_x86_..., and the scheduler's numbers of threads tid. A time of day is in
 * seconds since midnight; --clock-cycles prints ticks. Threads are known only if the trace has the context tid (lttng
 * add-context -k -t tid). A line whose fields have no names (--names=none) is no event.
 *
 * What perf data convert --to-ctf wrote has SYSTEM:NAME, and the thread in the fields of the sample, which are before
 * those of the tracepoint:
 *
 *	[13:02:11.123456789] (+0.000001000) kvm:kvm_exit: { cpu_id = 1 }, { perf_ip = 0xFFFF8102, perf_tid = 77,
 *		perf_pid = 76, perf_period = 1, common_type = 110, common_pid = 77, exit_reason = 48, ... }
 */
#include "readers/text/babeltrace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "readers/text/lines.h"
#include "readers/text/paste_clean.h"
#include "readers/text/text_line.h"

#define DATE "%4d-%2d-%2d %2d:%2d:%2d%n"

enum {
	LINE_BYTES = 4096,
	FIELD_BYTES = 256,
	TIMES_MAX = 16, /* '[' before an event's fields */
	SCOPES_MAX = 8,
};

/* Blanks, also those of HTML and of mailers: how many bytes. */
static size_t blanks_span(const char *s, const char *end)
{
	const char *p = s;

	while (p < end && (*p == ' ' || *p == '\t' || (unsigned char)*p >= 0x80 ||
			   (end - p >= 6 && !memcmp(p, "&nbsp;", 6) && (p += 5))))
		p++;
	return (size_t)(p - s);
}

bool babeltrace_probe(const char *text, size_t len)
{
	static const char cpu[] = "cpu_id";
	const char *end = text + len;

	for (const char *p = text; (p = memmem(p, (size_t)(end - p), cpu, sizeof(cpu) - 1));) {
		size_t blanks;

		p += sizeof(cpu) - 1;
		blanks = blanks_span(p, end);
		if (blanks && p + blanks < end && p[blanks] == '=')
			return true;
	}
	return false;
}

/* ---- cleaning ---- */

/* One blank for several, and for tabs, but in strings. In place; returns the new end. */
static char *blanks_join(char *s, char *end)
{
	char *to = s;
	bool text = false;

	for (char *from = s; from < end; from++) {
		char c = *from == '\t' ? ' ' : *from;

		text ^= c == '"' && (to == s || to[-1] != '\\');
		if (c != ' ' || text || to == s || to[-1] != ' ')
			*to++ = c;
	}
	return to;
}

/* ---- times ---- */

/* "13:02:11.5", "2026-11-26 13:02:11.5", "1764162131.5", "200000000800" (ticks): seconds, and what follows them. */
static const char *time_parse(const char *s, uint64_t *ret)
{
	struct tm tm = {.tm_mday = 1, .tm_year = 70};
	size_t len = strcspn(s, "],");
	int n = 0;

	if (!memchr(s, ':', len)) {
		const char *begin = s;

		*ret = text_decimal(&s);
		return s > begin && (*s == '.' || s == begin + len) ? s : NULL;
	}
	if (sscanf(s, DATE, &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour, &tm.tm_min,
		   &tm.tm_sec, &n) == 6) {
		tm.tm_year -= 1900;
		tm.tm_mon--;
	} else {
		tm = (struct tm){.tm_mday = 1, .tm_year = 70};
		if (sscanf(s, "%2d:%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 3)
			return NULL;
	}
	*ret = (uint64_t)timegm(&tm);
	return s[n] == '.' ? s + n : NULL;
}

/* The time of the event, before `end`: the last one, as others may be prefixes ("Nov 25 23:03:17 ", "[12.345] "). */
static const char *time_find(const char *s, const char *end, uint64_t *ret)
{
	static const char timestamp[] = "timestamp = ";
	const char *found = memmem(s, (size_t)(end - s), timestamp, sizeof(timestamp) - 1);
	uint64_t seconds;

	if (found)
		return time_parse(found + sizeof(timestamp) - 1, ret);
	for (int i = 0; i < TIMES_MAX && (s = memchr(s, '[', (size_t)(end - s))); i++, s++) {
		const char *fraction = time_parse(s + 1, &seconds);

		if (fraction) {
			found = fraction;
			*ret = seconds;
		}
	}
	return found;
}

/* ---- fields ---- */

/* The quotation mark at the end of the string at s, or the end of the text. */
static const char *string_end(const char *s)
{
	for (s++; *s && *s != '"'; s++)
		s += *s == '\\' && s[1];
	return s;
}

/* The bracket that the one at s needs, or the end of the text. */
static const char *bracket_end(const char *s)
{
	unsigned int depth = 0;

	for (; *s; s++) {
		if (*s == '"' && !*(s = string_end(s)))
			break;
		depth += *s == '{' || *s == '[' || *s == '(';
		depth -= *s == '}' || *s == ']' || *s == ')';
		if (!depth)
			break;
	}
	return s;
}

/*
 * The value of a member: "48", "0x1F", "\"CPU 0/KVM\"", "( \"NAME\" : container = 1 )"; of arrays and structures
 * nothing. Returns its end.
 */
static const char *value_parse(const char *s, char *ret)
{
	static const char container[] = "container = ";
	const char *end = s + strcspn(s, ",}");

	*ret = '\0';
	if (*s == '"') {
		end = string_end(s);
		snprintf(ret, FIELD_BYTES, "%.*s", (int)(end - s - 1), s + 1);
		return *end ? end + 1 : end;
	}
	if (*s == '(' || *s == '[' || *s == '{') {
		bool is_enum = *s == '(';

		end = bracket_end(s);
		end += *end != '\0';
		s = is_enum ? strstr(s, container) : NULL;
		if (!s || s >= end)
			return end;
		s += sizeof(container) - 1;
	}
	snprintf(ret, FIELD_BYTES, "%.*s", (int)strcspn(s, " ,})"), s);
	return end;
}

struct head {
	char cpu[FIELD_BYTES], tid[FIELD_BYTES], comm[FIELD_BYTES];
};

/* The name of a field as the kernel's formats have it. */
static void name_print(bool sched, const char *s, size_t len, char *ret)
{
	snprintf(ret, FIELD_BYTES, "%.*s", (int)len, s);
	if (sched && len >= 3 && !strcmp(ret + len - 3, "tid") && len < FIELD_BYTES)
		memcpy(ret + len - 3, "pid", 3);
}

/*
 * Parsers of some words of KVM's events take decimal digits for hexadecimal ones, as the kernel prints these:
 * "ecx = 1760", which LTTng declares as decimal, becomes 0x6e0.
 */
static void number_hex(char *value)
{
	char *end;
	uint64_t number = strtoull(value, &end, 10);

	if (number > 9 && !*end)
		snprintf(value, FIELD_BYTES, "0x%" PRIx64, number);
}

/* The member at s of a scope, "a = 1": its name, and the end of its value, which is printed. NULL: there is none. */
static const char *member_parse(const char *s, struct text_slice *name, char *value)
{
	const char *equals = s + strcspn(s, "={}[(\",");

	if (equals - s < 2 || equals[0] != '=' || equals[-1] != ' ' || equals[1] != ' ')
		return NULL;
	*name = (struct text_slice){s, (uint32_t)(equals - 1 - s)};
	return value_parse(equals + 2, value);
}

static bool name_is(struct text_slice name, const char *text)
{
	return name.len == strlen(text) && !memcmp(name.at, text, name.len);
}

static bool is_of_context(struct text_slice name)
{
	return name_is(name, "tid") || name_is(name, "vtid") || name_is(name, "pid") ||
	       name_is(name, "vpid") || name_is(name, "procname") || name_is(name, "cpu_id");
}

/* "{ cpu_id = 1 }", "{ tid = 77, procname = "CPU 0/KVM" }" */
static void context_parse(const char *s, struct head *head)
{
	char value[FIELD_BYTES];
	struct text_slice name;

	for (s += strspn(s, "{ ,"); (s = member_parse(s, &name, value)); s += strspn(s, " ,")) {
		if (name_is(name, "cpu_id"))
			strcpy(head->cpu, value);
		else if (name_is(name, "tid") || name_is(name, "vtid"))
			strcpy(head->tid, value);
		else if (name_is(name, "procname"))
			strcpy(head->comm, value);
	}
}

static bool name_begins(struct text_slice name, const char *with)
{
	return name.len >= strlen(with) && !memcmp(name.at, with, strlen(with));
}

/* Is the field one of a sample of perf, or one that each tracepoint has? The thread is in them. */
static bool sample_parse(struct text_slice name, const char *value, bool *of_perf,
			 struct head *head)
{
	*of_perf |= name_begins(name, "perf_");
	if (!*of_perf || !(name_begins(name, "perf_") || name_begins(name, "common_")))
		return false;
	if (name_is(name, "common_pid"))
		strcpy(head->tid, value);
	return !name_is(name, "perf_period") || !strcmp(value, "1");
}

/*
 * The event's fields, to `to`. False: they have no names, or are those of a context, as the rest of the line is in the
 * next one.
 */
static bool fields_parse(const char *s, bool sched, bool kvm, struct head *head, char *to)
{
	char name[FIELD_BYTES], value[FIELD_BYTES];
	struct text_slice slice;
	bool of_perf = false;
	size_t at = 0;

	for (s += strspn(s, "{ ,"); *s && *s != '}'; s += strspn(s, " ,")) {
		s = member_parse(s, &slice, value);
		if (!s || (!at && !of_perf && (sched || kvm) && is_of_context(slice)))
			return false;
		if (sample_parse(slice, value, &of_perf, head))
			continue;
		name_print(sched, slice.at, slice.len, name);
		if (kvm)
			number_hex(value);
		if (*value)
			at += (size_t)snprintf(to + at, LINE_BYTES - at, "%s%s=%s", at ? " " : "",
					       name, value);
		if (at >= LINE_BYTES)
			return false;
	}
	return true;
}

/* "{", "stream.packet.context = {": where the brace is; NULL: no scope begins so. */
static const char *scope_open(const char *s)
{
	if (!strncmp(s, "stream.", 7) || !strncmp(s, "event.", 6)) {
		s += strspn(s, "abcdefghijklmnopqrstuvwxyz.");
		if (strncmp(s, " = ", 3) != 0)
			return NULL;
		s += 3;
	}
	return *s == '{' ? s : NULL;
}

/* ": {" or ", {" after the event's name: the colon or comma. */
static char *scopes_find(char *s)
{
	for (; *s; s++)
		if ((*s == ':' || *s == ',') && s[1] == ' ' && scope_open(s + 2))
			return s;
	return NULL;
}

/*
 * "{ a = 1, b = 2 }, { c = 3 }" up to the end of the line: contexts, then the fields, which go to `to`. False: it is
 * not so, or more of it is in the next line. What encloses a pasted text may follow.
 */
static bool scopes_parse(const char *s, bool sched, bool kvm, struct head *head, char *to)
{
	const char *last = NULL;

	for (int i = 0; i < SCOPES_MAX && s && (s = scope_open(s)); i++) {
		if (last)
			context_parse(last, head);
		last = s;
		s = bracket_end(s);
		if (*s++ != '}')
			return false;
		if (*s != ',')
			break;
		s += strspn(s, ", ");
	}
	if (!last || !s || !*head->cpu)
		return false;
	s += strspn(s, " |\"`");
	return (!*s || *s == '<') && fields_parse(last, sched, kvm, head, to);
}

/*
 * "WARNING: Tracer discarded 12 events between [..] and [..] in trace "x" within stream "/x/channel0_1" (...).", which
 * babeltrace prints before what follows the loss; its first version ends with "in trace UUID x, CPU 1." The number may
 * be of packets, or missing ("may have discarded"). As trace-cmd writes it, or "": it is none, or no CPU is known.
 */
static void discarded_print(const char *s, char *ret, size_t size)
{
	static const char tracer[] = "Tracer ", discarded[] = "discarded ", cpu[] = ", CPU ",
			  stream[] = "within stream \"";
	const char *p = strstr(s, tracer), *at, *end;
	uint64_t count = 0;

	*ret = '\0';
	p = p ? strstr(p, discarded) : NULL;
	if (!p)
		return;
	p += sizeof(discarded) - 1;
	count = text_is_digit(*p) ? text_decimal(&p) : 0;
	if (strncmp(p, " event", 6) != 0)
		count = 0;
	at = strstr(p, stream);
	end = at ? strchr(at + sizeof(stream) - 1, '"') : NULL;
	if (end)
		at = memrchr(at, '_', (size_t)(end - at));
	else if ((at = strstr(p, cpu)))
		at += sizeof(cpu) - 2;
	if (!at || !text_is_digit(at[1]))
		return;
	at++;
	if (count)
		snprintf(ret, size, "CPU:%" PRIu64 " [%" PRIu64 " EVENTS DROPPED]",
			 text_decimal(&at), count);
	else
		snprintf(ret, size, "CPU:%" PRIu64 " [EVENTS DROPPED]", text_decimal(&at));
}

/* What trace-cmd report -R prints of the event in the line, to `to`: how long it is; 0: it is no event. */
static int event_print(char *s, char *to, size_t size)
{
	static const char x86[] = "kvm_x86_";
	char fields[LINE_BYTES] = "", *scopes = scopes_find(s), *name = scopes, *plain;
	struct head head = {.cpu = ""};
	uint64_t seconds = 0;
	const char *fraction = scopes ? time_find(s, scopes, &seconds) : NULL;
	bool is_x86;
	int len;

	if (!fraction)
		return 0;
	while (name > s && name[-1] != ' ')
		name--;
	plain = memchr(name, ':', (size_t)(scopes - name));
	plain = plain ? plain + 1 : name;
	if (!scopes_parse(scopes + 2, !strncmp(plain, "sched_", 6), !strncmp(plain, "kvm_", 4),
			  &head, fields))
		return 0;
	is_x86 = !strncmp(name, x86, sizeof(x86) - 1);
	name += is_x86 ? sizeof(x86) - 1 : 0;
	len = snprintf(to, size, "%s%s%s [%03u] %" PRIu64 "%.*s: %s%.*s: %s", head.comm,
		       *head.tid ? "-" : "", head.tid, (unsigned int)strtoul(head.cpu, NULL, 10),
		       seconds, (int)strcspn(fraction, "],"), fraction, is_x86 ? "kvm_" : "",
		       (int)(plain - name + strcspn(plain, ":,")), name, fields);
	return (size_t)len < size ? len : 0;
}

bool babeltrace_is_wrapped(char *s, char *end)
{
	const char *after;
	uint64_t seconds;
	int depth = 0;

	s += strspn(s, "> |");
	if (s >= end || *s != '[')
		return false;
	*end = '\0';
	after = time_parse(s + 1, &seconds);
	after = after ? strchr(after, ']') : NULL;
	*end = '\n';
	for (const char *p = s; p < end; p++)
		depth += (*p == '{') - (*p == '}');
	return after && (depth || text_trim_end(s, end)[-1] != '}');
}

char *babeltrace_line(char *s, char *end)
{
	char line[LINE_BYTES];
	int len;

	if (paste_is_odd(s, end))
		end = paste_clean(s, end);
	end = blanks_join(s, end);
	*end = '\0';
	discarded_print(s, line, sizeof(line));
	len = (int)strlen(line);
	len = len ? len : event_print(s, line, sizeof(line));
	if (len && len < end - s) {
		memcpy(s, line, (size_t)len);
		end = s + len;
	}
	*end = '\n';
	return end;
}
