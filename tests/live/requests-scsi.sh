#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# requests --stages of a virtio-scsi disk: its firmware looks for disks and reads sectors of one. What goes to the host's
# disk has its stages, and nothing else does.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/requests-lib.inc"
trap '[ -z "$vm" ] || kill "$vm" 2>/dev/null; rm -rf "$scratch"' EXIT

READS=40
${CC:-gcc} -c -DREADS=$READS -o boot.o "$ROOT/tests/live/record-boot.S" &&
	ld --oformat binary -Ttext 0x7c00 -o boot.img boot.o || bail "cannot build the boot sector"
truncate -s 1M boot.img

# between FROM TO: requests whose stages include both
between() {
	jq --arg from "$1" --arg to "$2" '[.rows[].points_ns | select(.[$from] and .[$to])] | length' path.json
}

plan 6
vm_start -drive file=boot.img,if=none,id=d,format=raw,cache=none,aio=native \
	-device virtio-scsi-pci,id=scsi0,iothread=io0 -device scsi-hd,drive=d,bus=scsi0.0
vm_record scsi.hrt
host_ios_are_there scsi.hrt $((READS + 1)) "the reads have I/O of the host, or it is counted as lost"
# The others find the disks.
is "$(jq '[.rows[] | select(.host_ios > 1)] | length' path.json)" 0 "... and no other's" stages
is "$(between submit done)" "$found" "... and its stages" stages
is $(($(between kick notify) > READS)) 1 "... between the kick and the notification" stages
finish
