#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `stuck` and a disk outside QEMU: vhost-user-blk, exported by qemu-storage-daemon, which is stopped. And a VM that was
# restored from a snapshot.
# Under TCG, as stuck-matrix.sh. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 qemu-storage-daemon qemu-img jq socat
accel=tcg

plan 8

# 1. The disk's server is stopped.
outside() {
	stuck --interval 200ms && [ "$(kinds)" = "not-returned peer-stopped" ]
}
works() {
	stuck --interval 200ms && [ "$(kinds)" = "" ]
}
truncate -s 2M disk.img
qemu-storage-daemon --blockdev "file,node-name=disk,filename=disk.img" \
	--export "vhost-user-blk,id=export,node-name=disk,writable=on,addr.type=unix,addr.path=$scratch/blk" > daemon.out 2>&1 &
daemon=$!
until_true grep -q " 00010000 .* $scratch/blk\$" /proc/net/unix # it listens
vm_start "reads=0 writes=0 outb=0 inb=0 mmio=0 hlt=0 leak=0 paced=2000000 ticks=1" -machine memory-backend=ram \
	-object memory-backend-memfd,id=ram,size=32M,share=on -chardev socket,id=c,path=blk -device vhost-user-blk-pci,chardev=c,id=disk,addr=4
until_true grep -q '\.\.' console.txt # a write each
kill -STOP $daemon
until_true outside
is "$(kinds)" "not-returned peer-stopped" "a disk outside QEMU whose server is stopped" stuck.json
is "$(rows disk 'map([.head, .stage, .op, .bytes, .stands])')" '[[0,"outside","write",512,"yes"]]' "... its request" stuck.json
is "$(text_of peer-stopped | grep -c "to process $daemon (qemu-storage-da), which is stopped")" 2 \
	"... and who is stopped, at the other ends of two sockets" stuck.json
is "$(text_of not-returned | grep -c "it has not handled the guest's last kick")" \
	"$(jq '[.queues[] | select(.kicks_pending > 0)] | length' stuck.json)" "... and its kick, if that is pending" stuck.json
kill -CONT $daemon
until_true works
is "$(kinds)" "" "it continues" stuck.json
vm_end
kill -KILL $daemon

# 2. A VM restored from a snapshot.
hmp() {
	printf '%s\n' '{"execute":"qmp_capabilities"}' \
		"{\"execute\":\"human-monitor-command\",\"arguments\":{\"command-line\":\"$1\"}}" |
		timeout 60 socat -t 50 - UNIX-CONNECT:qmp,retry=50,interval=.1 > qmp.out 2>&1
}
saved() {
	qemu-img snapshot -U -l disk.qcow2 2> /dev/null | grep -q ' saved '
}
qemu-img create -q -f qcow2 disk.qcow2 2M
disk=(-drive file=disk.qcow2,if=none,id=d0,format=qcow2 -device virtio-blk-pci,drive=d0,id=disk,addr=4)
vm_start "reads=0 writes=0 masked=3 wait_ms=3600000" "${disk[@]}" -qmp unix:qmp,server=on,wait=off
until_true has lost-interrupt
hmp "savevm saved"
until_true saved
is $? 0 "a snapshot is saved" qmp.out
vm_end
vm_start "" "${disk[@]}" -loadvm saved
until_true has lost-interrupt
is "$(kinds) $(rows disk length)" "lost-interrupt 0" "a VM restored from it" qemu.out
is "$(jq -c '[.queues[] | [.avail_idx, .used_idx, .inuse]]' stuck.json)" '[[4,4,0]]' "... with its queue" stuck.json
vm_end
finish
