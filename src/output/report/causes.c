// SPDX-License-Identifier: GPL-2.0-or-later
/* The causes and their kinds. To add one: a row here, its section in doc/causes.md, and what finds it (findings.c). */
#include "output/report/causes.h"

#include <string.h>

const struct cause_kind cause_kinds[] = {
	{"lost", "requests that a virtio device does not return", SOURCE_PROBES, "virtqueue_pop",
	 "leaks"},
	{"cpu", "waiting for a CPU", SOURCE_VCPUS, "sched_switch", "sched"},
	{"exits", "exits that KVM handles", SOURCE_EXITS, "kvm_exit", "blame"},
	{"vmm", "exits that the VMM handles", SOURCE_EXITS, "kvm_exit,kvm_userspace_exit", "blame"},
	{"mutex", "QEMU's global mutex", SOURCE_SLEEPS, "sched_block", "blame"},
	{"sleep", "system calls and page faults of the VMM", SOURCE_SLEEPS, "sched_block", "blame"},
	{"disk", "slow virtio devices", SOURCE_PROBES, "virtqueue_pop", "virtio"},
	{NULL},
};

const struct cause causes[] = {
	{"request-lost", "lost", "a request that its device does not return",
	 "see hostrace stuck and hostrace leaks for where it is; a device that is reset by the "
	 "guest's driver gives up all of its requests"},

	{"device-broken", "lost", "a device that stopped itself",
	 "QEMU's log has the error; the guest has to reset the device, as by loading its driver "
	 "again"},
	{"lost-kick", "lost", "a request of which the device was not told",
	 "a defect of the guest's driver or of the device; a reset by the driver, as by loading it "
	 "again, offers its requests again"},
	{"lost-interrupt", "lost", "an answer of a device that the guest has not taken",
	 "see hostrace stuck for what masks the interrupt; a driver that polls, or is loaded "
	 "again, goes on"},
	{"interrupt-not-taken", "lost", "an interrupt that a vCPU does not take",
	 "see hostrace stuck for what it waits for; the guest's code at that place is at fault"},
	{"server-gone", "lost", "a server of the VM that does not answer",
	 "start it again, or let it go on; QEMU connects again with reconnect-delay"},
	{"vmm-stopped", "lost", "a VMM that was stopped by a signal, a debugger or a freezer",
	 "SIGCONT, end the debugger, or thaw its cgroup"},
	{"vmm-blocked", "lost", "a thread of the VMM that is blocked in the kernel",
	 "see hostrace stuck for the file and the stack: what is behind it does not answer"},
	{"stuck", "lost", "something stands still",
	 "hostrace-stuck(1) has the meaning of each of its findings"},

	{"vm-stopped", "", "a VM that was stopped",
	 "see hostrace downtime for which phase it was; whoever stopped it has to go on with it"},

	{"migration", "exits", "a migration or a snapshot that goes on",
	 "let it end, or cancel it (migrate_cancel); more bandwidth, or multifd, ends it sooner; "
	 "auto-converge slows vCPUs on purpose; a log of dirty pages that is left on ends with the "
	 "next migration"},

	{"cpu-quota", "cpu", "a CPU quota",
	 "raise cpu.max of the VM's cgroup, or give the VM fewer vCPUs"},
	{"cpu-wakeup", "cpu", "CPUs that take long to leave their idle states",
	 "limit the idle states of the host's CPUs (/dev/cpu_dma_latency, or the cpuidle "
	 "governor)"},
	{"cpu-other-vm", "cpu", "another VM on the same CPU",
	 "move one of them to other CPUs, or give this one a larger cpu.weight"},
	{"cpu-own-threads", "cpu", "threads of the same VM on one CPU",
	 "give each vCPU a CPU of its own, and iothreads and emulator threads others"},
	{"cpu-host-task", "cpu", "a task of the host on the same CPU",
	 "keep it off the VM's CPUs (cpuset, isolcpus), or give the VM a larger cpu.weight"},
	{"cpu-host-irq", "cpu", "interrupts of the host on the same CPU",
	 "move them to other CPUs (/proc/irq/*/smp_affinity, the queues and RPS of network cards, "
	 "nohz_full)"},
	{"cpu-frequency", "cpu", "CPUs that may not run as fast as they can",
	 "raise scaling_max_freq, or find what lowers it (power limits, temperature)"},
	{"cpu-host-steal", "cpu", "a host that is a VM and has too few CPUs itself",
	 "give the host's own VM CPUs of its own, or more of their time"},
	{"cpu-wait", "cpu", "something else on the same CPU",
	 "find out what it is: hostrace record --for sched, or perf record -a, and hostrace sched "
	 "--by task"},

	{"exits-port", "vmm", "port I/O that the VMM handles",
	 "see hostrace ports; let the guest use a paravirtual clock or device, or poll less often"},
	{"exits-mmio", "vmm", "MMIO that is emulated",
	 "see hostrace mmio; use virtio with ioeventfd, or a clock other than the HPET"},
	{"exits-vmm", "vmm", "exits that the VMM handles",
	 "see hostrace exits; what the VMM does in them is in hostrace blame"},
	{"exits-timer", "exits", "a guest that sets its timer very often",
	 "see hostrace msrs; fewer ticks in the guest (nohz), or fewer short timers"},
	{"exits-ipi", "exits", "IPIs between vCPUs",
	 "see hostrace msrs; APICv, AVIC or Hyper-V's IPIs avoid the exits, fewer vCPUs the IPIs"},
	{"exits-msr", "exits", "accesses to MSRs", "see hostrace msrs for which these are"},
	{"exits-pause", "exits", "spin locks whose holders do not run",
	 "give each vCPU a CPU of its own, or let the guest use paravirtual spin locks"},
	{"exits-memory", "exits", "guest memory that the host has to map",
	 "use huge pages, preallocate and lock the VM's memory, and stop the log of dirty pages"},
	{"exits-cpuid", "exits", "CPUID, which always exits",
	 "the guest uses it as a barrier or in a loop: see hostrace profile --host for where"},
	{"exits-host-interrupt", "exits", "interrupts and timers of the host",
	 "move the host's interrupts to other CPUs (smp_affinity, nohz_full)"},
	{"exits-apic", "exits", "accesses to the local APIC", "use x2APIC, APICv or AVIC"},
	{"exits-nested", "exits", "guests of the guest",
	 "each exit of a nested guest costs several; run it on the host if that matters"},
	{"exits-unknown", "exits", "exits of unknown kind",
	 "record more, with hostrace record --for blame: what a vCPU sleeps in is not known"},
	{"exits-other", "exits", "exits that KVM handles", "see hostrace exits for their reasons"},
	{"interrupt-delay", "exits", "interrupts that wait for the next entry",
	 "see hostrace interrupts"},
	{"halts-not-idle", "exits", "halts that end at once",
	 "see hostrace interrupts for what wakes the vCPU; kvm.halt_poll_ns=0 separates polling "
	 "from wake-ups"},
	{"halt-polling", "exits", "halt polling",
	 "it costs the host a CPU and not the guest; kvm.halt_poll_ns=0 ends it"},

	{"qemu-mutex", "mutex", "QEMU's global mutex",
	 "see hostrace blame for who holds it; an iothread for the device, or fewer monitor "
	 "commands"},
	{"vmm-lock", "sleep", "a lock of the VMM", "see hostrace blame --list for which it is"},
	{"vmm-syscall", "sleep", "system calls of the VMM",
	 "see hostrace blame --list for which these are and for what access"},
	{"vmm-asleep", "sleep", "a VMM that sleeps during exits",
	 "see hostrace diagnose or hostrace blame for what it waits for: a lock, QEMU's global "
	 "mutex, a system call"},
	{"page-faults", "sleep", "the VM's memory, which the host fetches",
	 "the host swaps, or the VM was restored: more memory, no swap, or locked pages"},
	{"balloon-thrash", "sleep", "a balloon that takes and returns the same pages",
	 "what sets the balloon's target (virsh setmem, balloon of QEMU's monitor, autoballoon): "
	 "less often, or not as low"},
	{"memory-swapped", "sleep", "the VM's memory, which the host has swapped out",
	 "more memory for the host, no swap for the VM (memory.swap.max), or locked pages "
	 "(-overcommit mem-lock=on)"},
	{"memory-limit", "sleep", "the memory limit of the VM's cgroup",
	 "a larger memory.max and memory.high; the VMM needs memory besides the guest's, too"},

	{"disk-throttled", "disk", "a disk that QEMU throttles",
	 "raise its limits (block_set_io_throttle, throttling.* of -drive, or the throttle-group)"},
	{"disk-slow", "disk", "a slow disk",
	 "look at its backing file or server, at io.max of the VM's cgroup, and, in a recording, "
	 "at QEMU's throttling, which hostrace stuck names"},
	{"disk-busy", "disk", "requests of its disk", NULL},
	{"recorder", "cpu", "hostrace itself, which made the recording", NULL},
	{"event", "", "", NULL},
	{NULL},
};

const struct cause *cause_find(const char *id)
{
	for (const struct cause *c = causes; c->id; c++)
		if (!strcmp(c->id, id))
			return c;
	return NULL;
}
