#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A VM of 64 vCPUs, recorded from its first instruction: the accesses of each.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

VCPUS=64
EACH=300

# per_vcpu FIELD TRACE: "N x COUNT": this many values of the event's field have so many accesses
per_vcpu() {
	"$HOSTRACE" list -f csv -i "$2" --event kvm_pio 2>list.err |
		awk -F, -v field="$1" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n[$at[field]]++ }
			END { for (k in n) print n[k] }' | sort -n | uniq -c | awk '{ print $1 " x " $2 }' | xargs
}

plan 8
guest_ram many
guest_set many GUEST_LIMIT $EACH
guest_set many GUEST_START_OTHERS 1
guest_set many GUEST_GO 1
export -f guest_qemu
export BUILD RAM_BYTES
record_start -o many.hrt --buffer 64M -- bash -c 'guest_qemu many -smp 64'
guest_until many GUEST_ENDED $VCPUS
is $? 0 "all vCPUs did their work" many/qemu.err
is "$(guest_counts many | tr ' ' '\n' | sort | uniq -c | xargs)" "$VCPUS $EACH" "... all of it"
vm=$(cat many/pid)
qmp many quit >/dev/null
wait "$recorder_waiter"
is $? 0 "the recording ends with the VM" record.err
is "$(accesses many many.hrt) $(lost many.hrt kvm_pio)" "$((VCPUS * EACH)) 0" "every access is recorded"
is "$(per_vcpu vcpu many.hrt)" "$VCPUS x $EACH" "the accesses of each vCPU" list.err
is "$(per_vcpu tid many.hrt)" "$VCPUS x $EACH" "the accesses of each thread" list.err
is "$("$HOSTRACE" info -f json -i many.hrt | jq -c '.result.vms[] | [.vcpus, (.vcpu_threads | map(.tid) | unique | length)]')" \
	"[$VCPUS,$VCPUS]" "the file has $VCPUS vCPUs and their threads"
is "$("$HOSTRACE" info -f json -i many.hrt | jq -c '[.result.clocks[].vcpus[].vcpu] | length')" $VCPUS "... and their TSC offsets"
finish
