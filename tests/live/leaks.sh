#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The leak check on the demo guest: finds exactly the requests that a throttle holds, also if the recording ends before
# the VM does; reports no request popped before the recording, and none of a QEMU that exits normally. Two VMs at once
# with the same names. The whole check with a real Linux: make check-leaks.
# Needs $HOSTRACE, $BUILD, $ROOT; prints TAP.
set -u
[ "$(id -u)" = 0 ] || { echo "1..0 # SKIP recording needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"; exit 0; }
[ -c /dev/kvm ] && LEAKS_ACCEL=kvm
. "$ROOT/tests/rig/leaks/lib.inc"
command -v "$qemu" >/dev/null || bail "no $qemu; scripts/deps.sh live installs it"

guest_args=(-m 32 -kernel "$BUILD/demo-guest.elf" -append "reads=40 writes=60 leak=6 wait_ms=600000"
	-device isa-debug-exit,iobase=0xf4,iosize=1)
truncate -s 2M "$work/disk.img"

demo_start() { # NAME
	vm_start "$1" -drive "file=$work/disk.img,if=none,id=d0,format=raw,snapshot=on" \
		-device virtio-blk-pci,drive=d0,id=disk,addr=4 \
		-drive driver=null-co,if=none,id=s0,size=16777216,read-zeroes=on,throttling.bps-total=64 \
		-device virtio-blk-pci,drive=s0,id=slow,addr=5
}

held() { # NAME: has the slow disk its six?
	until_true inuse_is "$1" "6 slow 0" || bail "$1 does not hold six: $(inuse "$1") $(tail -n 3 "$work/$1/console")"
}

demo_start a
unrecorded=1 demo_start b
held a
held b
record_begin b
kill "${vm_pid[b]}"
vm_gone b
is "$(leaks b --min-age 0)" "" "b was asked to end: it finished its six, which were popped before the recording"
is "$(total b popped returned_popped_before leaked)" "0 6 0" "... they are counted apart"

kill -INT "${rec_pid[a]}"
wait "${rec_pid[a]}"
unset "rec_pid[a]"
is "$(leaks a --min-age 0)" "6 slow 0 leaked" "a's recording ends while it lives: six are out"
is "$(leaks a --min-age 1h)" "6 slow 0 in-flight" "... in flight, if an hour is no age"
is "$(total a popped returned)" "107 101" "of its 107 requests 101 came back"
is "$("$hostrace" leaks -i "$work/a/t.hrt" --min-age 0 -f json | jq -c '[.rows[].head] | sort')" "[0,3,6,9,12,15]" \
	"the guest's own heads"
record_begin a
kill "${vm_pid[a]}"
vm_gone a
is "$(leaks a --min-age 0)" "" "asked to end, a leaves nothing either"
is "$(total a returned_popped_before leaked)" "6 0" "... its six came back"
finish
