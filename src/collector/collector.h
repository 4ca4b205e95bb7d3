/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The collector: from VMs and a set of events to a stream of records. The only folder that uses libbpf.
 *
 *	collector_open()	plans, loads and attaches; events begin to come
 *	collector_round()	hands over what has come since the last call
 *	collector_stop()	what comes later is not wanted; last rounds get the rest
 *	collector_close()	detaches (which may take seconds) and frees
 *
 * Links are closed with the process too, so a killed recorder leaves no probes behind.
 */
#ifndef HOSTRACE_COLLECTOR_H
#define HOSTRACE_COLLECTOR_H

#include "collector/plan.h"
#include "guest_task.h"
#include "pairing/analyzer.h"
#include "readers/ftrace/ftrace.h"
#include "record.h"
#include "ring.h"
#include "vm/kvm_state.h"
#include "vm/vm.h"

enum { COLLECTOR_VMS_MAX = VMS_MAX }; /* VMs of one recording */

struct collector;

/* ---- any.c: events that the user names ---- */

enum any_kind {
	ANY_TRACEPOINT,
	ANY_KPROBE,
	ANY_KRETPROBE,
	ANY_FENTRY,
	ANY_FEXIT,
	ANY_UPROBE,
	ANY_URETPROBE,
	ANY_USDT,
};
enum { ANY_MODULE_MAX = 64 };

/* A tracepoint of the kernel, recorded with the fields that tracefs describes; or a probe with values that it names. */
struct any_event {
	char name[EVENT_NAME_MAX]; /* "sched:sched_switch", "kprobe:vfs_read": also the type's */
	enum any_kind kind;
	struct ftrace_format format; /* of a probe only its type */
	struct any_settings settings;
	char module[ANY_MODULE_MAX]; /* of the kernel's function; "": none */
	uint32_t btf_id;	     /* its type there; 0: unknown */
	char path[EVENT_NAME_MAX];   /* of a program */
	uint64_t file_offset;	     /* of a uprobe's site in it */
	bool emulated;		     /* the kernel emulates the instruction there */
	char note[160];		     /* what it lacks; "" */
};

struct kernel_types;

struct any_events {
	struct any_event *event;
	unsigned int nr;
	struct kernel_types *types; /* of functions; NULL: not needed yet */
	bool host; /* also in threads that belong to no VM */
};

/*
 * Adds the tracepoints that match "SUBSYSTEM:EVENT", globs; those that are there already are skipped. Or a probe:
 * "kprobe:FUNCTION [[NAME=]ARGUMENT ...]", kretprobe, fentry, fexit, uprobe:PATH:FUNCTION[+OFFSET], uretprobe,
 * usdt:PATH:PROVIDER:NAME. -EINVAL: no such event, the nearest are named;
 * -E2BIG, -EACCES: ... with the error message set.
 */
int any_events_add(struct any_events *a, const char *item);
void any_events_remove(struct any_events *a, const char *glob);

/*
 * any_filter.c: of all events in *a only those are recorded for which the condition holds (base/condition.h), by their
 * own fields. -EINVAL, -E2BIG, ... with the error message set: an event lacks a field, or none can meet it.
 */
int any_events_filter(struct any_events *a, const char *text);
void any_events_free(struct any_events *a);

struct collector_options {
	bool wants[EV_LIMIT]; /* by event id */
	uint64_t ring_bytes;  /* per CPU, a power of two or the next one; 0: by the number of CPUs */
	uint64_t sample_hz;   /* a sampling clock of this rate; 0: none */
	bool sample_frames;   /* ... with the guest's call chains */
	bool guest_tasks;     /* guest_task events, once their struct guest_kernel is filled in */
	bool exit_reasons;    /* kvm_exit with its reason only, where that costs less; see collector_exit_reasons() */
	bool whichever;	      /* no VM was asked for by name: one that has just ended is no error */
	const struct any_events *any; /* NULL: none; must live as long as the collector */
	bool follow;	      /* the first VM is a command that may start the VMs: see follow.c */
};

/*
 * Starts to collect from these VMs (borrowed for the call). An event that is unavailable here is no
 * error: see collector_probes(). Errors: -EPERM (the error message names the capability and how to grant
 * it), -ENOTSUP, ...
 */
int collector_open(const struct vm *vms, unsigned int nr_vms, const struct collector_options *opt,
		   struct collector **ret);

/*
 * With guest_tasks: what the programs know of the i-th VM's kernel, in memory that they and children of this process
 * share. To change it: epoch 0, the rest, then another epoch. Valid until collector_close().
 */
struct guest_kernel *collector_guest_kernel(const struct collector *c, unsigned int i);

/* Consumes a record (borrowed for the call); an error ends the round and is returned. */
typedef int collector_sink(void *arg, const struct record_hdr *rec);

/*
 * Passes on all pending data: records of one CPU nearly in time order, clock pairs, reports of
 * losses. Every record older than *ret_watermark_ns (CLOCK_MONOTONIC) has then been passed on.
 */
int collector_round(struct collector *c, collector_sink *sink, void *arg,
		    uint64_t *ret_watermark_ns);

/* How long to sleep until the next round, from how full the fullest ring was. */
uint64_t collector_pause_ns(const struct collector *c);

struct collector_counts {
	uint64_t events, lost;
	uint64_t skipped; /* of these: the kernel did not run the program that records the event */
	uint64_t by_type[RING_TYPES];
};

const struct collector_counts *collector_counts(const struct collector *c);

/* Name of a type by its number in the records. */
const char *collector_type_name(const struct collector *c, unsigned int type);

/* [{"event","how","where","reason","pid"}]: the plans and what became of them. New reference. */
json_t *collector_probes(const struct collector *c);

/* Is kvm_exit recorded with its reason only, as the option requested? Its other fields are 0 then. */
bool collector_exit_reasons(const struct collector *c);

/* [{"pid","index","tid"}]: vCPU threads known from events. New reference. */
json_t *collector_vcpus(const struct collector *c);

/* [{"pid","address" (if known),"note"}]: QEMU's global mutexes, if sched_block is recorded. New reference. */
json_t *collector_locks(const struct collector *c);

/* skipped.c: I/O requests of the host (host_io) that are submitted and, as far as seen, not complete. */
uint64_t collector_host_ios_open(const struct collector *c);

/* {"EVENT":{"CPU":count}}: what found a buffer full; empty object if nothing did. New reference. */
json_t *collector_lost(const struct collector *c);

/* ---- follow.c: a command that starts VMs ---- */

/* At most so many VMs of a command get user probes at a time. */
enum { VMS_STARTED_MAX = 64 };

/* A process of the command was forked (by parent), or executes another program (parent 0). */
typedef void collector_process(void *arg, pid_t pid, pid_t parent, uint64_t time_ns);

/* Why processes are not followed; "" if they are. */
const char *collector_follow_error(const struct collector *c);

/*
 * Plans the probes of a QEMU executable that the command may start, so that they are attached sooner when it does. At
 * most four; other files are ignored.
 */
void collector_plan_ahead(struct collector *c, const char *exe);

/* Is this file a QEMU executable? */
bool collector_exe_is_qemu(const struct collector *c, const char *exe);

/* Becomes readable when there are changes of processes; -1 if none are followed. */
int collector_follow_fd(const struct collector *c);

/* Passes on the changes since the last call. */
void collector_follow_read(struct collector *c, collector_process *process, void *arg);

/* Processes that were not followed or not reported. */
uint64_t collector_follow_missed(const struct collector *c);

/* Is it the command or one of the processes that it started? */
bool collector_follows(const struct collector *c, pid_t pid);

/* Living processes of the command that are not VMs. */
unsigned int collector_followed(const struct collector *c);

/*
 * This process (borrowed for the call) is a VM, or a QEMU that will be one: attaches the user probes to it, unless they
 * are already attached. It and its events are traced from now on, if they were not. 0; -E2BIG, ... with the error
 * message set.
 */
int collector_vm_add(struct collector *c, const struct vm *vm);

/* Are processes that this one forks still of interest? If not, it is followed no longer, but recorded. */
void collector_vm_follow(struct collector *c, pid_t pid, bool children);

/* It is no VM, and not going to be one itself. */
void collector_vm_remove(struct collector *c, pid_t pid);

/* No event of this pid is recorded from now on. */
void collector_vm_ignore(struct collector *c, pid_t pid);

/* This VM has ended, a while ago: its probes and what is known of its process are given back. */
void collector_vm_end(struct collector *c, pid_t pid);

/* User probes that are attached to this process. */
unsigned int collector_vm_probes(const struct collector *c, pid_t pid);

/* A vCPU's thread known from events; or, with RECORD_NO_VCPU, one that creates vCPUs, which have not run yet. */
struct collector_vcpu {
	pid_t pid, tid;
	unsigned int index;
	uint64_t first_ns; /* its first event */
	char comm[16];	   /* its name then */
};

/* The i-th of them; NULL: there are fewer. */
const struct collector_vcpu *collector_vcpu(const struct collector *c, unsigned int i);

/* ---- heap.c: the VMs' heaps (record --for heap) ---- */

/*
 * If alloc_site is wanted: attaches to the allocators of the VMs. 0, also if one of several VMs has none that is known;
 * -ENOTSUP, ... with the error message set.
 */
int collector_heap_start(struct collector *c);

/* Passes on what has changed since the last call: at most once a second, or at once if `last`. */
int collector_heap_round(struct collector *c, bool last, collector_sink *sink, void *arg);

/* [{"pid","functions":["malloc in libc.so.6",...],"note"}]. New reference; NULL: no heap is followed. */
json_t *collector_heap(const struct collector *c);

/* ---- cost.c: what the probes cost the VM ---- */

/* Of one event, since the kernel counts. Events of one class are only useful together. */
struct collector_cost {
	const char *event, *how, *class;
	unsigned int id;
	bool dropped;
	uint64_t calls; /* of its programs, whichever VM they ran for */
	uint64_t ns;	/* in them */
	uint64_t trap_ns; /* user probes: the way into the kernel and back, estimated */
};

/*
 * Makes the kernel count how often and how long BPF programs run (BPF_ENABLE_STATS, Linux 5.8), which itself costs two
 * reads of the clock per run. Needs CAP_SYS_ADMIN. Counting ends with the collector.
 */
int collector_cost_start(struct collector *c);

/* One per attached event, the number of them. At most max, which RING_TYPES covers. */
unsigned int collector_costs(const struct collector *c, struct collector_cost *ret,
			     unsigned int max);

/*
 * The events of this class are no longer needed: none that is later than the call is passed on, and their
 * probes are removed in the background. 0 or -errno with the error message set.
 */
int collector_drop(struct collector *c, const char *class);

uint64_t collector_ring_bytes(const struct collector *c);

/* Measured from the first to the newest clock pair. */
uint64_t collector_tsc_khz(const struct collector *c);

/*
 * The recording ends now: later events are not passed on. All earlier ones have been when a round's watermark is
 * beyond collector_stop_ns().
 */
void collector_stop(struct collector *c);
uint64_t collector_stop_ns(const struct collector *c);

/* Part of collector_close(). Alone, from any thread, before the process ends in another way. */
void collector_detach(struct collector *c);
void collector_close(struct collector *c);

/*
 * Are the capabilities there? 0, or -EPERM with an error message that names the missing ones and the
 * command that grants them. collector_open() calls it first.
 */
int privileges_check(void);

/* Can this process have the memory that libbpf needs? -ENOMEM with the error message set. */
int collector_memory_check(void);

/*
 * features.c: the kernel's BPF features, tested by loading programs. Needs CAP_BPF and CAP_PERFMON, else both return
 * false. Programs on tracepoints with typed arguments ("tp_btf", Linux 5.5); storage per thread (Linux 5.11).
 */
bool feature_tracing(void);
bool feature_task_storage(void);

/* May this process attach user probes, with the capabilities that it has now? */
bool feature_uprobes(void);

/* To read of another process what ptrace could. */
#define CAPS_KEPT_TO_LOOK  (1ull << 19 /* CAP_SYS_PTRACE */ | 1ull << 2 /* CAP_DAC_READ_SEARCH */)
/* To attach probes to VMs that are started later: depends on the kernel. */
uint64_t collector_attach_caps(void);
/* To connect to other users' sockets. */
#define CAPS_KEPT_TO_CONNECT (1ull << 1 /* CAP_DAC_OVERRIDE */)

/* What recording needs from the host: the kernel, the capabilities and KVM. `doctor` prints it. */

enum check_state { CHECK_OK, CHECK_NOTE, CHECK_MISSING, CHECK_UNKNOWN };

struct check {
	const char *name;
	enum check_state state;
	bool needed;	/* without it nothing can be recorded */
	char text[768]; /* what it is for, or what is wrong and what to do */
};

enum { CHECKS_MAX = 16 };

struct host_checks {
	struct check check[CHECKS_MAX];
	unsigned int nr;
	char backend[64]; /* "kvm_intel", "kvm_pvm", "" if KVM is not loaded */
};

/* Looks at the kernel, the capabilities and KVM. state_error: why KVM's state cannot be read (kvm_look()), or NULL. */
void host_check(struct host_checks *ret, const char *state_error);

/* The first needed thing that is missing, or NULL. */
const struct check *host_obstacle(const struct host_checks *checks);

/* One VM and its plan. */
struct vm_report {
	const struct vm *vm; /* NULL: only the kernel is examined */
	struct plan plan;
	bool unreadable; /* its executable cannot be read: it belongs to another user */
	char memory[256]; /* what of the guest's memory can be read; "" if the VM does not use KVM */
};

/*
 * The report of a VM, which must outlive it, or of the kernel alone (NULL). If the executable cannot be read, the
 * kernel's events remain. 0 or -errno with the error message set; free in both cases.
 */
int vm_report_make(const struct vm *vm, struct vm_report *ret);

/* Adds what KVM knows of the VMs' memory; error: why nothing is known, or NULL. */
void vm_reports_complete(struct vm_report *reports, unsigned int nr, const struct kvm_state *state,
			 const char *error);

void vm_report_free(struct vm_report *p);

/* By its name: kernel-wide events come from tracepoints and are attached once; the others once per VM. */
bool event_is_kernels(const char *event);

/* Descriptors of another user's VM cannot be seen; its command line can. */
bool uses_kvm(const struct vm *vm);

enum verdict { WORKS, FALLS_BACK, LACKS };

/* Can this be measured of the VM? LACKS: *ret is the events of which one is needed; FALLS_BACK: to this analyzer. */
enum verdict analyzer_check(const struct vm_report *p, const struct analyzer *a, const char **ret);

#endif
