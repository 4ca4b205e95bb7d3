#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --for blame: a vCPU that sleeps on QEMU's global mutex, while the main thread holds it for its monitor. The
# owner that is read from the mutex is the main thread, but for a few sleeps; also if QEMU has a PID namespace of its
# own. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"
live_needs_tools unshare

# sleeps: of vCPU 0 on the global mutex
sleeps() {
	"$HOSTRACE" list --wide -i trace.hrt --event sched_block --vcpu 0 | grep 'arg1=0x80.*is_global=1' # FUTEX_WAIT
}

check_owner() {
	storm 400
	record_start
	until_slept 60
	record_stop
	is $? 0 "$1: recorded" record.err
	sleeps >sleeps.out
	owned=$(grep -c ' owner=[1-9]' sleeps.out)
	main=$(grep -c " owner=$2 " sleeps.out)
	is $((owned >= 10)) 1 "$1: the vCPU slept on the mutex" record.err
	# The main thread's id is the process's; in its namespace it is what the thread itself has.
	own=$("$HOSTRACE" list --wide -i trace.hrt --event sched_block --tid "$vm" | sed -n 's/.*ns_tid=//p' | sort -u)
	is "$own" "$2" "$1: the main thread's id in QEMU's PID namespace"
	echo "# it was the owner in $main of $owned sleeps"
	is $((main * 10 >= owned * 9)) 1 "$1: it was the owner in most of them" sleeps.out
}

plan 8
vm_start
check_owner "first namespace" "$vm"
vm_stop
vm_start unshare --pid --fork --kill-child
check_owner "own namespace" 1
vm_stop
finish
