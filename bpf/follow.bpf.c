// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A command that is recorded need not be the VM: it may fork or execute QEMU, directly (a script, timeout, sudo) or as
 * a daemon. Every process that a followed one forks is therefore added to the traced ones before it runs, so that no
 * KVM event of it is missed; user space learns of it and attaches the user probes.
 */
#include "emit.bpf.h"

hr_u64 follow_missed = 0; /* processes that were not followed or not reported: a map was full */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FOLLOW_RING_BYTES);
} process_changes SEC(".maps");

static __always_inline void change_report(hr_u32 pid, hr_u32 parent)
{
	struct process_change *change =
		bpf_ringbuf_reserve(&process_changes, sizeof(*change), 0);

	if (!change) {
		__sync_fetch_and_add(&follow_missed, 1);
		return;
	}
	change->time = bpf_ktime_get_ns();
	change->pid = pid;
	change->parent = parent;
	bpf_ringbuf_submit(change, 0);
}

static __always_inline struct vm_settings *followed(hr_u32 pid)
{
	struct vm_settings *s = bpf_map_lookup_elem(&vms, &pid);

	return s && s->follow != FOLLOW_NONE ? s : NULL;
}

/* A VM that has ended stays in the map, because its threads are still to be switched out, until its pid is reused. */
static __always_inline void pid_reused(hr_u32 pid)
{
	if (only_pid)
		only_pid_reused |= pid == only_pid;
	else if (bpf_map_lookup_elem(&vms, &pid))
		bpf_map_delete_elem(&vms, &pid);
}

/* Where no process is followed. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(reuse_fork, struct task_struct *parent, struct task_struct *child)
{
	if (child->pid == child->tgid)
		pid_reused(child->tgid);
	return 0;
}

/* The tracepoint comes before the child's first instruction. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	hr_u32 from = parent->tgid, pid = child->tgid;
	struct vm_settings *s;

	if (from == pid) /* a thread */
		return 0;
	s = followed(from);
	if (!s) {
		pid_reused(pid);
		return 0;
	}
	if (bpf_map_update_elem(&vms, &pid, s, BPF_ANY))
		__sync_fetch_and_add(&follow_missed, 1);
	else
		change_report(pid, from);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(follow_exec, struct task_struct *p)
{
	if (followed(p->tgid))
		change_report(p->tgid, 0);
	return 0;
}

/* Makes space for others. A VM stays: its last thread is still to be switched out. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(follow_exit, struct task_struct *p)
{
	hr_u32 pid = p->tgid;
	struct vm_settings *s = followed(pid);

	if (s && s->follow == FOLLOW_WRAPPER && !p->signal->live.counter)
		bpf_map_delete_elem(&vms, &pid);
	return 0;
}
