#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The flight recorder: keeps only the newest events; SIGUSR1 writes them while recording continues.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

plan 15
vmm_start 60000
record_start --vm "$vmm" -o ring.trace --ring 1M
kill -s USR1 "$recorder"
until_line 'wrote ring-1.trace' record.err
is "$("$HOSTRACE" info -i ring-1.trace >info.out 2>&1; echo $?)" 0 "a dump with another extension" record.err
kill "$recorder"
wait "$recorder_waiter"
record_start --vm "$vmm" -o ring.hrt --ring 1M
kill -s USR1 "$recorder"
until_line 'wrote ring-1.hrt' record.err
is "$("$HOSTRACE" info -i ring-1.hrt >info.out 2>&1; echo $?)" 0 "a dump before anything happened" info.out
vmm_go
until_line '^outb 60000' vmm.out
kill -s USR1 "$recorder"
until_line 'wrote ring-2.hrt' record.err
is "$("$HOSTRACE" info -i ring-2.hrt >info.out 2>&1; echo $?)" 0 "a dump of what was" info.out
pio=$(events kvm_pio ring-2.hrt)
is "$([ "$pio" -gt 1000 ] && [ "$pio" -lt 60001 ] && echo some)" some "some events are kept, the oldest are not"
is "$([ "$(events thread ring-2.hrt)" -ge 1 ] && echo named)" named "the threads' names are kept"
size=$(stat -c %s ring-2.hrt)
is "$([ "$size" -lt 2000000 ] && echo small)" small "about 1 MiB ($size bytes)"
kill "$recorder"
wait "$recorder_waiter"
is $? 0 "it ends as any recording" record.err
is "$("$HOSTRACE" info -i ring.hrt >info.out 2>&1; echo $?)" 0 "and leaves the newest events in its own file" info.out
is "$(sed -n 's/.* \([0-9]*\) KiB in ring.hrt.*/\1/p' record.err)" $(($(stat -c %s ring.hrt) / 1024)) \
	"... and reports its size" record.err
is "$([ "$(events kvm_pio ring.hrt)" -gt 1000 ] && echo some)" some "... some"
is "$(sed -n 's/.*kvm_pio \([0-9]*\).* KiB in ring.hrt.*/\1/p' record.err)" "$(events kvm_pio ring.hrt)" \
	"... as many as the last line says" record.err
is "$(grep -c 'older events are not in the file: --ring keeps the newest' record.err)" 1 "... which says that older ones are not" record.err
vmm_end
is $? 0 "the VM did all its work" vmm.err

# A dump that cannot be written is said at the end, too.
vmm_start 1
record_start --vm "$vmm" -o fail.hrt --ring 1M
mkdir fail-1.hrt
kill -s USR1 "$recorder"
until_line 'cannot write the dump' record.err
vmm_go
vmm_end
wait "$recorder_waiter"
is "$? $(grep -c '1 dump could not be written' record.err)" "1 1" "a dump that cannot be written: status 1" record.err
is "$("$HOSTRACE" info -i fail.hrt >info.out 2>&1; echo $?)" 0 "... and the recording is written" info.out
finish
