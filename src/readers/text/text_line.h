/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line of what tracing tools print, recognized by its content. */
#ifndef HOSTRACE_TEXT_LINE_H
#define HOSTRACE_TEXT_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

enum {
	TEXT_COMM_MAX = 15,   /* characters of a task's name, as the kernel keeps them */
	TEXT_HEAD_BYTES = 64, /* of what a head before it names */
};

enum text_layout { TEXT_FTRACE, TEXT_PERF, TEXT_LATENCY };

/* What a line is. */
enum text_line_kind {
	TEXT_EVENT,
	TEXT_EMPTY,    /* blank, a comment, or a header of the tool */
	TEXT_STACK,    /* a frame of the backtrace of the event above: `text` is the function */
	TEXT_LOST,     /* events of `cpu` were lost before the next line; `count` 0: an unknown number */
	TEXT_STARTED,  /* the buffer of `cpu` begins here: older events of it were overwritten */
	TEXT_OVERRUN,  /* `count` older events were overwritten before the first line */
	TEXT_SAMPLED,  /* perf's header: only some events of a tracepoint were recorded */
	TEXT_UNKNOWN,
};

struct text_slice {
	const char *at;
	uint32_t len;
};

struct text_line {
	enum text_layout layout;
	uint32_t tid, tgid; /* 0: not printed */
	uint32_t cpu;
	uint64_t count;
	uint64_t period;  /* of a sample: how many events it stands for; 0: not printed */
	uint64_t time;	  /* ns, or the number as it is if `ticks` */
	uint8_t decimals; /* of the time: 6 is microseconds */
	bool ticks, have_cpu;
	bool timeless; /* no time is printed */
	bool is_date;  /* the time is a time of day: perf script -F tod */
	bool is_span;  /* TEXT_LOST of a text_source: from, until, ns */
	uint64_t from, until;
	struct text_slice flags;  /* ftrace's, "d.h1."; empty: not printed */
	struct text_slice comm;	  /* empty: unknown */
	struct text_slice system; /* empty: not printed */
	struct text_slice name;	  /* of the event */
	struct text_slice text;	  /* after it, without blanks at its ends */
	bool is_call;		  /* TEXT_STACK: a frame of perf script, the whole line */
	bool from_trace_cmd;	  /* a header that only trace-cmd report prints */
};

/*
 * Parses the line from s to its newline at end. l->layout is tried first: the same struct is to be passed for all lines
 * of a file, zeroed at the first.
 */
enum text_line_kind text_line_parse(struct text_line *l, const char *s, const char *end);

/* A line's flags as an event has them; text of another form, as a longer one, is none. */
void text_flags_put(const struct text_slice *flags, char to[EVENT_FLAGS_MAX]);

/* Do these bytes, the beginning of a file, contain a line of an event? `whole`: they are all of the file. */
bool text_has_event(const char *head, size_t len, bool whole);

/* tool_counted.c: are the events of this beginning of a file counts, and not a trace without times? */
bool text_is_counted(const char *head, size_t len);

/* Is this the name of an event, as no other text has before a colon? */
bool text_is_known_name(const char *s, const char *end);

/* text_split.c: is there another record in the text of this one? */
bool text_has_more(const struct text_line *l);

/* The first tab, tag or "\n" between records; NULL: there is none. */
const char *text_separator_find(const char *s, const char *end);

/* The end of a line without the tags, or the "\n" and quotes of a JSON string, that end it. */
const char *text_split_end(const char *s, const char *end);

/* text_period.c: where the columns before an event of perf script end, of which the last may be the sample's period. */
const char *text_period_cut(const char *line, const char *s, const char *name);

/* The end of the columns without perf's misc at it: "K     ". */
const char *text_misc_cut(const char *s, const char *end);

/* A thread of a VMM, whose name is one without a number, too: perf script -F comm,time,event,trace. */
bool text_is_vmm_thread(const char *s, const char *end);

/* text_head.c: does the task's name begin with something else, behind which is that of a VMM's thread? */
bool text_has_head(const struct text_line *l);

/* The newest head of a line. */
struct text_front {
	unsigned int words;
	char glue; /* the last character, if no blank separates the head from the name; 0: one does */
	char source[TEXT_HEAD_BYTES]; /* what it names; "": nothing */
};

/* Where the task's name of an event begins: behind a head, if it is a VMM's thread, or as such a line had it before. */
const char *text_head_end(const char *s, const char *end, struct text_front *h);

/* text_lost.c: "CPU:3 [LOST 12 EVENTS]": cpu, count. False: it is not so. */
bool text_lost_parse(struct text_line *l, const char *s);

/* text_seam.c: what lines between two events say that is missing there. */
struct text_seam {
	bool any;
	bool stated;	/* as a loss */
	uint64_t count; /* of lost events that is known */
	bool doubtful;	/* a line that is no event may stand for events that were left out */
};

/* Adds what this line says, which is no event; false: nothing. */
bool text_seam_parse(const char *line, const char *end, struct text_seam *ret);

/* "kvm_exit: reason HLT ... (x500)": how often a person says that the event came; 0: nobody says so. */
uint64_t text_repeats(struct text_slice text);

/* Is it of the dump of a record that perf script -D prints before the event? after_one: so was the line before. */
bool text_is_perf_dump(const char *line, const char *end, bool after_one);

/* A frame of a backtrace, whose function becomes l->text; s is where the line begins after its blanks. */
bool text_stack_parse(struct text_line *l, const char *line, const char *s, const char *end);

/* Is its name that of a record of perf's that perf script prints between events, "PERF_RECORD_COMM"? */
static inline bool text_is_record(const struct text_line *l)
{
	static const char record[] = "PERF_RECORD_";

	return l->name.len >= sizeof(record) && !memcmp(l->name.at, record, sizeof(record) - 1);
}

/* Of a line in the form of an event: may be a record of perf script that is none. */
enum text_line_kind text_record_kind(struct text_line *l);

/* An event in the form of babeltrace2, or the counts of perf stat -v? */
bool text_is_of_other(const struct text_line *l);

/* text_task.c: "123", false: no system has such a thread; "comm-123", "comm 123"; an event's name and text */
bool text_tid_parse(const char **s, uint32_t *ret);
bool text_task_parse(struct text_line *l, const char *s, const char *end);
bool text_ftrace_event_parse(struct text_line *l, const char *s, const char *end);
bool text_perf_event_parse(struct text_line *l, const char *s, const char *end);

/* A line of the tracer function_graph? */
bool text_is_graph(const char *s, const char *end);

/* A line that trace-cmd report prints first? */
bool text_is_header(const char *s, const char *end);

/* text_sampled.c: is that in the line of perf's header (after "# "), or in the event? */
bool text_header_is_sampled(const char *s);
bool text_is_sampled(const struct text_line *l);

/* A comment: TEXT_STARTED, TEXT_OVERRUN, TEXT_SAMPLED or TEXT_EMPTY. */
enum text_line_kind text_comment_parse(struct text_line *l, const char *s);

/* "#GP (0x18)": no comment, but the second line of a kvm_inj_exception. */
bool text_is_exception(const char *s);

#endif
