#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --sample and profile --host: a guest with a known profile, sampled from the host.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64
live_build "$BUILD/sampleguest.elf"
guest=$BUILD/sampleguest.elf

timeout -s KILL 700 qemu-system-x86_64 -accel kvm -m 64 -nodefaults -display none -serial none \
	-pidfile qemu.pid -kernel "$guest" >qemu.out 2>&1 &
until_line '^[0-9]' qemu.pid || bail "QEMU did not start: $(cat qemu.out)"
vm=$(cat qemu.pid)
trap 'kill "$vm" 2>/dev/null' EXIT

# seconds TRACE [RECORD-ARGS...]
sample() {
	seconds=$1
	trace=$2
	shift 2
	timeout -s KILL 200 "$HOSTRACE" record -q --vm "$vm" -d "$seconds" -o "$trace" --sample 997 "$@" 2>record.err
}

# Call chains exist once the guest's 64-bit code runs, after SeaBIOS.
chained() {
	for _ in $(seq 100); do
		sample 1 try.hrt --frames || return 1
		"$HOSTRACE" profile --host -i try.hrt --symbols "$guest" -f folded 2>/dev/null | grep -q ';spin_' && return
	done
	return 1
}

# hits NAME TRACE: samples on lines that end with the function
hits() {
	"$HOSTRACE" profile --host -i "$2" --symbols "$guest" -f folded 2>/dev/null |
		awk -v name="$1" '$1 ~ "(^|;)" name "$" { n += $NF } END { print n + 0 }'
}

plan 9
chained
is $? 0 "the guest is sampled" record.err
# A busy machine yields few samples per second: repeats the recording until there are enough.
hot=0 warm=0 status=0
for try in $(seq 15); do
	sample 2 "frames$try.hrt" --frames || status=$?
	hot=$((hot + $(hits spin_hot "frames$try.hrt")))
	warm=$((warm + $(hits spin_warm "frames$try.hrt")))
	[ $((hot + warm)) -lt 300 ] || break
done
is $status 0 "recordings with call chains" record.err
all=$((hot + warm))
echo "# spin_hot $hot, spin_warm $warm"
is "$([ "$all" -ge 100 ] && echo yes)" yes "there are 100 samples at least"
# 70 %, within 5 standard deviations for this number of samples, plus one point for the timer itself
is "$(awk -v h="$hot" -v n="$all" 'BEGIN {
	s = h / n; d = 5 * sqrt(.7 * .3 / n) + .01
	print (s > .7 - d && s < .7 + d) ? "70 %" : s }')" "70 %" "spin_hot has its share"
is "$(for i in $(seq "$try"); do
	"$HOSTRACE" profile --host -i "frames$i.hrt" --symbols "$guest" -f folded 2>>record.err
done | awk '/spin_/ { sub(/ [0-9]+$/, ""); print }' | sort -u | grep -c '^long_mode;main_loop;call_\(hot\|warm\);spin_')" 2 \
	"call chains by frame pointers, through the guest's page tables"
status=0
for _ in $(seq 15); do
	sample 1 plain.hrt || status=$?
	plain=$(hits 'spin_(hot|warm)' plain.hrt)
	[ "$plain" -eq 0 ] || break
done
is $status 0 "a recording without" record.err
is $((plain > 0)) 1 "... has samples too" record.err
is "$("$HOSTRACE" profile --host -i plain.hrt | grep -c '^# [1-9][0-9]* samples of vCPU threads (997 Hz)')" 1 \
	"the report tells the clock's rate"
is "$("$HOSTRACE" record --vm "$vm" --frames -d 1s -o no.hrt 2>&1 | grep -c -e '--frames requires --sample')" 1 \
	"--frames wants --sample"
finish
