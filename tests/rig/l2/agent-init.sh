#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2013
#
# The init of an L2: two agents trace the guest while it works, each by its own transport, for a few seconds.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do
	insmod "/modules/$module.ko" || echo "l2: insmod $module failed"
done
/hostrace-guest -t serial:hostrace -d 3s -e 'sched,irq,timer,block,raw_syscalls,syscalls:sys_enter_mknodat' 2>/tmp/serial &
serial=$!
/hostrace-guest -t vsock:9999 -d 3s -e sched 2>/tmp/vsock &
vsock=$!
n=0
while [ $n -lt 600 ] && ! { grep -q tracing /tmp/serial && grep -q tracing /tmp/vsock; }; do
	n=$((n + 1))
	sleep 0.1
done
mkfifo -m 617 /tmp/f1 /tmp/f2 /tmp/f3 /tmp/f4 /tmp/f5 /tmp/f6 /tmp/f7 /tmp/f8 /tmp/f9 /tmp/f10 /tmp/f11 /tmp/f12 \
	/tmp/f13 /tmp/f14 /tmp/f15 /tmp/f16 /tmp/f17 /tmp/f18 /tmp/f19 /tmp/f20 /tmp/f21 /tmp/f22 /tmp/f23
taskset 1 dd if=/dev/vda of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null &
taskset 2 dd if=/dev/vda of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null
wait $serial
echo "l2: serial $?"
wait $vsock
echo "l2: vsock $?"
echo "l2: instances $(ls /sys/kernel/tracing/instances | grep -c hostrace)"
cat /tmp/serial /tmp/vsock
echo "l2: done"
poweroff -f
