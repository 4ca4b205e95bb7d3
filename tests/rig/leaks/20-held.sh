#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# True positives: requests held by a throttle and by blkdebug are reported exactly, on split and packed rings. And no
# false positive: a QEMU that is asked to quit completes the requests that its throttle holds.
set -u
. "$(dirname "$0")/lib.inc"

# shellcheck disable=SC2046
vm_start a $(disk d) $(disk p packed=on) $(debug_disk b)
vm_up a
hold a d vda 7
hold a p vdb 5
for number in 1 2 3; do
	hold_write a b vdc $number
done
# Packed rings count descriptors: a write by Linux has one, which is indirect.
until_true inuse_is a "3 b0 0, 4 p0 0, 6 d0 0"
is "$(inuse a)" "3 b0 0, 4 p0 0, 6 d0 0" "QEMU itself counts them" "$work/a/state.json"
vm_kill a
is "$(leaks a --min-age 0)" "3 b0 0 leaked, 6 d0 0 leaked, 4 p0 0 leaked" "thirteen requests are held"
is "$(total a leaked in_flight held other)" "13 0 0 0" "... and nothing else"
is "$(leaks a --min-age 1h)" "3 b0 0 in-flight, 6 d0 0 in-flight, 4 p0 0 in-flight" "... in flight, with a minimum age of an hour"
"$hostrace" leaks -i "$work/a/t.hrt" --min-age 0 --check >/dev/null 2>&1
is $? 3 "leaks --check: status 3"
is "$(jq '[.rows[] | [.pid, .device, .queue, .head]] | length == (unique | length)' "$work/a/leaks.json")" true \
	"each head once"
is "$("$hostrace" virtio -i "$work/a/t.hrt" -f json | jq -c '[.rows[] | select(.in_flight.end > 0) | .in_flight.end] | sort')" \
	"[3,4,6]" "the report of queues has the same in flight"

# shellcheck disable=SC2046
vm_start t $(disk d)
vm_up t
hold t d vda 6
until_true inuse_is t "5 d0 0"
qmp t quit >/dev/null
vm_gone t
is "$(leaks t --min-age 0)" "" "ended by its monitor: the throttle's five were finished"
is "$(total t leaked replaced)" "0 0" "... none is left"
finish
