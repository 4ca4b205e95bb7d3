#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A VM that is paused, continued, suspended to RAM and woken up while it is recorded: every access is in the file.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

state() {
	qmp paused query-status | jq -r .status
}

plan 10
guest_start paused
record_start --vm "$vm" -o paused.hrt --buffer 64M
guest_set paused GUEST_GO 1
guest_wait paused 500
for pause in .1 1 2; do
	qmp paused stop >/dev/null
	is "$(state)" paused "paused by the monitor for $pause s"
	sleep $pause
	qmp paused cont >/dev/null
	guest_wait paused 500
done
guest_set paused GUEST_SUSPEND 1
for _ in $(seq 1200); do
	[ "$(state)" = suspended ] && break
	sleep .05
done
is "$(state)" suspended "suspended to RAM by the guest"
sleep 1
qmp paused system_wakeup >/dev/null
guest_until paused GUEST_BEGUN 2
is $? 0 "woken up, it boots again"
sleep 1
# The interrupted boot does not end its work: only the second one does.
guest_set paused GUEST_STOP 1
guest_until paused GUEST_ENDED 1
counts=$(guest_counts paused)
kill "$recorder"
wait "$recorder_waiter"
is $? 0 "the recording ends" record.err
echo "# accesses before and after it was suspended: $counts"
lost=$(lost paused.hrt kvm_pio)
is $(($(accesses "$vm" paused.hrt) + lost)) "$((${counts/ / + }))" "every access of both boots is recorded, or counted as lost" record.err
is $((lost * 2 <= ${counts/ / + })) 1 "... most are recorded ($lost were lost)"
# The time while it is paused is none of the previous access.
exits=$("$HOSTRACE" list --wide -i paused.hrt --event kvm_userspace_exit 2>list.err | grep -c 'KVM_EXIT_IO ')
done=$(($(events kvm_pio paused.hrt) + lost))
is $((exits <= done && exits + $(lost paused.hrt kvm_userspace_exit) >= done)) 1 "an exit for each access, and no more" list.err
is "$("$HOSTRACE" info -f json -i paused.hrt | jq -c '[.result.vms[].vcpu_threads[].index]')" "[0]" "one vCPU"
finish
