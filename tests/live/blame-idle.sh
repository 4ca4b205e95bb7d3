#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A guest that does nothing: hostrace blame attributes the time to its halts. How long the vCPU's thread slept is known
# from the kernel's counters of when it ran and waited for a CPU. Twice: KVM handles the halts, which this host's may do
# without kvm_exit, and QEMU does (kernel-irqchip=off).
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
guest=blameguest-idle
. "$ROOT/tests/live/blame-lib.inc"

# check NAME ACCELERATOR
check() {
	accel=$2
	vm_start
	record_start
	until_slept 2 # only halts that begin and end while it is recorded are whole exits
	begin=$(date +%s%N)
	used=$(($(scheduled 1) + $(scheduled 2)))
	sleep 3
	used=$(($(scheduled 1) + $(scheduled 2) - used))
	slept=$(($(date +%s%N) - begin - used))
	until_slept 2
	record_stop
	is $? 0 "$1: recorded" record.err
	vm_stop
	"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
	"$HOSTRACE" blame -i trace.hrt -f json --limit 10000 >blame.json
	is "$(jq -r '[.causes[] | select(.cause != "preempted" and .cause != "runqueue")][0].cause' blame.json)" halted \
		"$1: but for the host's other tasks halted is the largest cause" blame.out
	halted=$(blame_ns '.cause == "halted"')
	echo "# it slept for $slept ns, $halted ns of them halted"
	is $((halted * 100 >= slept * 95)) 1 "$1: at least 95 % of its sleep is attributed to that" blame.out
	is "$(jq '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length' blame.json)" 0 \
		"$1: the causes of each exit add up to it" blame.out
}

plan 8
check "halted in KVM" kvm
check "halted in QEMU" kvm,kernel-irqchip=off
finish
