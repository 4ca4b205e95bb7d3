#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Function probes in the installed QEMU: a boot sector's reads, each recorded from kick to interrupt.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools qemu-system-x86_64

READS=200
boot_sector_make $READS

# boot ACCEL TRACE [RECORD-ARGS...]
boot() {
	accel=$1
	trace=$2
	shift 2
	timeout -s KILL 200 "$HOSTRACE" record -o "$trace" "$@" -- \
		qemu-system-x86_64 -accel "$accel" -m 64 -nodefaults -nographic -display none \
		-drive file=boot.img,if=none,id=d,format=raw -device virtio-blk-pci,drive=d,id=disk0 \
		-device isa-debug-exit,iobase=0xf4,iosize=1 >qemu.out 2>record.err
}

# field NAME EVENT TRACE: the values of a field with their counts
field() {
	"$HOSTRACE" list --wide -i "$3" --event "$2" 2>/dev/null | sed -n "s/.* $1=\([^ ]*\).*/\1/p" | sort | uniq -c |
		tr -s ' ' | sed 's/^ //'
}

plan 17
if [ -c /dev/kvm ]; then
	boot kvm kvm.hrt
	is $? 0 "recorded from its first instruction" record.err
	is "$(grep -c 'status 33' record.err)" 1 "the guest did all its reads" record.err
	# SeaBIOS itself reads the boot sector
	all=$((READS + 1))
	is "$(events virtqueue_pop kvm.hrt)" $all "every element's pop" record.err
	is "$(events virtqueue_fill kvm.hrt)" $all "... and its fill"
	is "$(events virtqueue_flush kvm.hrt)" $all "... and its flush"
	is "$(events virtio_notify kvm.hrt)" $all "... and its interrupt"
	is "$(field queue virtqueue_pop kvm.hrt)" "$all 0" "all on queue 0"
	is "$(field in_num virtqueue_pop kvm.hrt)" "$all 2" "two segments to write: data and status"
	is "$(field out_num virtqueue_pop kvm.hrt)" "$all 1" "one segment to read: the request"
	is "$(field path virtio_device kvm.hrt)" "1 /machine/peripheral/disk0/virtio-backend" "the device's path"
	is "$(events kvm_emulate_insn kvm.hrt)" 0 "no emulated instructions unless asked for"
	is "$(events lost kvm.hrt)" 0 "nothing was lost"
	boot kvm some.hrt -e 'virtqueue_fill,kvm_pio'
	is "$(events virtqueue_fill some.hrt) $(events virtqueue_pop some.hrt)" "$all 0" "only what was asked for"
else
	for name in pop fill flush notify queue segments path emulate lost status reads one two; do
		nr=$((nr + 1))
		echo "ok $nr - $name # SKIP kernel: no /dev/kvm"
	done
fi

boot tcg tcg.hrt
is "$(grep -c 'status 33' record.err)" 1 "the same guest without KVM" record.err
is "$(events virtqueue_pop tcg.hrt)" $((READS + 1)) "every element's pop"
is "$(events virtqueue_fill tcg.hrt)" $((READS + 1)) "... and its fill"
is "$("$HOSTRACE" list --wide -i tcg.hrt --event qemu_pio | grep -c 'port=0xf4 .*val=0x10.*out')" 1 \
	"the port write that ended it is seen in QEMU"
finish
