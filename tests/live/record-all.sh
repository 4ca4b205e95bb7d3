#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Two VMs at once: --all records both, --vm only one.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools jq

# pio_of PID TRACE
pio_of() {
	"$HOSTRACE" list --wide -i "$2" --vm "$1" --event kvm_pio 2>list.err | grep -c kvm_pio
}

plan 8
vmm_start 700
first=$vmm
first_waiter=$vmm_waiter
exec 4>&3
vmm_start 300
second=$vmm
timeout 200 "$HOSTRACE" record >out 2>record.err
is "$? $(grep -c 'VMs are running' record.err)" "1 1" "two VMs: which one?" record.err

record_start --vm "$second" -o one.hrt
timeout 200 "$HOSTRACE" record --all -o all.hrt 2>all.err &
all_waiter=$!
until_line 'recording' all.err
echo go >&4
vmm_go
vmm_end
is $? 0 "the second VM did all its work"
wait "$recorder_waiter"
echo end >&4
exec 4>&-
wait "$first_waiter"
is $? 0 "the first VM did all its work"
# The recording ends with its last VM. Other VMs of this machine would prolong it: then it gets a signal, and it may have
# ended before.
grep -q 'recording 2 VMs' all.err || kill -s INT "$(pgrep -P "$all_waiter" | head -n 1)" 2>/dev/null
wait "$all_waiter"
status=$?
[ $status != 130 ] || ! grep -q 'ended by' all.err || status=0
is $status 0 "--all ends" all.err
is "$(pio_of "$first" all.hrt)" 701 "--all: all of the first"
is "$(pio_of "$second" all.hrt)" 301 "--all: all of the second"
is "$(pio_of "$first" one.hrt) $(pio_of "$second" one.hrt)" "0 301" "--vm: only the one"
is "$("$HOSTRACE" export text -i one.hrt | sed -n 's/^# meta //p' | head -n 1 |
	jq -c ".neighbours[] | select(.pid == $first) | [.name, (.tids | index($first))]")" \
	"[\"$(basename "$BUILD/minivmm")\",0]" "... which knows who ran beside it"
finish
