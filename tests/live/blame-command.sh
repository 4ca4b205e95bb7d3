#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The holder's stacks of a QEMU that record starts itself, whose libraries are mapped only after it is known. Its main
# thread opens a FIFO, with the global mutex held, and sleeps until that is opened for reading, too.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"

HOLDS=5

plan 3
vm_start "$HOSTRACE" record -o trace.hrt --for blame --
until_line recording qemu.out || bail "no recording: $(cat qemu.out)"
mkfifo memory.out
for _ in $(seq $HOLDS); do
	sleep .2 # longer than the collector's limit between two looks for libraries
	echo "pmemsave 0 4096 \"memory.out\"" >&4
	until_line '^257 ' "/proc/$vm/task/$vm/syscall" || bail "the main thread does not open the FIFO"
	cat memory.out >/dev/null
done
echo quit >&4
exec 4>&-
wait
grep -q 'ended by: command ended' qemu.out
is $? 0 "the recording ended with the command" qemu.out
"$HOSTRACE" list -i trace.hrt --event sched_holder -f json >holders.json
jq -r '.rows[].fields.stack' holders.json | sort | uniq -c >stacks
is $(($(grep -c qmp_pmemsave stacks) > 0)) 1 "the holder's stacks name its functions" stacks
known=$(jq '[.rows[] | select(.fields.stack | test("open.*;qmp_pmemsave;"))] | length' holders.json)
is $((known >= HOLDS - 1)) 1 "... in each hold but perhaps the first" stacks
finish
