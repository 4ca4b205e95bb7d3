/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For clock/ only. */
#ifndef HOSTRACE_ALIGN_INTERNAL_H
#define HOSTRACE_ALIGN_INTERNAL_H

#include "clock/align.h"
#include "pairing/elements.h"

/* A VM-entry or VM-exit of a vCPU. */
struct align_mark {
	uint64_t ns;
	bool enter, userspace; /* userspace: kvm_run and kvm_userspace_exit */
};

struct align_element {
	uint32_t pid;
	uint64_t vdev, pop_ns, fill_ns;
};

struct align_vcpu {
	uint32_t pid, tid; /* tid: the thread that runs it, 0: unknown */
	uint16_t vcpu;
	struct align_mark *mark;
	size_t nr_marks;
	struct clock_report *report; /* host_tsc is in ns until all pairs have been read */
	size_t nr_reports;
	struct clock_pvclock *pv; /* host_tsc likewise */
	size_t nr_pv;
	uint64_t registered; /* host_tsc likewise: when the guest enabled its kvm-clock; 0: not recorded */
	struct clock_spans spans;
	bool exits; /* there is a kvm_exit or kvm_entry */
};

enum { ALIGN_VMS_MAX = 64 };

struct align_vm {
	uint32_t pid;
	uint64_t trace_id; /* if it has one */
	bool has_trace_id;
	char name[64]; /* "": unknown */
};

struct align {
	struct align_vcpu vcpu[ALIGN_VCPUS_MAX];
	unsigned int nr_vcpus;
	struct clock_pair *pair;
	size_t nr_pairs;
	struct clock_span *hole; /* ns until all pairs have been read */
	size_t nr_holes;
	uint64_t marks, marks_max, marks_refused; /* marks_max: ALIGN_MARKS_MAX */
	struct align_losses *losses; /* of the input that is read */
	struct elements *elements;
	struct element_watch watch;
	struct align_element *element;
	size_t nr_elements;
	uint64_t first_ns, last_ns; /* of the events read */
	struct clock_span whole;    /* the same in ticks */
	struct clock_mono mono;
	bool ticks_known;	 /* else "host ticks" are ns */
	double host_error_ticks; /* of a host event's time as ticks */
	uint64_t resolution_ns;	 /* of the host's timestamps, if it is coarser than a ns */
	uint64_t tsc_khz;	 /* as in struct read_hint */
	struct open_files *files; /* likewise */
	bool no_guest; /* as in struct align_selection */
	const char *clock;
	const char **host; /* the inputs' paths, not owned */
	unsigned int nr_hosts;
	uint32_t pid; /* of the selected VM; 0: all, or several, are selected */
	uint32_t unmatched_tid; /* the first of the selected threads if none of them runs a vCPU */
	bool selected;		/* vcpu[] is limited */
	bool only_selected;	/* ... to some vCPU numbers or threads */
	bool by_tids;		/* ... to some threads */
	struct align_vm vm[ALIGN_VMS_MAX]; /* listed in the host's files */
	unsigned int nr_vms;
	uint64_t work_max; /* CLOCK_WORK_MAX */
	struct align_guest guest[ALIGN_GUESTS_MAX];
	unsigned int nr_guests;
};

/*
 * The first pass over one host input, whole or in parts: before the first event, align_host_event() for each, and with
 * the input's data at its end.
 */
int align_host_read(struct align *a, const char *path);
int align_host_begin(struct align *a);
int align_host_info(struct align *a, const struct trace_info *info);
/* After the last input: converts ns to ticks and marks to spans. */
int align_host_end(struct align *a);
void align_vcpu_deinit(struct align_vcpu *v);

/* ---- align_select.c ---- */

/* Between the two: tells VMs apart whose process ids are not recorded. */
void align_threads_split(struct align *a);

/* Keeps only the selected vCPUs. -ESRCH with the error message set: there are none of them. */
int align_select(struct align *a, const struct align_selection *selection);

/* Is the guest's CPU one of the selected? */
bool align_uses_cpu(const struct align *a, unsigned int cpu);

/* Grows g->input to at least this size. -E2BIG or -ENOMEM with the error message set. */
int align_vcpus_reserve(struct align_guest *g, unsigned int nr);

/*
 * Finds the guest's VM and the relation to it. info NULL: there is no guest trace. -EINVAL: several VMs match;
 * -ENODATA: no data relates them, or there is no guest trace, and several VMs; all with the error message set.
 */
int align_relate(struct align *a, struct align_guest *g, const struct trace_info *info,
		 const struct clock_options *opt);

bool align_guest_is_tsc(const struct trace_info *info);

/*
 * Bounds a guest by the disk of VM `pid` (0: any) if the host has no entries and exits. `ticks`: it timestamps with its
 * TSC. If that is not possible, returns without setting the error message; -ENOMEM, -E2BIG.
 */
int align_limits(struct align *a, struct align_guest *g, uint32_t pid, bool ticks);

/*
 * Lowers *high of the band of the constant that is to be added to a guest's timestamp, by the guest's kicks and the
 * host's writes to notify registers. `convert`: a host TSC on the clock that has this constant; `tolerance`: of that.
 */
int align_kicks(const struct align *a, struct align_guest *g, uint32_t pid,
		uint64_t (*convert)(const void *arg, uint64_t tsc), const void *arg, double low,
		double *high, double tolerance);

/* ---- pvclock.c ---- */

/*
 * Relates a guest that timestamps in ns through its kvm-clock; `uptime`: they count from the end of its boot (OSv).
 * -ENODATA: the recording lacks the required data.
 */
int align_pvclock(const struct align *a, struct align_guest *g, uint32_t pid, bool uptime);
void align_pvclock_free(struct align_guest *g);
bool align_on_kvmclock(const struct align_guest *g);
uint64_t align_pvclock_tsc(const struct align_guest *g, unsigned int vcpu, uint64_t kvmclock);

#endif
