#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Guest memory that the kernel has to read from a slow disk, as it does after it was swapped out: hostrace blame attributes
# this time to faults. Each read takes 20 ms; when is in the disk's log (slowfuse.c).
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
guest=blameguest-touch
stopped=yes
memory="-object memory-backend-file,id=ram,size=32M,mem-path=mnt/disk,share=off -machine memory-backend=ram"
. "$ROOT/tests/live/blame-lib.inc"
[ -c /dev/fuse ] || skip_all "kernel: no /dev/fuse"
live_build "$BUILD/slowfuse"

# reads: so many are complete
reads() {
	grep -c ' ' reads.log
}

plan 4
mkdir mnt
truncate -s 32M guest.ram
"$BUILD/slowfuse" mnt guest.ram 20000 >reads.log 2>&1 &
until_line ready reads.log || bail "slowfuse: $(cat reads.log)"
vm_start
trap 'kill "$vm" 2>/dev/null; umount -l mnt 2>/dev/null' EXIT
record_start
first=$(($(reads) + 1))
last=$((first + 99))
after=$((last + 2)) # the page fault of the last one has ended, too
echo cont >&4
for _ in $(seq 1200); do
	[ "$(reads)" -lt $after ] || break
	sleep .1
done
[ "$(reads)" -ge $after ] || bail "the guest does not read its memory: $(tail -n 3 reads.log)"
record_stop
is $? 0 "recorded" record.err
kill "$vm"
umount -l mnt
vm_stop 2>/dev/null
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
"$HOSTRACE" blame -i trace.hrt -f json --min-latency 10ms >blame.json
took=$(grep ' ' reads.log | sed -n "$first,${last}p" | awk '{ns += $2 - $1} END {printf "%.0f", ns}')
is "$(jq -r '[.causes[] | select(.cause != "preempted" and .cause != "runqueue")][0] | .cause' blame.json)" fault \
	"but for the host's other tasks faults are the largest cause" blame.out
fault=$(blame_ns '.cause == "fault"')
echo "# 100 reads took $took ns, faults $fault ns"
is $((fault * 100 >= took * 95)) 1 "at least 95 % of the time of 100 reads is attributed to them" blame.out
is "$(jq '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length' blame.json)" 0 \
	"the causes of each exit add up to it" blame.json
finish
