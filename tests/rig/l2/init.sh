#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2013,SC1090
#
# L2's only process: the modules, the workload that the kernel's command line names (work=NAME), power off.
# Every line that the checks read begins with "l2: ".
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for module in $(cat /modules/order); do
	insmod "/modules/$module.ko" || echo "l2: insmod $module failed"
done
work=$(sed -n 's/.*work=\([a-z]*\).*/\1/p' /proc/cmdline)
echo "l2: up, work $work"
echo "l2: text $(grep -m 1 ' _stext$' /proc/kallsyms)"
. "/parts/$work.sh"
echo "l2: done"
poweroff -f
