// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <string.h>

#include "readers/text/lines.h"
#include "readers/text/text_line.h"

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

bool text_graph_parse(struct text_line *l, const char *s, const char *end)
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
