#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A guest that does nothing: hostrace blame attributes the time to its halts. QEMU handles them itself here
# (kernel-irqchip=off), so that this host's KVM, which may have no kvm_exit, reports them.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
guest=blameguest-idle
accel=kvm,kernel-irqchip=off
. "$ROOT/tests/live/blame-lib.inc"

plan 4
vm_start
record_start
sleep 3
record_stop
is $? 0 "recorded" record.err
vm_stop
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
"$HOSTRACE" blame -i trace.hrt -f json --limit 10000 >blame.json
is "$(jq -r '.causes[0].cause' blame.json)" halted "halted is the largest cause" blame.out
is "$(jq '[.causes[] | select(.cause == "halted") | .time_ns] | add >= 3e9 * 0.95' blame.json)" true \
	"it is at least 95 % of the time" blame.out
is "$(jq '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length' blame.json)" 0 \
	"the causes of each exit add up to it" blame.out
finish
