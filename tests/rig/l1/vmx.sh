#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host with an Intel CPU (RIG_CPU=vmx): minivmm's and the demo's known workloads, recorded by hostrace and by tracefs at
# the same time, and guests with a ring of their own: with and without a scaled TSC, and one whose TSC's offset changes.
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

# ringed NAME CPU APPEND TURNS [QEMU-ARGUMENT...]: from the first instruction until the guest halts for good; TURNS is called
# with NAME meanwhile
ringed() {
	local name=$1 cpu=$2 append=$3 turns=$4
	shift 4
	timeout -k 5 "$life_seconds" ./bin/hostrace record -o "$out/$name.hrt" --guest "mem:ring_virtual,elf=ring-guest.elf,qmp=/tmp/$name.qmp" -- \
		qemu-system-x86_64 -name "$name" -accel kvm -cpu "$cpu" -m 32 -nodefaults -display none -no-reboot \
		-serial "file:$out/$name.console" -kernel ring-guest.elf -append "ring=1 $append" -pidfile "/tmp/$name.pid" \
		-qmp "unix:/tmp/$name.qmp,server=on,wait=off" "$@" </dev/null >"$out/$name.record" 2>&1 &
	"$turns" "$name"
	wait_until grep -q '^done' "$out/$name.console"
	offsets_note "$name" end
	cat /sys/kernel/debug/kvm/"$(cat "/tmp/$name.pid")"-*/vcpu0/tsc-scaling-ratio >"$out/$name.tsc-ratio"
	kill -TERM $! # timeout passes it on
	wait $!
	echo $? >"$out/$name.record.status"
	kill "$(cat "/tmp/$name.pid")"
	log "$name recorded"
}

# What KVM says, as "WHEN VCPU OFFSET".
offsets_note() { # NAME WHEN
	tsc_offsets_read "$(cat "/tmp/$1.pid")" | sed "s/^/$2 /" >>"$out/$1.tsc-offset"
}

# From the one noted first.
offset_differs() { # NAME
	[ "begin $(tsc_offsets_read "$(cat "/tmp/$1.pid")")" != "$(head -n 1 "$out/$1.tsc-offset")" ]
}

no_turns() {
	:
}

# While the guest waits: the VM is put back to a snapshot of more than a second ago (KVM takes less for an attempt to
# synchronize TSCs, and leaves the offset); it is stopped and continued, which leaves the offset. At its turns 3 and 5 the
# guest writes its TSC itself.
turns() { # NAME
	wait_until grep -q '^turn 1' "$out/$1.console"
	offsets_note "$1" begin
	monitor_write "$1" /tmp/monitor.in "savevm a"
	sleep 2
	monitor_write "$1" /tmp/monitor.in "loadvm a"
	wait_until offset_differs "$1"
	offsets_note "$1" loaded
	monitor_write "$1" /tmp/monitor.in "o /b 0x3ff 1"
	wait_until grep -q '^turn 2' "$out/$1.console"
	monitor_write "$1" /tmp/monitor.in stop
	sleep 0.5
	monitor_write "$1" /tmp/monitor.in cont
	offsets_note "$1" continued
	monitor_write "$1" /tmp/monitor.in "o /b 0x3ff 2"
	wait_until grep -q '^turn 4' "$out/$1.console"
	offsets_note "$1" forward
	monitor_write "$1" /tmp/monitor.in "o /b 0x3ff 4"
}

ringed ringed host "" no_turns
ringed scaled host,tsc-frequency=500000000 "" no_turns
mkfifo /tmp/monitor.in /tmp/monitor.out
exec 4<>/tmp/monitor.out # QEMU opens it, and nobody reads it
cp snapshots.qcow2 /tmp/snapshots.img
ringed moved host,tsc-frequency=500000000 "records=120 turns=wwfwb" turns -monitor pipe:/tmp/monitor \
	-drive file=/tmp/snapshots.img,format=qcow2,if=none,id=snapshots
exit 0
