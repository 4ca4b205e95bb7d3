#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A VM of another VMM than QEMU, with a known workload: the recording must contain exactly this workload.
# Needs $HOSTRACE (the program) and $BUILD (the build directory); prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_build "$BUILD/minivmm"

# run OUTB INB MMIO HLT [WORD]: records one run to t.hrt
run() {
	rm -f in out
	mkfifo in
	timeout 200 "$BUILD/minivmm" outb="$1" inb="$2" mmio="$3" hlt="$4" ${5-} wait < in > out 2> err &
	vmm=$!
	exec 3> in
	until_line '^ready' out || return 1
	pid=$(sed -n 's/^ready //p' out)
	timeout 200 "$HOSTRACE" record -q --vm "$pid" -o t.hrt -- \
		sh -c "echo go >&3; while kill -0 $pid 2> /dev/null; do sleep .05; done" 3>&3 2> record.err
	recorded=$?
	exec 3>&-
	wait $vmm
	ran=$?
}

plan 11
run 300 40 7 5
is "$recorded" 0 "record accepts a VM that is no QEMU" record.err
is "$ran" 0 "the VM did its work while it was recorded" err
is "$(count_port out 0x2f0 t.hrt)" 300 "300 outb"
is "$(count_port in 0x2f0 t.hrt)" 40 "40 inb"
is "$(count_port out 0xf4 t.hrt)" 1 "1 outb to the end port"
is "$(count_mmio 0xd0000 t.hrt)" 7 "7 MMIO writes"
run 0 1 0 0
is "$(count_port out 0x2f0 t.hrt)" 0 "no outb"
is "$(count_port in 0x2f0 t.hrt)" 1 "1 inb"
# A thread that loads the vCPU before it has run is not that vCPU.
run 7 0 0 0 loader
is "$recorded $ran" "0 0" "another thread loads the vCPU first" record.err
is "$("$HOSTRACE" sched -i t.hrt -f json | jq -c '[.rows[] | select(.kind == "vcpu") | .tid]')" "[$pid]" "it is not a vCPU"
is "$("$HOSTRACE" list -i t.hrt -f jsonl | jq -r "select(.tid != $pid and .vcpu != null).event" | sort | uniq -c)" "" "none of its events is one's"
finish
