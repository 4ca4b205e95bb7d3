#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every virtio device of QEMU that Linux uses, under load, then a clean power off: no element may be left. Once with
# split rings, once with packed ones.
set -u
. "$(dirname "$0")/lib.inc"

devices() { # RING
	local ring=packed=off
	[ "$1" = split ] || ring=packed=on
	echo "$(disk d "$ring") -device virtio-rng-pci,id=rng0,$ring -device virtio-balloon-pci,id=bal0,$ring
		-netdev user,id=n0 -device virtio-net-pci,netdev=n0,id=net0,romfile=,$ring
		-chardev file,id=c0,path=/dev/null -device virtio-serial-pci,id=ser0,$ring -device virtserialport,chardev=c0,name=p0
		-device virtio-scsi-pci,id=scsi0,$ring
		-drive driver=null-co,if=none,id=s,size=64M,read-zeroes=on -device scsi-hd,drive=s"
}

for ring in split packed; do
	# shellcheck disable=SC2046
	vm_start $ring $(devices $ring)
	vm_up $ring
	guest $ring "dd if=/dev/vda of=/dev/null bs=4k count=37 iflag=direct 2>/dev/null" >/dev/null
	guest $ring "write vda 7; dd if=/dev/sda of=/dev/null bs=64k count=11 iflag=direct 2>/dev/null; wait" >/dev/null
	guest $ring "ifconfig eth0 10.0.2.15; ping -c 3 -W 20 10.0.2.2 >/dev/null && echo pinged" >"$work/ping"
	is "$(cat "$work/ping")" pinged "$ring: the network works"
	guest $ring "dd if=/dev/hwrng of=/dev/null bs=64 count=2 2>/dev/null; echo x >/dev/vport4p1" >/dev/null
	until_true inuse_is $ring "1 bal0 2"
	is "$(inuse $ring)" "1 bal0 2" "$ring: QEMU itself holds the balloon's one element and nothing else"
	is "$(jq '[.rows[] | select(.agrees == false)] | length' "$work/$ring/state.json")" 0 \
		"$ring: memory and monitor agree" "$work/$ring/state.json"
	is "$(jq -r '[.rows[] | select(.ready) | .ring] | unique | join(" ")' "$work/$ring/state.json")" $ring \
		"$ring: all rings are" "$work/$ring/state.json"
	order $ring "poweroff -f"
	vm_gone $ring
	is "$(leaks $ring --min-age 0)" "" "$ring: after power off nothing is left"
	is "$(total $ring leaked in_flight held replaced returned_popped_before)" "0 0 0 0 0" "$ring: ... at all"
	is "$(jq '.totals | .popped == .returned + .detached + .unpopped + .reset' "$work/$ring/leaks.json")" true \
		"$ring: every element came back somehow" "$work/$ring/leaks.json"
	is "$(queues $ring)" "bal0 2, d0 0, net0 0, net0 1, net0 2, rng0 0, scsi0 2, ser0 2, ser0 3, ser0 5" \
		"$ring: all devices were used"
	is "$("$hostrace" virtio -i "$work/$ring/t.hrt" -f json | jq '[.rows[] | select(.device | test("/d0/")) |
		.returned >= 44, .in_flight.end] | join(" ")' -r)" "true 0" "$ring: 37 reads and 7 writes of the disk came back"
done
finish
