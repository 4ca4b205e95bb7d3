#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An L2 that traces itself with two clocks, recorded by hostrace; the checks verify the clock alignment, and follow its
# reads through QEMU and the block layer of L1, whose disk has the image.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

image=/rig/traced.img                                             # on ext4; /tmp has no disk
dd if=/dev/zero of=$image bs=1M count=16 conv=fsync 2>/dev/null # a hole would be read without the disk
truncate -s 16M /tmp/traced-out.img /tmp/traced-ns.img
l2_command traced 2 traced \
	-drive file=$image,if=none,id=d0,format=raw,cache=none -device virtio-blk-pci,drive=d0,id=disk \
	-drive file=/tmp/traced-out.img,if=none,id=d1,format=raw -device virtio-blk-pci,drive=d1 \
	-drive file=/tmp/traced-ns.img,if=none,id=d2,format=raw -device virtio-blk-pci,drive=d2
timeout -k 5 "$life_seconds" env LD_LIBRARY_PATH=/rig/lib \
	/rig/bin/hostrace record -e default,sched_woken,host_io,blk_request -o "$out/traced.hrt" -- "${qemu_command[@]}" \
	</dev/null >"$out/traced.record" 2>&1
echo $? >"$out/traced.record.status"
tr -d '\0' </tmp/traced-out.img >"$out/traced.guest"
tr -d '\0' </tmp/traced-ns.img >"$out/traced.ns"
l2_reached traced "done"
