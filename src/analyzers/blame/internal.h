/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by blame's own files only. */
#ifndef HOSTRACE_BLAME_INTERNAL_H
#define HOSTRACE_BLAME_INTERNAL_H

#include "analyzers/blame/blame.h"
#include "base/hash.h"
#include "model/threads.h"

enum {
	VMS_MAX_SEEN = 1024,
	VM_VCPU_THREADS_MAX = 1024,
	NS_TIDS_MAX = 1 << 16,
	STACKS_MAX = 1 << 16, /* different ones */
	STACK_TEXT_BYTES = 1024,
};

/* An exit that is going on, or (`done`) has ended and waits for the event that names its device. */
struct cycle {
	bool open, done, user, fault, inject, nested, unknown;
	bool in_run; /* BLAME_IN_RUN */
	bool misplaced; /* whether KVM or the VMM handles it is unknown */
	bool halt_known; /* kvm_vcpu_wakeup has said how long it halted */
	uint32_t reason, isa;
	uint16_t vcpu;
	uint64_t start_ns, end_ns, rip;
	uint64_t since_ns; /* end of the last part */
	struct blame_who access; /* the newest port or address that the guest accessed */
	unsigned int nr, max;
	unsigned int detailed; /* of its parts; later ones are sums, */
	unsigned int sums;     /* ... at most so many */
	struct blame_part *part; /* array.h */
};

struct thread {
	struct model_thread model;
	enum run_state shown; /* the state that its newest part is of */
	uint32_t ns_tid;
	unsigned int touched; /* LOST_...: it had an event since the newest loss of this kind */
	struct thread *next_touched[LOSSES];
	bool waits, on_global;	/* its block is of futex(FUTEX_WAIT); on the global mutex */
	bool is_crowded;	/* ... beyond BLAME_WAITERS_MAX */
	const struct runner *preemptor; /* while a part is cut: who ran instead; NULL: who has its CPU now */
	uint32_t stack; /* of the global mutex's holder: what it does; 0: unknown */
	struct machine *vm; /* NULL: in a foreign trace, of a thread that is only known from the scheduler */
	struct cycle *cycle; /* of a vCPU thread; else NULL */
};

/* The global mutex of a VM. */
struct owner {
	enum { OWNER_UNKNOWN, OWNER_HELD, OWNER_FREE } state;
	struct thread *thread; /* who holds it; of a free one who was woken for it; NULL: unknown */
	uint32_t ns_tid;       /* of the holder, if it is no thread that we know */
};

struct machine {
	struct owner owner;
	bool namespaced; /* thread ids in its PID namespace differ from ours */
	struct thread *vcpu[VM_VCPU_THREADS_MAX];
	unsigned int nr_vcpus;
};

struct machine_entry {
	uint64_t key; /* source, pid */
	struct machine *vm;
};

struct ns_entry {
	uint64_t key[2]; /* source and pid, ns_tid */
	struct thread *thread;
};

struct blame {
	struct blame_sink sink;
	struct blame_counts counts;
	size_t nr_parts; /* room for so many in all exits */
	struct model model;
	struct hash_table machines, ns_tids;
	struct thread *touched[LOSSES];
	struct region_names *regions; /* NULL: none */
	const struct vm_names *vms;   /* NULL: none */
	uint64_t since_ns, until_ns; /* the window */
	bool has_begun;		     /* ... */
	bool exits_seen;
	bool wakeups; /* kvm_vcpu_wakeup is recorded */
	bool exact; /* there is a bql_locked, or bql_unlock */
	struct hash_table stacks; /* holder.c */
	char **stack; /* array.h; by id less 1 */
	uint32_t nr_stacks;
	int err;
};

/* exits.c: the state of a vCPU thread's exit, which is made if it has none. NULL: too many, or out of memory. */
struct cycle *exit_cycle(struct blame *b, struct thread *t);

/* An exit begins with this event. NULL: it does not count. */
struct cycle *exit_begin(struct blame *b, struct thread *t, const struct event *ev);

void exit_end(struct blame *b, struct thread *t, uint64_t ns);

/* It ends with this event, unless events in it may be missing (model/losses.h). */
void exit_ends(struct blame *b, struct thread *t, const struct event *ev);

bool exit_drop(struct thread *t); /* was there one? */

/* Of one that is still open at the end. */
bool exit_open_is_lost(const struct blame *b, const struct thread *t);

/* Passes an exit that has ended to the sink, before another one begins. */
void exit_deliver(struct blame *b, struct thread *t);

/* The thread left its CPU in KVM_RUN, and it is not known when before `ns` it came back: this is no exit. */
void exit_drop_run(struct blame *b, struct thread *t, uint64_t ns);

/* Without kvm_exit: the thread left its CPU in KVM_RUN, so it executes no guest until it runs again. */
void exit_leave_run(struct blame *b, struct thread *t, const struct event *ev);
void exit_return_run(struct blame *b, struct thread *t, uint64_t ns);

/* The first kvm_exit: exits are known as such, and those so far do not count. */
void exits_restart(struct blame *b);

/* parts.c: adds the part from the last one's end to `ns`, by the state that the thread is in and will leave now. */
void part_cut(struct blame *b, struct thread *t, uint64_t ns);

/* Removes the parts since the thread's state changed: it is now known to have had another one. */
void parts_correct(struct thread *t);

/* The thread sleeps, and for the global mutex. */
bool sleeps_on_global(const struct thread *t);

/* What an exit that is BLAME_IN_RUN slept for: it was halted, not in a page fault. */
void parts_slept_halted(struct thread *t);

/* The time from `start` on was a halted vCPU's. */
void parts_halted(struct blame *b, struct thread *t, uint64_t start_ns, uint64_t end_ns,
		  bool slept);

/* Passes the exit to the sink. */
int parts_deliver(struct blame *b, struct thread *t);

/* owner.c: the owners of the global mutex, from what events show. */
void owner_set(struct blame *b, struct machine *vm, struct owner owner, uint64_t ns);
void owner_read(struct blame *b, struct thread *t, uint64_t pid_key, uint32_t word, uint32_t owner,
		uint64_t ns);
void owner_event(struct blame *b, struct thread *t, const struct event *ev);
void owner_woken_runs(struct blame *b, struct thread *t, uint64_t ns); /* t was woken to take it */
void owner_learn(struct blame *b, struct thread *t, uint64_t pid_key, uint32_t ns_tid);

/* The thread is going to run or to stop: those who wait for it must account for what it did so far. */
void owner_changes(struct blame *b, struct thread *t, uint64_t ns);

/* losses.c: events of this thread show something that a loss makes unknown. */
void losses_touch_all(struct blame *b, struct thread *t);

static inline void losses_touch(struct blame *b, struct thread *t)
{
	if (t->touched != LOST_ALL)
		losses_touch_all(b, t);
}

/* As struct model_reader has it. */
void losses_found(void *arg, unsigned int what, uint64_t ns);

/* holder.c: what the owner does. */
void holder_init(struct blame *b);
void holder_deinit(struct blame *b);
void holder_event(struct blame *b, struct thread *t, const struct event *ev);

#endif
