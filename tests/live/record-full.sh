#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system that becomes full, or a limit of the file's size, in the middle of a recording: it ends as failed, what is
# in the file is right, and the file says how much is missing.
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

plan 34
# What the file of a recording that failed says about itself: FILE
tells_what_is_missing() {
	local said
	said=$(sed -n 's/.*warning: \([0-9]*\) events could not be written.*/\1/p' record.err)
	is "$("$HOSTRACE" info -i "$1" -f json | jq -c '[.result.end, .result.truncated, .inputs[0].lost]')" \
		"[\"error\",null,$said]" "the file says that it ended by an error, and counts the events that are missing" record.err
	"$HOSTRACE" exits -i "$1" --strict >exits.out 2>&1
	is $? 3 "... 'exits --strict' ends with status 3" exits.out
	is "$(grep -c "^# $said events were lost: the file could not be written" exits.out)" 1 "... and names the reason" exits.out
	"$HOSTRACE" report --strict -i "$1" -o page.html >report.out 2>&1
	is $? 3 "... as does 'report'" report.out
}

guest_start full
record_start --vm "$vm" -o disk/full.hrt
guest_set full GUEST_GO 1
wait "$recorder_waiter"
is $? 1 "the recording fails" record.err
is "$(grep -c 'No space left on device' record.err)" 1 "... with the reason" record.err
tells_what_is_missing disk/full.hrt
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
missing=$(lost disk/full.hrt kvm_pio)
is $((missing > 0 && recorded + missing <= all)) 1 "... as it says"
is "$(sed -n 's/.*[( ]kvm_pio \([0-9]*\)[,)].*/\1/p' record.err)" "$(events kvm_pio disk/full.hrt)" \
	"... and the summary counts what is in the file" record.err
kill -s KILL "$vm"

guest_start limit
( ulimit -f 1000
record_start --vm "$vm" -o limit.hrt
guest_set limit GUEST_GO 1
wait "$recorder_waiter" )
is $? 1 "with a limit of the file's size: the recording fails" record.err
is "$(grep -c 'File too large' record.err)" 1 "... with the reason" record.err
tells_what_is_missing limit.hrt
( ulimit -f 64
"$HOSTRACE" record --vm "$vm" -d 1s -o small.hrt ) 2>record.err
is "$? $(grep -c 'File too large.*ulimit -f' record.err) $(find . -name 'small*.tmp' | wc -l)" "1 1 0" \
	"a limit of 64 KiB: the message says what to do" record.err
tells_what_is_missing small.hrt
for limit in 8 16; do
	( ulimit -f $limit
	"$HOSTRACE" record --vm "$vm" -d 1s -o smaller$limit.hrt ) 2>record.err
	is $? 1 "a limit of $limit KiB: the recording fails" record.err
	"$HOSTRACE" info -i smaller$limit.hrt >info.out 2>&1
	is $? 0 "... and the file can be read" info.out
done
umount disk
mount -t tmpfs -o size=64k tmpfs disk
"$HOSTRACE" record --vm "$vm" -d 1s -o disk/small.hrt 2>record.err
is $? 1 "a disk of 64 KiB: the recording fails" record.err
tells_what_is_missing disk/small.hrt
guest_stop limit >/dev/null
head -c 100000 limit.hrt >cut.hrt
"$HOSTRACE" exits -i cut.hrt --strict >exits.out 2>&1
is $? 3 "a file without its end: 'exits --strict' ends with status 3" exits.out
is "$("$HOSTRACE" exits -i cut.hrt -f json | jq -c '[.inputs[0].truncated]')" "[true]" "... and its JSON says so"
kill -s KILL "$vm"
finish
