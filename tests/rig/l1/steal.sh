#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An L2 with one vCPU that works all the time, and for eight seconds shares its CPU with a task that never sleeps: the
# guest's own account of steal and of its timer's interrupts is compared with what was recorded.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

truncate -s 1M /tmp/steal.img
l2_command steal 1 steal -drive file=/tmp/steal.img,if=virtio,format=raw
timeout -k 5 240 env LD_LIBRARY_PATH=/rig/lib \
	/rig/bin/hostrace record -q -o "$out/steal.hrt" --for sched,interrupts -- "${qemu_command[@]}" \
	</dev/null >"$out/steal.record" 2>&1 &
recorder=$!
wait_until 120 console_has steal working
l2_reached steal working
for task in /proc/"$(cat /tmp/steal.pid)"/task/*; do
	taskset -p 2 "${task##*/}"
done
taskset 2 sh -c 'while :; do :; done' &
hog=$!
echo $hog >"$out/steal.hog"
sleep 8
cut -d ' ' -f 1 "/proc/$hog/schedstat" >"$out/steal.ran"
kill $hog
printf stop | dd of=/tmp/steal.img conv=notrunc
wait $recorder
echo $? >"$out/steal.record.status"
l2_reached steal "done"
exit 0
