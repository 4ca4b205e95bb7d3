# SPDX-License-Identifier: GPL-2.0-or-later
# A script for tests/gen/tracedat, and with `rounds` for tests/gen/perfdata: `events` events of four vCPU threads on two
# CPUs, as trace-cmd record -e kvm -e sched would have them. Every tenth exit is port I/O that QEMU answers; a CPU
# changes the thread after 200 exits.

function event(text) {
	printf "%.0f %d %d %s\n", now, cpu, tid, text
	made++
}

function cycle(i) {
	now += 500 + int(rand() * 3000)
	event(sprintf("kvm_exit %d 4294967295 1 0 0 0 0 %d", i % 10 ? reason[1 + int(rand() * reasons)] : 30, tid % 1000))
	if (i % 10 == 0) {
		now += 200
		event("kvm_pio 1 1016 1 1 65")
		now += 300
		event("kvm_userspace_exit 2 0")
	}
	now += 300 + int(rand() * 2000)
	event(sprintf("kvm_entry %d 4294967295", tid % 1000))
}

BEGIN {
	print "clock mono"
	print "format kvm kvm_exit u32:exit_reason u64:guest_rip u32:isa u64:info1 u64:info2 u32:intr_info u32:error_code u32:vcpu_id"
	print "format kvm kvm_entry u32:vcpu_id u64:rip"
	print "format kvm kvm_userspace_exit u32:reason s32:errno"
	print "format kvm kvm_pio u32:rw u32:port u32:size u32:count u32:val"
	print "format sched sched_switch u64:prev_comm u64:prev_comm2 s32:prev_pid s32:prev_prio s64:prev_state u64:next_comm u64:next_comm2 s32:next_pid s32:next_prio"
	srand(1)
	reasons = split("1 10 12 48 31 32 52", reason, " ")
	while (made < events) {
		for (cpu = 0; cpu < 2; cpu++) {
			now = time[cpu] ? time[cpu] : 1000000000 + cpu
			tid = 2000 + cpu + 2 * int(rand() * 2)
			event(sprintf("sched_switch 1 1 77 120 0 1 1 %d 120", tid))
			for (i = 0; i < 200; i++)
				cycle(i)
			event(sprintf("sched_switch 1 1 %d 120 1 1 1 77 120", tid))
			time[cpu] = now + 1000
		}
		if (rounds)
			print "round"
	}
}
