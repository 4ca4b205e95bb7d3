#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Why a VM hangs, found by a `stuck` that came afterwards: a request at a breakpoint of blkdebug, an I/O
# thread in a debugger, a file system that does not answer, an NBD server that is stopped.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 qemu-nbd jq socat

truncate -s 2M disk.img

plan 14

# A breakpoint of blkdebug holds a write.
vm_start "reads=0 writes=1" -blockdev driver=blkdebug,node-name=bd,image.driver=file,image.filename=disk.img \
	-device virtio-blk-pci,drive=bd,id=disk,addr=4 -S -qmp unix:qmp,server=on,wait=off
qmp() {
	printf '%s\n' '{"execute":"qmp_capabilities"}' "$@" | timeout 200 socat -t 2 - UNIX-CONNECT:qmp,retry=50,interval=.1
}
# QEMU has opened its disks: it reads them when it makes the devices, after it has written its pid.
is_up() {
	qmp '{"execute":"query-status"}' > qmp.out 2>&1
	grep -q prelaunch qmp.out
}
qmp '{"execute":"human-monitor-command","arguments":{"command-line":"qemu-io -d disk/virtio-backend \"break pwritev A\""}}' \
	'{"execute":"cont"}' > qmp.out 2>&1
until_true has suspended
is $? 0 "blkdebug holds a request" stuck.json
is "$(text_of suspended | grep -c "breakpoint 'A'")" 1 "... at its breakpoint" stuck.json
is "$(rows disk 'map([.stage, .op, .sector, .bytes])')" '[["popped","write",0,512]]' "... the write" stuck.json
vm_end

# An I/O thread stopped by a debugger, while the guest writes.
vm_start "reads=0 writes=4000000" -object iothread,id=io0 -drive file=disk.img,if=none,id=d0,format=raw \
	-device virtio-blk-pci,drive=d0,id=disk,addr=4,iothread=io0
until_line '^hlt' console.txt
tid=$(grep -ls io0 /proc/"$vm_pid"/task/*/comm | cut -d/ -f5)
"$BUILD/holdthread" "$tid" > hold.out &
holder=$!
until_line held hold.out
waits() {
	has traced && [ "$(rows disk 'map(select(.stands == "yes" and .op == "write")) | length > 0')" = true ]
}
until_true waits
is $? 0 "an I/O thread in a debugger, and the guest's writes" stuck.json
is "$(jq -r --argjson tid "$tid" '.findings[] | select(.kind == "traced") | .tid == $tid' stuck.json)" true \
	"... the thread is found" stuck.json
is "$(text_of traced | grep -c "process $holder (holdthread)")" 1 "... and the debugger" stuck.json
is "$(findings 'any(.kind == "kick-not-handled" or .kind == "not-returned")')" true "... and what the disk does not do" stuck.json
kill $holder
vm_end

# A file system that does not answer.
mkdir mnt
"$BUILD/slowfuse" mnt disk.img 0 > fuse.out &
fuse=$!
until_line ready fuse.out
vm_start "reads=1 writes=0 wait_ms=3600000" -blockdev driver=file,node-name=f,filename=mnt/disk,read-only=on,locking=off \
	-device virtio-blk-pci,drive=f,id=disk,addr=4 -S -qmp unix:qmp,server=on,wait=off
until_true is_up
kill -STOP $fuse
qmp '{"execute":"cont"}' > qmp.out 2>&1
until_true has blocked
is $? 0 "a file system that does not answer: a thread is blocked" stuck.json
is "$(text_of blocked | grep -c "of $scratch/mnt/disk (file system: fuse)")" 1 "... with file and file system" stuck.json
until_true has not-returned
is "$(rows disk 'map([.stage, .op, .sector])')" '[["popped","read",0]]' "... and the read" stuck.json
kill -CONT $fuse
vm_end
umount mnt
wait $fuse

# An NBD server that is stopped.
qemu-nbd --fork --pid-file=nbd.pid -k "$scratch/nbd.sock" -f raw disk.img
nbd=$(cat nbd.pid)
vm_start "reads=1 writes=0 wait_ms=3600000" -blockdev driver=nbd,node-name=n,server.type=unix,server.path="$scratch/nbd.sock" \
	-device virtio-blk-pci,drive=n,id=disk,addr=4 -S -qmp unix:qmp,server=on,wait=off
until_true is_up
kill -STOP "$nbd"
qmp '{"execute":"cont"}' > qmp.out 2>&1
until_true has peer-stopped
is $? 0 "an NBD server that is stopped" stuck.json
is "$(text_of peer-stopped | grep -c "process $nbd (qemu-nbd)")" 1 "... is found" stuck.json
is "$(text_of not-returned | grep -c "block nodes: nbd")" 1 "... behind the device" stuck.json
is "$(rows disk 'map([.stage, .op, .sector])')" '[["popped","read",0]]' "... with the read" stuck.json
kill -CONT "$nbd"
vm_end
kill "$nbd" 2> /dev/null
finish
