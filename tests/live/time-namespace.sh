#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace, or the VM, in a time namespace: the clock of BPF programs is the host's. And recordings without an event.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools unshare jq
unshare -T --monotonic 5 true 2>unshare.err || skip_all "kernel: no time namespaces"

now_ns() {
	python3 -c 'import time; print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))'
}

# in_time SECONDS COMMAND...: in a namespace whose clock is ahead; the process stays the same one
in_time() {
	local ahead=$1
	shift
	exec unshare -T --monotonic "$ahead" -- "$@"
}

plan 26

# record_ahead NAME SECONDS ARGS...: a recording of 100 outb from within such a namespace
record_ahead() {
	local name=$1 ahead=$2
	shift 2
	before=$(now_ns)
	vmm_start 100
	: >record.err
	(in_time "$ahead" timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -o "$name.hrt" "$@" 2>record.err) &
	recorder_waiter=$!
	until_line recording record.err || bail "record did not start: $(cat record.err)"
	vmm_go
	vmm_end
	is $? 0 "$name: the VM did all its work"
	wait "$recorder_waiter"
	is $? 0 "$name: status of the recording" record.err
	is "$(count_port out 0x2f0 "$name.hrt")" 100 "$name: all events" record.err
	"$HOSTRACE" list -f jsonl -i "$name.hrt" 2>list.err |
		jq -s --argjson from "$before" --argjson to "$(now_ns)" '[map(.time_ns // empty) | (min >= $from, max <= $to)] | all' >times
	is "$(cat times)" true "$name: in the host's time" list.err
}

record_ahead ahead 5000
record_ahead behind -3

vmm_start 300
: >stat.err
(in_time 5000 timeout -s KILL 200 "$HOSTRACE" stat --vm "$vmm" -f json >stat.json 2>stat.err) &
stat_waiter=$!
until_line watching stat.err
vmm_go
vmm_end
wait "$stat_waiter"
is "$? $(jq '[.rows[].userspace_count] | add >= 300' stat.json)" "0 true" "stat counts in a namespace" stat.err
is "$(jq '[.rows[].max_ns] | max < 100e9' stat.json)" true "... no exit takes as long as the namespace is ahead" stat.json

# The VM in such a namespace
rm -f go && mkfifo go
(in_time 5000 timeout 200 "$BUILD/minivmm" outb=100 inb=0 mmio=0 hlt=0 wait linger <go >vmm.out 2>vmm.err) &
vmm_waiter=$!
exec 3>go
until_line '^ready' vmm.out || bail "minivmm did not start"
vmm=$(sed -n 's/^ready //p' vmm.out)
record_start --vm "$vmm" -o vm.hrt
is "$("$HOSTRACE" ps -f json | jq ".rows[] | select(.pid == $vmm).clock_ahead_ns")" 5000000000000 "ps: the VM's clock"
vmm_go
vmm_end
wait "$recorder_waiter"
is "$? $(count_port out 0x2f0 vm.hrt)" "0 100" "a VM in such a namespace is recorded" record.err

# A clock that is not what hostrace believes it to be: never silence.
printf 'monotonic %10d %9d\nboottime 0 0\n' 7000 0 >offsets
vmm_start 100
: >record.err
unshare -m sh -c 'mount --make-rprivate / && exec unshare -T --monotonic 5000 -- sh -c "mount --bind offsets /proc/\$\$/timens_offsets && exec \"\$@\"" sh "$@"' \
	sh "$HOSTRACE" record --vm "$vmm" -o wrong.hrt -d 100s 2>record.err &
recorder_waiter=$!
until_line recording record.err || bail "record did not start: $(cat record.err)"
vmm_go
vmm_end
wait "$recorder_waiter"
is "$?" 1 "events outside the recording's clock: status 1" record.err
is "$(grep -c '[0-9]* events have timestamps that are not of this recording (the last is [-+][0-9.]* s from now)' record.err)" 1 \
	"... and they are counted" record.err

# vCPUs run, nothing is recorded; of two VMs, one with events does not speak for the other.
# quiet NAME TRACE: with status 0 it has events, else it says that it has none
quiet() {
	local events=$(($(events kvm_exit "$2") + $(events kvm_entry "$2")))
	is "$status $(grep -c "no event of .*(pid $vmm) was recorded although its vCPUs ran for" record.err)" \
		"$((events == 0)) $((events == 0))" "$1 with $events events" record.err
}

vmm_start 3000
record_start --vm "$vmm" -e kvm_exit,kvm_entry -o silent.hrt
vmm_go
until_line '^outb' vmm.out
kill -s INT "$recorder"
wait "$recorder_waiter"
status=$?
vmm_end
quiet "a recording" silent.hrt

vmm_options="mmio=100" vmm_start 0
first=$vmm
first_waiter=$vmm_waiter
mv vmm.out first.out
exec 4>&3
vmm_start 3000
record_start --vm "$first" --vm "$vmm" -e kvm_exit,kvm_mmio -o two.hrt
echo go >&4
until_line '^mmio' first.out
vmm_go
until_line '^outb' vmm.out
kill -s INT "$recorder"
wait "$recorder_waiter"
status=$?
vmm_end
echo end >&4
exec 4>&-
wait "$first_waiter"
is "$(events kvm_mmio two.hrt)" 100 "one of two VMs has events" record.err
quiet "the other one" two.hrt

# ran OUTB EVENTS TRACE: a recording until its VM has done that
ran() {
	vmm_start "$1"
	record_start --vm "$vmm" -e "$2" -o "$3"
	vmm_go
	until_line '^outb' vmm.out
	kill -s INT "$recorder"
	wait "$recorder_waiter"
	status=$?
	vmm_end
}

ran 20 kvm_exit,kvm_entry short.hrt
quiet "a short run" short.hrt
ran 20 'virtqueue_*' absent.hrt
quiet "a recording of events that are not there" absent.hrt
ran 3000 kvm_exit,sched_switch switches.hrt
is "$status $(grep -c 'warning: no kvm_exit or kvm_entry of .* although its vCPUs ran' record.err)" \
	"0 $(($(events kvm_exit switches.hrt) == 0))" "a VM with other events, but no exit" record.err
"$HOSTRACE" record --vm "$vmm" -e sched_switch --exit-reasons 2>record.err
is "$? $(grep -c 'add it to --events, or leave out --exit-reasons' record.err)" "2 1" "--exit-reasons without exits" record.err

vmm_start 1
record_start --vm "$vmm" -e kvm_exit,kvm_entry -o idle.hrt
kill -s INT "$recorder"
wait "$recorder_waiter"
is "$?" 0 "a VM that does not run is no error" record.err
vmm_go
vmm_end

# VMs that the command starts: their set-up is recorded, which shows nothing of the guests
launched() { # EVENTS COMMAND...
	local events=$1
	shift
	"$HOSTRACE" record -e "$events" -o launched.hrt -- "$@" >launched.out 2>record.err
	status=$?
}

vmm='[0-9]*'
launched kvm_exit,kvm_entry "$BUILD/minivmm" outb=300000 inb=0 mmio=0 hlt=0
quiet "a VM that was started" launched.hrt
launched kvm_exit,kvm_entry sh -c "'$BUILD/minivmm' outb=300000 inb=0 mmio=0 hlt=0; true"
quiet "a VM that a shell started" launched.hrt
launched kvm_exit,sched_switch "$BUILD/minivmm" outb=300000 inb=0 mmio=0 hlt=0
is "$status $(grep -c 'warning: no kvm_exit or kvm_entry of .* although its vCPUs ran' record.err)" \
	"0 $(($(events kvm_exit launched.hrt) == 0))" "a VM that was started, with other events" record.err
launched kvm_write_tsc_offset "$BUILD/minivmm" outb=20 inb=0 mmio=0 hlt=0
is "$status $(events kvm_write_tsc_offset launched.hrt)" "0 1" "only the set-up was asked for" record.err
finish
