#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Why a VM hangs, found by a `stuck` that came afterwards: a request at a breakpoint of blkdebug, an I/O
# thread in a debugger, a file system that does not answer.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 jq socat

truncate -s 2M disk.img

# The guest writes: its driver has reset the device, for which QEMU needs the I/O thread.
has_written() {
	qmp '{"execute":"query-blockstats"}' > qmp.out 2>&1
	grep -q '"wr_operations": [1-9]' qmp.out
}

plan 10

# A breakpoint of blkdebug holds a write.
vm_start "reads=0 writes=1" -blockdev driver=blkdebug,node-name=bd,image.driver=file,image.filename=disk.img \
	-device virtio-blk-pci,drive=bd,id=disk,addr=4 -S -qmp unix:qmp,server=on,wait=off
qmp '{"execute":"human-monitor-command","arguments":{"command-line":"qemu-io -d disk/virtio-backend \"break pwritev A\""}}' \
	'{"execute":"cont"}' > qmp.out 2>&1
until_true has suspended
is $? 0 "blkdebug holds a request" stuck.json
is "$(text_of suspended | grep -c "breakpoint 'A'")" 1 "... at its breakpoint" stuck.json
is "$(rows disk 'map([.stage, .op, .sector, .bytes])')" '[["popped","write",0,512]]' "... the write" stuck.json
vm_end

# An I/O thread stopped by a debugger, while the guest writes.
vm_start "reads=0 writes=4000000" -object iothread,id=io0 -drive file=disk.img,if=none,id=d0,format=raw \
	-device virtio-blk-pci,drive=d0,id=disk,addr=4,iothread=io0 -qmp unix:qmp,server=on,wait=off
until_true has_written
tid=$(grep -ls io0 /proc/"$vm"/task/*/comm | cut -d/ -f5)
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

finish
