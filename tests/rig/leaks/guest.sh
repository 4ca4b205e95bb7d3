#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2013
#
# The guest of the leak check: runs commands from its serial port, line by line, and reports when each is done.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do
	insmod "/modules/$module.ko" || echo "guest: insmod $module failed"
done

# write DISK NUMBER: that many writes of 64 KiB at once, each by its own process
write() {
	for block in $(seq 0 20 $(($2 * 20 - 20))); do
		dd if=/dev/zero of="/dev/$1" bs=64k count=1 seek="$block" oflag=direct 2>/dev/null &
	done
}

# inflight DISK: reads and writes that the guest waits for
inflight() {
	awk '{print $1 + $2}' "/sys/block/$1/inflight"
}

stty -F /dev/ttyS0 raw -echo
n=0
echo "guest: up"
while read -r line; do
	n=$((n + 1))
	eval "$line" </dev/null
	echo "guest: done $n $?"
done </dev/ttyS0 >/dev/ttyS0 2>&1
