// SPDX-License-Identifier: GPL-2.0-or-later
/* What the VMM does to set up its VM, from its system calls. */
#include <linux/kvm.h>
#include <string.h>

#include "analyzers/boot/internal.h"
#include "event/records.h"
#include "syscalls.h"

static void vcpu_create(struct boot *b, struct machine *m, uint64_t ns, uint64_t id)
{
	struct boot_point *p;

	boot_vcpus_resume(b, m, ns);
	boot_phase_begin(b, m, BOOT_VCPUS, ns);
	p = boot_point_add(b, m, BOOT_AT_VCPU, ns, 0);
	if (p && id < RECORD_NO_VCPU)
		p->vcpu = (uint16_t)id;
}

/* KVM_CREATE_VCPU has returned. */
static void vcpu_made(struct boot *b, struct machine *m, uint64_t ns, uint64_t id, int64_t fd)
{
	if (fd >= 0 && id < RECORD_NO_VCPU && m->nr_made < BOOT_VCPUS_MAX) {
		m->made[m->nr_made].fd = (uint64_t)fd;
		m->made[m->nr_made++].id = (uint16_t)id;
	}
	if (m->stage == BOOT_VCPUS)
		boot_phase_begin(b, m, BOOT_DEVICES, ns);
}

static void vcpu_run(struct boot *b, struct machine *m, const struct event *ev, uint64_t fd)
{
	uint16_t vcpu = ev->vcpu;

	for (unsigned int i = 0; i < m->nr_made && vcpu == RECORD_NO_VCPU; i++)
		if (m->made[i].fd == fd)
			vcpu = m->made[i].id;
	boot_vcpu_runs(b, m, ev, vcpu);
}

static void ioctl_begin(struct boot *b, struct machine *m, const struct event *ev,
			const struct rec_syscall_enter *r)
{
	switch ((uint32_t)r->arg1) {
	case KVM_CREATE_VM:
		boot_phase_begin(b, m, BOOT_VM, ev->time_ns);
		boot_point_add(b, m, BOOT_AT_VM, ev->time_ns, 0);
		break;
	case KVM_CREATE_VCPU:
		vcpu_create(b, m, ev->time_ns, r->arg2);
		break;
	case KVM_SET_USER_MEMORY_REGION:
		if (m->stage < BOOT_FIRMWARE)
			boot_point_add(b, m, BOOT_AT_SLOT, ev->time_ns, 0);
		break;
	case KVM_RUN:
		vcpu_run(b, m, ev, r->arg0);
		break;
	default:
		break;
	}
}

/* Until one succeeds. */
static void exec_begin(struct boot *b, struct machine *m, uint64_t ns)
{
	if (m->has_exec || (m->has_begun && m->phase != BOOT_VMM))
		return;
	m->has_begun = false;
	m->vm.at[BOOT_VMM] = 0;
	memset(m->vm.causes[BOOT_VMM], 0, sizeof(m->vm.causes[BOOT_VMM]));
	boot_phase_begin(b, m, BOOT_VMM, ns);
}

void boot_on_call(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(syscall_enter, r, ev);
	struct boot_thread *th = boot_thread_of(b, m, ev);

	m->has_calls = true;
	if (!th)
		return;
	boot_time_account(b, m, ev->time_ns);
	th->in_call = true;
	th->call = r->id;
	th->request = r->arg1;
	th->arg = r->arg2;
	if (syscall_is_ioctl(r->id))
		ioctl_begin(b, m, ev, r);
	else if (syscall_is_exec(r->id))
		exec_begin(b, m, ev->time_ns);
}

static void call_returns(struct boot *b, struct machine *m, const struct boot_thread *th,
			 uint64_t ns, int64_t ret)
{
	if (syscall_is_exec((uint64_t)th->call) && !ret && !m->has_exec && m->phase == BOOT_VMM) {
		m->has_exec = true;
		boot_point_add(b, m, BOOT_AT_EXEC, m->vm.begin_ns, 0);
	} else if (syscall_is_clone((uint64_t)th->call) && ret > 0) {
		boot_point_add(b, m, BOOT_AT_THREAD, ns, (uint64_t)ret);
	} else if (syscall_is_ioctl((uint64_t)th->call) &&
		   (uint32_t)th->request == KVM_CREATE_VCPU) {
		vcpu_made(b, m, ns, th->arg, ret);
	}
}

void boot_on_call_end(struct boot *b, struct machine *m, const struct event *ev)
{
	RECORD(syscall_exit, r, ev);
	struct boot_thread *th = boot_thread_of(b, m, ev);

	if (!th)
		return;
	boot_time_account(b, m, ev->time_ns);
	if (th->in_call && th->call == r->id)
		call_returns(b, m, th, ev->time_ns, r->ret);
	th->in_call = false;
}
