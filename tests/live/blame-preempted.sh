#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A vCPU thread that shares its CPU with a task that never sleeps: hostrace blame names that task. The kernel's own
# account of the thread's time on the run queue (schedstat) is compared.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"
live_needs_tools taskset

# waited: ns on the run queue so far
waited() {
	cut -d ' ' -f 2 "/proc/$vm/task/$vcpu/schedstat"
}

plan 6
vm_start
for task in /proc/"$vm"/task/*; do
	case $(cat "$task/comm") in "CPU 0/KVM") vcpu=$(basename "$task") ;; esac
done
cp "$(command -v yes)" blamehog
cpu=$(taskset -pc "$vcpu" | sed 's/.*: //; s/[-,].*//')
taskset -pc "$cpu" "$vcpu" >taskset.out 2>&1
timeout 60 taskset -c "$cpu" nice -n -15 ./blamehog >/dev/null & # stronger than what else runs here
hog=$!
timeout -s KILL 60 "$HOSTRACE" record --vm "$vm" -o trace.hrt --for blame 2>record.err &
recorder=$!
until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
before=$(waited)
sleep 4
after=$(waited)
kill -INT "$(pgrep -P $recorder | head -n 1)"
wait $recorder
is $? 0 "recorded" record.err
kill $hog
vm_stop
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
is $? 0 "hostrace blame" blame.out
"$HOSTRACE" blame -i trace.hrt -f json >blame.json
# Who wakes up and then waits lost its CPU to the hog as well.
waits='[.causes[] | select(.cause == "preempted" or .cause == "runqueue")]'
is "$(jq -r "$waits"' | group_by(.comm) | map({comm: .[0].comm, ns: ([.[].time_ns] | add)}) | max_by(.ns).comm' blame.json)" \
	blamehog "the task that ran instead is the hog" blame.out
is "$(jq -r '[.causes[] | select(.cause | IN("device", "signal", "kernel") | not)][0] | .cause + " " + .comm' blame.json)" \
	"preempted blamehog" "it is the largest wait" blame.out
# All waits of the thread, in exits and between them, contain what the kernel counted while it was recorded, but for those
# that lasted longer than that time.
all=$("$HOSTRACE" summary sched-out -i trace.hrt -f json |
	jq "[.rows[] | select(.tid == $vcpu and .prev_state == \"0x0\") | .total_ns] | add")
counted=$((after - before))
is $((all * 100 >= counted * 95)) 1 "all its waits ($all ns) are at least 95 % of what the kernel counted ($counted ns)"
sum=$(jq "$waits"' | [.[].time_ns] | add' blame.json)
is $((sum > 0 && sum <= all * 105 / 100)) 1 "those in exits ($sum ns) are no more than that"
finish
