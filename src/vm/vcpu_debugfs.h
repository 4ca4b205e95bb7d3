/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which threads are a process's vCPUs, by KVM's debugfs: /sys/kernel/debug/kvm/PID-FD/vcpuN/pid, for root only. */
#ifndef HOSTRACE_VCPU_DEBUGFS_H
#define HOSTRACE_VCPU_DEBUGFS_H

#include <sys/types.h>

#define VCPU_DEBUGFS "/sys/kernel/debug/kvm"

/* The vCPU whose thread this is; -1: unknown, or none. */
int vcpu_debugfs_index(pid_t pid, pid_t tid);

#endif
