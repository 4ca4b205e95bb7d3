#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Slow devices: hostrace blame names their ports. One works: its time is compared with the thread's CPU time as the kernel
# counts it (schedstat). The other one sleeps: the debug console, while nobody reads its FIFO, which is full.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
guest=blameguest-slow
. "$ROOT/tests/live/blame-lib.inc"

# The vCPU sleeps again and again: its console's FIFO is full.
fills() {
	slept=0
	for _ in $(seq 3000); do
		case $(cat "/proc/$vm/task/$vcpu/syscall") in 230*) slept=$((slept + 1)) ;; esac
		[ $slept -lt 5 ] || return 0
		sleep 0.01
	done
	return 1
}

plan 8
vm_start
record_start
before=$(scheduled 1)
sleep 3
after=$(scheduled 1)
record_stop
is $? 0 "busy device: recorded" record.err
vm_stop
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
"$HOSTRACE" blame -i trace.hrt -f json >blame.json
is "$(jq -r '[.causes[] | select(.cause != "preempted" and .cause != "runqueue")][0] | .cause + " " + .what' blame.json)" \
	"device port 0x71 (CMOS clock)" "but for the host's other tasks its port is the largest cause" blame.out
busy=$(blame_ns '.cause == "device" and .what == "port 0x71 (CMOS clock)"')
counted=$((after - before))
echo "# its time is $busy ns, the CPU time of the thread $counted ns"
is $((busy * 100 >= counted * 80)) 1 "its time is at least 80 % of the CPU time of the thread, the rest is KVM's and the guest's" blame.out

guest=blameguest-write
console=file,path=console
mkfifo console
cat console >guest.out &
reader=$!
exec 5<>console
vm_start
kill $reader
fills || bail "the guest does not wait for its console"
record_start
for _ in 1 2 3 4; do # the first wait began before the recording
	sleep .5
	dd bs=4096 count=1 <&5 >/dev/null 2>&1
	fills || bail "the guest does not fill its console again"
done
record_stop
is $? 0 "device that sleeps: recorded" record.err
kill -KILL "$vm" # it cannot end itself while the vCPU waits with the mutex held
vm_stop 2>/dev/null
"$HOSTRACE" blame -i trace.hrt --min-latency 500ms >blame.out 2>&1
"$HOSTRACE" blame -i trace.hrt --min-latency 500ms -f json >blame.json
is "$(jq '[.rows[] | select(.causes.syscall > 0)] | length' blame.json)" 3 "the long exits that sleep are those while nobody read" blame.out
is "$(jq '.totals.time_ns >= 3 * 0.5e9' blame.json)" true "they took at least as long as nobody read" blame.out
is "$(jq -r '[.causes[] | select(.cause | IN("device", "preempted", "runqueue") | not)][0] | .cause + " " + .what' blame.json)" \
	"syscall clock_nanosleep, port 0xe9 (debug console)" \
	"but for the host's other tasks they mostly wait as QEMU sleeps for the port" blame.out
named=$(blame_ns '.what | endswith("port 0xe9 (debug console)")')
others=$(blame_ns '.cause == "preempted" or .cause == "runqueue"')
total=$(jq '.totals.time_ns' blame.json)
echo "# $named of $total ns are attributed to the port, other tasks had $others ns"
is $((named * 100 >= (total - others) * 95)) 1 "at least 95 % of it is attributed to the port" blame.out
finish
