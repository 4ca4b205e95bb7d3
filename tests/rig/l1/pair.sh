#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two L2s at once. "leaky" has a disk that holds two of three writes for minutes, so that its recording ends while QEMU
# still has them. "busy" continues to work; both are recorded at once, by hostrace and by trace-cmd, and a recorder of
# busy is killed.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
set -m # each background job in a process group of its own, so that signals reach all of it

# Sets $recorder. The file exists once the probes are attached.
recorder_start() { # NAME
	hostrace record --vm "$(cat "$out/$1.pid")" -o "$out/$1.hrt" </dev/null >"$out/$1.record" 2>&1 &
	recorder=$!
	wait_until test -s "$out/$1.hrt"
	ls "/proc/$(cat "$out/$1.pid")/task" >"$out/$1.tids"
}

# The throttle lets the first 64 KiB write pass and delays the next by 1024 s; reads (the partition scan) are not limited.
# -S: no instruction runs before the recorder is attached.
mkfifo /tmp/monitor.in /tmp/monitor.out
l2_command leaky 1 leak -S -monitor pipe:/tmp/monitor \
	-drive driver=null-co,if=none,id=slow,size=16777216,read-zeroes=on,throttling.bps-write=64 \
	-device virtio-blk-pci,drive=slow,id=slow
l2_start leaky
leaky_job=$job

truncate -s 16M /tmp/busy.img
l2_command busy 1 busy \
	-drive file=/tmp/busy.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0,id=disk
l2_start busy
busy_job=$job

timeout "$wait_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace ps -f json >"$out/pair.ps.json"
# Two VMs and no --vm: must fail.
timeout "$wait_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace record -o /tmp/refused.hrt \
	</dev/null >"$out/pair.refused" 2>&1
echo $? >"$out/pair.refused.status"

recorder_start leaky
leaky_recorder=$recorder
monitor_write leaky /tmp/monitor.in cont
log "leaky runs"

wait_until said_or_died busy working
l2_reached busy working

# trace-cmd begins before hostrace and ends after it.
tracer_runs() {
	[ "$(cat "$tracing/events/kvm/kvm_exit/enable") $(cat "$tracing/tracing_on")" = "1 1" ]
}

(cd /tmp && exec timeout -k 5 "$life_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/trace-cmd record -C mono -b 8192 \
	-e kvm:kvm_exit -e kvm:kvm_entry -o "$out/both.dat") </dev/null >"$out/both.tracer" 2>&1 &
tracer=$!
wait_until tracer_runs
hostrace record --vm 'bu*,leaky' -o "$out/both.hrt" </dev/null >"$out/both.record" 2>&1 &
recorder=$!
wait_until has_events both kvm_exit 600 --vm busy
wait_until has_events both kvm_exit 10 --vm leaky
kill -INT -- "-$recorder"
wait "$recorder"
echo $? >"$out/both.record.status"
kill -INT -- "-$tracer"
wait_until is_gone "$tracer"
log "both recorded"

recorder_start busy
wait_until has_events busy kvm_exit 600
kill -KILL -- "-$recorder"
wait "$recorder"
killed=$?
if console_has busy "done"; then
	echo "status $killed, ended" >"$out/busy.killed"
else
	echo "status $killed, working" >"$out/busy.killed"
fi
log "recorder of busy killed"
wait_until stuck_has busy 0 '"findings": \[\]'
log "busy read by stuck"
echo stop | dd of=/tmp/busy.img conv=notrunc 2>/dev/null

# Held for longer than what `leaks` calls leaked (1 s); then the recorder is asked to stop.
wait_until said_or_died leaky inflight && sleep 2
l2_reached leaky inflight
tsc_offsets_read "$(cat "$out/leaky.pid")" >"$out/leaky.tsc-offset"
wait_until stuck_has leaky 3 '"where":"halted"'
log "leaky read by stuck"
kill -INT -- "-$leaky_recorder"
wait_until is_gone "$leaky_recorder"
wait "$leaky_recorder"
echo $? >"$out/leaky.record.status"
log "recorder of leaky ended"
kill -KILL -- "-$leaky_job"

wait_until is_gone "$busy_job"
wait "$busy_job"
echo $? >"$out/busy.status"
log "busy ended"
l2_reached leaky inflight
l2_reached busy "done"
