// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where each vCPU is. What its thread sleeps in says it; of one that runs, how its CPU time was charged. Interrupts
 * that it does not take.
 */
#include <errno.h>

#include "analyzers/stuck/stuck.h"
#include "base/array.h"

/* By name (debug-threads=on, or TCG), else by debugfs. */
static bool index_find(const struct stuck_report *r, const struct thread_state *t,
		       unsigned int *ret)
{
	for (unsigned int i = 0; i < r->vm->nr_vcpus; i++)
		if (r->vm->vcpus[i].tid == t->tid) {
			*ret = r->vm->vcpus[i].index;
			return true;
		}
	int index = r->vm->has_kvm ? vcpu_debugfs_index(r->vm->pid, t->tid) : -1;

	*ret = index < 0 ? 0 : (unsigned int)index;
	return index >= 0;
}

static const struct kvm_vcpu_state *kvm_find(const struct stuck_report *r, pid_t tid)
{
	const struct kvm_vm *kvm = r->now->kvm;

	for (size_t i = 0; kvm && i < kvm->nr_vcpus; i++)
		if (kvm->vcpu[i].tid == tid)
			return &kvm->vcpu[i];
	return NULL;
}

/*
 * The kernel scales a thread's user and system time to the CPU time that it had, but not the guest's part of it: where
 * ticks are missing, as in a host that is a VM itself, much of it looks like user mode.
 */
static const char *where_of(const struct thread_state *t, const struct thread_state *b,
			    const struct kvm_vcpu_state *kvm)
{
	if (stuck_is_stopped(t))
		return "stopped";
	if (t->state == 'R' && kvm && kvm->state & KVM_VCPU_IN_GUEST)
		return "guest";
	if (t->state == 'R') {
		uint64_t guest = b ? t->guest_ns - b->guest_ns : 0;
		uint64_t kernel = b ? t->kernel_ns - b->kernel_ns : 0;
		uint64_t user = b ? t->user_ns - b->user_ns : 0;

		if (!guest && !kernel && !user)
			return "runnable"; /* too short, or it gets no CPU */
		return guest >= kernel && guest >= user ? "guest"
		       : kernel >= user			? "kvm"
							: "userspace";
	}
	if (stuck_is_halted(t))
		return "halted";
	return stuck_in_kvm_run(t) ? "kvm" : "userspace";
}

static int by_index(const void *a, const void *b)
{
	const struct stuck_vcpu *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

int stuck_vcpus(const struct stuck_report *r, struct stuck_vcpu **ret, unsigned int *ret_nr)
{
	struct stuck_vcpu *list = NULL;
	unsigned int nr = 0;

	for (unsigned int i = 0; i < r->now->nr_threads; i++) {
		const struct thread_state *t = &r->now->thread[i];
		const struct thread_state *b = stuck_thread_before(r, t->tid);
		const struct kvm_vcpu_state *kvm = kvm_find(r, t->tid);
		unsigned int index;
		bool known = index_find(r, t, &index);

		if (!known && !stuck_in_kvm_run(t))
			continue;
		if (array_room(list, nr)) {
			free(list);
			return -ENOMEM;
		}
		list[nr++] = (struct stuck_vcpu){.index = index,
						 .index_known = known,
						 .thread = t,
						 .where = where_of(t, b, kvm),
						 .kvm = kvm,
						 .busy_ns = b ? t->cpu_ns - b->cpu_ns : 0,
						 .guest_ns = b ? t->guest_ns - b->guest_ns : 0};
	}
	if (nr)
		qsort(list, nr, sizeof(*list), by_index);
	*ret = list;
	*ret_nr = nr;
	return 0;
}

int stuck_vector_highest(const uint32_t bits[KVM_APIC_WORDS])
{
	for (int i = 32 * KVM_APIC_WORDS - 1; i >= 0; i--)
		if (bits[i / 32] >> i % 32 & 1)
			return i;
	return -1;
}

/*
 * Intel SDM 3, 11.8.3: an interrupt is held back by one in service, or a task priority, whose class, the upper 4 bits,
 * is not lower. What is left is RFLAGS.IF; the shadow of an STI ends with the next instruction.
 */
static const char *reason_of(const struct stuck_vcpu *v, int pending, int serviced, char *buf,
			     size_t size)
{
	const char *halted = !strcmp(v->where, "halted") ? "it is halted, and " : "";

	if (serviced >= 0 && serviced >> 4 >= pending >> 4)
		snprintf(buf, size, "vector %d is in service and was not ended (EOI)", serviced);
	else if ((int)(v->kvm->tpr >> 4) >= pending >> 4)
		snprintf(buf, size, "%sits TPR, 0x%x, masks it", halted, (unsigned int)v->kvm->tpr);
	else
		snprintf(buf, size, "%sits interrupts are disabled (RFLAGS.IF)", halted);
	return buf;
}

/* Of a vCPU that runs the guest, or could: others have findings of their own. */
static int pending_find(struct stuck_report *r, const struct stuck_vcpu *v)
{
	bool runs = !strcmp(v->where, "halted") || !strcmp(v->where, "guest") ||
		    !strcmp(v->where, "kvm");
	int pending = v->kvm && runs ? stuck_vector_highest(v->kvm->irr) : -1;
	char reason[96];

	if (pending < 0)
		return 0;
	return stuck_find(
		r, "interrupt-not-taken", NULL, v->thread->tid,
		r->now->time_ns - r->before->time_ns,
		"vCPU %u has not taken interrupt vector %d, which its local APIC holds: %s",
		v->index, pending,
		reason_of(v, pending, stuck_vector_highest(v->kvm->isr), reason, sizeof(reason)));
}

/*
 * Does its thread wait in QEMU until it may enter KVM_RUN? With KVM's local APIC, halts are in KVM. QEMU 10.2 renamed
 * the function.
 */
static bool is_paused(const struct stuck_vcpu *v)
{
	const char *stack = v->thread->user_stack;

	return v->kvm && v->kvm->state & KVM_VCPU_APIC && v->thread->state == 'S' &&
	       !strcmp(v->where, "userspace") && !v->busy_ns &&
	       (strstr(stack, "qemu_wait_io_event") || strstr(stack, "qemu_process_cpu_events"));
}

static int paused_find(struct stuck_report *r)
{
	uint64_t since_ns = 0;

	for (unsigned int i = 0; i < r->nr_vcpus; i++) {
		uint64_t ns = r->vcpu[i].thread->since_ns;

		if (!is_paused(&r->vcpu[i]))
			return 0;
		since_ns = ns > since_ns ? ns : since_ns;
	}
	if (!since_ns || since_ns > r->now->time_ns) /* unknown */
		since_ns = r->before->time_ns;
	return r->nr_vcpus ? stuck_find(r, "paused", NULL, 0, r->now->time_ns - since_ns,
					"QEMU has paused the VM: no vCPU is in KVM_RUN, all wait "
					"in QEMU; its monitor has the reason (info status)")
			   : 0;
}

static bool never_ran(const struct kvm_vm *kvm)
{
	return kvm && kvm->nr_vcpus && !array_any(kvm->nr_vcpus, i, kvm->vcpu[i].tid);
}

static int not_started_find(struct stuck_report *r)
{
	return stuck_find(
		r, "paused", NULL, 0, r->now->time_ns - r->before->time_ns,
		"No vCPU has entered KVM_RUN since QEMU was started: it has -S, waits for an "
		"incoming migration (-incoming), or is still starting; its monitor has the "
		"reason (info status)");
}

int stuck_vcpu_findings(struct stuck_report *r)
{
	int err = 0;

	if (!never_ran(r->now->kvm))
		err = paused_find(r);
	else if (!stuck_process_stopped(r))
		err = not_started_find(r);

	for (unsigned int i = 0; i < r->nr_vcpus && !err; i++)
		err = pending_find(r, &r->vcpu[i]);
	return err;
}
