#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings that begin and end while requests are in flight: the return of an element popped before is not an error,
# and elements not returned at the end are reported. Two VMs at once with the same device names; only one of them leaks.
set -u
. "$(dirname "$0")/lib.inc"

unrecorded=1
# shellcheck disable=SC2046
vm_start a $(disk d) -device virtio-balloon-pci,id=bal0
# shellcheck disable=SC2046
vm_start b $(disk d) -device virtio-balloon-pci,id=bal0
vm_up a
vm_up b
hold a d vda 7
until_true inuse_is a "1 bal0 2, 6 d0 0"
record_begin a
unthrottle a d
until_true inuse_is a "1 bal0 2"
record_end a
is "$(leaks a --min-age 0)" "" "six returned whose pop was not recorded: no leak"
is "$(total a popped returned_popped_before leaked)" "0 6 0" "... they are counted separately"
is "$(caveats a 'popped before the recording')" 1 "... and a note reports them"

record_begin a
record_begin b
hold a d vda 5
guest b "write vda 9; wait" >/dev/null
until_true inuse_is a "1 bal0 2, 4 d0 0"
until_true inuse_is b "1 bal0 2"
record_end a
record_end b
is "$(leaks a --min-age 0)" "4 d0 0 leaked" "a leaks four"
is "$(leaks a --min-age 1h)" "4 d0 0 in-flight" "... or has them in flight"
is "$(leaks b --min-age 0)" "" "b leaks none"
is "$(total b popped returned)" "9 9" "... of its nine"
"$hostrace" leaks -i "$work/a/t.hrt" -i "$work/b/t.hrt" --min-age 0 -f json >"$work/both.json" 2>/dev/null
is "$(jq -c '[.rows[] | .pid] | unique == ['"${vm_pid[a]}"']' "$work/both.json")" true "both at once: all four are of a"
is "$(jq -c '.totals | [.popped, .returned, .leaked]' "$work/both.json")" "[14,10,4]" "... and the sums are right"
finish
