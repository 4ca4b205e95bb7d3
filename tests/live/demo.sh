#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The demo: first only its guest, then the whole demo under KVM and under TCG. It compares its results itself; this test
# checks that it does, and that the results are usable.
# Needs $HOSTRACE (the program) and $BUILD (the build directory); prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_tools qemu-system-x86_64 busybox

# guest ACCEL COMMAND-LINE: runs it on disk.img; exit status 33: correct, 35: error
guest() {
	timeout 200 qemu-system-x86_64 -accel "$1" -machine "${3:-pc}" -m 32 -nodefaults -display none \
		-serial stdio -no-reboot -kernel "$BUILD/demo-guest.elf" -append "$2" \
		-device isa-debug-exit,iobase=0xf4,iosize=1 \
		-drive file=disk.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0,addr=4 \
		> guest.out 2>&1
	echo $?
}

live_needs_root
plan 14
mkdir planted
ln -s ../precious planted/disk.img
chown -h 65534 planted planted/disk.img
echo precious >precious
timeout 200 "$HOSTRACE" demo planted >planted.out 2>&1
is "$? $(cat precious)" "1 precious" "another user's directory is not used" planted.out
truncate -s 2M disk.img
is "$(guest tcg "reads=0 writes=0")" 33 "guest without disk work" guest.out
is "$(guest tcg "reads=60 writes=60 outb=1 insb=9" q35)" 33 "guest on q35 reads what it wrote" guest.out
is "$(guest tcg "reads=1 writes=0")" 35 "guest notices wrong contents" guest.out
is "$(grep -c 'FAILED: sector 0 word 0' guest.out)" 1 "and says where" guest.out
is "$(guest tcg "reads=x")" 35 "guest refuses a bad number" guest.out

# The recorder's command is a cat. That of busybox fails as soon as nobody reads its output.
mkdir bin
ln -s "$(command -v busybox)" bin/cat

# demo ACCEL DIR FIGURES
demo() {
	PATH=$PWD/bin:$PATH timeout 200 "$HOSTRACE" demo --accel "$1" "$2" > "$2.out" 2>&1
	is $? 0 "demo under $1 agrees with the known workload" "$2.out"
	is "$(grep -c '^known workload: .* OK$' "$2.out")" "$3" "demo under $1 compared $3 figures" "$2.out"
	is "$(tail -c 7 "$2/heatmap.svg")" "</svg>" "demo under $1 drew a heatmap"
}

umask 022
demo tcg t 10
is "$(find t -type f ! -perm 600)" "" "... and only its user can read its files"
if [ -c /dev/kvm ]; then
	demo kvm k 11
	is "$(grep -c '"ok": true' k/demo.json)" 12 "its JSON says so too"
else
	for _ in 1 2 3 4; do
		nr=$((nr + 1))
		echo "ok $nr # SKIP kernel: no /dev/kvm"
	done
fi
finish
