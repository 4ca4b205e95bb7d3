#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host that changes while it records: a CPU goes offline and comes back, the wall clock is set. The VM is minivmm, which
# ends with status 0 if its guest did each of its accesses; one recording for each change.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

accesses=60000 # minivmm counts to 65535
cpu=/sys/devices/system/cpu/cpu1/online

# The kernel gives a CPU ten seconds to start.
cpu_set() { # 0 or 1
	echo "$1" >$cpu
}

change_cpu() {
	local i
	for i in 1 2 3; do
		wait_until cpu_set 0 && sleep 0.3 && cat $cpu && wait_until cpu_set 1 && sleep 0.3 && cat $cpu || return
	done
}

change_clock() {
	local by
	for by in 3600 -7200 3600; do
		date -s "@$(($(date +%s) + by))" && sleep 1 || return
	done
}

for change in cpu clock; do
	log "host: $change"
	rm -f /tmp/go
	mkfifo /tmp/go
	./bin/minivmm outb=$accesses inb=0 mmio=0 hlt=0 wait linger </tmp/go >/tmp/vmm.out 2>"$out/host.$change.vmm" &
	vmm=$!
	exec 3>/tmp/go
	wait_until grep -q '^ready' /tmp/vmm.out
	LD_LIBRARY_PATH=/rig/lib timeout -s KILL "$life_seconds" /rig/bin/hostrace record --vm $vmm -o "$out/host.$change.hrt" </dev/null 3>&- 2>"$out/host.$change.record" &
	recorder=$!
	wait_until grep -q recording "$out/host.$change.record"
	echo go >&3
	cut -d ' ' -f 1 /proc/uptime >"$out/host.$change.uptime"
	change_$change >"$out/host.$change.did" 2>&1
	echo $? >"$out/host.$change.did.status"
	cut -d ' ' -f 1 /proc/uptime >>"$out/host.$change.uptime"
	echo end >&3
	exec 3>&-
	wait $vmm
	echo $? >"$out/host.$change.vmm.status"
	wait $recorder
	echo $? >"$out/host.$change.record.status"
done
bash ./probes.sh
bash ./clock.sh
exit 0
