#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2013
#
# First process of a guest that runs a guest of its own with a known number of port accesses, MMIO writes and halts, three
# times, and ends once its disk says so.
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do
	insmod "/modules/$module.ko" || echo "l2: insmod $module failed"
done
good=0
for _ in 1 2 3; do
	/minivmm outb=300 inb=40 mmio=7 hlt=5 && good=$((good + 1))
done
sleep 1000 | /minivmm wait & # holds a VM
echo "l2: status $good"
until [ "$(dd if=/dev/vda bs=512 count=1 iflag=direct 2>/dev/null | head -c 2)" = go ]; do
	sleep 0.1
done
echo "l2: done"
poweroff -f
