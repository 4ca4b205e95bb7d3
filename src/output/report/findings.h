/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a finding is made of, for findings.c and its parts:
 *
 *	findings.c	 what each section of the page has to say, with its share of the recording's time
 *	findings_cpu.c	 ... those of the scheduler
 *	findings_queue.c ... those of virtqueues
 *	findings_disks.c ... disks that are not virtio
 *	findings_limits.c what limited the VM from outside
 *	findings_host.c	 what the host itself takes of the CPUs
 *	findings_migration.c a migration or a snapshot that goes on
 *	findings_stuck.c what stood still when the VM was looked at
 *	findings_cause.c which cause (causes.h) that is
 *	findings_rows.c	 what they read of the rows of more than one section
 *	findings_list.c	 the largest of each kind, in order; the page's notes and title
 */
#ifndef HOSTRACE_REPORT_FINDINGS_H
#define HOSTRACE_REPORT_FINDINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json_text.h"

struct found {
	json_t *list;
	const json_t *sections;
	uint64_t span_ns; /* findings_span() */
	bool is_part;	  /* it is less than the recording */
	bool is_interval; /* of counters: there is no recording */
	const char *vmm;  /* what handles exits in user space */
	struct {	  /* findings_limits_index(): of each key, the elements that have it */
		json_t *vms, *cgroups, *limited;
	} by;
	struct {	  /* findings_rows_index(): of each VM, the rows; of each queue, ns */
		json_t *sched, *virtio, *downtime, *longest, *leaked;
	} of;
};

/* ---- access to the sections ---- */

static inline const json_t *data_of(const json_t *sections, const char *key)
{
	return json_object_get(json_object_get(sections, key), "data");
}

static inline const json_t *rows_of(const struct found *f, const char *key)
{
	return json_object_get(data_of(f->sections, key), "rows");
}

/* Integers above 0 as they are, everything else 0. */
static inline uint64_t number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_integer(v) && json_integer_value(v) > 0 ? (uint64_t)json_integer_value(v)
							       : 0;
}

/* ---- the cause's id, of the table in causes.c ---- */

/* Exits for `reason`; "": unknown. */
const char *reason_cause(const struct found *f, const char *reason);

/* Exits that the VMM handles: what blame says they are for, "port 0x70 (RTC)". */
const char *device_cause(const char *what);

/* The reason on which KVM itself spent more than half of its time, halts apart, and its cause. NULL: there is none. */
const char *kernel_reason(const struct found *f, const json_t *vcpu);
const char *kernel_cause(const struct found *f, const json_t *vcpu);

/* All of that time, of all vCPUs. */
uint64_t kernel_most_ns(const struct found *f, const json_t *vcpu);

/* Two rows with "vcpu", and "vm" if there are several. */
bool is_of_vcpu(const json_t *row, const json_t *vcpu);

/* Are the exits of this vCPU known, or only those of all? */
bool exits_are_apart(const struct found *f, const json_t *vcpu);

/* A queue, by its row of virtio: why requests of it take so long. */
const char *slow_cause(const struct found *f, const json_t *row);

/* ---- a finding ---- */

enum { WHO_BYTES = 320, SHARE_BYTES = 96, CANDIDATES_MAX = 4096 };

#define FINDING_FIRST 1e9 /* as a share: before all others, also before requests that are lost */

/* Would finding_add() take it? Ask before a sentence is made at some expense: there may be one of each VM and cause. */
bool finding_counts(const struct found *f, double share);

/* Takes the sentence. Shares below 1/1000 are none; above 1: it stands still, has no share, and comes first. */
void finding_add(struct found *f, const char *kind, const char *cause, const char *section,
		 double share, json_t *sentence);

/* Has a finding with this cause been added? */
bool finding_is_there(const struct found *f, const char *cause);

double share_of(const struct found *f, uint64_t ns);

/* "31.2 % of the recording (5.6s)". */
const char *share_print(const struct found *f, uint64_t ns, char *buf, size_t size);

/* "vCPU 1", "vCPU 1 of web". */
const char *vcpu_print(const json_t *row, char *buf, size_t size);

/* Time of vCPUs' threads without a CPU, in exits or not. True: the recording has it. */
bool findings_cpu(struct found *f);

/* ---- virtqueues ---- */

void findings_queues(struct found *f);

/*
 * Several devices may be waited for at the same time: the shares of all causes that are devices of a VM together are no
 * more than the time for which its vCPUs can have waited. Not in a recording of several VMs. After all are found.
 */
void findings_devices_limit(struct found *f);

/* ---- other disks ---- */

void findings_disks(struct found *f);

/* For how long requests of such a disk were in flight: of the one with the longest time. */
uint64_t disks_busy_ns(const struct found *f, const char *vm);

/* Do QEMU's limits explain at least half of the time for which requests of this device were in flight? */
bool disk_limits_explain(const struct found *f, const char *device, uint64_t busy_ns);

/* "d0 (ide-hd)", of a disk of the metadata "disks". */
const char *disk_print(const json_t *disk, char *buf, size_t size);

/* Its requests that ended during the recording. */
uint64_t disk_ended(const json_t *disk);

/* ---- rows ---- */

/* "queue 0 of disk0", of a row of virtio or leaks. */
const char *queue_print(const json_t *row, char *buf, size_t size);

bool queue_waits_outside(const json_t *row);

/*
 * Is a request of the queue of this row (of virtio, leaks or stuck) lost that is out for so long? One of a slow device
 * may be: it is, if it is out for more than twice as long as the longest took that was returned; if none was, for half
 * of the window, as one that takes less need not begin and end in it.
 */
bool request_is_lost(const struct found *f, const json_t *of, uint64_t age_ns);

/* How old the oldest request of this queue is that is taken to be leaked; 0: there is none. */
uint64_t leaked_age_ns(const struct found *f, const json_t *queue);

/* What is asked for each row of a section, of another's: as there may be thousands of VMs and queues. */
void findings_rows_index(struct found *f);
void findings_rows_free(struct found *f);

/* How many are, of those that leaks found; the oldest of them, or NULL. */
uint64_t requests_lost(const struct found *f, const json_t **ret_oldest);

/* By the names that recordings have: "/machine/peripheral/disk/virtio-backend" is disk. */
bool is_same_device(const char *a, const char *b);

/* For how long requests that a device can serve at once were in flight: of the queue with the longest time. */
uint64_t queues_busy_ns(const struct found *f, const char *vm);

/* A row of sched of a thread that serves devices. */
bool thread_is_server(const json_t *row);

/* For how long the threads of this VM that serve devices waited for a CPU: of the one that did so most. */
uint64_t servers_ready_ns(const struct found *f, const char *vm);

/*
 * For which the VM was stopped by QEMU: its vCPUs wait in the VMM then, on a futex, as if for a lock, or for what is
 * not recorded.
 */
uint64_t vm_stopped_ns(const struct found *f, const char *vm);

/*
 * The share of time in which the VM's vCPUs were asleep, without sleep that has a cause of its own: while they were
 * stopped, in system calls and page faults of the VMM, and, without with_mutex, in waits for QEMU's global mutex.
 */
double asleep_most(const struct found *f, const char *vm, bool with_mutex);

/* ---- limits ---- */

/* Is the thread in this cgroup of the limits? */
bool has_tid(const json_t *group, uint64_t tid);

/* The cgroup that was throttled most, of those that this thread is in; NULL: none is known to have been. */
const json_t *quota_of(const struct found *f, uint64_t tid);

/* How much of the time for which this row of sched was ready without a CPU is due to it. */
uint64_t throttled_ns(const struct found *f, const json_t *thread);

/* Finds VMs by name, cgroups and limits of VMs by pid; without it none is found. The caller frees it. */
void findings_limits_index(struct found *f);
void findings_limits_free(struct found *f);

/* Of the VM with this name, or of the only one; 0: unknown. */
uint64_t vm_pid(const struct found *f, const char *vm_name);

/* Its metadata; NULL: unknown. */
const json_t *vm_meta(const struct found *f, const char *vm_name);

/* Its name in the rows of reports: "" if it is the only VM. */
const char *vm_name_of(const struct found *f, uint64_t pid);

/* "8:0 rbps=1048576": limits on the I/O of the VM's cgroup; "": none are known. */
const char *io_limits_of(const struct found *f, const char *vm_name);

/* "; its balloon took pages with 5 requests, and gave some back with 3": in the window; false: not both. */
bool balloon_print(const struct found *f, const char *vm_name, char *buf, size_t size);

/*
 * Why pages of a VM's memory are late, as far as is known: "memory-limit", "memory-swapped", "balloon-thrash" or
 * "page-faults". In buf:
 * "; its cgroup /web reached its memory limit of 512.0 MiB 25 times", "; the host read 90 pages from swap meanwhile",
 * "; tasks of its cgroup waited for memory for 1.2s"; "" if nothing is known.
 */
const char *memory_cause(const struct found *f, const char *vm_name, char *buf, size_t size);

/* The metadata "limits". */
const json_t *limits_of(const struct found *f);

/* A count of its cgroup or host, or of a CPU of its host, in the window that is diagnosed. */
double limit_count(const struct found *f, const json_t *of, const char *name);
double limit_cpu_count(const struct found *f, const char *name, size_t cpu);

/* Where the thread may run, and how: vm_places_json(); NULL: that is not known. */
const json_t *place_of(const struct found *f, uint64_t tid);

/* "; it may run on CPUs 1 only; its nice value is 10"; "" if nothing limits it, or that is not known. */
const char *place_print(const struct found *f, uint64_t tid, char *buf, size_t size);

/* CPU time that the host did not get, or that its interrupts took. */
void findings_host(struct found *f);

/* ---- migration ---- */

enum migration_cost {
	MIGRATION_LOGS,	     /* exits of writes to pages that are logged */
	MIGRATION_FETCHES,   /* pages that are not there yet */
	MIGRATION_THROTTLES, /* sleep of vCPUs in QEMU */
};

/* "; QEMU migrates it, or saves a snapshot (thread live_migration)"; false: nothing that costs this is known. */
bool migration_print(const struct found *f, const char *vm, enum migration_cost cost, char *buf,
		     size_t size);

/* One that goes on and is in no finding yet. After all others. */
void findings_migration(struct found *f);

/* ---- what stood still ---- */

/* What stuck saw of a running VM, or when the recording started, where sections have it, as "stuck". */
void findings_stuck(struct found *f);

/* Was the event asked for? There may be none of it. */
bool event_is_recorded(const struct found *f, const char *event);

/* What stood still and was measured, too, is one finding. After all others that are found. */
void findings_stopped_join(struct found *f);

/* Has the recording an event that only a vCPU that runs causes? */
bool findings_guest_ran(const json_t *sections);

/*
 * What stood still when the recording started and is no finding, as texts: what went on since then into `notes`, that
 * of which the recording does not show whether it did into `doubts`. Each may be NULL.
 */
void findings_stuck_since(const json_t *sections, json_t *notes, json_t *doubts);

/* Did QEMU's I/O throttling hold requests of this device? */
bool is_throttled(const struct found *f, const char *device);

/*
 * "; a server has its data (nbd 10.0.0.1:10809)": of the disk with this device's path, or drive's name, by the VM's
 * command line and mounts; without its address, as what stuck saw has it. "": none is known.
 */
const char *disk_server_print(const struct found *f, const char *vm, const char *device, char *buf,
			      size_t size);

/* ---- the list ---- */

/*
 * What shares are parts of: the recording's time; or where the scheduler's events of all vCPUs are only of a part of
 * it, as after losses or in a recording that was cut, that part: of the vCPU of which most is known.
 */
uint64_t findings_span(const json_t *sections);

/* [finding] as findings_make() has it, of all candidates. New reference. */
json_t *findings_sorted(const json_t *list);

#endif
