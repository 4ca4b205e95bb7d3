#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# resources: cpus
# A vCPU thread that shares its CPU with a task that runs for 60 of 100 ms: hostrace blame names that task. The vCPU
# never sleeps, so it waits whenever the other one runs: how long that was is known from the kernel's own counter.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"
live_needs_tools taskset chrt

# The vCPU has run for 20 ms more: exits from before have ended.
until_ran() {
	local first
	first=$(scheduled 1)
	for _ in $(seq 600); do
		[ $(($(scheduled 1) - first)) -lt 20000000 ] || return 0
		sleep .1
	done
	bail "the vCPU gets no CPU"
}

plan 8
vm_start
cp "$(command -v yes)" blamehog
cpu=$(taskset -pc "$vcpu" | sed 's/.*: //; s/[-,].*//')
taskset -pc "$cpu" "$vcpu" >taskset.out 2>&1
taskset -c "$cpu" ./blamehog >/dev/null &
hog=$!
until_line blamehog "/proc/$hog/comm"
kill -STOP $hog
trap 'kill -KILL $hog "$vm" 2>/dev/null' EXIT
chrt -f -p 1 $hog >taskset.out 2>&1 || bail "no real-time priority: $(cat taskset.out)" # before all that this host runs besides
outside=$(scheduled 1 "$hog")
taken=$(stolen "$cpu")
record_start
until_ran
injected=$(scheduled 1 "$hog")
waited=$(scheduled 2)
for _ in $(seq 40); do
	kill -CONT $hog
	sleep .06
	kill -STOP $hog
	sleep .04
done
injected=$(($(scheduled 1 "$hog") - injected))
waited=$(($(scheduled 2) - waited))
until_ran
record_stop
is $? 0 "recorded" record.err
outside=$(($(scheduled 1 "$hog") - outside))
taken=$(($(stolen "$cpu") - taken + 10000000))
kill -KILL $hog
wait $hog 2>/dev/null
vm_stop
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
is $? 0 "hostrace blame" blame.out
"$HOSTRACE" blame -i trace.hrt -f json --limit 100000 >blame.json
named=$(blame_ns '(.cause == "preempted" or .cause == "runqueue") and .comm == "blamehog"')
# Exits whose switch back is missing (some kernels hide switches of other tasks) are counted, and how long they were at most.
unseen=$(jq '[.caveats[] | capture("switch back .* is missing: .* of at most (?<n>[0-9.]+)(?<unit>[num]?s) in all$") |
	(.n | tonumber) * {ns: 1, us: 1e3, ms: 1e6, s: 1e9}[.unit] | ceil] | add // 0' blame.json)
echo "# the hog ran for $injected ns, around the recording for $outside ns; $named ns are attributed to it;" \
	"exits of at most $unseen ns were dropped; up to $taken ns were stolen"
is $((injected > 0 && (named + unseen) * 100 >= injected * 95)) 1 "at least 95 % of the time that the hog ran is attributed to it" blame.out
is $((named * 100 <= outside * 105 + taken * 100)) 1 "... and no more than it ran" blame.out
is "$(jq -r '[.causes[] | select(.cause == "preempted" or .cause == "runqueue")] | group_by(.comm) |
	map({comm: .[0].comm, ns: ([.[].time_ns] | add)}) | max_by(.ns).comm' blame.json)" \
	blamehog "no other task ran as long instead" blame.out
is "$(jq -r '[.causes[] | select(.cause | IN("device", "signal", "kernel") | not)][0] | .cause + " " + .comm' blame.json)" \
	"preempted blamehog" "it is the largest wait" blame.out
sum=$(blame_ns '.cause == "preempted" or .cause == "runqueue"')
echo "# waits for a CPU: $sum ns, the kernel counted $waited ns"
is $(((sum + unseen) * 100 >= waited * 95)) 1 "all waits for a CPU are at least 95 % of what the kernel counted" blame.out
is "$(jq '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length' blame.json)" 0 \
	"the causes of each exit add up to it" blame.out
finish
