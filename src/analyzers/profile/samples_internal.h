/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by samples*.c and sample_kinds.c only. */
#ifndef HOSTRACE_SAMPLES_INTERNAL_H
#define HOSTRACE_SAMPLES_INTERNAL_H

#include "analyzers/profile/backtraces.h"
#include "analyzers/profile/code_maps.h"
#include "analyzers/profile/samples.h"
#include "base/hash.h"
#include "symbols/symbol_map.h"

/* ---- how each event is interpreted: sample_kinds.c ---- */

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
	uint8_t frames_before; /* bytes by which they are before the return addresses */
	bool is_chain; /* WHAT_STACK: perf's call chain; WHAT_EVENT: host_stack, which has its own */
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

/* ---- threads ---- */

struct sample_thread {
	uint64_t id; /* source and tid */
	uint32_t pid; /* in struct samples.own: its process */
	uint64_t rip; /* of a vCPU: the guest's, at its last exit; 0: unknown */
	uint32_t reason, isa, user_reason;
	char state; /* 'w' waiting, 'p' preempted, else running or unknown */
	bool is_vcpu, in_guest, in_user;
	char comm[17]; /* sanitized */
};

/* Added if it is new; valid until the next call. NULL: too many threads. */
struct sample_thread *sample_thread_of(struct hash_table *threads, uint32_t source, uint32_t tid);
void sample_thread_name(struct sample_thread *t, const char *comm);

/* ---- system calls by name ---- */

struct samples;
struct sample_syscalls; /* free() */

/* In the first pass, of each sys_enter and sys_exit: its number becomes a tracepoint. 0 or -errno. */
int sample_syscall_learn(struct samples *x, const struct sample_rule *r, const struct event *ev);
/* The index + 1 of that tracepoint; `otherwise` if the number has none. */
uint32_t sample_syscall_tracepoint(struct samples *x, const struct sample_rule *r,
				   const struct event *ev, uint32_t otherwise);

/* ---- events that wait for their backtrace ---- */

struct sample_held {
	struct sample s;
	uint64_t event; /* counted: samples of one event get the same backtrace */
	uint32_t cpu, source; /* of the event: the sample's may be another */
	uint8_t *args;
	size_t room;
	bool wants_stack;
};

struct samples {
	struct sample_trace base;
	struct samples_input in;
	struct reader *reader;
	struct batch *batch;
	unsigned int at; /* in the batch */
	bool begun, ended; /* the pass */
	struct sample_rule **rule; /* by registry index of the type; NULL: none */
	uint32_t made[MADE_NR]; /* tracepoint index */
	struct hash_table threads;
	struct hash_table own; /* of a host: threads of VMs */
	uint64_t not_watched, stood_in; /* switches from or to others; samples whose thread replaces a backtrace */
	struct backtraces *backtraces;
	struct sample_syscalls *syscalls; /* NULL: the trace has none */
	struct symbol_map *symbols; /* the trace's own */
	struct code_maps *maps;	    /* of a host's call chains; NULL: it has none */
	struct sample_held *held;   /* a ring of SAMPLES_HELD + 64 */
	size_t nr_held;		    /* entries of it that were ever used */
	uint64_t first, next, event;
	bool has_stacks, has_wakeup;
	bool only_vm; /* the host's own recording: switches of the VM's threads only, no queue's length */
	double ns_per_tick; /* of a ring that was not aligned; 0: times are ns */
	int64_t *load;	    /* by CPU, -1: not known */
};

/* A new entry of the trace's dictionary; `kind` stays the caller's. */
int samples_tracepoint_add(struct samples *x, const char *name, const char *signature,
			   const char *format, const struct sample_kind *kind, uint32_t *ret);

/* samples_make.c: appends the samples that follow from the event. 0 or -errno. */
int samples_make(struct samples *x, const struct event *ev);

/* A new held sample of this tracepoint, of the event's time, CPU and thread; *ret may be NULL on failure only. */
int samples_hold(struct samples *x, const struct event *ev, uint32_t tracepoint,
		 const void *args, size_t len, struct sample_held **ret);

#endif
