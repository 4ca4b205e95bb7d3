#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# annotate: the instructions of a VMM's and a guest's loop, which are known, against objdump and perf annotate.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq objdump perf
live_build "$BUILD/minivmm"
live_build "$BUILD/sampleguest.elf"
guest=$BUILD/sampleguest.elf

timeout -s KILL 700 qemu-system-x86_64 -accel kvm -m 64 -nodefaults -display none -serial none \
	-pidfile qemu.pid -kernel "$guest" >qemu.out 2>&1 &
until_line '^[0-9]' qemu.pid || bail "QEMU did not start: $(cat qemu.out)"
qemu=$(cat qemu.pid)
mkdir -p "root$BUILD"
cp "$BUILD/minivmm" "root$BUILD/"
timeout -s KILL 300 "$BUILD/minivmm" count=count spin >out 2>err &
trap 'kill "$qemu" $vmm 2>/dev/null' EXIT
vmm=
until_line '^ready' out || bail "the VMM did not start: $(cat err)"
vmm=$(sed -n 's/^ready //p' out)

annotate() { timeout 100 "$HOSTRACE" annotate spin_hot "$@" -f json 2>>hostrace.err; }
# The addresses of spin_hot's instructions, and those of its loop: from "dec" to "jne".
code() { objdump -d --no-show-raw-insn --disassemble=spin_hot "$1" | sed -n 's/^ *\([0-9a-f]*\):\t\([a-z]*\).*/0x\1 \2/p'; }
loop() { code "$1" | awk '$2 ~ /^dec/ { on = 1 } on { print $1 } $2 ~ /^j/ { on = 0 }'; }
# hits FILE: samples in the loop; all of them
hits() {
	loop "$2" >loop
	jq -r '.rows[] | select(.samples > 0) | "\(.address) \(.samples)"' "$1" |
		awk 'NR == FNR { loop[$1] = 1; next } { all += $2 } $1 in loop { in_it += $2 } END { print in_it + 0, all + 0 }' loop -
}

plan 9
seconds=1
until timeout 200 "$HOSTRACE" record -q --vm "$vmm" -d "${seconds}s" -o vmm.hrt --sample 997 2>hostrace.err &&
	annotate vmm.hrt --symfs "$PWD/root" >vmm.json && [ "$(jq .samples vmm.json)" -ge 100 ]; do
	seconds=$((2 * seconds))
	[ $seconds -le 16 ] || break
done
is "$(($(jq .samples vmm.json) >= 100))" 1 "there are 100 samples of the VMM's loop" hostrace.err
jq -r '.rows[].address' vmm.json >addresses
is "$(code "$BUILD/minivmm" | cut -d' ' -f1 | diff - addresses)" "" "its instructions begin where objdump says" addresses
set -- $(hits vmm.json "$BUILD/minivmm")
echo "# in the loop $1 of $2"
is "$((20 * $1 > 19 * $2))" 1 "the samples are in the loop" vmm.json
is "$2" "$(jq .samples vmm.json)" "rows have all samples of the function" vmm.json
is "$(timeout 100 "$HOSTRACE" prof-flame vmm.hrt -t host_stack --sort symbol --symfs "$PWD/root" | sed -n 's/^spin_hot //p')" "$2" \
	"... those that the profile has" vmm.json
is "$(jq -r '[.rows[].file | strings | sub(".*/"; "")] | unique[]' vmm.json)" minivmm.c "source lines are there" vmm.json

# The same samples of perf.
timeout 60 perf record -q -e cpu-clock -F 997 -g -p "$vmm" -o perf.data -- sleep 2 >perf.out 2>&1
annotate perf.data --symfs "$PWD/root" >perf.json
timeout 100 perf annotate -i perf.data --stdio -s spin_hot 2>/dev/null |
	sed -n 's/^ *\([0-9.]*\) : *\([0-9a-f]*\):.*/0x\2 \1/p' >theirs
jq -r '.rows[] | "\(.address) \(.share)"' perf.json | awk '{ printf "%s %.2f\n", $1, $2 }' >ours
# Both round: 99.565 may be 99.56 or 99.57.
is "$(paste -d' ' ours theirs | awk '$1 != $3 || ($2 - $4) ^ 2 > 0.00011 { print } END { if (!NR) print "none" }')" "" \
	"perf annotate has the same shares" ours theirs perf.out

# The guest, after SeaBIOS.
for _ in $(seq 40); do
	timeout 200 "$HOSTRACE" record -q --vm "$qemu" -d 2s -o guest.hrt --sample 997 2>hostrace.err
	annotate guest.hrt -e "$guest" >guest.json && [ "$(jq .samples guest.json)" -ge 50 ] && break
done
code "$guest" | cut -d' ' -f1 >addresses
is "$(jq -r '.rows[].address' guest.json | diff - addresses)" "" "the guest's instructions begin where objdump says" guest.json
set -- $(hits guest.json "$guest")
echo "# in the guest's loop $1 of $2"
is "$((20 * $1 > 19 * $2 && $2 >= 50))" 1 "the guest's samples are in its loop" guest.json
finish
