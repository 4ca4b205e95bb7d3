// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's side. Each vCPU has three tracks: what it does (guest mode, or the exit that is being handled), what the
 * VMM does for it, and when its thread is off the CPU and why; a fourth one with the guest's tasks, where they were
 * recorded: a task begins with the first exit of which it is known. Other threads of the VM show on which CPU they run.
 * Without kvm_exit the first shows KVM_RUN and the VMM by turns: guest and kernel cannot be distinguished then.
 */
#include <errno.h>
#include <strings.h>

#include "analyzers/timeline/queues.h"
#include "analyzers/timeline/timeline.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/exit_reason.h"
#include "event/handlers.h"
#include "event/records.h"
#include "event/thread_names.h"
#include "event/vm_names.h"
#include "model/threads.h"
#include "pairing/elements.h"

enum { VCPUS_MAX = 4096 };

struct vcpu {
	uint32_t pid;
	uint16_t vcpu;
	bool exits; /* there is a kvm_exit or kvm_entry */
	struct timeline_run main, user, task;
	struct loss_mark task_mark; /* where `task` began */
	uint32_t off; /* track */
};

struct group_of_vm {
	uint64_t pid;
	uint32_t group;
};

struct vcpu_index {
	uint64_t key; /* pid << 32 | vCPU */
	uint32_t index;
};

struct host_thread {
	struct model_thread model;
	uint32_t pid, track;
	bool ours, has_track; /* ours: of a VM */
	int vcpu;	      /* index + 1; 0: none */
	char other[16];	      /* PREEMPTED: who ran when it left its CPU */
};

struct timeline_host {
	struct timeline *t;
	const struct thread_names *names;
	const struct vm_names *vms;
	struct timeline_queues *queues;
	struct vcpu *vcpu;
	unsigned int nr_vcpus;
	struct model model;
	struct hash_table groups, vcpus;
	struct loss_state tasks; /* of guest_task */
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

/* The thread runs this vCPU. NULL: there are too many. */
static struct vcpu *vcpu_get(struct timeline_host *h, struct host_thread *th, uint32_t pid,
			     uint16_t vcpu)
{
	struct vcpu_index *p;
	uint32_t group;
	struct vcpu *v;
	bool first;

	if (th && th->vcpu && h->vcpu[th->vcpu - 1].vcpu == vcpu)
		return &h->vcpu[th->vcpu - 1];
	p = hash_add_u64(&h->vcpus, (uint64_t)pid << 32 | vcpu, &first);
	if (!p)
		return NULL;
	if (first)
		p->index = h->nr_vcpus;
	if (th)
		th->vcpu = (int)p->index + 1;
	if (!first)
		return &h->vcpu[p->index];
	group = group_of(h, pid);
	v = &h->vcpu[h->nr_vcpus];
	*v = (struct vcpu){.pid = pid, .vcpu = vcpu};
	v->main.track = timeline_track(h->t, group, TRACK_VCPU, 4u * vcpu, 0, "vCPU %u", vcpu);
	v->user.track = v->off = v->task.track = UINT32_MAX; /* made when there is something on them */
	h->nr_vcpus++;
	return v;
}

enum { ORDER_TASK = 1, ORDER_USER, ORDER_OFF }; /* below the vCPU's main track */

static void part_track(struct timeline_host *h, const struct vcpu *v, uint32_t *track,
		       unsigned int order, const char *what)
{
	if (*track == UINT32_MAX)
		*track = timeline_track(h->t, group_of(h, v->pid), TRACK_VCPU, 4u * v->vcpu + order,
					0, "vCPU %u %s", v->vcpu, what);
}

/* ---- vCPUs ---- */

static void on_exit_event(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	RECORD(kvm_exit, r, ev);
	bool known = record_has(ev, kvm_exit, reason);
	const char *name = known ? exit_reason_name(r->reason, r->isa) : NULL;
	enum slice_kind kind =
		known && exit_is_halt(r->reason, r->isa) ? SLICE_HALTED : SLICE_KERNEL;

	v->exits = true;
	if (name)
		run_begin_named(h->t, &v->main, ev->time_ns, kind, name);
	else if (known)
		run_begin(h->t, &v->main, ev->time_ns, kind, "exit %u", r->reason);
	else
		run_begin_named(h->t, &v->main, ev->time_ns, kind, "exit");
	run_links(h->t, &v->main, LINK_EXIT, v->pid, ev->vcpu);
}

static void on_userspace(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	RECORD(kvm_userspace_exit, r, ev);
	const char *known = userspace_reason_name(r->reason);
	char name[32];

	if (!record_has(ev, kvm_userspace_exit, reason))
		snprintf(name, sizeof(name), "userspace");
	else if (known)
		snprintf(name, sizeof(name), "%s",
			 known + (strncmp(known, "KVM_EXIT_", 9) ? 0 : 9));
	else
		snprintf(name, sizeof(name), "userspace %u", r->reason);
	if (v->exits)
		part_track(h, v, &v->user.track, ORDER_USER, "in the VMM");
	run_begin(h->t, v->exits ? &v->user : &v->main, ev->time_ns, SLICE_USERSPACE, "%s", name);
	run_links(h->t, v->exits ? &v->user : &v->main, LINK_EXIT, v->pid, ev->vcpu);
}

/* Of the idle task, and of an unknown one, nothing is drawn. */
static void on_task(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	RECORD(guest_task, r, ev);
	char text[sizeof(r->guest_comm)], name[48];

	run_end(h->t, &v->task, ev->time_ns);
	v->task_mark = loss_mark_in(&h->tasks, &h->model.losses.exits, ev);
	if (!r->task || !r->guest_tid)
		return;
	snprintf(name, sizeof(name), "%s %d", RECORD_TEXT(r, guest_comm, text), r->guest_tid);
	part_track(h, v, &v->task.track, ORDER_TASK, "guest task");
	run_begin(h->t, &v->task, ev->time_ns, SLICE_TASK, "%s", name);
}

static bool task_is_lost(const struct timeline_host *h, const struct vcpu *v, uint16_t end_cpu,
			 uint64_t end_ns)
{
	return lost_since(&h->tasks, &v->task_mark) ||
	       gap_since(&h->model.losses.exits, &v->task_mark, end_cpu, end_ns);
}

/*
 * Of what may have ended before this event, as others are missing, nothing is drawn; nor of an exit that has no entry.
 * NULL: the trace ends.
 */
static void runs_check(struct timeline_host *h, struct vcpu *v, const struct host_thread *th,
		       const struct event *ev)
{
	unsigned int id = ev ? ev->type->id : 0;
	const struct phase *exit = &th->model.place.exit, *vmm = &th->model.place.vmm;
	bool exit_lost = ev ? exit->is_lost : model_exit_lost(&h->model, &th->model);
	bool vmm_lost = id && id != EV_kvm_exit ? vmm->is_lost
						: model_vmm_lost(&h->model, &th->model);

	if (!ev || id == EV_guest_task)
		v->task.on &= !task_is_lost(h, v, ev ? ev->cpu : v->task_mark.cpu,
					    ev ? ev->time_ns : UINT64_MAX);
	if (id == EV_guest_task || id == EV_kvm_vcpu_wakeup)
		return;
	if (!v->exits)
		v->main.on &= !vmm_lost;
	else if (id != EV_kvm_userspace_exit && id != EV_kvm_run)
		v->main.on &= !exit_lost && (id != EV_kvm_exit || v->main.kind == SLICE_GUEST);
	if (id != EV_kvm_exit)
		v->user.on &= !vmm_lost;
}

static void on_entry(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	v->exits = true;
	run_end(h->t, &v->user, ev->time_ns);
	if (v->main.kind == SLICE_HALTED && ev->time_ns - v->main.since_ns < EXIT_IDLE_MIN_NS)
		v->main.kind = SLICE_KERNEL; /* it has not slept */
	run_begin_named(h->t, &v->main, ev->time_ns, SLICE_GUEST, "guest");
}

static void on_run(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	run_end(h->t, &v->user, ev->time_ns);
	if (!v->exits)
		run_begin_named(h->t, &v->main, ev->time_ns, SLICE_GUEST, "KVM_RUN");
}

/* The guest has halted, whatever the exit is called. */
static void on_vcpu_wakeup(struct timeline_host *h, struct vcpu *v, const struct event *ev)
{
	(void)h;
	(void)ev;
	if (v->main.kind == SLICE_KERNEL)
		v->main.kind = SLICE_HALTED;
}

static const HANDLERS_OF(struct timeline_host, struct vcpu) of_vcpus = {{
	[EV_kvm_exit] = on_exit_event,
	[EV_kvm_entry] = on_entry,
	[EV_kvm_userspace_exit] = on_userspace,
	[EV_kvm_run] = on_run,
	[EV_kvm_vcpu_wakeup] = on_vcpu_wakeup,
	[EV_guest_task] = on_task,
}};

static void vcpu_event(struct timeline_host *h, const struct event *ev)
{
	struct host_thread *th = (struct host_thread *)model_thread_get(&h->model, ev);
	struct vcpu *v = th && th->vcpu ? &h->vcpu[th->vcpu - 1] : NULL;

	if (ev->vcpu == RECORD_NO_VCPU)
		return;
	if (!v || v->vcpu != ev->vcpu)
		v = vcpu_get(h, th, ev->pid, ev->vcpu);
	if (!v || !th)
		return;
	runs_check(h, v, th, ev);
	of_vcpus.on[ev->type->id](h, v, ev);
}

/* ---- the scheduler ---- */

static void slice_draw(struct timeline_host *h, uint64_t start_ns, uint64_t ns, uint32_t track,
		       enum slice_kind kind, const char *name)
{
	timeline_slice(h->t, &(struct timeline_slice){.track = track,
						      .kind = kind,
						      .start_ns = start_ns,
						      .end_ns = ns,
						      .name = name});
}

static void sleep_draw(void *arg, struct model_thread *m, const struct thread_sleep *s, bool halted)
{
	struct host_thread *th = (struct host_thread *)m;
	struct timeline_host *h = arg;
	struct vcpu *v = th->vcpu ? &h->vcpu[th->vcpu - 1] : NULL;

	if (!v || !timeline_selects(h->t, m->vcpu, m->tid))
		return;
	part_track(h, v, &v->off, ORDER_OFF, "off CPU");
	slice_draw(h, s->from_ns, s->to_ns, v->off, halted ? SLICE_HALTED : SLICE_BLOCKED,
		   halted ? "halted" : "blocked");
}

static void off_draw(struct timeline_host *h, struct vcpu *v, const struct host_thread *th,
		     uint64_t ns)
{
	const struct model_thread *m = &th->model;
	char name[40] = "runqueue";
	enum slice_kind kind = SLICE_RUNQUEUE;

	if (m->state == THREAD_PREEMPTED) {
		kind = SLICE_PREEMPTED;
		snprintf(name, sizeof(name), "preempted%s%s", *th->other ? " by " : "", th->other);
	} else if (model_sleep_is_open(&h->model, m)) {
		return;
	} else if (m->state == THREAD_ASLEEP) {
		kind = model_sleeps_halted(&h->model, m) ? SLICE_HALTED : SLICE_BLOCKED;
		snprintf(name, sizeof(name),
			 m->stopped ? "stopped" : kind == SLICE_HALTED ? "halted" : "blocked");
	} else if (m->state != THREAD_WOKEN) {
		return;
	}
	part_track(h, v, &v->off, ORDER_OFF, "off CPU");
	slice_draw(h, m->since_ns, ns, v->off, kind, name);
}

/* It is called as when it began to run. */
static void running_name(struct timeline_host *h, struct host_thread *th)
{
	const struct model_thread *m = &th->model;
	struct event as = {.tid = m->tid, .source = m->source, .type = event_type_ours(EV_thread)};
	const char *comm = thread_comm(h->names, &as);

	if (!th->has_track)
		th->track = timeline_track(h->t, group_of(h, th->pid), TRACK_THREAD, m->tid,
					   m->tid, "%s %u", *comm ? comm : "thread", m->tid);
	else if (*comm)
		timeline_track_comm(h->t, th->track, comm, m->tid);
	th->has_track = true;
}

static void running_draw(struct timeline_host *h, struct host_thread *th, uint64_t ns)
{
	char name[16];

	if (th->model.state != THREAD_RUNNING)
		return;
	if (!th->has_track)
		running_name(h, th);
	if (th->model.cpu == RECORD_CPU_UNKNOWN)
		strcpy(name, "running");
	else
		snprintf(name, sizeof(name), "CPU %u", th->model.cpu);
	slice_draw(h, th->model.since_ns, ns, th->track, SLICE_RUNNING, name);
}

static void period_draw(void *arg, struct model_thread *m, uint64_t ns, enum run_state next,
			const struct event *ev)
{
	struct host_thread *th = (struct host_thread *)m;
	struct timeline_host *h = arg;

	if (!timeline_selects(h->t, m->vcpu, m->tid))
		return;
	if (!th->vcpu && m->vcpu != RECORD_NO_VCPU)
		vcpu_get(h, th, m->pid, m->vcpu);
	if (th->vcpu)
		off_draw(h, &h->vcpu[th->vcpu - 1], th, ns);
	else if (th->ours)
		running_draw(h, th, ns);
	if (ev && next == THREAD_RUNNING && th->ours && !th->vcpu)
		running_name(h, th);
	if (!ev || next != THREAD_PREEMPTED)
		return;
	RECORD(sched_switch, r, ev);
	RECORD_TEXT(r, next_comm, th->other);
}

/* The thread of an event of a VM is one of its threads. */
static void thread_learn(struct timeline_host *h, const struct event *ev)
{
	struct host_thread *th = (struct host_thread *)model_thread_get(&h->model, ev);

	if (!th || (th->ours && th->pid))
		return;
	th->ours = true;
	th->pid = ev->pid;
}

static bool is_guest_task(const char *event, void *arg)
{
	(void)arg;
	return !strcmp(event, "guest_task");
}

static void lost_handle(struct timeline_host *h, const struct event *ev)
{
	loss_state_add(&h->tasks, ev, loss_matters(ev, is_guest_task));
}

bool timeline_wants(const char *event, void *arg)
{
	return !strncmp(event, "guest:", 6) || handlers_want(&of_vcpus, event) ||
	       timeline_queues_wants(event, arg) || model_wants(event, false, true);
}

void timeline_host_event(struct timeline_host *h, const struct event *ev, bool selected)
{
	unsigned int id = ev->type->id;

	if (!id)
		return;
	model_event(&h->model, ev);
	if (!selected)
		return;
	if (id == EV_lost) {
		lost_handle(h, ev);
	} else if ((id < EV_clock_pair && id != EV_sched_switch && id != EV_sched_wakeup) ||
		   id == EV_thread || id == EV_guest_task) {
		thread_learn(h, ev);
		if (handlers_have(&of_vcpus, ev))
			vcpu_event(h, ev);
	}
	if (timeline_queues_take(ev))
		timeline_queues_event(h->queues, ev,
				      id >= EV_virtqueue_pop && id <= EV_virtio_device
					      ? group_of(h, ev->pid)
					      : UINT32_MAX);
}

void timeline_host_end(struct timeline_host *h, uint64_t ns)
{
	struct model_thread *m;

	for (uint32_t at = 0; (m = model_thread_next(&h->model, &at));) {
		const struct host_thread *th = (struct host_thread *)m;

		if (th->vcpu)
			runs_check(h, &h->vcpu[th->vcpu - 1], th, NULL);
	}
	for (unsigned int i = 0; i < h->nr_vcpus; i++) {
		struct vcpu *v = &h->vcpu[i];

		run_end(h->t, &v->main, ns);
		run_end(h->t, &v->user, ns);
		run_end(h->t, &v->task, ns);
	}
	model_end(&h->model, ns);
	h->t->not_drawn += h->model.counts.refused;
	timeline_queues_end(h->queues, ns);
}

int timeline_host_new(struct timeline *t, const struct thread_names *names,
		      const struct vm_names *vms, bool foreign, struct timeline_host **ret)
{
	struct timeline_host *h = calloc(1, sizeof(*h));

	if (!h)
		return fail(-ENOMEM, "out of memory");
	h->t = t;
	h->names = names;
	h->vms = vms;
	h->vcpu = calloc(VCPUS_MAX, sizeof(*h->vcpu));
	h->groups = HASH_TABLE(struct group_of_vm, 1, TIMELINE_GROUPS_MAX);
	model_init(&h->model,
		   &(struct model_reader){.period = period_draw,
					  .slept = sleep_draw,
					  .arg = h,
					  .thread_size = sizeof(struct host_thread)},
		   0);
	if (foreign)
		model_set_foreign(&h->model);
	h->vcpus = HASH_TABLE(struct vcpu_index, 1, VCPUS_MAX);
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
	model_deinit(&h->model);
	hash_deinit(&h->vcpus);
	free(h);
}
