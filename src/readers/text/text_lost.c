// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines that are no events. Those that say that events are missing: of a CPU before its next one, "CPU:3 [LOST 12
 * EVENTS]", and before the first. Source: kernel/trace/trace.c (print_trace_line), trace-cmd's trace-read.c.
 */
#include <ctype.h>
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/text_line.h"

enum {
	CALL_DIGITS_MIN = 4, /* of an address in a call chain of perf, unless it is aligned as perf does */
	CALL_WIDTH = 1 + 16, /* the tab and the address, which a 0 has, too */
};

static bool starts_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* "EVENTS] from 12000000 until 13000000", in ns: what the lines of a text_source have. */
static void span_parse(struct text_line *l, const char *s)
{
	static const char from[] = "EVENTS] from ", until[] = " until ";

	l->from = l->until = 0;
	l->is_span = starts_with(s, from);
	if (!l->is_span)
		return;
	s += sizeof(from) - 1;
	l->from = text_decimal(&s);
	l->is_span = starts_with(s, until);
	s += sizeof(until) - 1;
	l->until = l->is_span ? text_decimal(&s) : 0;
}

/* "CPU:3 [LOST 12 EVENTS]" (tracefs), "CPU:3 [12 EVENTS DROPPED]" (trace-cmd), the number may be missing. */
bool text_lost_parse(struct text_line *l, const char *s)
{
	s += strlen("CPU:");
	if (!text_is_digit(*s))
		return false;
	l->cpu = (uint32_t)text_decimal(&s);
	s = text_skip_blanks(s);
	if (*s++ != '[')
		return false;
	if (starts_with(s, "LOST "))
		s += strlen("LOST ");
	l->count = text_decimal(&s);
	s = text_skip_blanks(s);
	span_parse(l, s);
	return starts_with(s, "EVENTS]") || starts_with(s, "EVENTS DROPPED]");
}

/* "# entries-in-buffer/entries-written: 205/12000   #P:4", "##### CPU 2 buffer started ####" */
enum text_line_kind text_comment_parse(struct text_line *l, const char *s)
{
	uint64_t stored;

	if (starts_with(s, "##### CPU ")) {
		s += strlen("##### CPU ");
		l->cpu = (uint32_t)text_decimal(&s);
		return starts_with(s, " buffer started") ? TEXT_STARTED : TEXT_EMPTY;
	}
	s = text_skip_blanks(s + 1);
	if (text_header_is_sampled(s))
		return TEXT_SAMPLED;
	if (!starts_with(s, "entries-in-buffer/entries-written: "))
		return TEXT_EMPTY;
	s += strlen("entries-in-buffer/entries-written: ");
	stored = text_decimal(&s);
	l->count = *s++ == '/' ? text_decimal(&s) : 0;
	if (l->count <= stored)
		return TEXT_EMPTY;
	l->count -= stored;
	return TEXT_OVERRUN;
}

bool text_is_exception(const char *s)
{
	return *s == '#' && isupper((unsigned char)s[1]) && isupper((unsigned char)s[2]) &&
	       (s[3] == '\n' || s[3] == '\r' || !strncmp(s + 3, " (", 2));
}

/* "cpus=2", "version = 7", "CPU 3 is empty": what trace-cmd report prints first. */
bool text_is_header(const char *s, const char *end)
{
	const char *p = s;

	if (starts_with(s, "cpus=") || starts_with(s, "version = "))
		return true;
	if (!starts_with(s, "CPU "))
		return false;
	p += strlen("CPU ");
	text_decimal(&p);
	return starts_with(p, " is empty") && text_skip_blanks(p + strlen(" is empty")) == end;
}

/* "kvm:kvm_pio: 869 703625882 703625882" of perf stat -v: a count and two times */
static bool is_count(const struct text_line *l)
{
	const char *p = l->text.at, *end = p + l->text.len;
	unsigned int nr = 0;

	for (; p < end && text_is_digit(*p); nr++) {
		text_decimal(&p);
		p = text_skip_blanks(p);
	}
	return l->timeless && p >= end && nr == 3;
}

bool text_is_of_other(const struct text_line *l)
{
	return (l->text.len >= 2 && !memcmp(l->text.at, "{ ", 2)) || is_count(l);
}

/* What perf prints after an address: "schedule", "schedule+0x1 (vmlinux)", "std::f(int, int)+0x1 (a.so)", nothing. */
static bool is_symbol(const char *s, const char *end)
{
	const char *word = text_skip_blanks(s);

	while (end > word && end[-1] == ' ')
		end--;
	return !memchr(word, ' ', (size_t)(end - word)) || end[-1] == ')' || end[-1] == ']' ||
	       memmem(word, (size_t)(end - word), "+0x", 3);
}

/* "=> schedule" (tracefs; trace-cmd adds an address), "	ffffffff8120 schedule+0x1 (vmlinux)" (perf). */
bool text_stack_parse(struct text_line *l, const char *line, const char *s, const char *end)
{
	const char *p = s;

	if (s[0] == '=' && s[1] == '>') {
		s = text_skip_blanks(s + 2);
		p = s + strcspn(s, " \n;");
		l->text = (struct text_slice){s, (uint32_t)((p < end ? p : end) - s)};
		l->is_call = false;
		return true;
	}
	if (*line != ' ' && *line != '\t')
		return false;
	text_hex(&p);
	l->text = (struct text_slice){s, (uint32_t)(end - s)};
	l->is_call = true;
	if (p == s || (*p != ' ' && *p != '\n') || !is_symbol(p, end))
		return false;
	return p - s >= CALL_DIGITS_MIN || p - line >= CALL_WIDTH || !strncmp(p, " [unknown]", 10);
}

static bool is_named(const struct text_line *l, const char *name)
{
	return l->name.len == strlen(name) && !memcmp(l->name.at, name, l->name.len);
}

/*
 * "PERF_RECORD_COMM: CPU 0/KVM:100/101" of perf script --show-task-events is no event. Of two that say that events are
 * missing, the CPU and the count are set; PERF_RECORD_LOST has a time.
 */
enum text_line_kind text_record_kind(struct text_line *l)
{
	const char *p;

	if (!text_is_record(l) || is_named(l, "PERF_RECORD_LOST"))
		return TEXT_EVENT;
	if (!is_named(l, "PERF_RECORD_LOST_SAMPLES") && !is_named(l, "PERF_RECORD_THROTTLE"))
		return TEXT_EMPTY;
	p = memmem(l->text.at, l->text.len, "lost ", 5);
	p = p ? p + 5 : NULL;
	l->count = p ? text_decimal(&p) : 0;
	l->is_span = false;
	l->from = l->until = 0;
	return TEXT_LOST;
}
