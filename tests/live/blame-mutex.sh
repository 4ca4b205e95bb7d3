#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A guest that needs QEMU's global mutex for every exit, while the main thread holds it for known times: its monitor
# saves memory to a FIFO that is not opened for reading until it has waited for HOLD seconds. hostrace blame attributes
# this time to the mutex, with the main thread as its holder and what that one sleeps in.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"

HOLDS=5
HOLD=0.2
injected=1000000000 # ns: HOLDS * HOLD, a lower bound, since the wait begins before and ends after the sleep

# The main thread waits in open(2) of the FIFO: then its time is counted.
waits_for_reader() {
	for _ in $(seq 1000); do
		grep -q '^257 ' "/proc/$vm/task/$vm/syscall" 2>/dev/null && return
		sleep 0.01
	done
	return 1
}

plan 8
vm_start
mkfifo memory.out
timeout -s KILL 60 "$HOSTRACE" record --vm "$vm" -o trace.hrt --for blame 2>record.err &
recorder=$!
until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
held=0
for _ in $(seq $HOLDS); do
	echo "pmemsave 0 4096 \"memory.out\"" >&4
	waits_for_reader || break
	sleep $HOLD
	cat memory.out >/dev/null
	held=$((held + 1))
done
kill -INT "$(pgrep -P $recorder | head -n 1)"
wait $recorder
vm_stop
is $held $HOLDS "the main thread held the mutex $HOLDS times for $HOLD s" qemu.out
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
is $? 0 "hostrace blame" blame.out
# On a loaded host others are long as well: for want of a CPU.
"$HOSTRACE" blame -i trace.hrt --min-latency 50ms -f json |
	jq '.rows |= map(select(.causes["global-mutex"] >= 150000000))' >slow.json
is "$(jq '[.rows[] | select(.holder.tid == '"$vm"')] | length' slow.json)" $HOLDS \
	"the long exits are those, and name the main thread as holder" blame.out
is "$(jq '[.rows[] | select(.holder.stack | index("qmp_pmemsave"))] | length' slow.json)" $HOLDS \
	"... and its stack what it did" slow.json
"$HOSTRACE" blame -i trace.hrt -f json >blame.json
is "$(jq '[.causes[] | select(.cause == "global-mutex" and .tid == '"$vm"' and (.what | endswith("in openat"))) | .time_ns] |
	add >= '$injected' * 0.95' blame.json)" true "at least 95 % of the injected time is its sleep in openat" blame.out
is "$(jq '[.rows[] | .causes["global-mutex"] * 100 >= (.latency_ns - .causes.runqueue - .causes.preempted) * 95] | all' \
	slow.json)" true "the mutex is 95 % of each of them, without the host's other tasks" slow.json
# It is an injected cause; the tasks that this host runs besides are not.
is "$(jq -r '[.causes[] | select(.cause | IN("device", "signal", "preempted", "runqueue") | not)][0].cause' \
	blame.json)" global-mutex "but for the host's other tasks it is the largest wait" blame.out
"$HOSTRACE" blame -i trace.hrt --limit 5000 -f json |
	jq -r '.rows[] | select(.latency_ns != ([.causes[]] | add))' >wrong.out
is "$(wc -l <wrong.out)" 0 "the causes of each exit add up to it" wrong.out
finish
