#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --for faults and faults: a guest that touches a known number of pages of each backing, once each (slotvmm).
# Needs $HOSTRACE and $BUILD; prints TAP.
# resources: swap
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools jq mkswap swapon
live_build "$BUILD/slotvmm"

dd if=/dev/zero of=swap bs=1M count=64 2>/dev/null
chmod 600 swap
mkswap swap >/dev/null
swap=
swapon swap 2>swap.err && swap=touch=swap:37
trap 'kill $vm 2>/dev/null; swapoff swap 2>/dev/null' EXIT
vm=
mkfifo go
timeout -s KILL 300 "$BUILD/slotvmm" touch=anon:1000 touch=zero:1000 touch=cached:1000:cached touch=cold:53:cold \
	touch=cow:1000:private touch=fork:67 touch=thp:5 touch=uffd:23 $swap <go >out 2>err &
exec 3>go
until_line '^ready' out || bail "the VMM did not start: $(cat err)"
vm=$(sed -n 's/^ready //p' out)
timeout 120 "$HOSTRACE" record --vm "$vm" -d 60s -o t.hrt --for faults 2>record.err &
recorder=$!
until_line 'recording' record.err || bail "not recorded: $(cat record.err)"
grep -q 'host_fault is not recorded' record.err && skip_all "kernel: $(grep -m 1 'not recorded' record.err)"
echo >&3
until_line '^outb' out || echo "# the guest has not ended"
kill -INT "$recorder"
wait "$recorder"
echo >&3
plan 15
"$HOSTRACE" faults t.hrt --by slot -f json >slots.json 2>err
is $? 0 "the report reads the recording" err record.err
causes() { jq -r --argjson slot "$1" '[.rows[] | select(.slot == $slot) | "\(.cause) \(.count) \(.writes)"] | sort | join(", ")' slots.json; }
is "$(causes 0)" "new-page 1000 1000" "1000 pages of anonymous memory" slots.json
is "$(causes 1)" "zero-page 1000 0" "1000 pages that are only read" slots.json
# A file system that tracks changes may wait for its journal.
is "$(jq '[.rows[] | select(.slot == 2 and (.cause == "page-cache" or .cause == "page-wait")).count] | add' slots.json)" 1000 \
	"1000 pages of a file in the page cache" slots.json
is "$(jq '[.rows[] | select(.slot == 2 and .cause == "page-cache").count] | add > 950' slots.json)" true \
	"... that few of them wait for" slots.json
is "$(causes 3)" "disk-read 53 0" "53 pages of a file that are read" slots.json
is "$(causes 4)" "copy-on-write 1000 1000" "1000 pages of a private mapping" slots.json
is "$(causes 5)" "copy-on-write 67 67" "67 pages that a child process shares" slots.json
is "$(causes 6)" "huge-page 5 5" "5 huge pages" slots.json
is "$(causes 7)" "userfaultfd 23 23" "23 pages that a handler supplies" slots.json
is "$(jq '.rows[] | select(.slot == 7) | .min_ns >= 2000000 and .total_ns >= 46000000 and .waited_ns >= 46000000' slots.json)" true \
	"... 2 ms later" slots.json
if [ -n "$swap" ]; then
	is "$(causes 8)" "swap-in 37 0" "37 pages in swap" slots.json
else
	skip "37 pages in swap" "kernel: $(cat swap.err)"
fi
"$HOSTRACE" faults t.hrt --by vma -f json >vmas.json
is "$(jq -r '[.rows[] | select(.file != "[anon]") | "\(.file) \(.count)"] | sort | join(", ")' vmas.json |
	sed 's/cached [0-9]*, cached [0-9]*/cached 1000/')" "cached 1000, cold 53, private 1000" "files by name" vmas.json
"$HOSTRACE" list t.hrt -f csv --where 'event == "host_fault" && file == "cold"' >cold.csv
awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { print $at["file_offset"], $at["gpa"] }' cold.csv |
	while read -r offset gpa; do echo "$((offset)) $((gpa))"; done >seen
i=0
while [ $i -lt 53 ]; do echo "$((i * 4096)) $((0x40000000 + 3 * 0x8000000 + i * 4096))" && i=$((i + 1)); done >touched
is "$(cmp seen touched 2>&1)" "" "their places in the file and in the guest, in order" seen
is "$(jq -r '[.rows[] | select(.slot > 8 or .slot == null)] | length' slots.json)" 0 "no other faults" slots.json
finish
