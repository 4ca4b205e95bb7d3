/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The times for which VMs were stopped: by `stop` and `cont`, by a migration to another QEMU, for a snapshot, by an
 * error. A stop has points, in this order, of which a pause has no more than the first two and the last two:
 *
 *   RAN           a vCPU left the guest for the last time (kvm_userspace_exit, else kvm_exit)
 *   STOPPED       all vCPUs are paused (QEMU, softmmu/cpus.c: do_vm_stop()); then the disks are drained and flushed
 *   SAVE_RAM      the RAM that is left is written (migration/savevm.c: qemu_savevm_state_complete_precopy())
 *   SAVE_DEVICES  the devices' state is written
 *   LOAD          state is loaded, while stopped: the VM goes back to a snapshot
 *   LOADED        the state is complete; in a migration: in the destination
 *   STARTED       the vCPUs may run
 *   RUNS          the first of them enters the guest
 *
 * A phase is from its point to the next one that was seen, so that phases always sum to the downtime. Events of both
 * QEMUs of a migration must be in one trace, or in traces with one clock.
 */
#ifndef HOSTRACE_DOWNTIME_H
#define HOSTRACE_DOWNTIME_H

#include "base/cleanup.h"
#include "model/loss_state.h"

enum stop_point {
	STOP_RAN,
	STOP_STOPPED,
	STOP_SAVE_RAM,
	STOP_SAVE_DEVICES,
	STOP_LOAD,
	STOP_LOADED,
	STOP_STARTED,
	STOP_RUNS,
	STOP_POINTS,
};

/* Where a stop ended. */
enum stop_end {
	STOP_OPEN,     /* nowhere in this trace */
	STOP_SENT,     /* nowhere, but its state was written: a migration whose destination is not in the trace */
	STOP_RESUMED,  /* in the same VM */
	STOP_MIGRATED, /* in the VM `to` */
	STOP_ARRIVED,  /* in this VM, from one that is not in the trace: its first points are missing */
};

#define STATE_NOT_RECORDED UINT32_MAX

struct vm_stop {
	uint32_t pid, to; /* to: the VM that went on; 0: none */
	uint32_t state;	  /* why it stopped: RunState of QEMU, or STATE_NOT_RECORDED; of STOP_ARRIVED, inmigrate */
	bool lost;	  /* events may be missing (loss_state.h): points may be missing or late */
	bool abandoned;	  /* downtime_forget() */
	uint64_t at[STOP_POINTS]; /* 0: not seen */
	struct loss_mark mark;	  /* of the newest point */
};

struct downtime_counts {
	uint64_t ambiguous; /* arrivals for which several VMs were waiting: each is a row of its own */
	uint64_t refused;   /* events of VMs beyond the limit, and stops beyond theirs */
	uint64_t nameless;  /* vm_state that does not say whether the VM runs */
	bool steps;	    /* the trace has migrate_step */
};

struct downtime;

/* NULL: out of memory. */
struct downtime *downtime_new(void);
void downtime_free(struct downtime *d);
DEFINE_CLEANUP(downtime, struct downtime *, downtime_free);

/* All events in order of time; 0 or -ENOMEM with the error message set. */
int downtime_event(struct downtime *d, const struct event *ev);

/* As struct read_hint has it. */
bool downtime_wants(const char *event, void *arg);

/* In order of their stops, borrowed. */
const struct vm_stop *downtime_stops(struct downtime *d, size_t *ret_nr);
const struct downtime_counts *downtime_counts(const struct downtime *d);

/*
 * For a caller that runs for ever: passes on all stops, in order of their begin, and forgets those that are over, which
 * are those that have STOP_STARTED or whose VM is forgotten.
 */
typedef void downtime_stop_fn(void *arg, const struct vm_stop *s, bool over);
void downtime_take(struct downtime *d, downtime_stop_fn *fn, void *arg);

/* The process has ended: another one may get its pid. */
void downtime_forget(struct downtime *d, uint32_t pid);

enum stop_end stop_end(const struct vm_stop *s);

/* From this point to the next one that was seen. False: one of them is missing. */
bool stop_phase_ns(const struct vm_stop *s, enum stop_point from, uint64_t *ret);

/* From the first point to the last one. False: it did not begin or did not end in this trace. */
bool stop_downtime_ns(const struct vm_stop *s, uint64_t *ret);

/* The phase from this point, "devices". */
const char *stop_phase_name(enum stop_point from);

/* QEMU's name of a RunState, "paused"; NULL if unknown. */
const char *run_state_name(uint32_t state);

#endif
