/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top, exporter: which tasks ran while a vCPU waited for a CPU. Each CPU has a ring of what it ran last; a vCPU that
 * gets the CPU finds there what ran since it became ready, and counts it in its slots (struct stat_preemptor), as
 * `hostrace sched --by task` does with the events of a recording. What is older than the ring remains unknown.
 *
 * Tasks with the same name share a slot, as those of a build, which are many and short; but not threads of VMs.
 */
#ifndef HOSTRACE_STAT_READY_BPF_H
#define HOSTRACE_STAT_READY_BPF_H

#include "stat_slots.bpf.h"
#include "statmap.h"

enum { STAT_RAN = 64 };

/* A task that has run on this CPU since start_ns. */
struct stat_ran {
	hr_u64 start_ns;
	hr_u32 tid;
	struct stat_task_name name;
};

struct stat_cpu {
	hr_u64 next; /* the place of the next one */
	struct stat_ran ran[STAT_RAN];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, hr_u32);
	__type(value, struct stat_cpu);
} stat_cpus SEC(".maps");

static __always_inline bool name_is(const struct stat_task_name *a, const struct stat_task_name *b)
{
	return a->comm[0] == b->comm[0] && a->comm[1] == b->comm[1] && a->pid == b->pid;
}

/* The slot of a task, or the one among its places that was not used for the longest time; index. */
static __always_inline hr_u64 preemptor_find(struct stat_vcpu *v, const struct stat_task_name *n)
{
	hr_u64 at = (n->comm[0] ^ n->comm[1] << 1 ^ n->pid) * 0x9e3779b97f4a7c15ull >> 32;
	hr_u64 oldest = 0, oldest_ns = ~0ull;

	for (int i = 0; i < STAT_TRIES; i++, at++) {
		at &= STAT_PREEMPTOR_SLOTS - 1;
		unknown(at);
		if (at >= STAT_PREEMPTOR_SLOTS)
			break;
		if (!v->preemptor[at].last_ns || name_is(&v->preemptor[at].name, n))
			return at;
		if (v->preemptor[at].last_ns < oldest_ns) {
			oldest = at;
			oldest_ns = v->preemptor[at].last_ns;
		}
	}
	return oldest;
}

static __always_inline void preemptor_begin(struct stat_preemptor *p, const struct stat_ran *ran)
{
	p->begun++;
	barrier();
	p->ns = 0;
	p->name = ran->name;
	barrier();
	p->begun++;
}

/* Not static: the verifier checks it once, and not for each turn of the loop that calls it. */
__attribute__((noinline)) int stat_preemptor_add(struct stat_vcpu *v, const struct stat_ran *ran,
						 hr_u64 ns, hr_u64 now)
{
	hr_u64 at;

	if (!v || !ran)
		return 0;
	at = preemptor_find(v, &ran->name);
	unknown(at);
	if (at >= STAT_PREEMPTOR_SLOTS)
		return 0;
	if (!v->preemptor[at].last_ns || !name_is(&v->preemptor[at].name, &ran->name))
		preemptor_begin(&v->preemptor[at], ran);
	v->preemptor[at].tid = ran->tid;
	v->preemptor[at].ns += ns;
	v->preemptor[at].last_ns = now;
	return 0;
}

/* What this CPU ran in [v->ready_ns, now), the last first. */
static __always_inline void preemptors_add(struct stat_vcpu *v, hr_u64 now)
{
	hr_u32 zero = 0;
	struct stat_cpu *cpu = bpf_map_lookup_elem(&stat_cpus, &zero);
	hr_u64 from = v->ready_ns, end = now;

	v->ready_ns = 0;
	if (!cpu || !from)
		return;
	for (int i = 0; i < STAT_RAN && end > from; i++) {
		hr_u64 at = (cpu->next - 1 - i) & (STAT_RAN - 1), start;

		unknown(at);
		if (at >= STAT_RAN || !cpu->ran[at].start_ns)
			break;
		start = cpu->ran[at].start_ns > from ? cpu->ran[at].start_ns : from;
		if (end > start)
			stat_preemptor_add(v, &cpu->ran[at], end - start, now);
		end = start;
	}
}

/* pid: 0 unless it is a VM's thread, or ours */
static __always_inline void ran_begin(struct task_struct *task, hr_u32 pid, hr_u64 now)
{
	hr_u32 zero = 0;
	struct stat_cpu *cpu = bpf_map_lookup_elem(&stat_cpus, &zero);
	hr_u64 at;

	if (!cpu)
		return;
	at = cpu->next++ & (STAT_RAN - 1);
	unknown(at);
	if (at >= STAT_RAN)
		return;
	cpu->ran[at].start_ns = now;
	cpu->ran[at].tid = task->pid;
	cpu->ran[at].name.pid = pid;
	cpu->ran[at].name.comm[0] = 0;
	cpu->ran[at].name.comm[1] = 0; /* behind the end of a string, too */
	bpf_probe_read_kernel_str(cpu->ran[at].name.comm, sizeof(cpu->ran[at].name.comm),
				  task->comm);
}

#endif
