#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# L2s whose exits have one known cause: the firmware alone, which halts, as there is nothing to boot; and a guest that
# touches pages which come late (tests/live/slowmem.c).
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# Of eight seconds; $out/late.before and late.after are copies of late.log from within them, NAME.window has their times.
record() { # NAME
	(
		hostrace record --vm "$(cat "/tmp/$1.pid")" -d 8s --for blame -o "$out/$1.hrt" </dev/null \
			>"$out/$1.record" 2>&1
		echo $? >"$out/$1.record.status"
	) &
	wait_until 30 grep -q recording "$out/$1.record"
	sleep 1
	cp "$out/late.log" "$out/late.before"
	cut -d ' ' -f 1 /proc/uptime >"$out/$1.window"
	sleep 5
	cp "$out/late.log" "$out/late.after"
	cut -d ' ' -f 1 /proc/uptime >>"$out/$1.window"
	wait $!
}

: >"$out/late.log"
timeout -k 5 120 qemu-system-x86_64 -name idle -accel kvm -cpu host -m 64 -nodefaults -vga none -nographic \
	-pidfile /tmp/idle.pid </dev/null >"$out/idle.qemu" 2>&1 &
wait_until 60 test -s /tmp/idle.pid
sleep 6 # SeaBIOS
record idle
kill "$(cat /tmp/idle.pid)"
wait

mkdir -p /rig/shm && mount -t tmpfs tmpfs /rig/shm
SLOWMEM_FILE=/rig/shm/ram SLOWMEM_LOG=$out/late.log LD_PRELOAD=/rig/slowmem.so timeout -k 5 120 qemu-system-x86_64 \
	-name late -accel kvm -cpu host -m 32 -object memory-backend-file,id=ram,size=32M,mem-path=/rig/shm/ram,share=on \
	-machine memory-backend=ram -nodefaults -vga none -nographic -kernel /rig/blameguest-touch.elf \
	-pidfile /tmp/late.pid </dev/null >"$out/late.qemu" 2>&1 &
wait_until 60 test -s /tmp/late.pid
wait_until 60 test -s "$out/late.log"
record late
kill "$(cat /tmp/late.pid)"
wait
umount /rig/shm
exit 0
