#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A guest that is a hypervisor itself: its own guests, minivmm's, make known numbers of exits.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

oracle_events="$oracle_events kvm_nested_vmexit kvm_nested_vmexit_inject"
oracle_kb=49152 # Bochs interrupts a guest much more often: up to 400,000 exits and entries
truncate -s 512 /tmp/nested-go.img
l2_command nested 1 nested -initrd /rig/nested.cpio \
	-drive file=/tmp/nested-go.img,if=none,id=d1,format=raw -device virtio-blk-pci,drive=d1
oracle_start
LD_LIBRARY_PATH=/rig/lib timeout -k 5 "$life_seconds" \
	./bin/hostrace record -o "$out/nested.hrt" -- "${qemu_command[@]}" </dev/null >"$out/nested.record" 2>&1 &
recorder=$!
wait_until said_or_died nested status
if console_has nested status; then
	hostrace doctor --vm nested -f json >"$out/nested.doctor.json"
	hostrace record --vm nested --duration 100ms -o "$out/nested-late.hrt" </dev/null 2>"$out/nested.late"
	printf go | dd of=/tmp/nested-go.img conv=notrunc 2>/dev/null
fi
wait $recorder
echo $? >"$out/nested.record.status"
oracle_stop "$out/nested.trace"
l2_reached nested "done"
[ "$(oracle_lost "$out/nested.trace")" = 0 ] || exit $STATUS_PEER_LOST
exit 0
