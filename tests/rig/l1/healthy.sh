#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One L2 from its first instruction to its power off, recorded by hostrace and by tracefs at the same time.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

# debugfs has the offsets only while the VM exists: they are read when its Linux is up.
offsets_watch() {
	wait_until said_or_died healthy up
	console_has healthy up || return
	tsc_offsets_read "$(pidof qemu-system-x86_64)" >"$out/healthy.tsc-offset"
}

truncate -s 16M /tmp/healthy.img
l2_command healthy 2 io \
	-drive file=/tmp/healthy.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0,id=disk \
	-netdev user,id=n0,ipv6=off -device virtio-net-pci,netdev=n0,id=net,romfile=
oracle_start
offsets_watch &
log "recording"
oracle_count "$out/healthy.perf" timeout -k 5 "$life_seconds" env LD_LIBRARY_PATH=/rig/lib \
	/rig/bin/hostrace record -o "$out/healthy.hrt" -- "${qemu_command[@]}" \
	</dev/null >"$out/healthy.record" 2>&1
echo $? >"$out/healthy.record.status"
log "recorded"
oracle_stop "$out/healthy.trace"
wait
log "tracefs copied"
l2_reached healthy "done"
[ "$(oracle_lost "$out/healthy.trace")" = 0 ] || exit $STATUS_PEER_LOST

# The reports here and outside the rig must be equal: nothing may depend on the machine that prints them.
for report in info exits ports leaks; do
	timeout "$wait_seconds" bash -c '. ./lib.sh; hostrace "$@"' - "$report" -f json -i "$out/healthy.hrt" \
		>"$out/healthy.$report.json"
done
log "reports done"
