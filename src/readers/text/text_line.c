// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One line of what tracing tools print, recognized by its content. An event's line is one of
 *
 *   tracefs, trace-cmd report    qemu-system-x86-143     [000] d..1.  19693194614: kvm_entry: vcpu 0, rip 0xfff0
 *   the same with a tgid         qemu-system-x86-143     (    140) [000] d..1.    19.693194: kvm_entry: ...
 *   trace-cmd report -l          qemu-sys-143     0d..1.    19.693194: kvm_entry: ...
 *   tracefs, latency-format      qemu-sys-143       0d..1.   12us+: kvm_entry: ...
 *   perf script                  CPU 0/KVM   4321 [003]  1234.567890:       kvm:kvm_exit: vcpu 0 reason ...
 *   the same with -F             4321/4325  1234.567890123:       kvm:kvm_exit: ...
 *
 * People cut columns off before they paste: a task without its number, no task, no CPU, no time. Such a line is one of
 * an event if what is left is in the right order; without a time, if the event's name is of a system that is known.
 *
 * Sources: kernel/trace/trace_output.c (trace_print_context, lat_print_generic), trace-cmd's tep_print_event(),
 * perf's builtin-script.c (perf_sample__fprintf_start).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "event/event.h"
#include "readers/text/babeltrace.h"
#include "readers/text/lines.h"
#include "readers/text/log_head.h"
#include "readers/text/text_line.h"

enum {
	FLAGS_MAX = 8,	  /* "dN.2.1" and what future kernels add */
	CPU_DIGITS_MIN = 3, /* "[000]": %03d in all tools */
	CPU_DIGITS_MAX = 5,
	NS_DIGITS = 9,
};

/* ---- time ---- */

/* "123456:", "12.345678:", "12.345678901:"; p is set to the colon. */
static bool time_parse(struct text_line *l, const char **p)
{
	static const uint32_t unit[] = {1000000000, 100000000, 10000000, 1000000, 100000,
					10000,	    1000,      100,	 10,	  1};
	const char *s = *p, *fraction;
	uint64_t value;

	value = text_decimal(&s);
	l->ticks = *s == ':';
	l->decimals = 0;
	if (*s == '.') {
		fraction = ++s;
		uint64_t part = text_decimal(&s);
		size_t digits = (size_t)(s - fraction);

		if (!digits || digits > NS_DIGITS || value > UINT64_MAX / 2 / unit[0])
			return false;
		l->decimals = (uint8_t)digits;
		value = value * unit[0] + part * unit[digits];
	}
	if (*s != ':' || s == *p)
		return false;
	l->time = value;
	*p = s;
	return true;
}

/* "12us:", "12us+:", "12.345us!:" of the latency format, relative to the trace's start. */
static bool latency_time_parse(struct text_line *l, const char **p)
{
	const char *s = *p;
	uint64_t us = text_decimal(&s), ns = 0;

	if (s == *p)
		return false;
	if (*s == '.') {
		const char *fraction = ++s;

		ns = text_decimal(&s);
		if (s != fraction + 3)
			return false;
	}
	if (s[0] != 'u' || s[1] != 's' || us > UINT64_MAX / 2000)
		return false;
	l->decimals = ns ? NS_DIGITS : 6;
	for (s += 2; *s == '!' || *s == '+' || *s == '#' || *s == '@' || *s == '*' || *s == '$' ||
		     *s == ' ';)
		s++;
	if (*s != ':')
		return false;
	l->ticks = false;
	l->time = us * 1000 + ns;
	*p = s;
	return true;
}

/* ---- layouts ---- */

/* perf prints "SYSTEM:NAME:", the others "NAME:". */
static bool any_event_parse(struct text_line *l, const char *p, const char *end)
{
	l->layout = TEXT_PERF;
	if (text_perf_event_parse(l, p, end) && l->system.len)
		return true;
	l->layout = TEXT_FTRACE;
	if (text_ftrace_event_parse(l, p, end))
		return true;
	l->layout = TEXT_PERF;
	return text_perf_event_parse(l, p, end) && isalpha((unsigned char)*l->name.at);
}

static bool event_parse(struct text_line *l, const char *p, const char *end)
{
	if (l->layout == TEXT_PERF && !l->tid && !l->comm.len)
		return any_event_parse(l, p + 1, end);
	return l->layout == TEXT_PERF ? text_perf_event_parse(l, p + 1, end)
				      : text_ftrace_event_parse(l, p + 1, end);
}

void text_flags_put(const struct text_slice *flags, char to[EVENT_FLAGS_MAX])
{
	static const char known[] = ".0123456789abcdefBDHLNSXZhlnpsz#*";

	if (flags->len < 4 || flags->len >= EVENT_FLAGS_MAX)
		return;
	for (size_t i = 0; i < flags->len; i++)
		if (!strchr(known, flags->at[i]) || !flags->at[i])
			return;
	memcpy(to, flags->at, flags->len);
	to[flags->len] = 0;
}

/* The CPU is in brackets after the task, whose name may contain brackets itself. */
static bool bracket_parse(struct text_line *l, const char *s, const char *end)
{
	for (const char *b = memchr(s, '[', (size_t)(end - s)); b;
	     b = memchr(b + 1, '[', (size_t)(end - b - 1))) {
		uint64_t cpu = 0;
		unsigned int digits = text_digits8(b + 1, &cpu);
		const char *p = b + 1 + digits;

		if (digits < CPU_DIGITS_MIN || digits > CPU_DIGITS_MAX || *p != ']' ||
		    !text_task_parse(l, s, b))
			continue;
		p = text_skip_blanks(p + 1);
		l->flags.len = 0;
		if (!text_is_digit(*p)) { /* the flags */
			const char *flags = p;

			while (*p != ' ' && *p != '\n')
				p++;
			l->flags = text_slice_of(flags, p);
			p = text_skip_blanks(p);
		}
		l->cpu = (uint32_t)cpu;
		l->have_cpu = true;
		if (time_parse(l, &p) && event_parse(l, p, end))
			return true;
	}
	return false;
}

/* "qemu-sys-143     0d..1. 19.693194: ...": the CPU has no brackets and is glued to the flags. */
static bool latency_parse(struct text_line *l, const char *s, const char *end)
{
	for (const char *dash = memchr(s, '-', (size_t)(end - s)); dash;
	     dash = memchr(dash + 1, '-', (size_t)(end - dash - 1))) {
		const char *p = dash + 1, *cpu, *flags;
		size_t len;

		bool fits = text_tid_parse(&p, &l->tid);

		cpu = text_skip_blanks(p);
		if (!fits || p == dash + 1 || cpu == p || !text_is_digit(*cpu))
			continue;
		flags = cpu;
		l->cpu = (uint32_t)text_decimal(&flags);
		len = strcspn(flags, " \n");
		p = text_skip_blanks(flags + len);
		if (len < 4 || len > FLAGS_MAX || flags[len] == '\n' || text_is_digit(*flags))
			continue;
		l->layout = TEXT_LATENCY;
		l->flags = text_slice_of(flags, flags + len);
		l->tgid = 0;
		l->have_cpu = true;
		l->comm = text_slice_of(s, dash);
		if ((time_parse(l, &p) || latency_time_parse(l, &p)) && event_parse(l, p, end))
			return true;
	}
	return false;
}

/* perf script without the field cpu: the time is the first word of the form "12.345678:". */
static bool perf_parse(struct text_line *l, const char *s, const char *end)
{
	for (const char *colon = memchr(s, ':', (size_t)(end - s)); colon;
	     colon = memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
		const char *p = text_digits_before(s, colon);

		if (colon - p < 6 || p == s || p[-1] != '.')
			continue;
		p = text_digits_before(s, p - 1);
		if ((p > s && p[-1] != ' ') || !text_is_digit(*p) || !text_task_parse(l, s, p) ||
		    l->layout != TEXT_PERF || !time_parse(l, &p) ||
		    !text_perf_event_parse(l, p + 1, end) ||
		    (!l->system.len && !text_is_record(l)))
			continue;
		l->have_cpu = false;
		l->cpu = RECORD_CPU_UNKNOWN;
		return true;
	}
	return false;
}

/* ---- lines without some of their columns ---- */

/* The end of s without the flags "d..1." at it. */
static const char *flags_cut(const char *s, const char *end)
{
	const char *p = text_trim_end(s, end), *word = p;

	while (word > s && (isalnum((unsigned char)word[-1]) || word[-1] == '.' || word[-1] == '#'))
		word--;
	return p - word >= 4 && p - word <= FLAGS_MAX && memchr(word, '.', (size_t)(p - word)) &&
			       (word == s || word[-1] == ' ')
		       ? word
		       : p;
}

/* As task_parse(); the flags may follow. `alone`: a name without a number will do. */
static bool loose_task_parse(struct text_line *l, const char *s, const char *end, bool alone)
{
	end = text_trim_end(s, flags_cut(s, end));
	if (text_task_parse(l, s, end))
		return true;
	l->tid = l->tgid = 0;
	l->comm = text_slice_of(s, end);
	return (alone || text_is_vmm_thread(s, end)) && l->comm.len <= TEXT_COMM_MAX;
}

/* "[003]" before `end`: where it begins, after which only flags follow; NULL: there is none. */
static const char *cpu_before(struct text_line *l, const char *s, const char *end)
{
	const char *p = flags_cut(s, end), *digits;
	uint64_t cpu;

	p = text_trim_end(s, p);
	if (p == s || p[-1] != ']')
		return NULL;
	digits = text_digits_before(s, p - 1);
	if (p - 1 - digits < CPU_DIGITS_MIN || p - 1 - digits > CPU_DIGITS_MAX || digits == s ||
	    digits[-1] != '[' || text_digits8(digits, &cpu) != p - 1 - digits)
		return NULL;
	l->cpu = (uint32_t)cpu;
	return digits - 1;
}

/* What is before the time or the event's name. */
static bool loose_head_parse(struct text_line *l, const char *s, const char *end)
{
	const char *cpu = cpu_before(l, s, end = text_misc_cut(s, end));

	l->have_cpu = cpu;
	l->cpu = cpu ? l->cpu : RECORD_CPU_UNKNOWN;
	return loose_task_parse(l, s, cpu ? cpu : end, cpu);
}

/* perf prints no dash before a thread's number: it is one of the name, as in "CPU 4-91". */
static void perf_task_restore(struct text_line *l)
{
	const char *end = l->comm.at + l->comm.len;

	if (!l->system.len || !l->comm.len || !l->tid || *end != '-')
		return;
	l->comm.len += 1 + (uint32_t)strspn(end + 1, "0123456789");
	l->tid = 0;
}

static bool loose_parse(struct text_line *l, const char *s, const char *end)
{
	for (const char *colon = memchr(s, ':', (size_t)(end - s)); colon;
	     colon = memchr(colon + 1, ':', (size_t)(end - colon - 1))) {
		const char *p = text_digits_before(s, colon);

		if (colon - p < 6 || p == s || p[-1] != '.')
			continue;
		p = text_digits_before(s, p - 1);
		if (text_is_digit(*p) && (p == s || p[-1] == ' ') && loose_head_parse(l, s, p) &&
		    time_parse(l, &p) && any_event_parse(l, p + 1, end)) {
			perf_task_restore(l);
			return true;
		}
	}
	return false;
}

/* "irq_vectors:local_timer_entry" after a CPU: perf script -F -time */
static bool is_placed_name(struct text_line *l, const char *s, const char *name, const char *end)
{
	const char *colon = memchr(name, ':', (size_t)(end - name));

	for (const char *p = name; p < end; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && p != colon)
			return false;
	return colon && colon > name && colon + 1 < end && islower((unsigned char)*name) &&
	       cpu_before(l, s, name);
}

/* "kvm_entry: vcpu 0", with or without a task and a CPU. */
static bool timeless_parse(struct text_line *l, const char *line, const char *s, const char *end)
{
	for (const char *p = memchr(s, ':', (size_t)(end - s)); p;
	     p = memchr(p + 1, ':', (size_t)(end - p - 1))) {
		const char *name = p, *head_end;

		while (name > s && name[-1] != ' ')
			name--;
		if (p[1] != ' ' ||
		    (!text_is_known_name(name, p) && !is_placed_name(l, s, name, p)))
			continue;
		head_end = text_period_cut(line, s, name);
		if (!loose_head_parse(l, s, head_end) || !any_event_parse(l, name, end))
			return false;
		l->period = head_end < name ? text_decimal(&head_end) : 0;
		perf_task_restore(l);
		l->timeless = true;
		l->ticks = false;
		l->decimals = 0;
		l->time = 0;
		return true;
	}
	return false;
}

/* perf script -F tod: "timeout 22866 [001] 2026-11-29 07:56:20.463828", after which the time may follow. */
static bool dated_parse(struct text_line *l, const char *s, const char *end)
{
	struct log_time t;

	for (const char *p = memchr(s, '-', (size_t)(end - s)), *after; p;
	     p = memchr(p + 1, '-', (size_t)(end - p - 1))) {
		const char *date = p - s < 4 ? s : p - 4;

		if ((date > s && date[-1] != ' ') || !(after = log_date_parse(date, &t)))
			continue;
		after += *after == ':';
		if (*after != ' ' || !t.decimals || !loose_head_parse(l, s, date))
			continue;
		after = text_skip_blanks(after);
		l->ticks = false;
		l->decimals = t.decimals;
		l->time = t.ns;
		l->is_date = !text_is_digit(*after) || !time_parse(l, &after);
		if (!any_event_parse(l, after + !l->is_date, end) ||
		    !(l->system.len ? islower((unsigned char)*l->system.at)
				    : text_is_known_name(l->name.at, l->name.at + l->name.len)))
			continue;
		perf_task_restore(l);
		return true;
	}
	return false;
}

/* ---- function_graph ---- */

/*
 * Lines of the tracer function_graph, in which events are comments of C between the calls of functions; here, the marks
 * of a comment are "<*" and "*>":
 *
 *	 2)               |    <* kvm_entry: vcpu 0, rip 0xfff0 *>
 *	 9001.100001 |   2)  CPU 0/K-4711  |   1.234 us    |    vmx_vcpu_run [kvm_intel]();
 *	 ------------------------------------------
 *	 2)    <idle>-0    =>  CPU 0/K-4711
 *
 * The time and the thread are options of the tracer (funcgraph-abstime, funcgraph-proc). Only the comments are events.
 *
 * Source: kernel/trace/trace_functions_graph.c (print_graph_prologue, print_graph_comment, verif_pid).
 */

enum { GRAPH_RULE = 42, GRAPH_DECIMALS = 6, GRAPH_CPU_DIGITS = 5 };

/* "9001.100001 |  " before the CPU, which may be missing. */
static const char *graph_time(struct text_line *l, const char *s)
{
	const char *p = s, *fraction;
	uint64_t seconds = text_decimal(&p), us;

	l->timeless = true;
	l->ticks = l->is_date = false;
	l->time = l->decimals = 0;
	if (p == s || *p != '.' || seconds > INT64_MAX / 1000000000)
		return s;
	fraction = ++p;
	us = text_decimal(&p);
	if (p - fraction != GRAPH_DECIMALS || *(p = text_skip_blanks(p)) != '|')
		return s;
	l->timeless = false;
	l->time = seconds * 1000000000 + us * 1000;
	l->decimals = GRAPH_DECIMALS;
	return text_skip_blanks(p + 1);
}

/* " 2)" and what precedes it: its end; NULL: the line is another one. */
static const char *graph_cpu(struct text_line *l, const char *s)
{
	const char *digits = graph_time(l, text_skip_blanks(s)), *p = digits;

	l->cpu = (uint32_t)text_decimal(&p);
	return p > digits && p - digits <= GRAPH_CPU_DIGITS && *p == ')' ? p + 1 : NULL;
}

bool text_is_graph(const char *s, const char *end)
{
	struct text_line l;
	const char *p = text_skip_blanks(s);

	while (end > p && end[-1] == ' ')
		end--;
	if (end - p == GRAPH_RULE && strspn(p, "-") == GRAPH_RULE)
		return true;
	p = graph_cpu(&l, s);
	return p && *p == ' ' && p < end &&
	       (memchr(p, '|', (size_t)(end - p)) || memmem(p, (size_t)(end - p), " => ", 4));
}

static bool graph_parse(struct text_line *l, const char *s, const char *end)
{
	static const char open[] = "/* ", close[] = " */";
	struct text_line now = *l;
	const char *p = graph_cpu(&now, s), *event, *bar;

	while (end > s && end[-1] == ' ')
		end--;
	event = p && p < end ? memmem(p, (size_t)(end - p), open, sizeof(open) - 1) : NULL;
	if (!event || end - event < 8 || memcmp(end - 3, close, 3) != 0)
		return false;
	bar = memchr(p, '|', (size_t)(event - p));
	now.tid = now.tgid = 0;
	now.comm = (struct text_slice){p, 0};
	if (!bar || (memchr(bar + 1, '|', (size_t)(event - bar - 1)) &&
		     !text_task_parse(&now, text_skip_blanks(p), bar)))
		return false;
	now.layout = TEXT_FTRACE;
	now.have_cpu = true;
	if (!text_ftrace_event_parse(&now, event + 3, end - 3) ||
	    (now.timeless && !text_is_known_name(now.name.at, now.name.at + now.name.len)))
		return false;
	*l = now;
	return true;
}

/* ---- any line ---- */

static bool line_is_event(struct text_line *l, const char *line, const char *s,
			  const char *end)
{
	enum text_layout first = l->layout;
	bool had_cpu = l->have_cpu;

	l->timeless = l->is_date = false;
	if (first == TEXT_LATENCY && latency_parse(l, s, end))
		return true;
	if (bracket_parse(l, s, end) || perf_parse(l, s, end) || latency_parse(l, s, end) ||
	    loose_parse(l, s, end) || dated_parse(l, s, end) || timeless_parse(l, line, s, end) ||
	    graph_parse(l, s, end))
		return !text_is_of_other(l);
	l->layout = first; /* the next line is probably as the one before */
	l->have_cpu = had_cpu;
	return false;
}

/* ---- other lines ---- */

static enum text_line_kind other_parse(struct text_line *l, const char *line, const char *s,
				       const char *end)
{
	if (*s == '\n' || s >= end)
		return TEXT_EMPTY;
	if (*s == '#')
		return text_is_exception(s) ? TEXT_UNKNOWN : text_comment_parse(l, s);
	if (!strncmp(s, "CPU:", 4) && text_lost_parse(l, s))
		return TEXT_LOST;
	if (text_is_header(s, end)) {
		l->from_trace_cmd = true;
		return TEXT_EMPTY;
	}
	if (text_is_graph(s, end))
		return TEXT_EMPTY;
	return text_stack_parse(l, line, s, end) ? TEXT_STACK : TEXT_UNKNOWN;
}

enum text_line_kind text_line_parse(struct text_line *l, const char *line, const char *end)
{
	const char *s = text_skip_quote(line);

	l->flags.len = 0;
	l->period = 0;
	/* the name of a thread may begin with '#'; tools print blanks before it, and people none before a remark */
	if (line_is_event(l, line, s, end)) {
		if (line[0] == '#' && line[1] == ' ')
			return TEXT_UNKNOWN;
		return text_record_kind(l);
	}
	return other_parse(l, line, s, end);
}

bool text_has_event(const char *head, size_t len, bool whole)
{
	char *copy = text_copy(head, len), *s, *newline;
	struct text_parts parts = {.nr = 0};
	struct text_line l = {0};
	bool found = false, babeltrace = babeltrace_probe(head, len);

	if (!copy)
		return false;
	for (s = copy; !found && s < copy + len + whole; s = newline + 1) {
		char *end = newline = memchr(s, '\n', len + whole - (size_t)(s - copy));

		if (!newline)
			break;
		if (end > s && end[-1] == '\r')
			*--end = '\n';
		end = babeltrace ? babeltrace_line(s, end) : end;
		found = text_line_parse(&l, text_parts_skip(&parts, s, end), end) == TEXT_EVENT;
	}
	free(copy);
	return found;
}
