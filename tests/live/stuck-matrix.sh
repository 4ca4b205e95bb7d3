#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `stuck` on every kind of virtio device with every form of ring: requests of which the device was not told, requests
# whose interrupt is masked, and requests that what is behind the device does not take.
# Under TCG, whatever the machine has: rings and devices are the same, and its guests boot in less than a second.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 jq socat
accel=tcg
stuck_guest=$BUILD/virtioguest.elf

slot=3
slots() { # GROUP, the variable of the guest's option; DEVICE,OPTIONS... in the next slots
	local -n mask=$1
	local device
	shift
	for device; do
		slot=$((slot + 1))
		mask=$((mask | 1 << slot))
		devices+=(-device "$device,addr=$(printf %x $slot),packed=on")
	done
}

nokick=0 masked=0 held=0
devices=()
slots nokick virtio-blk-pci,id=n-blk,drive=n0 virtio-scsi-pci,id=n-scsi virtio-net-pci,id=n-net,netdev=n2,romfile= \
	virtio-serial-pci,id=n-con virtio-rng-pci,id=n-rng virtio-balloon-pci,id=n-bal
slots masked virtio-blk-pci,id=m-blk,drive=m0 virtio-scsi-pci,id=m-scsi virtio-net-pci,id=m-net,netdev=m2,romfile= \
	virtio-serial-pci,id=m-con virtio-rng-pci,id=m-rng
slots held virtio-blk-pci,id=h-blk,drive=h0 virtio-scsi-pci,id=h-scsi virtio-net-pci,id=h-net,netdev=h2,romfile= \
	virtio-serial-pci,id=h-con virtio-rng-pci,id=h-rng,rng=egd
backends=()
for group in n m h; do
	limit=
	[ $group != h ] || limit=,throttling.bps-total=512
	for disk in 0 1; do
		backends+=(-drive "driver=null-co,if=none,id=$group$disk,size=16M,read-zeroes=on$limit")
	done
	devices+=(-device "scsi-hd,id=$group-disk,drive=${group}1,bus=$group-scsi.0" -device "virtserialport,bus=$group-con.0,chardev=$group-c,nr=1")
done
backends+=(-netdev user,id=n2 -netdev user,id=m2 -netdev stream,id=h2,server=off,addr.type=unix,addr.path=net
	-chardev null,id=n-c -chardev null,id=m-c -chardev socket,id=h-c,path=con
	-chardev socket,id=egd-c,path=egd -object rng-egd,id=egd,chardev=egd-c)

intx="it was raised (INTx) and the guest has not read the device's ISR register; is the interrupt masked in the guest's interrupt controller?"

# Programs behind the held devices; they read nothing.
peers_start() {
	local name
	peers=()
	rm -f net con egd
	for name in net con egd; do
		socat -u "UNIX-LISTEN:$scratch/$name" OPEN:/dev/null &
		peers+=($!)
		until_true grep -q " 00010000 .* $scratch/$name\$" /proc/net/unix # it listens
	done
	kill -STOP "${peers[@]}"
}

# [device, its findings, its requests: [how many, stage, operation, bytes]] of each device with either; "shape" of all.
filter='def name: .device | split("/")[3];
	[.findings[] | select(.device) | {name: name, kind}] as $f | [.rows[] | . + {name: name}] as $r |
	[$f[].name, $r[].name] | unique | map(. as $n | [$n, ([$f[] | select(.name == $n) | .kind] | unique),
		([$r[] | select(.name == $n)] | group_by([.stage, .op, .bytes]) | map([length, .[0].stage, .[0].op, .[0].bytes]))])'
want='[
["h-blk",["throttled"],[[3,"popped","write",65536]]],
["h-con",["not-popped","not-returned"],[[2,"offered",null,1464],[1,"popped",null,1464]]],
["h-net",["not-popped","not-returned"],[[2,"offered",null,1412],[1,"popped",null,1412]]],
["h-rng",["not-popped"],[[3,"offered",null,128]]],
["h-scsi",["throttled"],[[3,"popped","write",65695]]],
["m-blk",["lost-interrupt"],[]],
["m-con",["lost-interrupt"],[]],
["m-net",["lost-interrupt"],[]],
["m-rng",["lost-interrupt"],[]],
["m-scsi",["lost-interrupt"],[]],
["n-bal",["lost-kick"],[[3,"offered",null,4]]],
["n-blk",["lost-kick"],[[3,"offered","write",65536]]],
["n-con",["lost-kick"],[[3,"offered",null,1464]]],
["n-net",["lost-kick"],[[3,"offered",null,1412]]],
["n-rng",["not-popped"],[[3,"offered",null,128]]],
["n-scsi",["lost-kick"],[[3,"offered","write",65695]]]]'
want=$(jq -c . <<< "$want")

as_expected() {
	stuck --interval 100ms && [ "$(jq -c "$filter" stuck.json)" = "$want" ]
}

shape='[.rows[] | [.certain, .broken, .indirect]] | unique'

plan 34
# Every three of the four options in every combination.
for i in {0..7}; do
	options="packed=$((i & 1)) indirect=$((i >> 1 & 1)) event_idx=$((i >> 2)) msix=$(((i ^ i >> 1 ^ i >> 2) & 1))"
	peers_start
	vm_start "$options nokick=$nokick masked=$masked held=$held" -boot strict=on "${devices[@]}" "${backends[@]}"
	until_true grep -q "virtio guest" console.txt
	until_true as_expected
	is "$(jq -c "$filter" stuck.json)" "$want" "$options" stuck.err
	is "$(jq -c "$shape" stuck.json)" "$([[ $options = *indirect=1* ]] && echo '[["yes","no","yes"]]' || echo '[["yes","no","no"]]')" \
		"... no request is broken or doubtful"
	is "$(jq -r '[.findings[] | select(.kind == "lost-interrupt") | .text | sub(".*: "; "")] | unique | join(" ")' stuck.json)" \
		"$([[ $options = *msix=1* ]] && echo "its MSI-X vector is masked" || echo "$intx")" "... why interrupts are lost"
	is "$(jq -r '.findings[] | select(.kind == "throttled" and (.device | test("h-scsi"))) | .text |
		sub(".*holds [1-3] requests? of "; "")' stuck.json)" "the disk /machine/peripheral/h-disk; block nodes: null-co" \
		"... and which of the SCSI adapter's disks is throttled" stuck.json
	vm_end
	kill -KILL "${peers[@]}"
	wait 2> /dev/null
done

# A VM that was migrated in. Without what QEMU treats otherwise then: when it starts, it looks at the rings of most
# devices; of requests at the network card, it loses one; with requests at the console it does not start.
start() { # QEMU-OPTION...
	peers_start
	vm_start "masked=$masked held=$((held & ~(1 << 17 | 1 << 18)))" -boot strict=on "${devices[@]}" "${backends[@]}" "$@"
}
qmp() {
	printf '%s\n' '{"execute":"qmp_capabilities"}' "$@" | timeout 200 socat -t 60 - UNIX-CONNECT:qmp,retry=50,interval=.1 > qmp.out 2>&1
}
migrated() {
	qmp '{"execute":"query-migrate"}' && grep -q '"status": "completed"' qmp.out
}
want=$(jq -c 'map(select(.[0] | test("h-(net|con)|n-") | not))' <<< "$want")
start -qmp unix:qmp,server=on,wait=off
until_true grep -q "virtio guest" console.txt
until_true as_expected
qmp '{"execute":"migrate","arguments":{"uri":"exec:cat>state"}}'
until_true migrated
is $? 0 "migrated to a file" qmp.out
vm_end
kill -KILL "${peers[@]}"
wait 2> /dev/null
start -incoming "exec:cat state"
until_true as_expected
is "$(jq -c "$filter" stuck.json)" "$want" "a VM that was migrated in" qemu.out
vm_end
kill -KILL "${peers[@]}"
wait 2> /dev/null
finish
