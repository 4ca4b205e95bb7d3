#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The report on a dump has the call stack of the culprit's thread: a vCPU waits in QEMU, with the global mutex held, until
# somebody reads its debug console's FIFO.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
guest=blameguest-write
console=file,path=console
. "$ROOT/tests/live/blame-lib.inc"

plan 3
mkfifo console
cat console >guest.out &
reader=$!
exec 5<>console
vm_start
timeout -s KILL 240 "$HOSTRACE" record --vm "$vm" -o held.hrt --ring 16M --trigger 'exit-latency>700ms' --after 0s --keep 50 2>record.err &
until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
kill $reader
until_line '; dump: held-exit-latency-' record.err
is $? 0 "a vCPU that waits in QEMU triggers" record.err
# functions: of QEMU in which it waits
functions() {
	sed -n '/^stack of its thread/,/^[^ ]/p' report.txt | grep -cx '  \(qemu_chr_[a-z_]*\|kvm_cpu_exec\|address_space_[a-z_]*\)'
}

# On a machine that does other work another exit may be as slow, and have a report before.
for _ in $(seq 1200); do
	cat $(grep -l "^stack of its thread (tid $vcpu)" held-exit-latency-*.txt | tail -n 1) /dev/null >report.txt
	[ "$(functions)" -lt 2 ] || break
	sleep .1
done
is "$(grep -c "^stack of its thread (tid $vcpu) for [0-9.]*m*s of that time:\$" report.txt)" 1 "the report has its stack" report.txt
is "$(($(functions) >= 2))" 1 "... with the functions of QEMU in which it waits" report.txt
kill -KILL "$vm" # it cannot end itself while the vCPU waits with the mutex held
vm_stop 2>/dev/null
finish
