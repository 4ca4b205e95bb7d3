#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The report on a dump has the call stack of the global mutex's holder: the monitor, while a vCPU waits for that mutex.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"

# Its command is in the stack that a report has. Other reports are of waits for the CPU.
monitor_held() {
	for _ in $(seq 600); do
		for report in waits-bql-wait-*.txt; do
			sed -n '/^stack of the holder of the global mutex for [0-9.]*[mu]*s of that time (held by /,/^[^ ]/p' "$report" |
				grep -qx '  handle_hmp_command' && return
		done
		sleep .2
	done 2>/dev/null
	return 1
}

plan 1
vm_start
timeout -s KILL 240 "$HOSTRACE" record --vm "$vm" -o waits.hrt --ring 16M --trigger 'bql-wait>2ms' --after 0s --keep 200 2>record.err &
recorder=$!
until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
storm 240
monitor_held
is $? 0 "a vCPU that waits for the global mutex: the report has the stack of its holder" record.err
kill -INT "$(pgrep -P $recorder | head -n 1)"
vm_stop 2>/dev/null
finish
