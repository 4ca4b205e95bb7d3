#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hot-unplug on a stock build: the queues' memory is freed and used again by the next device, under another name.
# And virtio-scsi's event queue, which is popped only when there is an event to report.
set -u
. "$(dirname "$0")/lib.inc"

unplug() { # NAME DEVICE
	qmp "$1" device_del "{\"id\": \"$2\"}" >/dev/null
	until_true unplugged "$1" "$2" || bail "$1: $2 is not unplugged: $(tail -n 3 "$work/$1/qmp.log")"
}

unplugged() {
	grep '"DEVICE_DELETED"' "$work/$1/qmp.log" | grep -q "\"device\": \"$2\""
}

# shellcheck disable=SC2046
vm_start a $(disk d) -device virtio-balloon-pci,id=bal0 -device virtio-scsi-pci,id=scsi0 \
	-drive driver=null-co,if=none,id=s,size=64M,read-zeroes=on \
	-drive driver=null-co,if=none,id=e,size=64M,read-zeroes=on
vm_up a
until_true inuse_is a "1 bal0 2"
guest a "write vda 4; wait" >/dev/null
unplug a bal0
is "$(inuse a)" "" "the balloon is unplugged with its element"
unplug a d0
for again in 1 2 3; do
	qmp a device_add "{\"driver\": \"virtio-balloon-pci\", \"id\": \"again$again\"}" >/dev/null
	until_true inuse_is a "1 again$again 2"
	[ $again = 3 ] || unplug a again$again
done
qmp a device_add '{"driver": "virtio-blk-pci", "drive": "e", "id": "e0"}' >/dev/null
until_true guest_prints a "ls /sys/block" vda
guest a "write vda 3; wait" >/dev/null
qmp a device_add '{"driver": "scsi-hd", "drive": "s", "bus": "scsi0.0", "id": "hd0"}' >/dev/null
until_true guest_prints a "ls -d /sys/block/sda" /sys/block/sda
unplug a hd0
vm_kill a
is "$(leaks a --min-age 0)" "1 again3 2 held" "only the newest balloon holds one, under its own name"
is "$(total a leaked in_flight replaced)" "0 0 0" "nothing leaked"
is "$(seen a virtio_cleanup)" 4 "the removal of four devices was recorded"
is "$(caveats a 'popped again')" 0 "no return was missed"
is "$("$hostrace" virtio -i "$work/a/t.hrt" -f json | jq -c '[.rows[] | select(.device | test("/(d0|e0)/")) |
	.in_flight.end]')" "[0,0]" "each disk has a row of its own"
is "$("$hostrace" virtio -i "$work/a/t.hrt" -f json | jq -c '[.rows[] | select(.device | test("/scsi0/")) |
	select(.queue == 1) | .count == .returned, .count > 0]')" "[true,true]" "the event queue told of the disk"
finish
