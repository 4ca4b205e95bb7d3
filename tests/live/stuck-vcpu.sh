#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where a vCPU is that hangs with interrupts disabled, and the interrupt that it does not take, as KVM has them. And VMs
# that QEMU has paused, and that it has not started.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq socat
# shellcheck disable=SC2034 # for vm_start
stuck_guest=$BUILD/virtioguest.elf
function=spin
grep -q '^flags.* vmx' /proc/cpuinfo && function=null # KVM has not read it from the VMCS

plan 10
vm_start "pending=81"
until_true grep -q spins console.txt
# The vCPU may get no CPU for a while.
spins() {
	stuck --interval 300ms --symbols "$stuck_guest" && [ "$(kinds)" = interrupt-not-taken ]
}
checked() {
	"$HOSTRACE" stuck --vm "$vm" --interval 300ms --check --min-age 100ms > text
	[ $? = 3 ]
}
until_true spins
is "$(text_of interrupt-not-taken)" "vCPU 0 has not taken interrupt vector 81, which its local APIC holds: its interrupts are disabled \
(RFLAGS.IF)" "an interrupt that is not taken" stuck.json
is "$(jq -c '[.vcpus[] | [.vcpu, .function, .pending_vectors, .serviced_vectors]]' stuck.json | tr -d '"')" "[[0,$function,[81],[]]]" \
	"... and where the vCPU is" stuck.json
is "$(kinds)" interrupt-not-taken "... is the only finding" stuck.json
until_true checked
is $? 0 "--check: status 3" text
is "$(grep -cE '^ *[0-9]+ vcpu 0 .* 81 +(0x|-)' text) $(awk 'length > 80' text | wc -l)" "1 0" "as text of 80 columns" text
vm_end

vm_start "pending=81 tpr=96"
until_true grep -q spins console.txt
until_true spins
is "$(text_of interrupt-not-taken)" "vCPU 0 has not taken interrupt vector 81, which its local APIC holds: its TPR, 0x60, masks it" \
	"an interrupt that the task priority masks" stuck.json
vm_end

vm_start "pending=81" -qmp unix:qmp,server=on,wait=off
until_true grep -q spins console.txt
qmp '{"execute":"stop"}' > qmp.out 2>&1
until_true has paused
is $? 0 "a VM that QEMU has paused" qmp.out
is "$(kinds) $(jq -c '[.vcpus[].where]' stuck.json)" 'paused ["userspace"]' "... is the only finding" stuck.json
vm_end

vm_start "pending=81" -S -qmp unix:qmp,server=on,wait=off
until_true is_up
stuck --interval 100ms
is "$(kinds) $(text_of paused | sed 's/ since.*//')" "paused No vCPU has entered KVM_RUN" "a VM that was not started" stuck.json
"$HOSTRACE" diagnose --vm "$vm" -d 1s -q -f json > diagnose.json 2> diagnose.err
is "$? $(jq -r '.result.causes[0].id' diagnose.json)" "3 vm-stopped" "... diagnose says so" diagnose.err
vm_end
finish
