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
if ! mount -t ext4 -o rw,noatime /dev/vdc /new; then
	echo "rig: no root on /dev/vdc"
	poweroff -f
fi
for dir in proc sys dev; do
	mount --move "/$dir" "/new/$dir"
done
exec switch_root /new /init
