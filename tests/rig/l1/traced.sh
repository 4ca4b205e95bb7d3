#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An L2 that traces itself, recorded by hostrace: one clock for both, proven.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

truncate -s 16M /tmp/traced.img /tmp/traced-out.img
l2_command traced 2 traced \
	-drive file=/tmp/traced.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0 \
	-drive file=/tmp/traced-out.img,if=none,id=d1,format=raw -device virtio-blk-pci,drive=d1
hostrace record -o "$out/traced.hrt" -- timeout -k 5 90 "${qemu_command[@]}" \
	</dev/null >"$out/traced.record" 2>&1
echo $? >"$out/traced.record.status"
tr -d '\0' </tmp/traced-out.img >"$out/traced.guest"
l2_lived traced "done"
