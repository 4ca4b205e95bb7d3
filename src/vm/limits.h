/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What limits VMs from outside, and what that costs them between two readings: CPU quotas, I/O and memory limits of
 * their cgroups (versions 1 and 2), CPU time that the host's own hypervisor took (steal), and pages that the host
 * swapped in.
 */
#ifndef HOSTRACE_LIMITS_H
#define HOSTRACE_LIMITS_H

#include "base/cleanup.h"
#include "vm/vm.h"

struct vm_limits;

/*
 * The first reading. What cannot be read is not there. stays_open: as for reread_open() (reread.h); then later readings
 * need no privilege. NULL: out of memory, with the error message set.
 */
struct vm_limits *vm_limits_open(const struct vm *vms, unsigned int nr, bool stays_open);
void vm_limits_close(struct vm_limits *l);
DEFINE_CLEANUP(vm_limits, struct vm_limits *, vm_limits_close);

/* Takes another first reading. */
void vm_limits_restart(struct vm_limits *l);

/*
 * {"cgroups":[{"pid": VM, "path", "tids": [those of its main thread and vCPUs that are in it],
 *	"cpus": quota in CPUs, or null,	"throttled": times, "throttled_ns": of all CPUs together,
 *	"io_limits": text, or null,
 *	"memory": limit in bytes, or null, "memory_reached": times}],
 *  "host":{"stolen_ns": [of each CPU], "busy_ns": [of each CPU, stolen time included], "swapped_in": pages},
 *  "ns": between the two readings}
 *
 * Of cgroups that limit something. Counts are those since vm_limits_open(), of a second reading; with `first`, they are
 * left out. A new reference.
 */
json_t *vm_limits_json(const struct vm_limits *l, bool first);

/* The quota of "20000 100000" (cpu.max) in CPUs; 0: there is none. */
double limits_quota(const char *text);

/* The number after `key` and a blank at the begin of a line of such text; 0: there is none. */
uint64_t limits_number(const char *text, const char *key);

/* The path of the hierarchy with this controller in /proc/PID/cgroup, else of version 2's; false: there is neither. */
bool limits_path(const char *text, const char *controller, char *ret, size_t size, bool *ret_v2);

#endif
