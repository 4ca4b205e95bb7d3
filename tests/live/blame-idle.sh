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
	begin=$(date +%s%N)
	used=$(($(scheduled 1) + $(scheduled 2)))
	sleep 3
	used=$(($(scheduled 1) + $(scheduled 2) - used))
	slept=$(($(date +%s%N) - begin - used))
	record_stop
	is $? 0 "$1: recorded" record.err
	vm_stop
	"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
	"$HOSTRACE" blame -i trace.hrt -f json --limit 10000 >blame.json
	is "$(jq -r '.causes[0].cause' blame.json)" halted "$1: halted is the largest cause" blame.out
	halted=$(blame_ns '.cause == "halted"')
	is $((halted * 100 >= slept * 95)) 1 "$1: at least 95 % of its sleep is attributed to that: $halted ns of $slept ns" blame.out
	is "$(jq '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length' blame.json)" 0 \
		"$1: the causes of each exit add up to it" blame.out
}

plan 8
check "halted in KVM" kvm
check "halted in QEMU" kvm,kernel-irqchip=off
finish
