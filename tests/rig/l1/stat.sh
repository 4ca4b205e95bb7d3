#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One L2 from its first instruction to its end, recorded and counted in the kernel at once; the last page of the exporter
# that has it with both vCPUs' threads, which end before QEMU does.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

mkfifo /tmp/stat-monitor.in /tmp/stat-monitor.out
l2_command counted 2 stat -S -monitor pipe:/tmp/stat-monitor
timeout -k 5 "$life_seconds" "${qemu_command[@]}" </dev/null >"$out/counted.qemu" 2>&1 &
wait_until test -s /tmp/counted.pid
vm=$(cat /tmp/counted.pid)
timeout "$life_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace stat --vm "$vm" --by vcpu -f json -o "$out/counted.stat" \
	</dev/null 2>"$out/counted.stat.err" &
stat=$!
timeout "$life_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace top --vm "$vm" -f json --interval 500ms >"$out/counted.top" \
	</dev/null 2>"$out/counted.top.err" &
top=$!
timeout "$life_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace record --vm "$vm" -o "$out/counted.hrt" --events kvm \
	</dev/null >"$out/counted.record" 2>&1 &
recorder=$!
# exporter_page: the answer to a request, with its head
exporter_page() {
	exec 3<>/dev/tcp/127.0.0.1/9972 || return
	printf 'GET /metrics HTTP/1.0\r\n\r\n' >&3
	cat <&3
	exec 3<&- 3>&-
}

ip link set lo up
hostrace exporter </dev/null 2>"$out/counted.exporter.err" &
exporter=$!
wait_until grep -q watching "$out/counted.stat.err"
wait_until grep -q listening "$out/counted.exporter.err"
wait_until test -s "$out/counted.top"
wait_until grep -q recording "$out/counted.record"
monitor_write counted /tmp/stat-monitor.in cont
log "counted runs"
while kill -0 "$stat" 2>/dev/null; do
	exporter_page >/tmp/page
	[ "$(grep -c '^hostrace_vcpu_ready_seconds_total{vm="counted",' /tmp/page)" != 2 ] || mv /tmp/page "$out/counted.page"
	sleep .3
done
wait "$stat"
echo $? >"$out/counted.stat.status"
wait "$top"
echo $? >"$out/counted.top.status"
wait "$recorder"
echo $? >"$out/counted.record.status"
kill "$exporter"
wait
l2_reached counted "done"
