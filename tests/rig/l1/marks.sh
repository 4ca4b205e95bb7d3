#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One guest with a known workload (the demo's), on a QEMU with USDT probes: traced by SystemTap, then again by hostrace.
# Not at the same time: the USDT probes have semaphores, which the two programs would both change (doc/systemtap.md).
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
set -m

mkdir -p "$out/marks" "/lib/modules/$(uname -r)" /usr/lib/systemtap
ln -sfn /rig/marks/stapio /usr/lib/systemtap/stapio
ln -sfn /rig/marks/staprun /usr/bin/staprun
qemu=$(cat marks/path) # the modules contain its path on the machine that built them
mkdir -p "$(dirname "$qemu")"
cp marks/qemu-system-x86_64 "$qemu"

guest() { # PREFIX...: the command in front of QEMU
	rm -f /tmp/marks.img
	truncate -s 2M /tmp/marks.img
	LD_LIBRARY_PATH=/rig/lib timeout -k 5 "$life_seconds" "$@" "$qemu" -L /usr/share/seabios -L /usr/share/qemu -accel kvm -m 32 \
		-nodefaults -display none -no-reboot -serial "file:$out/marks/console" -kernel /rig/marks/demo-guest.elf \
		-append "reads=250 writes=250" -drive file=/tmp/marks.img,if=none,id=d,format=raw \
		-device virtio-blk-pci,drive=d,addr=4 -device isa-debug-exit,iobase=0xf4,iosize=1 </dev/null
}

watching() { # NAME
	grep -q '^# watching' "$out/marks/$1.txt"
}

staps=()
for module in marks/*.ko; do
	name=$(basename "$module" .ko)
	LD_LIBRARY_PATH=/rig/lib staprun -R "$module" >"$out/marks/${name#marks_}.txt" 2>"$out/marks/${name#marks_}.err" </dev/null &
	staps+=($!)
done
for module in marks/*.ko; do
	name=$(basename "$module" .ko)
	wait_until watching "${name#marks_}"
done
guest >"$out/marks/stap.out" 2>&1
echo $? >"$out/marks/stap.status"
for job in "${staps[@]}"; do
	kill -INT -- "-$job"
done
for job in "${staps[@]}"; do
	wait_until is_gone "$job"
done
log "marks: traced by SystemTap"
guest /rig/bin/hostrace record -o "$out/marks.hrt" -e qemu -- >"$out/marks/record.out" 2>&1
echo $? >"$out/marks/record.status"
exit 0
