#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The holder of the global mutex as it is known from the scheduler's events, compared with probes of each lock and unlock
# (record --exact): the same recording, with and without the events of these probes. The probes see a release when unlock
# is called ("being released"), the scheduler's events when a sleeper is woken: how long that takes depends on the host,
# so what is compared are the times until the sleeper was woken.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"

# ns_of FILE JQ: the time of the causes that it selects
ns_of() {
	jq "[.causes[] | select($2) | .time_ns] | add // 0" "$1"
}

# close_to EXACT SCHED PERCENT: 1 if they differ by at most so much of all waits
close_to() {
	echo $((($1 > $2 ? $1 - $2 : $2 - $1) * 100 <= waits * $3))
}

plan 9
vm_start
storm 400
record_start --exact
sleep 3
until_slept 100
is $? 0 "the vCPU slept" record.err
record_stop
is $? 0 "recorded" record.err
vm_stop
"$HOSTRACE" info -i trace.hrt -f json >info.json
is "$(jq '.result.events.bql_locked > 1000 and .result.events.bql_unlock > 1000' info.json)" true "the probes were hit" info.json
"$HOSTRACE" export text -i trace.hrt -o all.txt 2>record.err && grep -v '^[0-9.]* bql_' all.txt >less.txt &&
	"$HOSTRACE" import -q less.txt -o less.hrt 2>>record.err
is $? 0 "the same recording without their events" record.err
"$HOSTRACE" blame -i trace.hrt -f json >exact.json
"$HOSTRACE" blame -i less.hrt -f json >sched.json
for f in exact sched; do
	echo "# $f:"
	jq -c '.causes[] | select(.cause == "global-mutex" or .cause == "handover")' $f.json | sed 's/^/# /'
done | tee parts.out
mutex='.cause == "global-mutex" or .cause == "handover"'
main='.cause == "global-mutex" and (.tid == '$vm' or .what == "being released")'
others='.cause == "global-mutex" and .tid and .tid != '$vm
waits=$(ns_of exact.json "$mutex")
is $((waits > 10000000)) 1 "it waited for the mutex" parts.out
is "$(close_to "$waits" "$(ns_of sched.json "$mutex")" 1)" 1 "both ways find that it waited as long"
exact=$(ns_of exact.json "$main")
is $((exact * 2 > waits)) 1 "mostly for the main thread" parts.out
is "$(close_to "$exact" "$(ns_of sched.json "$main")" 5)" 1 "... which held or released it as long, within 5 % of all waits"
is "$(close_to "$(ns_of exact.json "$others")" "$(ns_of sched.json "$others")" 1)" 1 "... and other threads, within 1 %"
finish
