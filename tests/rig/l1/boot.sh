#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2013,SC1090
#
# First process of L1: the modules, then the real root (ext4 is built into the kernel).
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do
	insmod "/modules/$module.ko" || echo "rig: insmod $module failed"
done
# $rig_root, $rig_in and $rig_out: from the kernel's command line
# shellcheck disable=SC2154
tries=0
until [ -b "$rig_root" ] || [ $tries = 100 ]; do # disks are found in the background
	sleep 0.1
	tries=$((tries + 1))
done
if ! mount -t ext4 -o rw,noatime "$rig_root" /new; then
	echo "rig: no root on $rig_root"
	poweroff -f
fi
for dir in proc sys dev; do
	mount --move "/$dir" "/new/$dir"
done
exec switch_root /new /init
