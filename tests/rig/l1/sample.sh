#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An L2 with a known profile (tests/live/sampleguest.S): sampled by a timer with call chains, then only by its exits.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

timeout -k 5 "$life_seconds" qemu-system-x86_64 -name sampled -accel kvm -cpu host -m 64 -nodefaults -vga none -nographic \
	-kernel /rig/sampleguest.elf -pidfile /tmp/sampled.pid </dev/null >"$out/sampled.qemu" 2>&1 &
wait_until test -s /tmp/sampled.pid
vm=$(cat /tmp/sampled.pid)
sleep 4 # SeaBIOS
log "sampled runs"

# For so many seconds, and until there are so many events.
record() { # NAME SECONDS COUNT EVENT [OPTION...]
	local name=$1 seconds=$2 count=$3 event=$4
	shift 4
	LD_LIBRARY_PATH=/rig/lib timeout -k 5 "$life_seconds" /rig/bin/hostrace record --vm "$vm" -o "$out/$name.hrt" "$@" \
		</dev/null >"$out/$name.record" 2>&1 &
	recorder=$!
	wait_until grep -q recording "$out/$name.record"
	sleep "$seconds"
	wait_until has_events "$name" "$event" "$count"
	kill -TERM $recorder
	wait $recorder
	echo $? >>"$out/sampled.status"
}

record sampled 8 600 guest_stack --sample 397 --frames
record exits-only 5 200 kvm_exit
wait_until stuck_has sampled 0 '"where":"guest".*"function":"spin_' --symbols /rig/sampleguest.elf
kill "$vm"
wait
exit 0
