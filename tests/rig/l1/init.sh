#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# L1's own init: file systems, /rig out of the tar on $rig_in, main.sh, results to $rig_out, power off. The two are disks,
# named on the kernel's command line.
# shellcheck disable=SC2154
export PATH=/usr/sbin:/usr/bin HOME=/root
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t bpf bpf /sys/fs/bpf
mount -t tmpfs tmpfs /tmp
mount -t tmpfs tmpfs /run
ln -s /proc/self/fd /dev/fd
ip link set lo up

# rig.sh ends a boot that prints no such line for long.
while sleep 10; do
	echo "L1 $(cut -d ' ' -f 1 /proc/uptime) runs"
done &

cd /rig || exit 1
tar -xf "$rig_in"
mkdir -p out
bash ./main.sh
echo $? >out/status
tar -cf "$rig_out" -C out .
sync
echo o >/proc/sysrq-trigger
sleep 10
