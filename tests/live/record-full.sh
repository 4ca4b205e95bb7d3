#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system that becomes full in the middle of a recording: it ends as failed, what is in the file is right.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

mkdir disk
mount -t tmpfs -o size=1M tmpfs disk 2>mount.err || skip_all "kernel: cannot mount a tmpfs: $(cat mount.err)"
trap 'guests_kill; umount -l disk; rm -rf "$scratch"' EXIT

plan 8
guest_start full
record_start --vm "$vm" -o disk/full.hrt
guest_set full GUEST_GO 1
wait "$recorder_waiter"
is $? 1 "the recording fails" record.err
is "$(grep -c 'No space left on device' record.err)" 1 "... with the reason" record.err
"$HOSTRACE" info -i disk/full.hrt >info.out 2>&1
is $? 0 "the file can be read" info.out
all=$(guest_stop full)
is "$(guest_get full GUEST_ENDED)" 1 "the VM runs on"
recorded=$(accesses full disk/full.hrt)
echo "# $recorded of $all accesses are in the file"
is $((recorded > 1000 && recorded <= all)) 1 "... it has what was recorded until then"
# The guest writes 0, 1, 2 ...: none is missing before the last one.
is "$("$HOSTRACE" list -f csv -i disk/full.hrt --event kvm_pio 2>list.err |
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } $at["val"] % 256 != n++ % 256 { print NR; exit }')" "" \
	"... without gaps" list.err
is "$(lost disk/full.hrt kvm_pio)" 0 "... as it says"
is "$(sed -n 's/.*[( ]kvm_pio \([0-9]*\)[,)].*/\1/p' record.err)" "$(events kvm_pio disk/full.hrt)" \
	"... and the summary counts what is in the file" record.err
kill -s KILL "$vm"
finish
