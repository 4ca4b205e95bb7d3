#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace-guest traces this machine, to a file and through memory: a known number of one system call is found, and no
# trace instance remains after any kind of exit. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
[ -d /sys/kernel/tracing/instances ] || mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null
tracing=/sys/kernel/tracing
[ -d $tracing/events/syscalls/sys_enter_mknodat ] || skip_all "kernel: no tracefs with system calls"
grep -q x86-tsc $tracing/trace_clock || skip_all "kernel: no x86-tsc clock"

events=syscalls:sys_enter_mknodat,sched:sched_switch,sched:sched_process_e*

# agent ARGS...: starts it in the background; returns when it is tracing
agent() {
	: >agent.err
	"$BUILD/hostrace-guest" "$@" 2>agent.err &
	agent=$!
	until_line 'tracing [0-9]* CPUs' agent.err || bail "the agent did not start: $(cat agent.err)"
}

# instances PID: number of trace instances of that agent
instances() {
	ls $tracing/instances | grep -cx "hostrace-$1"
}

# 23 calls, with a mode that no other call on this machine uses
work() {
	rm -f fifo*
	mkfifo -m 617 $(seq -f 'fifo%g' 23)
}

# calls FILE
calls() {
	"$HOSTRACE" list -f json -i "$1" --event 'guest:sys_enter_mknodat' 2>list.err |
		jq '[.rows[] | select(.fields.mode == 4495 or .fields.mode == "0x118f")] | length'
}

plan 16
agent -t file:a.guest -e $events
is "$(instances $agent)" 1 "it has an instance of its own"
work
kill $agent
wait $agent
is $? 0 "a signal ends it" agent.err
is "$(calls a.guest)" 23 "the known number of system calls" list.err
is "$("$HOSTRACE" info -f json -i a.guest | jq -r '.result.meta.end // .result.end // "?"')" signal "the file says why it ended"
is "$("$HOSTRACE" list -f json -i a.guest --event guest:sched_process_exec | jq '[.rows[] | select(.fields.filename | test("mkfifo"))] | length > 0')" \
	true "texts are there"
is "$(instances $agent)" 0 "its instance is gone"

agent -t file:b.guest -e $events -d 300ms
work
wait $agent
is $? 0 "the duration ends it" agent.err
is "$("$HOSTRACE" info -i b.guest | grep -c 'ended by duration')" 1 "and the file says so"

agent -t file:c.guest -e $events
kill -9 $agent
wait $agent 2>/dev/null
is "$(instances $agent)" 1 "one that is killed leaves its instance"
killed=$agent
agent -t file:d.guest -e $events --stack -d 500ms
work
is "$(instances $killed)" 0 "which the next one removes"
wait $agent
is "$("$HOSTRACE" info -i d.guest | grep -q 'guest:kernel_stack' && echo there)" there "stack traces" agent.err
is "$("$HOSTRACE" list --wide -i d.guest --event guest:kernel_stack 2>/dev/null | grep -q '=__*schedule ' && echo named)" named \
	"whose addresses have names"

"$BUILD/hostrace-guest" -t file:e.guest -e nothing:such 2>agent.err
is $? 1 "an event that is not there is refused" agent.err

# what another user prepared in a shared directory
chmod 1777 .
echo precious >planted
chown 65534 planted
chmod 666 planted
timeout -k 5 200 "$BUILD/hostrace-guest" -t "file:$PWD/planted" -e $events -d 100ms 2>agent.err
is "$? $(cat planted)" "1 precious" "the agent refuses another user's file" agent.err
rm planted
mkfifo planted
timeout -k 5 200 "$BUILD/hostrace-guest" -t "file:$PWD/planted" -e $events -d 100ms 2>agent.err
is $? 1 "a FIFO that nobody reads does not block it" agent.err
mkfifo own
cat <own >from_fifo &
reader=$!
until_line '^257 ' /proc/$reader/syscall # in openat
timeout -k 5 200 "$BUILD/hostrace-guest" -t "file:$PWD/own" -e $events -d 100ms 2>agent.err
wait $reader
is "$("$HOSTRACE" info -i from_fifo 2>&1 | grep -c 'ended by duration')" 1 "a FIFO that is read gets the trace" agent.err
finish
