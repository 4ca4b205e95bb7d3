#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2013
#
# The only script of the Linux guests that hostrace reads from outside: writes what the guest itself knows, its oracle,
# to /dev/vda as a tar, prints "guest: ready" and stays as it is.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
echo 0 >/proc/sys/kernel/kptr_restrict
for module in $(cat /modules/order); do
	insmod "/modules/$module.ko" || echo "guest: insmod $module failed"
done
printf '#!/bin/sh\nwhile :; do sleep 1000; done\n' >/tmp/a-long-program-name
chmod 755 /tmp/a-long-program-name
/tmp/a-long-program-name &
sleep 100001 &
# the time, whenever it is asked for on the second serial port
stty -F /dev/ttyS1 raw -echo
while read -r _; do
	adjtimex | sed -n 's/.*time.tv_sec: *//p; s/.*time.tv_usec: *//p' | xargs
done </dev/ttyS1 >/dev/ttyS1 &
mkfifo /tmp/fifo
cat /tmp/fifo &
echo "guest: marker 4711" >/dev/kmsg
mkdir /tmp/out
cd /tmp/out || exit 1
cat /proc/kallsyms >kallsyms
cat /proc/modules >modules
dmesg >dmesg
cat /proc/interrupts >interrupts
cat /sys/devices/system/clocksource/clocksource0/current_clocksource >clocksource
for task in /proc/[0-9]*/task/[0-9]*; do
	echo "${task##*/} $(cut -d' ' -f 3-9 "$task/stat") $(cat "$task/comm")"
done >tasks 2>/dev/null
# of tasks that nothing wakes: frames without the size of the function
for task in /proc/[0-9]*; do
	case $(cat "$task/comm") in
	a-long* | sleep | cat | kthreadd | netns | mm_percpu_wq | kblockd | oom_reaper | kswapd0)
		sed "s|^|${task##*/} |; s|\[<0>\] ||; s|/0x[0-9a-f]*||" "$task/stack"
		;;
	esac
done >stacks 2>/dev/null
tar cf /dev/vda -C /tmp/out .
sync
echo "guest: ready"
exec sleep 100002
