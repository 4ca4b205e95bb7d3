#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# L2s whose exits have one known cause: the firmware alone, which halts, as there is nothing to boot; and a guest that
# touches pages which come late (tests/live/slowmem.c).
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# $out/late.before and late.after are copies of late.log from within the times in NAME.window. A page that came before
# that copy has begun in the window, however long this host stood still.
record() { # NAME
	LD_LIBRARY_PATH=/rig/lib timeout -k 5 "$life_seconds" /rig/bin/hostrace record --vm "$(cat "/tmp/$1.pid")" \
		--for blame -o "$out/$1.hrt" </dev/null >"$out/$1.record" 2>&1 &
	recorder=$!
	wait_until grep -q recording "$out/$1.record"
	cut -d ' ' -f 1 /proc/uptime >"$out/$1.window"
	sleep 0.5
	cp "$out/late.log" "$out/late.before"
	sleep 6
	cp "$out/late.log" "$out/late.after"
	sleep 0.5
	cut -d ' ' -f 1 /proc/uptime >>"$out/$1.window"
	kill -TERM $recorder
	wait $recorder
	echo $? >"$out/$1.record.status"
}

has_no_disk() {
	grep -q 'No bootable device' "$out/idle.firmware"
}

: >"$out/late.log"
timeout -k 5 "$life_seconds" qemu-system-x86_64 -name idle -accel kvm -cpu host -m 64 -nodefaults -vga none -nographic \
	-chardev "file,id=firmware,path=$out/idle.firmware" -device isa-debugcon,iobase=0x402,chardev=firmware \
	-pidfile /tmp/idle.pid </dev/null >"$out/idle.qemu" 2>&1 &
wait_until test -s /tmp/idle.pid
wait_until has_no_disk # it halts for 60 s
record idle
kill "$(cat /tmp/idle.pid)"
wait

mkdir -p /rig/shm && mount -t tmpfs tmpfs /rig/shm
SLOWMEM_FILE=/rig/shm/ram SLOWMEM_LOG=$out/late.log LD_PRELOAD=/rig/slowmem.so timeout -k 5 "$life_seconds" qemu-system-x86_64 \
	-name late -accel kvm -cpu host -m 32 -object memory-backend-file,id=ram,size=32M,mem-path=/rig/shm/ram,share=on \
	-machine memory-backend=ram -nodefaults -vga none -nographic -kernel /rig/blameguest-touch.elf \
	-pidfile /tmp/late.pid </dev/null >"$out/late.qemu" 2>&1 &
wait_until test -s /tmp/late.pid
wait_until test -s "$out/late.log"
record late
kill "$(cat /tmp/late.pid)"
wait
umount /rig/shm
exit 0
