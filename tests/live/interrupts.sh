#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace interrupts, of a guest with a known number of timer interrupts and interrupts to itself, which measures how
# late its timer is.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq
live_build "$BUILD/irqguest.elf"

# report FIELDS [OPTION...]: of the rows
report() {
	fields=$1
	shift
	"$HOSTRACE" interrupts -i trace.hrt -f json "$@" 2>report.err | jq -r "$fields"
}

plan 7
mkfifo monitor.in
timeout -s KILL 200 "$HOSTRACE" record -q -o trace.hrt --for interrupts -- timeout -s KILL 200 qemu-system-x86_64 \
	-name interrupts,debug-threads=on -accel kvm -m 32 -nodefaults -display none -serial none \
	-kernel "$BUILD/irqguest.elf" -chardev file,path=guest.out,id=console -device isa-debugcon,chardev=console \
	-monitor stdio <monitor.in >record.out 2>&1 &
recorder=$!
exec 4>monitor.in
until_line 'D' guest.out || bail "the guest did not end: $(cat record.out guest.out)"
sleep .2
echo quit >&4
exec 4>&-
wait $recorder
is $? 0 "recorded" record.out
"$HOSTRACE" interrupts -i trace.hrt >interrupts.out 2>&1
"$HOSTRACE" interrupts -i trace.hrt --timers >>interrupts.out 2>&1
is "$(report '.rows[] | select(.vector == 64) | "\(.vcpu) \(.source) \(.accepted) \(.from_timer) \(.eois)"')" \
	"0 timer 200 200 200" "the timer's interrupts" interrupts.out
is "$(report '.rows[] | select(.vector == 65) | "\(.vcpu) \(.source) \(.accepted) \(.from_ipi) \(.eois)"')" \
	"0 ipi 100 100 100" "those that the guest sent itself" interrupts.out
is "$(report '[.rows[] | select(.vector == 64 or .vector == 65) | .total_p50_ns < .total_max_ns] | all')" true \
	"latencies of both" interrupts.out
is "$(report '.rows[] | "\(.vector) \(.count) \(.unknown)"' --timers)" "64 200 0" "the timer: each has a deadline" interrupts.out
# The guest's sum also contains the 200 * 2 ms, and for each the way into the guest's handler.
khz=$("$HOSTRACE" info -i trace.hrt -f json | jq '.result.clocks[0].tsc_khz | floor')
ticks=$((0x$(sed 's/.*R\([0-9a-f]*\)D.*/\1/' guest.out)))
guest=$((ticks * 1000000 / khz - 400000000))
host=$(report '.rows[].accept_total_ns' --timers)
# The latter takes as long as the host gives the vCPU no CPU; it ends before the EOI.
"$HOSTRACE" list -i trace.hrt --event kvm_apic_accept_irq,kvm_eoi --limit 0 -f json >eois.json
handled=$(jq 'reduce (.rows[] | select(.fields.vector == 64)) as $e ({};
	if $e.event == "kvm_eoi" then .sum += $e.time_ns - (.at // $e.time_ns) | .at = null else .at = $e.time_ns end) | .sum' eois.json)
echo "# late by $guest ns in the guest, by $host ns on the host and then $handled ns until the EOIs"
is $((host > 0 && host <= guest)) 1 "it is late by no more than the guest finds" interrupts.out
is $((guest - host - handled < 200 * 100000 + guest / 5)) 1 "and nearly by as much" interrupts.out
finish
