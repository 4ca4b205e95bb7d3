#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace mark: notes, pauses by the command and by SIGUSR2; no span is measured over a pause.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
# Recorders are found by sockets of the network namespace: other tests record beside this one.
[ "$(id -u)" != 0 ] || [ "${OWN_NETWORK:-}" = 1 ] || OWN_NETWORK=1 exec unshare --net bash "$0"
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools jq

mark() {
	timeout 100 "$HOSTRACE" mark "$@" 2>mark.err
}

# listed EVENT FILE: its first one, by jq's filter in $3
listed() {
	"$HOSTRACE" list -f json --event "$1" -i "$2" | jq -r "[.rows[] | select(.event == \"$1\")] | $3" 2>&1
}

plan 25

mark early
is "$? $(grep -c 'no recording is running' mark.err)" "1 1" "nothing to mark" mark.err

# One access takes 300 ms: the pause begins and ends within it.
vmm_options="slow=100 pause=300" vmm_start 500
record_start --vm "$vmm" -o mark.hrt
mark "the guest begins"
is $? 0 "a note" mark.err
is "$(grep -cE 'marked at [0-9.]+ s of the recording to mark.hrt' mark.err)" 1 "... and where it is" mark.err
vmm_go
until_line '^outb ' vmm.out
mark --pause
is $? 0 "a pause" mark.err
mark --pause
is "$? $(grep -c 'paused already' mark.err)" "1 1" "... is not begun twice" mark.err
kill -s USR2 "$recorder"
until_line 'resumed at' record.err
is $? 0 "SIGUSR2 ends it" record.err
mark --resume
is "$? $(grep -c 'not paused' mark.err)" "1 1" "... and it is not ended twice" mark.err
mark "$(printf 'tab\there \033[31m')"
is $? 0 "a note with control characters" mark.err
kill -s INT "$recorder"
wait "$recorder_waiter"
is $? 0 "the recording ends" record.err
is "$(grep -c '^hostrace: marks: 2$' record.err)" 1 "its summary has the notes" record.err
is "$(grep -c 'paused 1 time; ' record.err)" 1 "... and the pause" record.err
is "$(listed mark mark.hrt '.[0].fields.text')" "the guest begins" "the note is in the recording"
is "$(listed mark mark.hrt length)" 2 "... and the other one"
is "$("$HOSTRACE" list --event mark -i mark.hrt | grep -c "$(printf '\033')")" 0 "... which does not reach a terminal"
pause=$(listed pause mark.hrt '.[0].time_ns')
resume=$(listed resume mark.hrt '.[0].time_ns')
is "$(listed resume mark.hrt '.[0].fields.paused_ns')" "$((resume - pause))" "the pause has its length"
is "$("$HOSTRACE" list -f json -i mark.hrt | jq "[.rows[] | select(.event | startswith(\"kvm_\")) | select(.time_ns >= $pause and .time_ns < $resume)] | length")" \
	0 "no event is recorded within it"
is "$("$HOSTRACE" info -i mark.hrt | tr '\n' ' ' | grep -cE 'was paused 1 time, for [0-9.]+ s')" 1 "reports say so"
vmm_end
is $? 0 "the VM did all its work" vmm.err

# A span over a pause: the guest waits for its go in an exit that the pause is within.
vmm_options="" vmm_start 300
record_start --vm "$vmm" -o span.hrt -e kvm,sched
mark --pause
vmm_go
until_line '^outb ' vmm.out
mark --resume
mark --pause
kill -s INT "$recorder"
wait "$recorder_waiter"
is $? 0 "a recording that ends while it is paused" record.err
is "$(events kvm_pio span.hrt)" 0 "... has no event of its pauses" record.err
dropped=$("$HOSTRACE" info -f json -i span.hrt | jq -r '.. | strings' | sed -n 's/.*: \([0-9]*\) events of these times.*/\1/p' | head -n 1)
is "$([ "${dropped:-0}" -ge 900 ] && echo counted)" counted "... but their number" record.err

# two recordings
record_start --vm "$vmm" -o one.hrt
one=$recorder one_waiter=$recorder_waiter
record_start --vm "$vmm" -o two.hrt
mark which
is "$? $(grep -c '2 recordings are running' mark.err)" "1 1" "one of two recordings" mark.err
mark --pid "$one" this
is $? 0 "... is selected by its process" mark.err
kill -s INT "$one" "$recorder"
wait "$one_waiter" "$recorder_waiter"
is "$(listed mark one.hrt length) $(listed mark two.hrt length)" "1 0" "... and marked alone"
mark --pid "$$" nobody
is "$? $(grep -c 'is not recording here' mark.err)" "1 1" "a process that does not record" mark.err
vmm_end
finish
