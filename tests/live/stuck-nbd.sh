#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Why a VM hangs, found by a `stuck` that came afterwards: an NBD server that is stopped, and one that has gone.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 qemu-nbd jq socat

truncate -s 2M disk.img

# nbd_start OPTIONS: of the block driver; the guest does not run yet
nbd_start() {
	qemu-nbd --fork --pid-file=nbd.pid -k "$scratch/nbd.sock" -f raw disk.img
	nbd=$(cat nbd.pid)
	vm_start "reads=1 writes=0 wait_ms=3600000" -blockdev "driver=nbd,node-name=n,server.type=unix,server.path=$scratch/nbd.sock$1" \
		-device virtio-blk-pci,drive=n,id=disk,addr=4 -S -qmp unix:qmp,server=on,wait=off
	until_true is_up
}

plan 7
nbd_start ""
kill -STOP "$nbd"
qmp '{"execute":"cont"}' > qmp.out 2>&1
stopped() { # the server, and the request is in the device
	has peer-stopped && [ -n "$(text_of not-returned)" ]
}
until_true stopped
is $? 0 "an NBD server that is stopped" stuck.json
is "$(text_of peer-stopped | grep -c "process $nbd (qemu-nbd)")" 1 "... is found" stuck.json
is "$(text_of not-returned | grep -c "block nodes: nbd")" 1 "... behind the device" stuck.json
is "$(rows disk 'map([.stage, .op, .sector])')" '[["popped","read",0]]' "... with the read" stuck.json
kill -CONT "$nbd"
vm_end
kill "$nbd"
ended() {
	! kill -0 "$nbd" 2> /dev/null
}
until_true ended # it removes its socket

nbd_start ,reconnect-delay=3600
kill -KILL "$nbd"
qmp '{"execute":"cont"}' > qmp.out 2>&1
gone() {
	stuck --interval 200ms && [ "$(kinds)" = "not-connected not-returned" ]
}
until_true gone
is "$(kinds)" "not-connected not-returned" "an NBD server that has gone" stuck.json
is "$(text_of not-connected | grep -cE '^QEMU is not connected to an NBD server: thread [0-9]+ \(nbd-connect\)')" 1 \
	"... QEMU connects again" stuck.json
is "$(rows disk 'map([.stage, .op, .sector])')" '[["popped","read",0]]' "... with the read" stuck.json
vm_end
finish
