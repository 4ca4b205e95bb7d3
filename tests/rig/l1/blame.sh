#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# L2s whose exits have one known cause: the firmware alone, which halts, as there is nothing to boot; a guest that
# touches pages which come late (tests/live/slowmem.c); and one that shares its CPU with a task that never sleeps.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

recording_start() { # NAME
	LD_LIBRARY_PATH=/rig/lib timeout -k 5 "$life_seconds" /rig/bin/hostrace record --vm "$(cat "/tmp/$1.pid")" \
		--for blame -o "$out/$1.hrt" </dev/null >"$out/$1.record" 2>&1 &
	recorder=$!
	wait_until grep -q recording "$out/$1.record"
}

recording_stop() { # NAME
	kill -TERM $recorder
	wait $recorder
	echo $? >"$out/$1.record.status"
}

# $out/late.before and late.after are copies of late.log from within the times in NAME.window. A page that came before
# that copy has begun in the window, however long this host stood still.
record() { # NAME
	recording_start "$1"
	cut -d ' ' -f 1 /proc/uptime >"$out/$1.window"
	sleep 0.5
	cp "$out/late.log" "$out/late.before"
	sleep 6
	cp "$out/late.log" "$out/late.after"
	sleep 0.5
	cut -d ' ' -f 1 /proc/uptime >>"$out/$1.window"
	recording_stop "$1"
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

# ns on a CPU of the hog, and of the vCPU's thread waiting for one, as the kernel counts them.
hog_ran() {
	cut -d ' ' -f 1 "/proc/$hog/schedstat"
}

vcpu_waited() {
	cut -d ' ' -f 2 "/proc/$vcpu/schedstat"
}

vcpu_waited_more() { # NS SINCE
	[ $(($(vcpu_waited) - $2)) -ge "$1" ]
}

# The exits in which the thread waits now have ended.
vcpu_runs_again() {
	local runs
	runs=$(cut -d ' ' -f 3 "/proc/$vcpu/schedstat")
	wait_until vcpu_ran_more "$((runs + 3))"
}

vcpu_ran_more() { # TIMES
	[ "$(cut -d ' ' -f 3 "/proc/$vcpu/schedstat")" -ge "$1" ]
}

vcpu_found() {
	vcpu=$(grep -l '^CPU 0/KVM' /proc/"$(cat /tmp/hogged.pid)"/task/*/comm)
	vcpu=$(basename "${vcpu%/comm}")
}

# It writes R when the firmware has started it; then it is in guest mode all the time.
timeout -k 5 "$life_seconds" qemu-system-x86_64 -name hogged,debug-threads=on -accel kvm -cpu host -m 32 -nodefaults \
	-vga none -nographic -kernel /rig/blameguest-touch.elf -chardev "file,id=console,path=$out/hogged.console" \
	-device isa-debugcon,chardev=console -pidfile /tmp/hogged.pid </dev/null >"$out/hogged.qemu" 2>&1 &
wait_until grep -q R "$out/hogged.console"
vcpu_found
taskset -p 2 "$vcpu"
ln -s "$(type -P bash)" /tmp/blamehog # so that the task's name is its own
taskset 2 /tmp/blamehog -c 'while :; do :; done' &
hog=$!
wait_until grep -q blamehog "/proc/$hog/comm"
outside=$(hog_ran)
recording_start hogged
vcpu_runs_again
inside=$(hog_ran)
wait_until vcpu_waited_more 2000000000 "$(vcpu_waited)"
inside=$(($(hog_ran) - inside))
vcpu_runs_again
recording_stop hogged
echo "$vcpu $inside $(($(hog_ran) - outside))" >"$out/hogged.ran"
kill -KILL $hog
kill "$(cat /tmp/hogged.pid)"
wait
exit 0
