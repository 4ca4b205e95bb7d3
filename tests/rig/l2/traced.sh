# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# The guest traces itself with the TSC as its clock while both CPUs work, and writes the text to its second disk. A second
# buffer uses the guest's own clock (mono: its kvm-clock) and is written to the third.
t=/sys/kernel/tracing
mount -t tracefs tracefs $t
ns=$t/instances/ns
mkdir $ns
echo mono >$ns/trace_clock
echo 4096 >$ns/buffer_size_kb
echo x86-tsc >$t/trace_clock
echo 8192 >$t/buffer_size_kb
for system in sched irq timer block raw_syscalls; do
	echo 1 >$t/events/$system/enable
done
echo 1 >$ns/events/sched/sched_switch/enable
taskset 1 dd if=/dev/vda of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null &
taskset 2 dd if=/dev/vda of=/dev/null bs=4k count=50 skip=50 iflag=direct 2>/dev/null
wait
for i in 1 2 3 4 5 6 7 8; do
	sleep 0.05
done
echo 0 >$ns/tracing_on
echo 0 >$t/tracing_on
cat $t/trace >/tmp/trace
cat $ns/trace >/tmp/trace.ns
dd if=/tmp/trace of=/dev/vdb bs=64k conv=fsync 2>/dev/null
dd if=/tmp/trace.ns of=/dev/vdc bs=64k conv=fsync 2>/dev/null
echo "l2: ns $(grep -vc '^#' /tmp/trace.ns)"
echo "l2: traced $(grep -vc '^#' /tmp/trace)"
