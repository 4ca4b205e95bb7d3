#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --stop-on: a span that becomes too long, and the first event of a type, end the recording.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools jq

plan 18

vmm_options="slow=1000 pause=300" vmm_start 3000
record_start --vm "$vmm" -o span.hrt --stop-on 'userspace-exit>200ms'
vmm_go
wait "$recorder_waiter"
is $? 0 "a span that becomes too long ends the recording" record.err
is "$("$HOSTRACE" info -f json -i span.hrt | jq -r .result.end)" "--stop-on userspace-exit>200ms" "... and the file says so"
is "$(grep -c "stopped on userspace-exit>200ms: 2[0-9][0-9].* from .*pid $vmm," record.err)" 1 "... and the summary which" record.err
is "$([ "$(events kvm_pio span.hrt)" -ge 999 ] && echo all)" all "... with what came before" record.err
is "$([ "$(events kvm_pio span.hrt)" -lt 2000 ] && echo part)" part "... and not the rest"
vmm_end
is $? 0 "... and the VM did all its work" vmm.err

vmm_start 500
record_start --vm "$vmm" -o event.hrt --stop-on kvm_hypercall --stop-on kvm_pio
vmm_go
wait "$recorder_waiter"
is $? 0 "the first event of a type ends the recording" record.err
is "$(ended event.hrt)" "--stop-on kvm_pio" "... and the file says so"
is "$(grep -c "stopped on kvm_pio at .*pid $vmm," record.err)" 1 "... and the summary which" record.err
is "$([ "$(events kvm_pio event.hrt)" -ge 1 ] && echo there)" there "... and the event is in the file"
vmm_end
is $? 0 "... and the VM did all its work" vmm.err

vmm_start 500
record_start --vm "$vmm" -o ring.hrt --ring 1M --stop-on kvm_pio
vmm_go
wait "$recorder_waiter"
is $? 0 "a flight recorder keeps what was before" record.err
is "$([ "$(events kvm_pio ring.hrt)" -ge 1 ] && echo there)" there "... in its file"
"$HOSTRACE" record --vm "$vmm" -o none.hrt --stop-on 'exit-latency>1h' -d 100ms 2>record.err
is $? 0 "a condition that is not met is no failure" record.err
is "$(grep -c 'no condition of --stop-on was met' record.err)" 1 "... but is said" record.err

wrong() {
	timeout 200 "$HOSTRACE" record --vm "$vmm" -o wrong.hrt "$@" 2>wrong.err
}
wrong --stop-on 'exit-latncy>1s'
is "$? $(grep -c -- "--stop-on: unknown condition 'exit-latncy'" wrong.err)" "2 1" "an unknown condition" wrong.err
wrong --stop-on vm-end
is "$? $(grep -c 'ends with its VM anyway' wrong.err)" "2 1" "the VM's end" wrong.err
wrong --stop-on kvm_pio --trigger 'exit-latency>1s'
is "$? $(grep -c 'mutually exclusive' wrong.err)" "2 1" "with --trigger" wrong.err
vmm_end
finish
