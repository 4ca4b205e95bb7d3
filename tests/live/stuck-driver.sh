#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Why a VM hangs, found by a `stuck` that came afterwards: a driver that does not kick, and a masked
# interrupt, each with flags and with event indices.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 jq

truncate -s 2M disk.img
DISK=(-drive file=disk.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0,id=disk,addr=4)

plan 12

for event_idx in 0 1; do
	vm_start "reads=0 writes=0 nokick=3 event_idx=$event_idx wait_ms=3600000" "${DISK[@]}"
	until_true has lost-kick
	is $? 0 "event_idx=$event_idx: a driver that does not kick" stuck.json
	is "$(rows disk 'map([.stage, .op, .sector, .bytes, .certain])')" "$(jq -nc \
		'[range(3) | ["offered", "read", ., 512, "yes"]]')" "... and its requests" stuck.json
	is "$(kinds)" lost-kick "... is the only finding" stuck.json
	vm_end

	vm_start "reads=0 writes=0 masked=3 event_idx=$event_idx wait_ms=3600000" "${DISK[@]}"
	until_true has lost-interrupt
	is $? 0 "event_idx=$event_idx: a masked interrupt" stuck.json
	is "$(kinds) $(rows disk length)" "lost-interrupt 0" "... is the only finding, no request is at the device" stuck.json
	is "$(text_of lost-interrupt | grep -c 'masked in the guest.s interrupt controller')" 1 "... with the reason" stuck.json
	vm_end
done
finish
