#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A network card whose link is down: QEMU discards what the guest sends by virtqueue_drop_all, which fills elements
# that were never popped. And an iothread: popped and filled by another thread than the one that performs the reset.
set -u
. "$(dirname "$0")/lib.inc"

# status=off: the guest does not see the link state and continues to send.
# shellcheck disable=SC2046
vm_start a -netdev user,id=n0 -device virtio-net-pci,netdev=n0,id=net0,romfile=,status=off -object iothread,id=io0 \
	$(disk d iothread=io0)
vm_up a
pings() { # COUNT: answers
	guest a "ping -c $1 -W 20 10.0.2.2 | grep -c 'bytes from'"
}
guest a "ifconfig eth0 10.0.2.15" >/dev/null
is "$(pings 3)" 3 "the network works"
qmp a set_link '{"name": "net0", "up": false}' >/dev/null
guest a "ping -c 2 -W 1 10.0.2.2" >/dev/null
guest a "write vda 9; wait" >/dev/null
qmp a set_link '{"name": "net0", "up": true}' >/dev/null
is "$(pings 3)" 3 "... and again when its link is up"
hold a d vda 5
qmp a system_reset >/dev/null
until_true grep -q '"RESET"' "$work/a/qmp.log"
unthrottle a d # the firmware reads the disk
up_again() {
	[ "$(grep -c '^guest: up' "$work/a/console")" = 2 ]
}
until_true up_again || bail "a does not boot again: $(tail -n 3 "$work/a/console")"
until_true inuse_is a ""
vm_kill a
is "$(leaks a --min-age 0)" "" "no leak"
is "$(total a leaked returned_popped_before replaced)" "0 0 0" "what was dropped is not taken for returned"
is "$([ "$(seen a virtqueue_drop_all)" -ge 2 ] && echo seen)" seen "virtqueue_drop_all was recorded"
is "$("$hostrace" virtio -i "$work/a/t.hrt" -f json | jq -c '[.rows[] | select(.in_flight.end > 0)]')" "[]" "no queue has any"
is "$("$hostrace" list -i "$work/a/t.hrt" --event virtqueue_pop,virtqueue_fill -f json |
	jq -c '[.rows[] | select(.fields.out_num == 2) | .tid] | unique | length > 0')" true "the iothread's were seen"
finish
