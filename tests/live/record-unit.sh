#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The systemd unit of the flight recorder: its exposure, and that its capabilities suffice to write a dump.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools setpriv strace systemd-analyze
. "$ROOT/tests/live/record-lib.inc"
unit="$ROOT/scripts/hostrace-record@.service"

plan 4
cp "$unit" hostrace-record@x.service
systemd-analyze security --offline=yes --threshold=40 "$PWD/hostrace-record@x.service" >security.out 2>&1
is $? 0 "systemd-analyze security: an exposure of at most 4.0" security.out

bounds=-all$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr -s ' \n' '\n\n' | sed 's/^CAP_/,+/' | tr -d '\n' | tr A-Z a-z)
vmm_start 2000
: >record.err
timeout -s KILL 200 setpriv --bounding-set "$bounds" --inh-caps=-all --no-new-privs strace -f -qq -o calls.strace \
	"$HOSTRACE" record --vm "$vmm" -o unit.hrt --ring 1M --trigger vm-end 2>record.err &
waiter=$!
until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
vmm_go
vmm_end
wait "$waiter"
is $? 0 "with the capabilities of the unit" record.err
is "$(events kvm_pio "$(echo unit-vm-end-*.hrt)")" 2001 "... the dump has all that the VM did" record.err
for set in @mount @swap @reboot @module @raw-io @obsolete @cpu-emulation @clock; do
	systemd-analyze syscall-filter "$set" | sed -n 's/^ \{4\}\([a-z0-9_]*\)$/\1/p'
done | sort -u >calls.denied
is "$(sed 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/' calls.strace | sort -u | comm -12 - calls.denied)" "" \
	"... and no system call that the unit denies" record.err
finish
