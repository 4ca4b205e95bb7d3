#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An L2 that traces itself with two clocks, recorded by hostrace; the checks verify the clock alignment.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

truncate -s 16M /tmp/traced.img /tmp/traced-out.img /tmp/traced-ns.img
l2_command traced 2 traced \
	-drive file=/tmp/traced.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0,id=disk \
	-drive file=/tmp/traced-out.img,if=none,id=d1,format=raw -device virtio-blk-pci,drive=d1 \
	-drive file=/tmp/traced-ns.img,if=none,id=d2,format=raw -device virtio-blk-pci,drive=d2
timeout -k 5 180 env LD_LIBRARY_PATH=/rig/lib \
	/rig/bin/hostrace record -o "$out/traced.hrt" -- "${qemu_command[@]}" \
	</dev/null >"$out/traced.record" 2>&1
echo $? >"$out/traced.record.status"
tr -d '\0' </tmp/traced-out.img >"$out/traced.guest"
tr -d '\0' </tmp/traced-ns.img >"$out/traced.ns"
l2_reached traced "done"
