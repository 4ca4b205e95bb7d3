#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An L2 with one vCPU that works all the time, and for a while shares its CPU with a task that never sleeps: the
# guest's own account of steal and of its timer's interrupts is compared with what was recorded.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# How long QEMU's threads have waited for a CPU, ns.
waited() {
	cat /proc/"$(cat /tmp/steal.pid)"/task/*/schedstat | awk '{ns += $2} END {printf "%.0f", ns}'
}

waited_more() { # NS SINCE
	[ $(($(waited) - $2)) -ge "$1" ]
}

truncate -s 1M /tmp/steal.img
l2_command steal 1 steal -drive file=/tmp/steal.img,if=virtio,format=raw
timeout -k 5 "$life_seconds" env LD_LIBRARY_PATH=/rig/lib \
	/rig/bin/hostrace record -q -o "$out/steal.hrt" --for sched,interrupts -- "${qemu_command[@]}" \
	</dev/null >"$out/steal.record" 2>&1 &
recorder=$!
wait_until said_or_died steal working
l2_reached steal working
timeout "$life_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace top --vm "$(cat /tmp/steal.pid)" -f json --interval 500ms \
	>"$out/steal.top" </dev/null 2>"$out/steal.top.err" &
top=$!
wait_until test -s "$out/steal.top"
for task in /proc/"$(cat /tmp/steal.pid)"/task/*; do
	taskset -p 2 "${task##*/}"
done
taskset 2 sh -c 'while :; do :; done' &
hog=$!
echo $hog >"$out/steal.hog"
cut -d ' ' -f 1 /proc/uptime >"$out/steal.window"
before=$(waited)
wait_until waited_more 4000000000 "$before"
cut -d ' ' -f 1 /proc/uptime >>"$out/steal.window"
kill -STOP $hog
wait_until grep -q '^State:.T' "/proc/$hog/status"
cut -d ' ' -f 1 "/proc/$hog/schedstat" >"$out/steal.ran"
kill -KILL $hog
printf stop | dd of=/tmp/steal.img conv=notrunc
wait $top
wait $recorder
echo $? >"$out/steal.record.status"
l2_reached steal "done"
exit 0
