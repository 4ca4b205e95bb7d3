/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between architectures in BPF programs: a thread's registers by their use, and numbers of system calls.
 * Registers of a function's arguments are libbpf's PT_REGS_PARM1() to 5; here is what libbpf 1.0 lacks.
 */
#ifndef HOSTRACE_REGISTERS_BPF_H
#define HOSTRACE_REGISTERS_BPF_H

#include "kernel.h"
#include "syscalls.h"

#if defined(__TARGET_ARCH_x86)

#define REGS_ARG6(ctx)	((ctx)->r9) /* System V ABI for x86-64, 3.2.3 */
#define IN_USER(regs)	((regs)->cs & 3)
enum { SYSCALL_FUTEX = 202, SYSCALL_BITS = 0 };

struct task_regs {
	struct pt_regs of;
};

static __always_inline hr_s32 syscall_nr(const struct task_regs *r)
{
	return (hr_s32)r->of.orig_rax;
}

#define SYSCALL_ARG1(r) ((r)->of.rdi)
#define SYSCALL_ARG2(r) ((r)->of.rsi)
#define SYSCALL_ARG4(r) ((r)->of.r10)

static __always_inline void syscall_args_read(const struct pt_regs *regs, hr_u64 arg[6])
{
	arg[0] = regs->rdi;
	arg[1] = regs->rsi;
	arg[2] = regs->rdx;
	arg[3] = regs->r10;
	arg[4] = regs->r8;
	arg[5] = regs->r9;
}

/* Those that a function's callees preserve. */
static __always_inline void stack_registers(struct stack_copy *copy, const struct pt_regs *regs)
{
	copy->rip = regs->rip;
	copy->rsp = regs->rsp;
	copy->rbp = regs->rbp;
	copy->rbx = regs->rbx;
	copy->r12_r15[0] = regs->r12;
	copy->r12_r15[1] = regs->r13;
	copy->r12_r15[2] = regs->r14;
	copy->r12_r15[3] = regs->r15;
}

#elif defined(__TARGET_ARCH_arm64)

#define REGS_ARG6(ctx)	(((const struct user_pt_regs *)(ctx))->regs[5]) /* AAPCS64, 6.8.2 */
#define IN_USER(regs)	(((regs)->pstate & 0xf) == 0) /* PSR_MODE_EL0t */
enum { SYSCALL_FUTEX = 98, SYSCALL_BITS = SYSCALL_GENERIC };

/* arch/arm64/include/asm/ptrace.h: the system call's first argument and number follow the user's registers. */
struct task_regs {
	struct user_pt_regs of;
	hr_u64 orig_x0;
	hr_s32 syscallno;
};

static __always_inline hr_s32 syscall_nr(const struct task_regs *r)
{
	return r->syscallno;
}

#define SYSCALL_ARG1(r) ((r)->orig_x0)
#define SYSCALL_ARG2(r) ((r)->of.regs[1])
#define SYSCALL_ARG4(r) ((r)->of.regs[3])

static __always_inline void syscall_args_read(const struct pt_regs *regs, hr_u64 arg[6])
{
	const struct task_regs *r = (const void *)regs;

	arg[0] = r->orig_x0;
	for (int i = 1; i < 6; i++)
		arg[i] = r->of.regs[i];
}

/* The frame pointer, x29, is all that a call chain by frame pointers needs. */
static __always_inline void stack_registers(struct stack_copy *copy, const struct pt_regs *regs)
{
	const struct user_pt_regs *user = (const void *)regs;

	copy->rip = user->pc;
	copy->rsp = user->sp;
	copy->rbp = user->regs[29];
	copy->rbx = 0;
	copy->r12_r15[0] = copy->r12_r15[1] = copy->r12_r15[2] = copy->r12_r15[3] = 0;
}

#endif

/* A number as events contain it; -1: in no system call. */
static __always_inline hr_s32 syscall_in_event(hr_s32 number)
{
	return number < 0 ? number : number | SYSCALL_BITS;
}

/* A sleeping thread's registers in user mode. */
static __always_inline const struct task_regs *task_regs_of(struct task_struct *task)
{
	return (const void *)bpf_task_pt_regs(task);
}

#endif
