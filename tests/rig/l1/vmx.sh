#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host with an Intel CPU (RIG_CPU=vmx): minivmm's and the demo's known workloads, recorded by hostrace and by tracefs at
# the same time, and guests with a ring of their own, with and without a scaled TSC.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

cat /sys/module/kvm_intel/parameters/ept >"$out/vmx.ept"
grep -m 1 '^vmx flags' /proc/cpuinfo >"$out/vmx.flags"
export LD_LIBRARY_PATH=/rig/lib

mkfifo /tmp/go
./bin/minivmm outb=300 inb=40 mmio=7 hlt=5 wait </tmp/go >/tmp/vmm.out 2>"$out/mini.vmm" &
vmm=$!
exec 3>/tmp/go
wait_until grep -q '^ready' /tmp/vmm.out
oracle_start
./bin/hostrace record --vm $vmm -o "$out/mini.hrt" </dev/null 3>&- 2>"$out/mini.record" &
recorder=$!
./bin/hostrace record --vm $vmm --exit-reasons -o "$out/mini-reasons.hrt" </dev/null 3>&- 2>"$out/mini-reasons.record" &
reasons_recorder=$!
wait_until grep -q recording "$out/mini.record"
wait_until grep -q recording "$out/mini-reasons.record"
echo go >&3
exec 3>&-
wait $vmm
echo $? >"$out/mini.vmm.status"
wait $recorder
echo $? >"$out/mini.record.status"
wait $reasons_recorder
echo $? >>"$out/mini.record.status"
oracle_stop "$out/mini.trace"
log "minivmm recorded"

oracle_start
timeout "$life_seconds" ./bin/hostrace demo "$out/demo" >"$out/demo.text" 2>&1 </dev/null
echo $? >"$out/demo.status"
oracle_stop "$out/demo.trace"
rm -f "$out/demo/disk.img"
mv "$out/demo/demo.hrt" "$out/"
log "demo recorded"

# ringed NAME CPU: from the first instruction until the guest halts for good
ringed() {
	timeout -k 5 "$life_seconds" ./bin/hostrace record -o "$out/$1.hrt" --guest "mem:ring_virtual,elf=ring-guest.elf,qmp=/tmp/$1.qmp" -- \
		qemu-system-x86_64 -name "$1" -accel kvm -cpu "$2" -m 32 -nodefaults -display none -no-reboot \
		-serial "file:$out/$1.console" -kernel ring-guest.elf -append ring=1 -pidfile "/tmp/$1.pid" \
		-qmp "unix:/tmp/$1.qmp,server=on,wait=off" </dev/null >"$out/$1.record" 2>&1 &
	wait_until grep -q '^done' "$out/$1.console"
	tsc_offsets_read "$(cat "/tmp/$1.pid")" >"$out/$1.tsc-offset"
	cat /sys/kernel/debug/kvm/"$(cat "/tmp/$1.pid")"-*/vcpu0/tsc-scaling-ratio >"$out/$1.tsc-ratio"
	kill -TERM $! # timeout passes it on
	wait $!
	echo $? >"$out/$1.record.status"
	kill "$(cat "/tmp/$1.pid")"
	log "$1 recorded"
}

ringed ringed host
ringed scaled host,tsc-frequency=500000000
exit 0
