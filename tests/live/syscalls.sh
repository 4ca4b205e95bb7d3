#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --for syscalls and syscalls: a VMM's thread that makes known system calls, with perf trace beside it.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools jq perf
live_build "$BUILD/minivmm"

mkfifo go
timeout -s KILL 300 "$BUILD/minivmm" count=count calls <go >out 2>err &
exec 3>go
vm=
trap 'kill $vm 2>/dev/null' EXIT
until_line '^ready' out || bail "the VMM did not start: $(cat err)"
vm=$(sed -n 's/^ready //p' out)
timeout 120 "$HOSTRACE" record --vm "$vm" -d 60s -o t.hrt --for syscalls 2>record.err &
recorder=$!
until_line 'recording' record.err || bail "not recorded: $(cat record.err)"
timeout 60 perf trace -s -p "$vm" -o perf.out 2>perf.err &
perf=$!
sleep 2
echo >&3
until_line '^called' out || echo "# the VMM has not called"
sleep 1
kill -INT "$perf" "$recorder"
wait "$perf" "$recorder"
plan 9
"$HOSTRACE" syscalls t.hrt --by tid -f json >calls.json 2>err
is $? 0 "the report reads the recording" err record.err
call() { jq -r --arg name "$1" '.rows[] | select(.comm == "caller" and .syscall == $name) | "\(.count) \(.errors) \(.errnos)"' calls.json; }
is "$(call write)" "1001 0 null" "1000 writes, and one to standard output" calls.json
is "$(call getppid)" "23 0 null" "23 calls of getppid" calls.json
is "$(call fsync)" "17 17 EBADF 17" "17 calls of fsync that fail" calls.json
is "$(jq '.rows[] | select(.comm == "caller" and .syscall == "clock_nanosleep") | .count == 3 and .min_ns >= 20000000 and .total_ns >= 60000000' calls.json)" \
	true "3 sleeps, of 20 ms at least" calls.json
is "$(jq -r '.rows[] | select(.comm == "caller" and .syscall == "write").slowest' calls.json | sed 's/0x[0-9a-f]*/ADDRESS/; s/fd: [0-9]*/fd: N/')" \
	"write(fd: N, buf: ADDRESS, count: 7) = 7" "arguments by name" calls.json
is "$(jq '[.rows[] | select(.syscall == "ioctl(KVM_RUN)").count] | add > 0' calls.json)" true "KVM_RUN is apart" calls.json
is "$(jq -r '.rows[] | select(.comm == "caller" and .in_progress > 0).syscall' calls.json)" read "the call that it waits in" calls.json
# perf trace's table of the thread: syscall, calls, errors.
awk '$1 == "caller" { on = 1; next } /^ *[^ ]+ \([0-9]+\),/ { on = 0 } on && $1 ~ /^(write|getppid|fsync)$/ { print $1, $2, $3 }' perf.out | sort >theirs
for name in fsync getppid write; do echo "$name $(call $name | cut -d' ' -f1,2)"; done >ours
is "$(diff ours theirs)" "" "perf trace counts the same" perf.out perf.err
finish
