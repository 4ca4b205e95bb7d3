// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls of a VM's threads. These tracepoints make each system call of the host take the kernel's slow path, of
 * any process, so that the test whether it concerns a VM comes first.
 */
#include "emit.bpf.h"

SEC("tp_btf/sys_enter")
int BPF_PROG(tp_syscall_enter, struct pt_regs *regs, long id)
{
	struct emit e;
	struct rec_syscall_enter *rec = record_begin(&e, syscall_enter);

	if (!rec)
		return 0;
	syscall_args_read(regs, &rec->arg0);
	rec->id = (hr_u32)syscall_in_event((hr_s32)id);
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(tp_syscall_exit, struct pt_regs *regs, long ret)
{
	struct emit e;
	struct rec_syscall_exit *rec = record_begin(&e, syscall_exit);

	if (!rec)
		return 0;
	rec->ret = ret;
	rec->id = (hr_u32)syscall_in_event(syscall_nr((const void *)regs));
	emit_publish(&e);
	return 0;
}
