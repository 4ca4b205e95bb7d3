/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the profiles interpret each event: the table of samples.h. */
#ifndef HOSTRACE_SAMPLE_KINDS_H
#define HOSTRACE_SAMPLE_KINDS_H

#include "event/event.h"
#include "event/sample.h"

/* Samples that are derived from events; with OSv's names where it has one. */
enum sample_made {
	MADE_WAIT,
	MADE_WAIT_RET,
	MADE_PREEMPT,
	MADE_PREEMPT_RET,
	MADE_IDLE,
	MADE_IDLE_RET,
	MADE_WAKE,
	MADE_LOAD,
	MADE_LOCK,
	MADE_LOCK_END,
	MADE_KMALLOC,
	MADE_SLAB,
	MADE_PAGE,
	MADE_NR
};

struct sample_made_row {
	const char *name, *signature, *format;
	struct sample_kind kind;
};
extern const struct sample_made_row sample_made_rows[MADE_NR];

enum sample_what {
	WHAT_EVENT, /* a sample of its own name, perhaps one end of a pair */
	WHAT_SWITCH,
	WHAT_WAKE,
	WHAT_MIGRATE,
	WHAT_LOCK,
	WHAT_LOCK_END,
	WHAT_ALLOC, /* kmalloc and the like */
	WHAT_PAGES,
	WHAT_STACK,	/* the backtrace of the event before it */
	WHAT_EXIT,	/* kvm_exit: also has the guest's instruction pointer */
	WHAT_USER_EXIT, /* kvm_userspace_exit */
	WHAT_SYSCALL,	/* sys_enter, sys_exit: a pair per number */
	WHAT_NAME,	/* names a thread */
	WHAT_NOTHING,
};

/*
 * prev_state of sched_switch: all bits that keep a task from running; the bits of a dead task: TASK_DEAD in our own
 * event, EXIT_DEAD and EXIT_ZOMBIE in the kernel's event, where 0x80 is an idle kernel thread.
 */
enum { SAMPLE_STATE_BITS = 0x10ff, SAMPLE_STATE_DEAD = 0x80, SAMPLE_STATE_EXITED = 0x30 };

enum { SAMPLE_SLOTS = 5 };

/* How events of one type are processed, and where their fields are. */
struct sample_rule {
	enum sample_what what;
	const struct field *field[SAMPLE_SLOTS]; /* by the order in `fields`; NULL: look in `text` */
	const char *fields[SAMPLE_SLOTS];	 /* "name" or "name|other"; of text: "prev_pid=" */
	const struct field *text;		 /* ftrace's text, where there are no fields */
	const struct field *frame;		 /* the first of nr_frames, 8 bytes each */
	unsigned int nr_frames;
	bool has_key; /* slot 0 is the pair's key */
	uint8_t dead; /* WHAT_SWITCH: the bits of the state of a dead task */
	uint8_t made;  /* WHAT_ALLOC: enum sample_made */
	uint32_t tracepoint; /* set by the caller: index + 1; 0: none */
	struct sample_kind kind; /* WHAT_EVENT, WHAT_EXIT, WHAT_USER_EXIT; `base` is owned by the caller: free() */
};

void sample_rule_make(const struct event_type *type, struct sample_rule *ret);

/* The event's name without its system or side: "guest:sched_switch" -> "sched_switch". */
const char *sample_event_name(const struct event_type *type);

uint64_t sample_u64(const struct sample_rule *r, const struct event *ev, unsigned int slot);
/* "" if the field is missing. Up to size - 1 bytes. */
void sample_text(const struct sample_rule *r, const struct event *ev, unsigned int slot, char *buf,
		 size_t size);

#endif
