#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A recording to standard output: it is listed while it is recorded, has its index, and ends with its reader.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

plan 14
vmm_start 500
mkfifo stream

# followed through a FIFO: events are there before the recording has ended
timeout 200 "$HOSTRACE" list --follow -i stream >list.out 2>list.err &
lister=$!
record_start --vm "$vmm" -o - >stream
vmm_go
until_line 'kvm_pio .*port=' list.out
is $? 0 "events are listed while they are recorded" list.out
is "$(kill -0 "$recorder" && echo runs)" runs "... before the recording has ended"
kill -s INT "$recorder"
wait "$recorder_waiter"
is $? 0 "^C ends the recording" record.err
wait "$lister"
is $? 0 "... and with it the list" list.err
is "$(grep -c 'kvm_pio .*port=' list.out)" 501 "... which has every access" list.out
is "$(grep -c 'end mark' list.out)" 0 "... and knows that it is complete" list.out
is "$(grep -c 'KiB to standard output' record.err)" 1 "the summary says where it went" record.err

# what a command prints does not get into it
"$HOSTRACE" record -q --vm "$vmm" -o - -- echo hello >command.hrt 2>command.err
is $? 0 "a recording with a command" command.err
is "$(grep -c hello command.err)" 1 "... whose output goes to standard error" command.err
is "$("$HOSTRACE" info -i command.hrt | grep -c 'truncated')" 0 "... has its index" command.err
is "$("$HOSTRACE" list --follow -i command.hrt 2>&1 | grep -c '^#.*end mark')" 0 "... and can be followed as a file"

# the reader's end, without any event
"$HOSTRACE" record --vm "$vmm" -o - 2>record.err | head -c 100 >/dev/null
is "$(grep -c 'standard output: Broken pipe' record.err)" 1 "it ends with its reader" record.err
"$HOSTRACE" record --vm "$vmm" -o - --ring 1M 2>record.err >/dev/null
is $? 2 "a flight recorder writes files, and no stream" record.err
vmm_end
is $? 0 "the VM did all its work" vmm.err
finish
