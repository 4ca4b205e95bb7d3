#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A disk served by vhost-user: its requests do not pass through QEMU. That is reported, during and after the recording,
# and leaks of another disk are still found.
set -u
. "$(dirname "$0")/lib.inc"

command -v qemu-storage-daemon >/dev/null || bail "no qemu-storage-daemon (qemu-system-common)"
qemu-storage-daemon --blockdev driver=null-co,node-name=v,size=67108864,read-zeroes=on \
	--export "type=vhost-user-blk,id=v,node-name=v,writable=on,addr.type=unix,addr.path=$work/vhost" 3>&- &
until_true test -S "$work/vhost"

# shellcheck disable=SC2046
vm_start a -object memory-backend-memfd,id=mem,size=128M,share=on -machine memory-backend=mem \
	-chardev "socket,id=v,path=$work/vhost" -device vhost-user-blk-pci,chardev=v,id=vhost0 $(disk d)
vm_up a
order a "cd /sys/block"
vhost=$(guest a 'for b in vd?; do [ $(cat $b/size) = 131072 ] && readlink -f $b; done' | sort | head -n 1 | sed 's/.*\///')
other=vdb
[ "$vhost" = vda ] || other=vda
guest a "dd if=/dev/vda of=/dev/null bs=4k count=21 iflag=direct; dd if=/dev/vdb of=/dev/null bs=4k count=21 iflag=direct" >/dev/null 2>&1
"$hostrace" virtio --state --vm "${vm_pid[a]}" --qmp "$work/a/monitor" -f json >"$work/state.json"
is "$(jq -c '[.rows[] | select(.ready) | [(.device | split("/")[3]), .served]]' "$work/state.json")" \
	'[["d0","qemu"],["vhost0","elsewhere"]]' "--state tells which is served outside" "$work/state.json"
is "$(jq -c '[.rows[] | select(.device | test("vhost0")) | select(.ready) | .qmp.vhost, .agrees]' "$work/state.json")" \
	'[true,null]' "... and does not ask vhost for indices" "$work/state.json"
guest a "dd if=/dev/vda of=/dev/null bs=4k count=9 iflag=direct; dd if=/dev/vdb of=/dev/null bs=4k count=9 iflag=direct; echo alive" \
	>"$work/alive" 2>&1
is "$(tail -n 1 "$work/alive")" alive "... so that both work on"
before=$("$hostrace" virtio --state --vm "${vm_pid[a]}" -f json |
	jq -c '[.rows[] | select(.device | test("vhost0")) | select(.ready) | .served]')
is "$before" '["elsewhere"]' "memory alone tells it, too"
order a "poweroff -f"
vm_gone a
is "$(leaks a --min-age 0)" "" "no leak"
is "$(caveats a 'vhost0.*vhost')" 1 "the vhost device is named as not visible, although it was reset at the end"
is "$("$hostrace" virtio -i "$work/a/t.hrt" -f json | jq -c '[.rows[] | select(.device | test("vhost0")) | .count] | add // 0')" \
	0 "none of its requests was seen"
is "$("$hostrace" virtio -i "$work/a/t.hrt" -f json | jq -c '[.rows[] | select(.device | test("/d0/")) | .returned >= 30, .in_flight.end]')" \
	"[true,0]" "its neighbour's were: $other"
finish
