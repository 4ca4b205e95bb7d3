// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's side. Each vCPU has three tracks: what it does (guest mode, or the exit that is being handled), what the
 * VMM does for it, and when its thread is off the CPU and why; a fourth one with the guest's tasks, where they were
 * recorded: a task begins with the first exit of which it is known. Other threads of the VM show on which CPU they run.
 * Without kvm_exit the first shows KVM_RUN and the VMM by turns: guest and kernel cannot be distinguished then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "analyzers/timeline/queues.h"
#include "analyzers/timeline/timeline.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/exit_reason.h"
#include "event/thread_names.h"
#include "event/vm_names.h"

enum { VCPUS_MAX = 4096, HOST_THREADS_MAX = 1 << 16, CPUS_MAX = 1 << 16 };

struct vcpu {
	uint32_t pid;
	uint16_t vcpu;
	bool exits; /* there is a kvm_exit or kvm_entry */
	bool halting;
	uint16_t cpu; /* of its newest event */
	uint64_t missed; /* missed_on() this CPU when that is what `on` of its runs is of */
	struct timeline_run main, user, off, task;
};

struct group_of_vm {
	uint64_t pid;
	uint32_t group;
};

struct vcpu_place {
	uint64_t key; /* pid << 32 | vCPU */
	uint32_t index;
};

/* How often events of a CPU were missing. */
struct cpu_gaps {
	uint64_t cpu, nr;
};

struct host_thread {
	uint64_t tid;
	uint32_t pid;
	bool ours, has_track; /* ours: of a VM */
	uint16_t cpu;	      /* where it runs */
	uint64_t missed;      /* as in struct vcpu */
	int vcpu;	      /* index, -1: none */
	struct timeline_run run;
};

struct timeline_host {
	struct timeline *t;
	const struct thread_names *names;
	const struct vm_names *vms;
	struct timeline_queues *queues;
	struct vcpu *vcpu;
	unsigned int nr_vcpus;
	struct hash_table groups, threads, vcpus, gaps;
	uint64_t losses;
};

/* ---- groups, threads, vCPUs ---- */

/* "host: VM 12 web"; a VM without a name is called "pid 12" or "tid 12" already. */
static uint32_t group_new(struct timeline_host *h, uint32_t pid)
{
	char name[VM_NAME_BYTES];
	uint32_t group;

	if (!pid)
		return timeline_group(h->t, 0, false, "host");
	if (!vm_is_known(h->vms, pid))
		return timeline_group(h->t, pid, false, "host: VM %u", pid);
	vm_name(h->vms, pid, name, sizeof(name));
	if (!strncmp(name, "tid ", 4) || !strncmp(name, "pid ", 4))
		group = timeline_group(h->t, pid, false, "host: VM %s", name);
	else
		group = timeline_group(h->t, pid, false, "host: VM %u %s", pid, name);
	timeline_group_vm(h->t, group, name);
	return group;
}

static uint32_t group_of(struct timeline_host *h, uint32_t pid)
{
	bool first;
	struct group_of_vm *g = hash_add_u64(&h->groups, pid, &first);

	if (first)
		g->group = group_new(h, pid);
	return g ? g->group : UINT32_MAX;
}

/* How often events were missing that may be of this CPU. */
static uint64_t missed_on(const struct timeline_host *h, uint16_t cpu)
{
	const struct cpu_gaps *g = hash_find_u64(&h->gaps, cpu);

	return h->losses + (g ? g->nr : 0);
}

/*
 * What is on ended somewhere in what was lost or missing, before the newest event: nothing is drawn of it. Checked when
 * the vCPU or thread is used again.
 */
static struct vcpu *vcpu_checked(const struct timeline_host *h, struct vcpu *v)
{
	uint64_t missed = missed_on(h, v->cpu);

	if (v->missed != missed)
		v->main.on = v->user.on = v->off.on = v->task.on = false;
	v->missed = missed;
	return v;
}

static struct host_thread *thread_checked(const struct timeline_host *h, struct host_thread *th)
{
	uint64_t missed = missed_on(h, th->cpu);

	if (th->missed != missed)
		th->run.on = false;
	th->missed = missed;
	return th;
}

static struct vcpu *vcpu_of(const struct timeline_host *h, const struct host_thread *th)
{
	return vcpu_checked(h, &h->vcpu[th->vcpu]);
}

/* Valid until the next call. NULL: tid 0, or there are too many. */
static struct host_thread *thread_get(struct timeline_host *h, uint32_t tid)
{
	struct host_thread *th = hash_find_u64(&h->threads, tid);
	bool first;

	if (th || !tid)
		return th ? thread_checked(h, th) : NULL;
	th = hash_add_u64(&h->threads, tid, &first);
	if (first) {
		th->vcpu = -1;
		th->missed = missed_on(h, th->cpu);
	}
	return th;
}

/* From now on its tracks are the vCPU's; that it was running before it was known as one is not drawn. */
static void thread_is_vcpu(struct host_thread *th, unsigned int index)
{
	if (!th)
		return;
	th->vcpu = (int)index;
	th->run.on = false;
}

static struct vcpu *vcpu_get(struct timeline_host *h, const struct event *ev)
{
	struct host_thread *th = ev->tid ? thread_get(h, ev->tid) : NULL;
	struct vcpu_place *p;
	uint32_t group;
	struct vcpu *v;
	bool first;

	if (th && th->vcpu >= 0 && h->vcpu[th->vcpu].vcpu == ev->vcpu)
		return vcpu_of(h, th);
	p = hash_add_u64(&h->vcpus, (uint64_t)ev->pid << 32 | ev->vcpu, &first);
	if (!p)
		return NULL;
	if (!first) {
		thread_is_vcpu(th, p->index);
		return vcpu_checked(h, &h->vcpu[p->index]);
	}
	p->index = h->nr_vcpus;
	group = group_of(h, ev->pid);
	v = &h->vcpu[h->nr_vcpus];
	*v = (struct vcpu){.pid = ev->pid, .vcpu = ev->vcpu};
	v->main.track =
		timeline_track(h->t, group, TRACK_VCPU, 4u * ev->vcpu, 0, "vCPU %u", ev->vcpu);
	v->user.track = v->off.track = v->task.track = UINT32_MAX; /* made when there is something on them */
	thread_is_vcpu(th, h->nr_vcpus);
	h->nr_vcpus++;
	return v;
}

static uint32_t part_order(const struct vcpu *v, const struct timeline_run *run)
{
	return run == &v->task ? 1 : run == &v->user ? 2 : 3;
}

static void part_begin(struct timeline_host *h, struct vcpu *v, struct timeline_run *run,
		       const char *what, uint64_t ns, enum slice_kind kind, const char *name)
{
	if (run->track == UINT32_MAX)
		run->track = timeline_track(h->t, group_of(h, v->pid), TRACK_VCPU,
					    4u * v->vcpu + part_order(v, run), 0,
					    "vCPU %u %s", v->vcpu, what);
	run_begin(h->t, run, ns, kind, "%s", name);
}

/* ---- vCPUs ---- */

static void exit_handle(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	uint32_t reason = (uint32_t)event_value(ev, "reason");
	const char *name = exit_reason_name(reason, (uint32_t)event_value(ev, "isa"));
	enum slice_kind kind;

	v->exits = true;
	v->halting = name && !strcasecmp(name, "hlt");
	kind = v->halting ? SLICE_HALTED : SLICE_KERNEL;
	if (name)
		run_begin(h->t, &v->main, ev->time_ns, kind, "%s", name);
	else
		run_begin(h->t, &v->main, ev->time_ns, kind, "exit %u", reason);
	run_links(h->t, &v->main, LINK_EXIT, v->pid, ev->vcpu);
}

static void userspace_handle(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	uint32_t reason = (uint32_t)event_value(ev, "reason");
	const char *known = userspace_reason_name(reason);
	char name[32];

	if (known)
		snprintf(name, sizeof(name), "%s",
			 known + (strncmp(known, "KVM_EXIT_", 9) ? 0 : 9));
	else
		snprintf(name, sizeof(name), "userspace %u", reason);
	v->halting = false;
	if (v->exits)
		part_begin(h, v, &v->user, "in the VMM", ev->time_ns, SLICE_USERSPACE, name);
	else
		run_begin(h->t, &v->main, ev->time_ns, SLICE_USERSPACE, "%s", name);
	run_links(h->t, v->exits ? &v->user : &v->main, LINK_EXIT, v->pid, ev->vcpu);
}

/* Of the idle task, and of an unknown one, nothing is drawn. */
static void task_handle(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	const struct field *comm = event_field(ev->type, "guest_comm");
	uint64_t tid = event_value(ev, "guest_tid");
	char text[32] = "", name[48];

	run_end(h->t, &v->task, ev->time_ns);
	if (!comm || !event_value(ev, "task") || !tid)
		return;
	event_text(ev, comm, text, sizeof(text));
	snprintf(name, sizeof(name), "%s %d", text, (int32_t)tid);
	part_begin(h, v, &v->task, "guest task", ev->time_ns, SLICE_TASK, name);
}

static void vcpu_event(struct timeline_host *h, const struct event *ev)
{
	struct vcpu *v = ev->vcpu == RECORD_NO_VCPU ? NULL : vcpu_get(h, ev);

	if (!v)
		return;
	v->cpu = ev->cpu;
	v->missed = missed_on(h, v->cpu);
	switch (ev->type->id) {
	case EV_kvm_exit:
		exit_handle(h, v, ev);
		break;
	case EV_kvm_entry:
		v->exits = true;
		v->halting = false;
		run_end(h->t, &v->user, ev->time_ns);
		run_begin(h->t, &v->main, ev->time_ns, SLICE_GUEST, "guest");
		break;
	case EV_kvm_userspace_exit:
		userspace_handle(h, v, ev);
		break;
	case EV_guest_task:
		task_handle(h, v, ev);
		break;
	case EV_kvm_run:
		run_end(h->t, &v->user, ev->time_ns);
		v->halting = !v->exits;
		if (!v->exits)
			run_begin(h->t, &v->main, ev->time_ns, SLICE_GUEST, "KVM_RUN");
		break;
	}
}

/* ---- the scheduler ---- */

static void off_handle(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	char next[16] = "", name[40];
	const struct field *comm = event_field(ev->type, "next_comm");

	if (comm)
		event_text(ev, comm, next, sizeof(next));
	if (event_value(ev, "prev_state") == 0) {
		snprintf(name, sizeof(name), "preempted by %s", next);
		part_begin(h, v, &v->off, "off CPU", ev->time_ns, SLICE_PREEMPTED, name);
	} else if (v->halting) {
		part_begin(h, v, &v->off, "off CPU", ev->time_ns, SLICE_HALTED, "halted");
	} else {
		part_begin(h, v, &v->off, "off CPU", ev->time_ns, SLICE_BLOCKED, "blocked");
	}
}

/* A thread that slept is ready, and waits for a CPU until it is switched to. */
static void wakeup_handle(struct timeline_host *h, const struct event *ev)
{
	struct host_thread *th = thread_get(h, (uint32_t)event_value(ev, "wake_tid"));
	struct vcpu *v = th && th->vcpu >= 0 ? vcpu_of(h, th) : NULL;

	if (v && v->off.on && v->off.kind != SLICE_PREEMPTED)
		part_begin(h, v, &v->off, "off CPU", ev->time_ns, SLICE_PREEMPTED, "ready");
}

static void thread_on(struct timeline_host *h, struct host_thread *th, const struct event *ev)
{
	uint32_t tid = (uint32_t)th->tid;
	struct event as = {.tid = tid, .source = ev->source, .type = ev->type};
	const char *comm = thread_comm(h->names, &as);

	if (!th->has_track) {
		th->has_track = true;
		th->run.track = timeline_track(h->t, group_of(h, th->pid), TRACK_THREAD, tid, tid,
					       "%s %u", *comm ? comm : "thread", tid);
	} else if (*comm) {
		timeline_track_comm(h->t, th->run.track, comm, tid);
	}
	th->cpu = ev->cpu;
	th->missed = missed_on(h, th->cpu);
	run_begin(h->t, &th->run, ev->time_ns, SLICE_RUNNING, "CPU %u", ev->cpu);
}

static void switch_handle(struct timeline_host *h, const struct event *ev)
{
	struct host_thread *prev = thread_get(h, (uint32_t)event_value(ev, "prev_tid")), *next;

	if (prev && prev->vcpu >= 0)
		off_handle(h, vcpu_of(h, prev), ev);
	else if (prev)
		run_end(h->t, &prev->run, ev->time_ns);
	next = thread_get(h, (uint32_t)event_value(ev, "next_tid"));
	if (next && next->vcpu >= 0)
		run_end(h->t, &vcpu_of(h, next)->off, ev->time_ns);
	else if (next && next->ours)
		thread_on(h, next, ev);
}

/* The thread of an event of a VM is one of its threads. */
static void thread_learn(struct timeline_host *h, const struct event *ev)
{
	struct host_thread *th = ev->tid ? thread_get(h, ev->tid) : NULL;

	if (!th || (th->ours && th->pid))
		return;
	th->ours = true;
	th->pid = ev->pid;
}

static void lost_handle(struct timeline_host *h, uint64_t ns)
{
	h->losses++;
	timeline_queues_lost(h->queues, ns);
}

/* Events of one CPU may be missing: what began on it may have ended within. */
static void gap_pass(struct timeline_host *h, const struct event *ev)
{
	uint64_t cpu = event_value(ev, "gap_cpu");
	struct cpu_gaps *g = cpu < CPUS_MAX ? hash_add_u64(&h->gaps, cpu, NULL) : NULL;

	if (g)
		g->nr++;
	else if (cpu < CPUS_MAX) /* out of memory */
		h->losses++;
}

void timeline_host_event(struct timeline_host *h, const struct event *ev)
{
	unsigned int id = ev->type->id;

	if (!id)
		return;
	if (id == EV_sched_switch) {
		switch_handle(h, ev);
	} else if (id == EV_sched_wakeup) {
		wakeup_handle(h, ev);
	} else if (id == EV_lost) {
		lost_handle(h, ev->time_ns);
	} else if (id == EV_gap) {
		gap_pass(h, ev);
	} else if (id < EV_clock_pair || id == EV_thread || id == EV_guest_task) {
		thread_learn(h, ev);
		if (id == EV_kvm_entry || id == EV_kvm_exit || id == EV_kvm_userspace_exit ||
		    id == EV_kvm_run || id == EV_guest_task)
			vcpu_event(h, ev);
	}
	if (id >= EV_virtqueue_pop && id <= EV_virtio_device)
		timeline_queues_event(h->queues, ev, group_of(h, ev->pid));
}

void timeline_host_end(struct timeline_host *h, uint64_t ns)
{
	struct host_thread *th;

	for (unsigned int i = 0; i < h->nr_vcpus; i++) {
		struct vcpu *v = vcpu_checked(h, &h->vcpu[i]);

		run_end(h->t, &v->main, ns);
		run_end(h->t, &v->user, ns);
		run_end(h->t, &v->off, ns);
		run_end(h->t, &v->task, ns);
	}
	for (uint32_t at = 0; (th = hash_next(&h->threads, &at));)
		run_end(h->t, &thread_checked(h, th)->run, ns);
	h->t->not_drawn += h->threads.refused;
	timeline_queues_end(h->queues, ns);
}

int timeline_host_new(struct timeline *t, const struct thread_names *names,
		      const struct vm_names *vms, struct timeline_host **ret)
{
	struct timeline_host *h = calloc(1, sizeof(*h));

	if (!h)
		return fail(-ENOMEM, "out of memory");
	h->t = t;
	h->names = names;
	h->vms = vms;
	h->vcpu = calloc(VCPUS_MAX, sizeof(*h->vcpu));
	h->groups = HASH_TABLE(struct group_of_vm, 1, TIMELINE_GROUPS_MAX);
	h->threads = HASH_TABLE(struct host_thread, 1, HOST_THREADS_MAX);
	h->vcpus = HASH_TABLE(struct vcpu_place, 1, VCPUS_MAX);
	h->gaps = HASH_TABLE(struct cpu_gaps, 1, CPUS_MAX);
	h->queues = timeline_queues_new(t);
	if (!h->vcpu || !h->queues) {
		timeline_host_free(h);
		return fail(-ENOMEM, "out of memory");
	}
	*ret = h;
	return 0;
}

void timeline_host_free(struct timeline_host *h)
{
	if (!h)
		return;
	timeline_queues_free(h->queues);
	free(h->vcpu);
	hash_deinit(&h->groups);
	hash_deinit(&h->threads);
	hash_deinit(&h->vcpus);
	hash_deinit(&h->gaps);
	free(h);
}
