#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The holder of the global mutex as it is known from the scheduler's events, compared with probes of each lock and unlock
# (record --exact): the same recording, with and without the events of these probes.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"

# ns_of FILE JQ: the time of the causes that it selects
ns_of() {
	jq "[.causes[] | select($2) | .time_ns] | add // 0" "$1"
}

# apart A B: the difference in percent of A
apart() {
	echo $((($1 > $2 ? $1 - $2 : $2 - $1) * 100 / ($1 + 1)))
}

plan 8
vm_start
storm 12
timeout -s KILL 200 "$HOSTRACE" record -q --vm "$vm" -d 5s -o trace.hrt --for blame --exact 2>record.err
is $? 0 "recorded" record.err
vm_stop
"$HOSTRACE" info -i trace.hrt -f json >info.json
is "$(jq '.result.events.bql_locked > 1000 and .result.events.bql_unlock > 1000' info.json)" true "the probes were hit" info.json
"$HOSTRACE" export text -i trace.hrt -o all.txt 2>record.err && grep -v '^[0-9.]* bql_' all.txt >less.txt &&
	"$HOSTRACE" import -q less.txt -o less.hrt 2>>record.err
is $? 0 "the same recording without their events" record.err
"$HOSTRACE" blame -i trace.hrt -f json >exact.json
"$HOSTRACE" blame -i less.hrt -f json >sched.json
mutex='.cause == "global-mutex" or .cause == "handover"'
main='.cause == "global-mutex" and .tid == '$vm
exact=$(ns_of exact.json "$mutex")
sched=$(ns_of sched.json "$mutex")
is $((exact > 10000000)) 1 "the vCPU waited for the mutex ($exact ns)" exact.json
is $(($(apart "$exact" "$sched") <= 1)) 1 "both ways find that it waited as long ($sched ns without the probes)"
exact=$(ns_of exact.json "$main")
sched=$(ns_of sched.json "$main")
is $((exact > 10000000)) 1 "mostly for the main thread ($exact ns)" exact.json
is $(($(apart "$exact" "$sched") <= 20)) 1 "the time that the main thread held it differs by at most 20 % ($sched ns)"
others=$(ns_of sched.json '.cause == "global-mutex" and .tid and .tid != '"$vm")
is $((others * 100 <= sched)) 1 "without the probes, less than 1 % of it has another holder ($others ns)"
finish
