#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest clock: an L2 that says its time when asked. NAME.asked has lines "BEFORE GUEST AFTER" in us: the host's clock, the
# guest's, the host's again.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# A line to the guest; its answer is its time.
guest_tell() { # WORD...
	echo "$*" >&4
	read -r -t "$wait_seconds" seconds us <&5
}

asked() { # NAME
	local before i
	for i in 1 2 3 4 5; do
		before=${EPOCHREALTIME/./}
		guest_tell "time"
		echo "$before $((seconds * 1000000 + us)) ${EPOCHREALTIME/./}"
	done >>"$out/clock.$1.asked"
}

clock_look() { # NAME
	asked "$1"
	hostrace guest clock --vm "$(cat "$out/clock.pid")" -f json >"$out/clock.$1.json" 2>"$out/clock.$1.err"
	echo $? >"$out/clock.$1.status"
	asked "$1"
}

mkfifo /tmp/clock.in /tmp/clock.out /tmp/clock-monitor.in /tmp/clock-monitor.out
cat /tmp/clock-monitor.out >/dev/null &
l2_command clock 2 clock -serial pipe:/tmp/clock -monitor pipe:/tmp/clock-monitor
exec 4<>/tmp/clock.in 5<>/tmp/clock.out
l2_start clock
wait_until said_or_died clock working
l2_reached clock working
clock_look started
guest_tell ahead 100
clock_look ahead
monitor_write clock /tmp/clock-monitor.in stop
sleep 3
monitor_write clock /tmp/clock-monitor.in cont
clock_look stopped
guest_tell "source" acpi_pm
clock_look other
echo end >&4
wait "$job"
l2_reached clock "done"
