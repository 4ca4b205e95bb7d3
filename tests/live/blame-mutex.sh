#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A guest that needs QEMU's global mutex for every exit, while the main thread holds it for 5 ms or more every 100 ms: its
# monitor saves memory to a FIFO that is opened for reading that much later. hostrace blame attributes this time to the mutex, with
# the main thread as its holder and what that one sleeps in.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"

HOLDS=40
HOLD=.005

# The main thread waits in open(2) of the FIFO, and the vCPU for the mutex.
both_wait() {
	until_line '^257 ' "/proc/$vm/task/$vm/syscall" && until_line '^202 ' "/proc/$vm/task/$vcpu/syscall"
}

plan 8
vm_start
mkfifo memory.out
record_start
taken=$(stolen)
held=0
for _ in $(seq $HOLDS); do
	echo "pmemsave 0 4096 \"memory.out\"" >&4
	both_wait || break
	sleep $HOLD
	cat memory.out >/dev/null
	held=$((held + 1))
	sleep .1
done
record_stop
taken=$(($(stolen) - taken + 10000000))
vm_stop
is $held $HOLDS "the main thread held the mutex $HOLDS times" qemu.out
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
is $? 0 "hostrace blame" blame.out

# When the main thread slept in openat, as the kernel's scheduler says, and when the vCPU only lacked a CPU meanwhile
"$HOSTRACE" list -i trace.hrt --event sched_switch,sched_block,sched_woken -f json | jq --argjson main "$vm" '
	reduce .rows[] as $e ({holds: []};
		if $e.event == "sched_block" then
			if $e.tid == $main and ($e.fields.syscall | tostring) == "257" then .since = .left else . end
		elif $e.fields.prev_tid == $main then .left = $e.time_ns | .since = null
		elif $e.event == "sched_woken" and $e.tid == $main and .since then .holds += [[.since, $e.time_ns]] | .since = null
		else . end) | .holds' >holds.json
thread_waits trace.hrt "$vcpu" >waits.json
injected=$(jq --slurpfile waits waits.json '
	map(. as [$a, $b] | $b - $a - ([$waits[0][] | [([.[1], $b] | min) - ([.[0], $a] | max), 0] | max] | add // 0)) |
	add // 0' holds.json)
is "$(jq 'length >= '$HOLDS' and (map(.[1] - .[0]) | add) >= 5e6 * '$HOLDS holds.json)" true \
	"it slept there, for at least 5 ms each" holds.json
"$HOSTRACE" blame -i trace.hrt -f json >blame.json
named=$(jq "[.causes[] | select(.cause == \"global-mutex\" and .tid == $vm and (.what | endswith(\"in openat\"))) | .time_ns] |
	add // 0" blame.json)
echo "# the vCPU could have run for $injected ns of them; $named ns are the main thread's sleep in openat; $taken ns were stolen"
# A vCPU whose CPU is stolen does not yet ask for the mutex.
is $((injected > 0 && (named + taken) * 100 >= injected * 95 && named * 100 <= injected * 105)) 1 \
	"while it could have run, the vCPU waited for the main thread's sleep in openat" blame.out
# It is an injected cause; the tasks that this host runs besides are not.
is "$(jq -r '[.causes[] | select(.cause | IN("device", "signal", "preempted", "runqueue") | not)][0].cause' blame.json)" \
	global-mutex "but for the host's other tasks it is the largest wait" blame.out
"$HOSTRACE" blame -i trace.hrt --limit 5000 -f json >all.json
jq '[.rows[].parts[] | select(.cause == "global-mutex" and (.what | endswith("in openat")) and .duration_ns >= 4e6)]' \
	all.json >slow.json
is "$(jq "length > $HOLDS / 2 and (map(.tid == $vm) | all)" slow.json)" true \
	"the exits that it delayed name the main thread as holder" slow.json
known=$(jq '[.[] | select((.stack // []) | index("qmp_pmemsave"))] | length' slow.json)
all=$(jq length slow.json)
echo "# $known of $all have the stack"
is $((known * 10 >= all * 9)) 1 "... and its stack what it did" slow.json
jq -r '.rows[] | select(.latency_ns != ([.causes[]] | add))' all.json >wrong.out
is "$(wc -l <wrong.out)" 0 "the causes of each exit add up to it" wrong.out
finish
