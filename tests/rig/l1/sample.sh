#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# An L2 with a known profile (tests/live/sampleguest.S): sampled by a timer with call chains, then only by its exits.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

timeout -k 5 180 qemu-system-x86_64 -name sampled -accel kvm -cpu host -m 64 -nodefaults -vga none -nographic \
	-kernel /rig/sampleguest.elf -pidfile /tmp/sampled.pid </dev/null >"$out/sampled.qemu" 2>&1 &
wait_until 60 test -s /tmp/sampled.pid
vm=$(cat /tmp/sampled.pid)
sleep 4 # SeaBIOS
log "sampled runs"
hostrace record -q --vm "$vm" -d 8s --sample 397 --frames -o "$out/sampled.hrt" </dev/null >"$out/sampled.record" 2>&1
echo $? >"$out/sampled.record.status"
hostrace record -q --vm "$vm" -d 5s -o "$out/exits-only.hrt" </dev/null >>"$out/sampled.record" 2>&1
echo $? >>"$out/sampled.record.status"
kill "$vm"
wait
exit 0
