#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# --cost counts every run of a probe; --budget drops the most expensive events and records this in the file.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
vmloop=$BUILD/tests/bench/vmloop
live_build "$vmloop"

plan 13
for bad in 0 101% x 1%%; do
	timeout 200 "$HOSTRACE" record --budget $bad -o bad.hrt -- true 2> err
	is "$? $(grep -c 'share of the VM' err)" "2 1" "--budget $bad is no share" err
done

vmm_start 1300
record_start --vm "$vmm" --events kvm_pio --cost -o cost.hrt
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err
wait "$recorder_waiter"
is "$? $(grep -c 'cost: the probes took' record.err)" "0 1" "the cost is printed at the end" record.err
"$HOSTRACE" info -f json -i cost.hrt > info.json
calls=$(jq '.result.cost.probes[] | select(.event == "kvm_pio") | .calls' info.json)
is "$([ "${calls:-0}" -ge 1301 ] && echo all)" all "kvm_pio's program ran for each access" info.json

# Exceeds every budget until its events are dropped.
"$vmloop" user 100000 100000 < /dev/null > loop.out 2> loop.err &
loop=$!
record_start --vm "$loop" --events kvm_pio --budget 0.01% -o budget.hrt
until_line 'dropped at .* kvm_pio' record.err
is $? 0 "kvm_pio is dropped" record.err
sleep 4
end=$(awk '{ printf "%d", $1 * 1000 }' /proc/uptime)000000
kill "$loop"
wait "$recorder_waiter"
is "$? $(ended budget.hrt)" "0 VM ended" "the recording went on" record.err
"$HOSTRACE" info -f json -i budget.hrt > info.json
is "$(jq '.result.cost | .ns > 0 and .vm_cpu_ns > 0 and .share_percent > 0' info.json)" true \
	"the probes took some of the VM's time" info.json
at=$(jq '.result.budget.dropped[0].time_ns' info.json)
is "$("$HOSTRACE" list -f json -i budget.hrt --event probe_dropped |
	jq -c '.rows[] | [.time_ns, .fields.dropped_event]')" "[$at,\"kvm_pio\"]" "when it was stands in the file" info.json
last=$("$HOSTRACE" list -f json -i budget.hrt --event kvm_pio | jq -s '[.[].rows[].time_ns] | max')
# The probes are detached a little later, which a busy host may delay.
echo "# dropped at $at ns, the newest is of $last ns, the VM ended at $end ns"
is "$(awk "BEGIN { print ($last < ($at + $end) / 2) }")" 1 "soon nothing of it is younger" info.json
"$HOSTRACE" ports -f json -i budget.hrt > ports.json
is "$(jq '[.caveats[] | select(test("not recorded after .* kvm_pio; the budget of 0.01 %"))] | length' ports.json)" 1 \
	"a report says what it lacks" ports.json
finish
