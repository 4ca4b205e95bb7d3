#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The short set of the matrix of kernels and QEMUs, under each QEMU that the file `qemus` names: the demo, recorded by
# hostrace and by tracefs at the same time; a Linux guest from its first instruction to its power off, its symbols, and what
# `doctor` prints of it. "installed" is the QEMU of the root image; another NAME is started by the script NAME/qemu, whose
# QEMU hostrace follows.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
export LD_LIBRARY_PATH=/rig/lib
oracle_kb=49152 # Bochs interrupts a guest much more often: 240,000 exits

linux_guest() { # NAME QEMU
	truncate -s 16M "/tmp/$1.img"
	truncate -s 512 "/tmp/$1-go.img"
	l2_command "$1" 1 cell \
		-drive "file=/tmp/$1.img,if=none,id=d0,format=raw" -device virtio-blk-pci,drive=d0,id=disk \
		-drive "file=/tmp/$1-go.img,if=none,id=d1,format=raw" -device virtio-blk-pci,drive=d1
	qemu_command[0]=$2
	oracle_start
	timeout -k 5 "$life_seconds" ./bin/hostrace record -o "$out/$1.hrt" -- "${qemu_command[@]}" </dev/null >"$out/$1.record" 2>&1 &
	recorder=$!
	wait_until said_or_died "$1" working
	if console_has "$1" working; then
		hostrace doctor --vm "$1" -f json >"$out/$1.doctor.json"
		hostrace guest symbols --vm "$1" -o /tmp/symbols 2>"$out/$1.symbols.how"
		md5sum </tmp/symbols >"$out/$1.symbols"
		printf go | dd of="/tmp/$1-go.img" conv=notrunc 2>/dev/null
	fi
	wait $recorder
	echo $? >"$out/$1.record.status"
	oracle_stop "$out/$1.trace"
	l2_reached "$1" "done"
	log "$1: Linux guest recorded"
}

cell() { # NAME QEMU
	oracle_start
	timeout "$life_seconds" ./bin/hostrace demo --qemu "$2" "$out/$1-demo" >"$out/$1-demo.text" 2>&1 </dev/null
	echo $? >"$out/$1-demo.status"
	oracle_stop "$out/$1-demo.trace"
	rm -f "$out/$1-demo/disk.img"
	mv "$out/$1-demo/demo.hrt" "$out/$1-demo.hrt"
	log "$1: demo recorded"
	linux_guest "$1" "$2"
	[ "$(oracle_lost "$out/$1-demo.trace") $(oracle_lost "$out/$1.trace")" = "0 0" ] || exit $STATUS_PEER_LOST
}

uname -r >"$out/cell.kernel"
for name in $(cat qemus); do
	[ "$name" = installed ] && qemu=$(type -P qemu-system-x86_64) || qemu=./$name/qemu
	cell "$name" "$qemu"
done
exit 0
