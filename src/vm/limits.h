/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What limits VMs from outside, and what that costs them between two readings: CPU quotas, I/O and memory limits of
 * their cgroups (versions 1 and 2), pressure, CPU time that the host's own hypervisor (steal) or its interrupts took,
 * and pages that the host swapped.
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

/* Call it often: it reads all counts about once a second (vm/series.h). */
void vm_limits_sample(struct vm_limits *l, uint64_t now_ns);

/*
 * {"cgroups":[{"pid": VM, "path", "tids": [those of its main thread and vCPUs that are in it],
 *	"cpus": quota in CPUs, or null,	"throttled": times, "throttled_ns": of all CPUs together,
 *	"weight": for CPU time, as a multiple of the default one,
 *	"io_limits": text, or null,
 *	"memory": limit in bytes, or null, "memory_reached": times, "oom_kills",
 *	"cpu_waited_ns", "io_waited_ns", "memory_waited_ns": time for which some task of it waited for that (PSI)}],
 *  "host":{"stolen_ns", "busy_ns", "irq_ns", "softirq_ns": [of each CPU; busy: stolen time included],
 *	"swapped_in", "swapped_out": pages, "huge_split": huge pages,
 *	"cpu_waited_ns", "io_waited_ns", "memory_waited_ns"},
 *  "start_ns": of the first reading, "ns": from it to the second, "at_ns": [time of the readings between them]}
 *
 * Of cgroups that limit something, or have PSI. Counts are those since vm_limits_open(), of a second reading; with
 * `first`, they are left out. Where they were read every second, a cgroup and the host have "every": {the count's name:
 * [since the start, at each of at_ns]}, or of each CPU such a list; what never changed is not in it. A new reference.
 */
json_t *vm_limits_json(const struct vm_limits *l, bool first);

/* The quota of "20000 100000" (cpu.max) in CPUs; 0: there is none. */
double limits_quota(const char *text);

/* The weight of "50" (cpu.weight; of version 1: cpu.shares) as a multiple of the default one; 0: it is unknown. */
double limits_weight(const char *text, bool v2);

/* The path of the hierarchy with this controller in /proc/PID/cgroup, else of version 2's; false: there is neither. */
bool limits_path(const char *text, const char *controller, char *ret, size_t size, bool *ret_v2);

#endif
