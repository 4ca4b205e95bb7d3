# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# The guest traces its own task switches with the TSC as its clock, while tasks of several kinds cause exits: disk reads,
# lines on the console, short programs. The text goes to the third disk. It begins when the second disk says so.
. /parts/taskgo.sh
t=/sys/kernel/tracing
mount -t tracefs tracefs $t
echo x86-tsc >$t/trace_clock
echo 16384 >$t/buffer_size_kb
echo 1 >$t/events/sched/sched_switch/enable
go_wait
taskset 1 dd if=/dev/vda of=/dev/null bs=4k count=300 iflag=direct 2>/dev/null &
for i in 1 2 3 4 5 6 7 8; do
	console_write 2
	/bin/true
	sleep 0.01
done
wait
echo 0 >$t/tracing_on
cat $t/trace >/tmp/trace
dd if=/tmp/trace of=/dev/vdc bs=64k conv=fsync 2>/dev/null
echo "l2: traced $(grep -vc '^#' /tmp/trace)"
