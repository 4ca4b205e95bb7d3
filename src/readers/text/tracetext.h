/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_TRACETEXT_H
#define HOSTRACE_TRACETEXT_H

#include "base/hash.h"
#include "base/saturate.h"
#include "event/call_chain.h"
#include "event/reader.h"
#include "event/records.h"
#include "readers/ftrace/kernel_events.h"
#include "readers/ftrace/vm_threads.h"
#include "readers/text/lines.h"
#include "readers/text/paste.h"
#include "readers/text/text_line.h"

extern const struct reader_ops tracetext_reader;

/* sched_switch and sched_wakeup from text; for text_kvm.c. */

/* Fill the fields of a zeroed record and return which ones the text has, as RECORD_BIT(). */
uint64_t text_sched_switch(struct text_slice text, uint8_t *record);
uint64_t text_sched_wakeup(struct text_slice text, uint8_t *record);

/* The same for other events, after their words and values. */
uint64_t text_more(unsigned int id, struct text_slice text, uint8_t *record);

/* Is the word in the text; the number after it, 0 and false if there is none. */
bool text_has(struct text_slice text, const char *word);
bool text_number_find(struct text_slice text, const char *word, bool hex, uint64_t *ret);

/*
 * The events of KVM and the scheduler that are ours (bpf/events.def), from the text that the kernel (print fmt of their
 * format file), trace-cmd's plugins and trace-cmd report -R ("name=value") print. Kernels differ: fields come and go,
 * and the vCPU is missing from some; a record's type lacks the fields that the text lacks.
 */

/* Exit reasons by name, the names of one file: searching all names for each exit would cost more than all else. */
enum { TEXT_REASONS = 64, TEXT_REASON_MAX = 32 };

struct text_reasons {
	struct text_reason {
		char name[TEXT_REASON_MAX]; /* zero padded */
		uint32_t isa, reason;
	} slot[TEXT_REASONS];
	uint32_t isa; /* of the last reason that was known by name: for reasons that are printed as numbers */
};

/* NULL: not an event of ours. `system` may be empty: unknown. */
const struct kernel_event *text_kind_of(struct text_slice system, struct text_slice name);

/* text_arch.c: the same of a line, but NULL if it is of an architecture that is not supported: *arch is its name. */
const struct kernel_event *text_kind_supported(const struct text_line *l, const char **arch);

/* The type of a record that has these fields of ours, UINT64_MAX: all. NULL: there are too many types. */
const struct event_type *text_kind_type(const struct kernel_event *kind, uint64_t present);

/* text_form.c: events of the block layer, of interrupts and of KVM that are not ours, from a text in this form. */
struct text_name;

/* How this kernel prints the event of a line; NULL: only as text. */
const struct kernel_text *text_form_find(const struct text_line *l);

/* The type of records with all fields, or with those of the mask, which is kept with the name. NULL: too many types. */
const struct event_type *text_form_type(const struct kernel_text *form, bool guest);
const struct event_type *text_form_shape(struct text_name *n, bool guest, uint64_t present);

/* Fills a record but for its header: which fields, 0: the text has another form. */
uint64_t text_form_fill(const struct kernel_text *form, struct text_slice text, uint8_t *record);

/* The same for those of KVM. */
const struct event_type *text_fields_type(const struct kernel_text *form, bool guest,
					  uint64_t present);
uint64_t text_fields_fill(const struct kernel_text *form, struct text_slice text, uint8_t *record);

/* text_cut.c: may the text of a line lack its end, or the end of its last value? */
/* Without its last word, if that may be half. */
struct text_slice text_sure(struct text_slice text, bool open);
bool text_is_cut(const struct text_line *l);
bool text_is_open(const struct text_line *l);

/* Of the fields `present` of a record whose text may lack its end, those that this cannot change, and *vcpu so. */
uint64_t text_certain(const struct kernel_event *kind, const struct text_reasons *known,
		      struct text_slice text, uint64_t present, const uint8_t *record,
		      uint16_t *vcpu);

/* The text after what trace-cmd's plugin printed of an event before it gave up. */
struct text_slice text_plugin_skip(struct text_slice text);

/* As `split` of struct paste_grammar. */
const char *text_split(const char *s, const char *end, const char **first_end, bool *unsure);

extern const struct paste_grammar text_paste_grammar, text_paste_guest_grammar;

/*
 * Does a line of this kind say which vCPU its thread runs? Then *ret is that vCPU, RECORD_NO_VCPU if the text lacks it.
 */
bool text_kind_own_vcpu(const struct kernel_event *kind, struct text_slice text, uint16_t *ret);

/*
 * Fills the fields of a zeroed record and returns which ones the text has, as RECORD_BIT(). *ret_vcpu is the vCPU of
 * the thread, RECORD_NO_VCPU if the text lacks it. The text is followed by a newline (lines.h).
 */
uint64_t text_kind_fill(const struct kernel_event *kind, struct text_reasons *reasons,
			struct text_slice text, uint8_t *record, uint16_t *ret_vcpu);

/*
 * The text is read twice. Which VM a thread belongs to, what a thread is called, where events were lost and which unit
 * the times have is only known at the end, so the first pass (tracetext_scan.c) looks at every line, and the second
 * (tracetext.c) makes the events. A bit for each line says whether the second pass needs it.
 */

enum {
	TRACETEXT_NAMES_MAX = 4096,
	TRACETEXT_CPU_TID =
		0x40000000, /* + CPU: number of a thread that stands for those of a CPU */
	TRACETEXT_VCPU_TID = 0x20000000, /* + vCPU: number of a vCPU's thread that has none */
	TRACETEXT_STACK_BYTES = 2048,	 /* of a backtrace of tracefs, as names */
	TEXT_FRAME_BYTES = 1024,	 /* of a frame of perf's */
	TRACETEXT_HOLES_MAX = 1 << 20,
	TRACETEXT_UNKNOWN_BYTES = 256, /* of the first line that is not recognized */
	TRACETEXT_DAYS_MAX = 64,
	TRACETEXT_KEPT_MAX = 64 << 20, /* bytes of `kept`; further lines are all parsed */
};

/* An event's name in this file. */
struct text_name {
	char *key; /* owned: "kvm_exit" or "kvm:kvm_exit", without NUL */
	uint32_t len;
	uint64_t nr; /* events in the file */
	struct text_ends { /* of the texts of all events but the last */
		uint64_t nr;
		uint32_t digits_min, digits_max, words_min, words_max;
	} ends;
	bool wanted;
	bool is_stack; /* "<stack trace>": its functions are the lines below */
	bool is_chain; /* perf's call chains: the frames are the lines below an event */
	bool is_lost;  /* perf's record of lost events */
	bool is_timer; /* hrtimer_expire_entry, whose "now=" is a time */
	const struct kernel_event *kind; /* NULL: not ours */
	const struct kernel_text *form;	 /* of the file's lines; NULL: not ours, and only text */
	const struct event_type *type; /* of a line of ours that has all fields; of the form */
	const struct event_type *plain; /* of a line that is kept as text */
	struct event_shapes shapes; /* by the fields that lines have */
};

/* Events of a CPU that are missing, from its event before to the one after. */
struct text_hole {
	uint64_t from_ns, until_ns; /* 0: from the beginning; UINT64_MAX: to the end */
	uint64_t count;
	uint32_t cpu;
	bool is_gap; /* nothing says that events were lost, or how many */
};

/* Lines that were skipped: how many, and the first. */
struct text_skipped {
	uint64_t nr, first_line;
};

struct tracetext {
	struct reader reader;
	bool guest;
	struct text_lines lines;
	struct text_parts parts;
	struct text_line line;
	enum text_line_kind kind;
	bool ahead; /* `line` was parsed already */

	struct text_name name[TRACETEXT_NAMES_MAX];
	uint32_t nr_names;
	struct hash_index by_name;
	struct text_reasons reasons;
	struct vm_threads *vms; /* NULL: of a guest */
	struct text_hole *hole; /* owned; by from_ns */
	size_t nr_holes, next_hole;

	bool ticks;	  /* the times have no unit */
	bool timeless;	  /* there are no times: they are the numbers of the lines */
	bool log_times;	  /* those of the log's lines: see tracetext_time() */
	bool is_log_time; /* of the current event */
	bool log_coarse;  /* ... or lines with others that no event has */
	bool has_dates;	  /* the times are times of day */
	const char *foreign_arch; /* see text_kind_supported(); NULL: none */
	bool sampled;	  /* the events are not all: text_is_sampled(); set by the first pass */
	bool has_cpu_tids, has_vcpu_tids; /* see TRACETEXT_CPU_TID, TRACETEXT_VCPU_TID */
	struct text_vcpus { /* of lines without a thread and a CPU; set by the first pass */
		uint16_t first;
		bool any, several; /* a line names its vCPU; another one another */
		uint64_t unknown;  /* exits that name none */
	} vcpus;
	bool is_odd;	  /* the current line has what paste_clean() removes; set by the first pass */
	bool is_pasted;	  /* there are lines that paste.c may understand; set by the first pass */
	double ns_per_tick; /* 0: they are not converted */
	uint8_t decimals; /* the least of all lines */
	struct text_unit {
		bool known, ticks, timeless;
		bool own_times; /* not the log's */
		bool differences; /* times count from line to line and say nothing: the lines count */
	} unit,	      /* of the lines that are read; set before the first pass if it is not that of the first */
		other; /* of the first line with another one */
	struct text_steps {
		uint64_t nr, back; /* times that follow another one; those that are before it */
		uint64_t first, newest, min, max;
	} steps; /* of the times, as the lines have them; set by the first pass */
	struct text_days { /* times of day without a date: set by the first pass */
		uint64_t record[TRACETEXT_DAYS_MAX]; /* of the first line of each day but the first */
		unsigned int nr;
		uint64_t newest;
	} days;
	struct text_skipped unknown, other_unit, other_part;
	struct text_skipped wrapped; /* records of babeltrace whose ends are in later lines */
	bool in_wrapped;
	char unknown_line[TRACETEXT_UNKNOWN_BYTES]; /* the first one's beginning */
	uint64_t back_line; /* where a CPU's times go back to the beginning, or by a second; 0: nowhere */
	uint64_t overrun, uncounted; /* events overwritten before the first; losses of unknown size */
	struct text_seam seam; /* what is missing after the newest event; set by the first pass */
	struct text_skipped left_out; /* places where only text_seam's `doubtful` is set, and the line after */
	bool in_chain; /* the line belongs to a frame of a call chain; for the first pass */
	uint64_t since_blank; /* events below the last blank line; for the first pass */
	struct {
		uint64_t line; /* of the last event */
		uint64_t open_from; /* of struct text_lines: set before the first pass */
		bool is_cut; /* it is shorter than others, or the first line is cut, too: set by the first pass */
	} tail;
	struct text_head { /* of the text's first line, if it is an event: `tail -c` may have cut it */
		bool is_first, has_task, has_cpu, timeless;
		bool is_cut; /* it lacks what the next event has: set by the first pass */
		bool skip;   /* set before it */
	} head;
	bool scanned;	    /* the first pass is over: what it counted is final */
	uint8_t *kept;	    /* a bit for each line number; owned */
	size_t kept_bytes;

	uint8_t *arena;
	size_t used;
	char stack[CALL_CHAIN_TEXT_MAX];

	struct text_name chain;	     /* of all call chains */
	struct record_hdr chain_hdr; /* of the event that one may follow */
	bool chain_may_follow, stack_kept; /* of the newest event; the second pass needs its frames */
	uint64_t chains_cut;
};

/*
 * perf script's call chains, text_chain.c. In the first pass expect() is called for each event; of a line TEXT_STACK
 * learn() counts it and says whether the second pass needs it. There next() says that it is the first of a chain, which
 * make() reads.
 */
void text_chain_begin(struct tracetext *t, const struct read_hint *hint);
void text_chain_expect(struct tracetext *t, const struct text_name *name);
bool text_chain_learn(struct tracetext *t);
bool text_chain_next(struct tracetext *t);
void text_chain_make(struct tracetext *t, struct event *ev);

/* The functions of tracefs's lines ahead, each ended by ';'. What does not fit is skipped at the outer end. */
struct text_slice text_stack_read(struct tracetext *t);

/* What went wrong with reading a line: -errno with the error message set; 0: nothing. */
int tracetext_error(const struct tracetext *t);

/* Adds what was skipped, cut, late or missing to the caveats; at the end. */
void tracetext_report(struct tracetext *t);

/* After the first pass: -EINVAL with the error message set if no line of a text was understood. */
int tracetext_check(const struct tracetext *t);

/* The next line that is an event or says something about events; TEXT_EMPTY at the end. */
enum text_line_kind tracetext_line(struct tracetext *t);

/* The name of the current line; NULL: too many names. `hint` is NULL after open(). */
struct text_name *tracetext_name(struct tracetext *t, const struct read_hint *hint);

/* Of the current line, which is an event and begins at `line`: sets t->head. */
/* text_tail.c: was the text's last event cut, though there is a newline? */
struct text_tail {
	struct text_name *name; /* of the newest event; NULL: none */
	uint32_t digits, words; /* of its text */
};

void tracetext_tail_learn(struct tracetext *t, struct text_tail *tail, struct text_name *name);
void tracetext_tail_end(struct tracetext *t, const struct text_tail *tail);

/* Gives the current event, if it has no time, that of the log's line, or its number. */
void tracetext_time(struct tracetext *t);

/* What the current line, which begins at `line`, says that is missing: t->seam. */
void tracetext_seam(struct tracetext *t, const char *line, const char *end);

void tracetext_head_learn(struct tracetext *t, const char *line);

/* Has the current line's time another unit than the file? Counts it. */
bool tracetext_other_unit(struct tracetext *t);

/* Does the second pass need this line? */
static inline bool tracetext_is_kept(const struct tracetext *t, uint64_t line)
{
	return line / 8 >= t->kept_bytes || t->kept[line / 8] >> (line % 8) & 1;
}

/* A time of the file in ns. */
static inline uint64_t tracetext_ns(const struct tracetext *t, uint64_t time)
{
	return t->ns_per_tick > 0 ? uint64_of_double((double)time * t->ns_per_tick + 0.5) : time;
}

/* Opens the lines, unless t->lines has a source, and makes the first pass. 0 or -errno with the error message set. */
int tracetext_begin(struct tracetext *t, const char *path, const struct read_hint *hint,
		    bool pasted);
int tracetext_new(const char *path, struct tracetext **ret);

/* The first pass. 0 or -errno with the error message set; the lines are rewound. */
int tracetext_scan(struct tracetext *t, const struct read_hint *hint);

#endif
