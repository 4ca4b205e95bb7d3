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
 * LTTng calls KVM's tracepoints of x86 kvm_x86_..., and the scheduler's numbers of threads tid. A time of day is in
 * seconds since midnight. Threads are known only if the trace has the context tid (lttng add-context -k -t tid).
 */
#include "readers/text/babeltrace.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "readers/text/lines.h"

#define DATE "[%4d-%2d-%2d %2d:%2d:%2d%n"

enum { LINE_BYTES = 4096, FIELD_BYTES = 256, TIMES_MAX = 16 /* '[' before an event's fields */ };

bool babeltrace_probe(const char *text, size_t len)
{
	static const char context[] = "{ cpu_id = ";

	return memmem(text, len, context, sizeof(context) - 1) && memchr(text, '[', len);
}

/* "[13:02:11.5]", "[2026-11-26 13:02:11.5]", "[1764162131.5]": seconds, and what follows them,
 * ".5]". */
static const char *time_parse(const char *s, uint64_t *ret)
{
	struct tm tm = {.tm_mday = 1, .tm_year = 70};
	const char *colon = strchr(s, ':'), *close = strchr(s, ']');
	int n = 0;

	if (*s != '[' || !close)
		return NULL;
	if (!colon || colon > close) {
		s++;
		*ret = text_decimal(&s);
		return *s == '.' ? s : NULL;
	}
	if (sscanf(s, DATE, &tm.tm_year, &tm.tm_mon, &tm.tm_mday, &tm.tm_hour,
		   &tm.tm_min, &tm.tm_sec, &n) == 6) {
		tm.tm_year -= 1900;
		tm.tm_mon--;
	} else {
		tm = (struct tm){.tm_mday = 1, .tm_year = 70};
		if (sscanf(s, "[%2d:%2d:%2d%n", &tm.tm_hour, &tm.tm_min, &tm.tm_sec, &n) != 3)
			return NULL;
	}
	*ret = (uint64_t)timegm(&tm);
	return s[n] == '.' ? s + n : NULL;
}

/* The value of a member: "48", "0x1F", "\"CPU 0/KVM\"", "( \"NAME\" : container = 1 )". Returns its
 * end. */
static const char *value_parse(const char *s, char *ret)
{
	static const char container[] = "container = ";
	const char *end = s + strcspn(s, ",}"), *close;
	size_t len = 0;

	if (*s == '"') {
		close = strchr(s + 1, '"');
		end = close ? close : s + strlen(s);
		snprintf(ret, FIELD_BYTES, "%.*s", (int)(end - s - 1), s + 1);
		return *end ? end + 1 : end;
	}
	if (*s == '(') {
		close = strchr(s, ')');
		end = close ? close + 1 : end;
		s = strstr(s, container);
		s = s && s < end ? s + sizeof(container) - 1 : end;
	}
	len = strcspn(s, " ,})");
	snprintf(ret, FIELD_BYTES, "%.*s", (int)len, s);
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

/* "{ a = 1, b = 2 }, { c = 3 }": contexts, then the fields, which go to `to`. False: it is not so.
 */
static bool members_parse(const char *s, bool sched, bool kvm, struct head *head, char *to)
{
	size_t at = 0;

	while ((s = strchr(s, '{'))) {
		bool fields = !strchr(s, '}') || !strchr(strchr(s, '}'), '{');

		for (s++; *s && *s != '}';) {
			char name[FIELD_BYTES], value[FIELD_BYTES];
			const char *equals;

			s += strspn(s, " ,");
			equals = strstr(s, " = ");
			if (*s == '}' || !equals)
				break;
			name_print(sched && fields, s, (size_t)(equals - s), name);
			s = value_parse(equals + 3, value);
			if (fields && kvm)
				number_hex(value);
			if (fields)
				at += (size_t)snprintf(to + at, LINE_BYTES - at, "%s%s=%s",
						       at ? " " : "", name, value);
			else if (!strcmp(name, "cpu_id"))
				strcpy(head->cpu, value);
			else if (!strcmp(name, "tid") || !strcmp(name, "vtid"))
				strcpy(head->tid, value);
			else if (!strcmp(name, "procname"))
				strcpy(head->comm, value);
			if (at >= LINE_BYTES)
				return false;
		}
	}
	return *head->cpu;
}

/* A line that was cut or broken has no end of its fields; after it may be what encloses a pasted text. */
static bool is_whole(const char *s)
{
	const char *close = strrchr(s, '}');

	if (!close)
		return false;
	close++;
	close += strspn(close, " \t|\"`");
	return !*close || *close == '<' || *close == 0x1b;
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

/* The time of the event, before `end`: the last one, as others may be prefixes ("Nov 25 23:03:17 ", "[12.345] "). */
static const char *time_find(const char *s, const char *end, uint64_t *ret)
{
	const char *found = NULL;
	uint64_t seconds;

	for (int i = 0; i < TIMES_MAX && (s = memchr(s, '[', (size_t)(end - s))); i++, s++) {
		const char *fraction = time_parse(s, &seconds);

		if (fraction) {
			found = fraction;
			*ret = seconds;
		}
	}
	return found;
}

char *babeltrace_line(char *s, char *end)
{
	static const char x86[] = "kvm_x86_";
	char line[LINE_BYTES], fields[LINE_BYTES] = "", *members, *name, *name_end;
	struct head head = {.cpu = ""};
	const char *fraction;
	uint64_t seconds;
	int len, task;

	*end = '\0';
	discarded_print(s, line, sizeof(line));
	len = (int)strlen(line);
	if (len && len < end - s) {
		memcpy(s, line, (size_t)len);
		*end = '\n';
		s[len] = '\n';
		return s + len;
	}
	members = is_whole(s) ? strstr(s, ": {") : NULL;
	fraction = members ? time_find(s, members, &seconds) : NULL;
	members = fraction ? members : NULL;
	for (name = members; name && name > s && name[-1] != ' ';)
		name--;
	name_end = members;
	if (members && members_parse(members, !strncmp(name, "sched_", 6),
				     !strncmp(name, "kvm_", 4), &head, fields)) {
		bool is_x86 = !strncmp(name, x86, sizeof(x86) - 1);

		name += is_x86 ? sizeof(x86) - 1 : 0;
		task = snprintf(line, sizeof(line), "%s%s%s", head.comm, *head.tid ? "-" : "",
				head.tid);
		len = snprintf(line + task, sizeof(line) - (size_t)task,
			       " [%03u] %" PRIu64 "%.*s: %s%.*s: %s",
			       (unsigned int)strtoul(head.cpu, NULL, 10), seconds,
			       (int)strcspn(fraction, "]"), fraction, is_x86 ? "kvm_" : "",
			       (int)(name_end - name), name, fields);
		if (task + len < end - s && (size_t)(task + len) < sizeof(line)) {
			memcpy(s, line, (size_t)(task + len));
			*end = '\n';
			end = s + task + len;
		}
	}
	*end = '\n';
	return end;
}
