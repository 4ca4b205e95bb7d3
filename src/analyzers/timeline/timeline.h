/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A timeline: who did what when, as tracks with slices on them.
 *
 *   group  "VM 1234"      track "vCPU 0"         | guest |IO | guest      |HLT         | guest
 *                         track "vCPU 0 off CPU"                            |halted  |
 *                         track "disk q0"             'kick          'interrupt
 *                         track "disk q0 #1"           |head 4     |
 *   group  "guest"        track "CPU 0"          | dd      | sh    |       idle      | dd
 *
 * A track is flat: its slices come in order and do not overlap; what can overlap (requests in flight) has a track for
 * each lane. So a format may write a slice when it gets it, and nothing is kept here but the tracks.
 *
 * Makers (analyzers/timeline/) turn events into slices; formats (struct timeline_ops, in struct format) write them.
 */
#ifndef HOSTRACE_TIMELINE_H
#define HOSTRACE_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/cleanup.h"

enum {
	TIMELINE_GROUPS_MAX = 1024,
	TIMELINE_TRACKS_MAX = 1 << 16,
	TIMELINE_FLOWS = 8,	  /* of one slice; further ones are not drawn */
	TIMELINE_NAME_BYTES = 64, /* of a slice's name, with its NUL */
};

enum slice_kind {
	SLICE_GUEST,	 /* in guest mode */
	SLICE_KERNEL,	 /* an exit that KVM handles; in KVM_RUN where it has no kvm_exit */
	SLICE_USERSPACE, /* the VMM handles it */
	SLICE_HALTED,	 /* off CPU because the guest halted */
	SLICE_PREEMPTED, /* off CPU, switched out though it could run */
	SLICE_RUNQUEUE,	 /* off CPU, woken and not yet switched in */
	SLICE_BLOCKED,	 /* off CPU, waiting for something else */
	SLICE_RUNNING,	 /* a thread on a CPU */
	SLICE_TASK,	 /* a guest's task on a vCPU */
	SLICE_IRQ,	 /* a guest's interrupt handler */
	SLICE_REQUEST,	 /* a virtqueue element with the device, a guest's block request */
	SLICE_INSTANT,	 /* a point: a kick, an interrupt */
	SLICE_SPAN,	 /* of an analyzer */
	SLICE_KINDS
};

/* Order of the tracks within a group. */
enum track_rank { TRACK_VCPU, TRACK_QUEUE, TRACK_THREAD, TRACK_BLOCK, TRACK_TASK, TRACK_SPAN };

struct timeline_group {
	char *name;
	char *vm;     /* the VM's name; NULL: unknown */
	uint32_t pid; /* of the VM's process; 0: unknown, or a guest */
	bool guest;
	bool written;
};

struct timeline_track {
	char *name;
	uint32_t group; /* index */
	uint32_t tid;	/* of a host's thread; 0: none */
	uint64_t order; /* within the group: rank, then number */
	bool written;
	bool is_counter;
	bool has_before; /* of a counter: */
	uint64_t before; /* its value when the window begins */
};

struct timeline_slice {
	uint32_t track;
	enum slice_kind kind;
	uint64_t start_ns, end_ns;
	const char *name;
	const uint64_t *flow; /* arrows that pass through it, by number */
	unsigned int nr_flows;
	unsigned int flows_end; /* bit i: flow[i] ends here */
};

struct report;
struct timeline;

/* What begins at ns with this number is of a request that host and guest both show, and on its arrow. */
enum link_kind { LINK_ISSUE, LINK_EXIT, LINK_POP }; /* number: sector, vCPU, head */

struct timeline_link {
	uint64_t ns, number, flow;
	uint32_t pid; /* of the VM */
	uint64_t complete_ns; /* the guest sees the request's end, where the arrow ends */
	enum link_kind kind;
};

/* How a format writes one. Errors of the file are seen by output_close(). */
struct timeline_ops {
	int (*open)(struct timeline *t);
	void (*group)(struct timeline *t, uint32_t group); /* before its first track; may be NULL */
	void (*track)(struct timeline *t, uint32_t track); /* before its first slice */
	void (*slice)(struct timeline *t, const struct timeline_slice *s);
	int (*close)(struct timeline *t); /* frees its state; `report` is complete now */
	/* A counter's value from then on; NULL: the format has no counters. */
	void (*count)(struct timeline *t, uint32_t track, uint64_t ns, uint64_t value);
	bool names_at_end; /* close() writes the tracks' names: those that they have then */
};

struct timeline {
	const struct timeline_ops *ops;
	struct report *report; /* the format's: where and how it writes */
	json_t *caveats;       /* array to which notes are added; borrowed, may be NULL */
	uint64_t start_ns; /* of the trace: text counts from here */
	uint64_t since_ns, until_ns; /* what is drawn */

	/* ... and what of the scheduler's: of which threads; NULL: of all. */
	bool (*selects)(const void *arg, uint16_t vcpu, uint32_t tid);
	const void *selects_arg;
	struct timeline_group group[TIMELINE_GROUPS_MAX];
	uint32_t nr_groups;
	struct timeline_track *track;
	uint32_t nr_tracks;
	uint64_t nr_slices, end_ns;
	uint64_t not_drawn; /* slices that found no track */
	uint64_t nr_cut;    /* slices that reach over the ends of the window */
	uint64_t next_flow;
	struct timeline_link *link; /* sorted by timeline_links_set(); owned */
	size_t nr_links;
	void *state; /* the format's */
};

/* `report` and `caveats` are borrowed until timeline_close(). 0 or -errno with the error message set. */
int timeline_open(const struct timeline_ops *ops, struct report *report, json_t *caveats,
		  uint64_t start_ns, struct timeline **ret);

/* Only [since_ns, until_ns) is drawn: slices that reach over its ends are cut there. */
void timeline_window(struct timeline *t, uint64_t since_ns, uint64_t until_ns);

/* Writes the end. Frees it in any case. */
int timeline_close(struct timeline *t);
/* Gives up: what was written is not complete. */
void timeline_cancel(struct timeline *t);

/* A new group or track; its index, UINT32_MAX if the table is full, which slices accept. Copies names, sanitized. */
uint32_t timeline_group(struct timeline *t, uint32_t pid, bool guest, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* Names the VM of a group. */
void timeline_group_vm(struct timeline *t, uint32_t group, const char *vm);
uint32_t timeline_track(struct timeline *t, uint32_t group, enum track_rank rank, uint32_t number,
			uint32_t tid, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/*
 * The thread or task of a track is called `comm` now; the track is "COMM NUMBER". If it is written already, only
 * formats with names_at_end rename it.
 */
void timeline_track_comm(struct timeline *t, uint32_t track, const char *comm, uint32_t number);

/* A track with a value instead of slices; UINT32_MAX as well if the format has no counters. */
uint32_t timeline_counter(struct timeline *t, uint32_t group, enum track_rank rank, uint32_t number,
			  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
void timeline_count(struct timeline *t, uint32_t track, uint64_t ns, uint64_t value);

/* It is cut at the ends of the window. */
void timeline_slice(struct timeline *t, struct timeline_slice *s);

static inline bool timeline_selects(const struct timeline *t, uint16_t vcpu, uint32_t tid)
{
	return !t->selects || t->selects(t->selects_arg, vcpu, tid);
}

/* Cuts it at the ends of a window. False: it is outside. */
bool timeline_clip(struct timeline_slice *s, uint64_t since_ns, uint64_t until_ns);

static inline uint64_t timeline_flow(struct timeline *t)
{
	return ++t->next_flow;
}

/* Takes the list over. Arrows made by timeline_flow() from then on do not collide with its own. */
void timeline_links_set(struct timeline *t, struct timeline_link *list, size_t nr);

/* Of what begins then in the VM of this pid; the first of several; NULL: none. */
const struct timeline_link *timeline_link_find(const struct timeline *t, enum link_kind kind,
					       uint32_t pid, uint64_t ns, uint64_t number);

/* "guest", "kernel", ... as in JSON and CSV. */
const char *slice_kind_name(enum slice_kind kind);

/* The names of the formats that can write one. */
extern const char timeline_formats[];

/* ---- what is going on on a track: becomes a slice when it ends ---- */

struct timeline_run {
	uint32_t track;
	bool on;
	enum slice_kind kind;
	uint64_t since_ns;
	const char *fixed; /* its name; NULL: that is in `name` */
	char name[TIMELINE_NAME_BYTES];
	uint64_t flow[TIMELINE_FLOWS];
	unsigned int nr_flows;
};

/* Ends what is on, and begins. */
void run_begin(struct timeline *t, struct timeline_run *run, uint64_t ns, enum slice_kind kind,
	       const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same with a name that needs no formatting and is not freed. */
void run_begin_named(struct timeline *t, struct timeline_run *run, uint64_t ns,
		     enum slice_kind kind, const char *name);
void run_end(struct timeline *t, struct timeline_run *run, uint64_t ns);
void run_flow(struct timeline_run *run, uint64_t flow);
/* The arrows of all requests that are linked to what has just begun. */
void run_links(const struct timeline *t, struct timeline_run *run, enum link_kind kind,
	       uint32_t pid, uint64_t number);

/* ---- makers: the host, a guest ---- */

struct event;
struct thread_names;
struct vm_names;
struct timeline_host;
struct timeline_guest;

/* `names` and `vms` must live as long. `foreign`: as model_set_foreign(). */
int timeline_host_new(struct timeline *t, const struct thread_names *names,
		      const struct vm_names *vms, bool foreign, struct timeline_host **ret);
/* Not `selected`: it only shows what other threads do. */
void timeline_host_event(struct timeline_host *h, const struct event *ev, bool selected);
void timeline_host_end(struct timeline_host *h, uint64_t ns); /* what is still on lasts until then */
void timeline_host_free(struct timeline_host *h);

/* `title`: of the group; `vm`: the VM's name, added to it; NULL: unknown, or the only one. */
int timeline_guest_new(struct timeline *t, const char *title, const char *vm,
		       struct timeline_guest **ret);
void timeline_guest_event(struct timeline_guest *g, const struct event *ev);
void timeline_guest_end(struct timeline_guest *g, uint64_t ns);
void timeline_guest_free(struct timeline_guest *g);

/* Is an event of this name looked at? */
bool timeline_wants(const char *event, void *arg);

#endif
