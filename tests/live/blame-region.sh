#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --qmp: hostrace blame names the device behind a PCI card's ports and memory, which the firmware has placed. The
# guest finds them in the card's configuration space; there is a second card, which it does not use.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
guest=blameguest-bar
memory="-qmp unix:qmp,server=on,wait=off -device e1000,id=nic0,addr=5,romfile= -device e1000,id=nic1,romfile="
. "$ROOT/tests/live/blame-lib.inc"

# rounds NR: the guest has done 16 * NR more rounds
rounds() {
	shown=$(wc -c <guest.out)
	for _ in $(seq 30000); do
		[ "$(wc -c <guest.out)" -lt $((shown + $1)) ] || return 0
		sleep 0.01
	done
	return 1
}

plan 9
vm_start
rounds 1 || bail "the guest does not run"
timeout -s KILL 200 "$HOSTRACE" record --vm "$vm" --qmp none -d 1s -o trace.hrt --for blame >none.out 2>&1
is "$? $(grep -c 'none: No such file or directory' none.out)" "1 1" "without that monitor nothing is recorded" none.out
is "$(ls trace.hrt 2>/dev/null)" "" "no recording remains" none.out

timeout -s KILL 200 "$HOSTRACE" record --vm "$vm" --qmp qmp -o trace.hrt --for blame 2>record.err &
recorder=$!
until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
rounds 3 || bail "the guest does not run"
record_stop
is "$? $(grep -c 'devices that' record.err)" "0 0" "recorded; the monitor was queried twice" record.err
timeout -s KILL 200 "$HOSTRACE" virtio --state --vm "$vm" --qmp qmp >state.out 2>&1
is $? 0 "the monitor is free again" state.out
vm_stop 2>/dev/null
"$HOSTRACE" blame -i trace.hrt >blame.out 2>&1
"$HOSTRACE" blame -i trace.hrt -f json >blame.json
is "$(jq -r '[.causes[].what | select(test("of nic"))] | map(sub(".* \\(?(?<n>e1000-.*)\\)?$"; "\(.n)") | rtrimstr(")")) | unique | join(", ")' blame.json)" \
	"e1000-io of nic0, e1000-mmio of nic0" "the card's ports and memory are named, and no other card" blame.out
is "$(jq '[.causes[] | select(.cause == "device") | .what | select(test("^(port|MMIO) ") and (test("of nic0") | not))]
	| map(select(test("isa-debugcon|debug console") | not)) | length' blame.json)" 0 \
	"the other exits are the console's" blame.out
"$HOSTRACE" ports -i trace.hrt >ports.out 2>&1
is "$(awk '/e1000-io of nic0/ {n++} END {print n + 0}' ports.out)" 2 "so does the report of ports" ports.out
"$HOSTRACE" mmio -i trace.hrt >mmio.out 2>&1
is "$(awk '/e1000-mmio of nic0/ {n++} END {print n + 0}' mmio.out)" 1 "... and of MMIO" mmio.out

sleep 1000 &
other=$!
timeout -s KILL 200 "$HOSTRACE" record --vm $other --qmp qmp -d 1s -o trace.hrt >other.out 2>&1
is "$(grep -c 'qmp: ' other.out)" 1 "a monitor that is gone" other.out
kill $other
finish
