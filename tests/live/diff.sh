#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace diff on recordings of three VMs that do the same at the same time, under the same load of the host: a write to
# the disk every 120 ms by the guest's timer. Two of the disks take 30 ms for each, the third one 90 ms.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq

WRITES=80 # of each recording
vms="a again slow"
declare -A vm vm_job recorder
end() {
	kill -KILL "${vm[@]}" "${recorder[@]}" 2>/dev/null
	wait 2>/dev/null
	rm -rf "$scratch"
}
trap end EXIT

# disk_vm_start NAME NS: whose disk takes so long
disk_vm_start() {
	timeout -s KILL 280 qemu-system-x86_64 -name "diff-$1" -accel kvm -machine pc -m 32 -nodefaults -display none -no-reboot \
		-pidfile "$1.pid" -serial "file:$1.console" -kernel "$BUILD/demo-guest.elf" \
		-append "reads=0 writes=0 paced=1000000 ticks=12" -device isa-debug-exit,iobase=0xf4,iosize=1 \
		-drive "driver=null-co,if=none,id=d0,size=2097152,latency-ns=$2" -device virtio-blk-pci,drive=d0,id=disk,addr=4 \
		>"$1.out" 2>&1 </dev/null &
	vm_job[$1]=$!
}

# writes NAME: how many the guest has done
writes() {
	tr -cd . <"$1.console" 2>/dev/null | wc -c
}

# writes_wait NAME NUMBER: waits up to two minutes
writes_wait() {
	for _ in $(seq 1200); do
		[ "$(writes "$1")" -lt "$2" ] || return 0
		sleep .1
	done
	bail "VM $1 did $(writes "$1") writes: $(cat "$1.out" "$1.console")"
}

# compare B ARGUMENTS...: $status; diff.json, diff.txt
compare() {
	local b=$1
	shift
	"$HOSTRACE" diff a.hrt "$b.hrt" -f json "$@" >diff.json 2>diff.err
	status=$?
	"$HOSTRACE" diff a.hrt "$b.hrt" --all --wide "$@" >diff.txt 2>&1
}

plan 8
disk_vm_start a 30000000
disk_vm_start again 30000000
disk_vm_start slow 90000000
for name in $vms; do
	writes_wait "$name" 3
	vm[$name]=$(cat "$name.pid")
done
for name in $vms; do
	timeout -s KILL 200 "$HOSTRACE" record --vm "${vm[$name]}" -o "$name.hrt" 2>"$name.err" &
	recorder[$name]=$!
done
for name in $vms; do
	until_line 'recording' "$name.err" || bail "record did not start: $(cat "$name.err")"
done
declare -A before
for name in $vms; do
	before[$name]=$(writes "$name")
done
for name in $vms; do
	writes_wait "$name" $((before[$name] + WRITES))
done
for name in $vms; do
	kill -INT "$(pgrep -P "${recorder[$name]}" | head -n 1)"
done
for name in $vms; do
	wait "${recorder[$name]}" || bail "the recording failed: $(cat "$name.err")"
done
recorder=()

# How long the threads waited for a CPU (cause, request) differs with the load of each CPU: that is not the workload's.
workload=(--by "reason,port,queue,stage" --fail-over "10%")
compare again "${workload[@]}"
is "$status $(jq -c '[.comparison.changed, .comparison.tested >= 10]' diff.json)" "0 [0,true]" \
	"the same workload: nothing changed by more than 10 %" diff.txt
is "$("$HOSTRACE" diff a.hrt again.hrt "${workload[@]}" | grep -c '^no significant difference: ')" 1 "... which the text says" diff.txt
is "$(jq -c '[.rows[] | select(.by == "queue") | .count_a >= 80 and .count_b >= 80] | unique' diff.json)" '[true]' \
	"... of at least 80 requests each" diff.txt

compare slow "${workload[@]}"
is "$status" 3 "the slow disk: more than 10 %" diff.txt
is "$(jq -r '.rows[0] | .by + " " + .figure + " " + .key' diff.json)" "queue latency /machine/peripheral/disk/virtio-backend queue 0" \
	"... its queue is named first" diff.txt
is "$(jq '.rows[0].change | . > 150 and . < 250' diff.json)" true "... which takes three times as long" diff.txt
is "$(jq -c '[.rows[] | select(.verdict == "changed") | .figure] | unique' diff.json)" '["latency"]' "... the rates are the same" diff.txt
compare slow --fail-over "300%"
is "$status" 0 "--fail-over 300%: it is not that slow" diff.txt
finish
