#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --sample and profile --host: the VMM's own code, of a VMM whose threads have a known profile.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_build "$BUILD/minivmm"

mkdir -p "root$BUILD"
cp "$BUILD/minivmm" "root$BUILD/"
timeout -s KILL 300 "$BUILD/minivmm" count=count spin >out 2>err &
until_line '^ready' out || bail "the VMM did not start: $(cat err)"
vm=$(sed -n 's/^ready //p' out)
trap 'kill "$vm" 2>/dev/null' EXIT

profile() { "$HOSTRACE" "$@" -i t.hrt --symfs "$PWD/root" 2>>record.err; }
# hits PATTERN FILE: samples on lines that match
hits() { awk -v p="$1" '$0 ~ p { n += $NF } END { print n + 0 }' "$2"; }
# A busy machine yields few samples per second: records until there are enough.
seconds=1
until timeout 200 "$HOSTRACE" record -q --vm "$vm" -d "${seconds}s" -o t.hrt --sample 997 2>record.err &&
	profile profile --host -f folded >folded && [ "$(hits ';spin_(hot|warm)[; ]' folded)" -ge 100 ]; do
	seconds=$((2 * seconds))
	[ $seconds -le 16 ] || break
done
profile prof-flame -t host_stack --sort comm,dso,symbol >comms
profile prof-flame -t host_stack >stacks

plan 7
hot=$(hits ';spin_hot[; ]' folded) warm=$(hits ';spin_warm[; ]' folded) all=$((hot + warm))
echo "# spin_hot $hot, spin_warm $warm"
is "$((all >= 100))" 1 "there are 100 samples" record.err
# 70 %, within 5 standard deviations for this number of samples, plus one point for the timer itself
share() { # HOT ALL
	awk -v h="$1" -v n="$2" 'BEGIN {
		s = n ? h / n : 0; d = n ? 5 * sqrt(.7 * .3 / n) + .01 : 0
		print (s > .7 - d && s < .7 + d) ? "70 %" : s }'
}
is "$(share "$hot" "$all")" "70 %" "spin_hot has its share" folded
# All but those at a function's first instructions, before it has its frame.
is "$((20 * $(hits ';(main;handle_exit;count_exit|spinner);spin;call_(hot;spin_hot|warm;spin_warm)[; ]' folded) > 19 * all))" 1 \
	"... with their callers" folded
for comm in minivmm spinner; do
	hot=$(hits "^$comm;minivmm;spin_hot " comms)
	is "$(share "$hot" $((hot + $(hits "^$comm;minivmm;spin_warm " comms))))" "70 %" "... in the thread $comm" comms
done
is "$(profile profile --host --sort dso -f folded | grep -c '^minivmm ')" 1 "the program is a file of the profile" folded
is "$(($(hits 'ioctl.* \\[host\\]' stacks) > 0))" 1 "the kernel's code is there, called by the program" stacks
finish
