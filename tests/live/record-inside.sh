#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# QEMU internals (probes/inside.def) of the installed QEMU: a boot sector's reads through the block layer; each event that
# QEMU itself can log (-trace) is recorded as often as it is logged.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools qemu-system-x86_64 jq

READS=100
all=$((READS + 1)) # SeaBIOS itself reads the boot sector
boot_sector_make $READS

# The event, and the equivalent trace events of QEMU under their names in all releases
twins="block_node bdrv_co_preadv_part
co_enter qemu_aio_coroutine_enter
co_yield qemu_coroutine_yield
pool_submit thread_pool_submit(_aio)?
region_read memory_region_ops_read"
if [ -c /dev/kvm ]; then
	accel=kvm
	twins="$twins
region_write memory_region_ops_write
vcpu_ioctl kvm_vcpu_ioctl" # without KVM region_write also has the kicks that an ioeventfd takes
else
	accel=tcg
fi
logged="bdrv_co_preadv_part qemu_aio_coroutine_enter qemu_coroutine_yield thread_pool_submit* memory_region_ops_*
	kvm_vcpu_ioctl"

# The names contain * to match several QEMU releases; the shell must not expand them.
set -f
trace=
for name in $logged; do
	trace="$trace -trace $name"
done
timeout -s KILL 200 "$HOSTRACE" record -o inside.hrt -e inside,virtqueue_pop -- \
	qemu-system-x86_64 -accel $accel -m 64 -nodefaults -nographic -display none -D qemu.log $trace \
	-drive file=boot.img,if=none,id=d,format=raw,aio=threads -device virtio-blk-pci,drive=d,id=disk0 \
	-device isa-debug-exit,iobase=0xf4,iosize=1 >qemu.out 2>record.err
status=$?
set +f

plan 16
is $status 0 "recorded from its first instruction" record.err
is "$(grep -c 'status 33' record.err)" 1 "the guest did all its reads" record.err
is "$(events lost inside.hrt)" 0 "nothing was lost"
for event in virtqueue_pop block_begin block_end block_submit; do
	is "$(events $event inside.hrt)" $all "$event: one for each read" record.err
done
is "$("$HOSTRACE" list --wide -i inside.hrt --event block_submit | grep -c 'offset=512 bytes=512 write=0')" $READS \
	"each of the second sector, as the guest asked for"
is "$("$HOSTRACE" count block -i inside.hrt -f csv | tr -d '"\r' | tail -n 1)" "read,$all" "hostrace count block"
# A thread that waited for it when QEMU exited did not get it: its last request.
"$HOSTRACE" list --event 'bql_lock,bql_locked' -f json -i inside.hrt >locks.json
is "$(jq -c '[.rows[]] | [length > 0, (group_by(.tid) | map([.[].event]) | map(select(
	. != [range(length) as $i | ["bql_lock", "bql_locked"][$i % 2]])) | length)]' locks.json)" "[true,0]" \
	"whoever asks for the big lock gets it, unless QEMU exits"
echo "$twins" | while read -r event name; do
	echo "$event $(grep -c -E "^([0-9]+@[0-9.]+:)?$name " qemu.log) $(events "$event" inside.hrt)"
done >counts
is "$(awk '$2 == 0' counts)" "" "QEMU's log has them all" counts
is "$(awk '$2 != $3' counts)" "" "each as often as in QEMU's own log" counts
is "$(awk '$1 == "pool_submit" { print ($2 >= '$all') }' counts)" 1 "each read went through the thread pool" counts
"$HOSTRACE" info -f json -i inside.hrt >info.json
is "$(jq -r '[.result.probes[] | select(.how == "absent" and .reason == "")] | length' info.json)" 0 \
	"what is absent says why" info.json
is "$(jq -r '.result.probes[] | select(.event == "mutex_locked" or .event == "heap_alloc") | .event' info.json)" \
	heap_alloc "mutexes only if asked for"
is "$(jq -r '[.result.probes[] | select(.how == "function") | .event | select(. == "block_begin" or . == "bql_lock")] | length' \
	info.json)" 2 "by functions" info.json
finish
