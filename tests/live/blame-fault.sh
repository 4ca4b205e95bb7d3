#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Guest memory whose pages come late, for QEMU that writes to them for its guest, and for the guest itself: the vCPU's
# thread sleeps in page faults of the host. hostrace blame attributes this time to faults; a thread in QEMU that serves
# them has counted it (slowmem.c).
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"
live_needs_tools od

live_build "$BUILD/slowmem.so"

# served WORD: pages (1), or the time that they took (2)
served() {
	od -A n -t u8 -w8 slow.log | sed -n "$1p" | tr -d ' '
}

# until_served NR: so many pages more have come
until_served() {
	pages=$(served 1)
	for _ in $(seq 1500); do
		[ $(($(served 1) - pages)) -lt "$1" ] || return 0
		sleep .1
	done
	bail "pages came late only $(served 1) times: $(cat qemu.out)"
}

# check NAME GUEST WHAT: the guest, and what blame names as the largest cause
check() {
	guest=$2
	ram=$(mktemp -d /dev/shm/blame.XXXXXX) || bail "no /dev/shm"
	memory="-object memory-backend-file,id=ram,size=32M,mem-path=$ram/guest.ram,share=on -machine memory-backend=ram"
	SLOWMEM_FILE=$ram/guest.ram SLOWMEM_LOG=slow.log vm_start env LD_PRELOAD="$BUILD/slowmem.so"
	for _ in $(seq 1200); do
		[ ! -s slow.log ] || break
		sleep .1
	done
	[ -s slow.log ] || bail "no page came late: $(cat qemu.out)"
	record_start
	until_served 2 # only exits that begin and end while it is recorded are whole
	took=$(served 2)
	until_served 40
	took=$(($(served 2) - took))
	until_served 2
	record_stop
	is $? 0 "$1: recorded" record.err
	vm_stop
	rm -rf "$ram" slow.log
	"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
	"$HOSTRACE" blame -i trace.hrt -f json --min-latency 10ms >blame.json
	is "$(jq -r '[.causes[] | select(.cause != "preempted" and .cause != "runqueue")][0] | .cause + " " + .what' blame.json)" "$3" \
		"$1: but for the host's other tasks faults are the largest cause" blame.out
	fault=$(blame_ns '.cause == "fault"')
	echo "# the pages took $took ns, faults $fault ns"
	is $((fault * 100 >= took * 95)) 1 "$1: at least 95 % of the time is attributed to them" blame.out
	is "$(jq '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length' blame.json)" 0 \
		"$1: the causes of each exit add up to it" blame.json
}

plan 8
check "memory that QEMU writes" blameguest-pages "fault port 0x518 (fw_cfg)"
check "memory that the guest writes" blameguest-touch "fault "
finish
