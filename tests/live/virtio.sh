#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Virtqueues of the demo guest: the stages in a recording, and `virtio --state` while its slow disk holds six requests,
# read from QEMU's memory and from its monitor, which must agree.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 jq

accel=tcg
[ -c /dev/kvm ] && accel=kvm
truncate -s 2M disk.img
timeout -s KILL 200 "$HOSTRACE" record -o t.hrt -- \
	qemu-system-x86_64 -name virtio-test -accel $accel -machine pc -m 32 -nodefaults -display none -no-reboot \
	-pidfile pid -qmp unix:qmp,server=on,wait=off -serial file:console.txt -kernel "$BUILD/demo-guest.elf" \
	-append "reads=0 writes=100 leak=6 wait_ms=3600000" -device isa-debug-exit,iobase=0xf4,iosize=1 \
	-drive file=disk.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0,id=disk,addr=4 \
	-drive driver=null-co,if=none,id=s0,size=16777216,read-zeroes=on,throttling.bps-total=512 \
	-device virtio-blk-pci,drive=s0,id=slow,addr=5 -device virtio-rng-pci,id=rng >record.out 2>&1 &
recorder=$!

# Applies a jq filter to --state's rows; "" if --state fails.
state() {
	"$HOSTRACE" virtio --state --vm "$(cat pid)" -f json "$@" >state.json 2>state.err && jq -c "$ask" state.json
}

held() {
	ask='[.rows[] | select(.device | test("/slow/")) | .inuse] | add'
	[ -s pid ] && [ "$(state)" = 6 ]
}

for _ in $(seq 600); do
	held && break
	kill -0 $recorder 2>/dev/null || break
	sleep .1
done

plan 18
held
is $? 0 "the slow disk holds six requests" record.out
ask='[.rows[] | select(.ready) | [(.device | split("/")[3]), .queue, .size, .ring, .inuse, .posted, .served]]'
is "$(state)" '[["disk",0,128,"split",0,0,"qemu"],["slow",0,128,"split",6,0,"qemu"]]' "queues, out of memory" state.err
ask='[.rows[] | select(.device | test("/slow/")) | .ring_avail_idx, .last_avail_idx, .shadow_avail_idx, .used_idx,
	.ring_used_idx]'
is "$(state)" '[7,7,7,1,1]' "the slow disk took seven and returned one"
ask='[.rows[] | select(.device | test("/slow/")) | .kicks, .interrupts]'
is "$(state)" '["on","off"]' "the guest polls: it wants no interrupts"
ask='[.rows[] | select(.device | test("/rng/")) | .ready]'
is "$(state)" '[false]' "a queue without a driver"
ask='[.rows[] | .agrees] | [length, (map(select(.)) | length)]'
is "$(state --qmp qmp)" '[3,3]' "the monitor says the same of all three" state.json
ask='[.rows[] | select(.device | test("/slow/")) | .qmp.inuse, .qmp.last_avail_idx]'
is "$(state --qmp qmp)" '[6,7]' "... of the six, too"
follows virtio-state state.json
"$HOSTRACE" virtio --state --vm "$(cat pid)" --qmp qmp >text
is "$(grep -c same text) $(grep -c " no$" text)" "2 0" "as text" text
is "$(awk 'length > 80' text)" "" "... of 80 columns"
"$HOSTRACE" virtio --state --vm "$(cat pid)" --qmp pid >text 2>&1
is $? 1 "a file is no monitor" text
"$HOSTRACE" virtio --state --vm $$ >text 2>&1
is $? 1 "a shell is no VM" text

# Not SIGTERM: QEMU would complete the held requests, since it drains throttled disks when it exits.
kill -KILL "$(cat pid)"
wait $recorder
is $? 0 "the recording ended with the VM" record.out
"$HOSTRACE" virtio -i t.hrt -f json >t.json 2>&1
pick() {
	jq -c ".rows[] | select(.device | test(\"/$1/\")) | $2" t.json
}
is "$(pick disk '[.count, .returned, .in_flight.end, .stages."pop-push".count, .stages."push-notify".count]')" \
	'[100,100,0,100,100]' "the disk's hundred writes" t.json
is "$(pick slow '[.count, .returned, .in_flight.max, .in_flight.end]')" '[7,1,6,6]' "the slow disk's seven" t.json
is "$(pick disk '.kicks >= .stages."kick-pop".count and .stages."kick-pop".count > 0')" true "kicks were seen" t.json
"$HOSTRACE" virtio -i t.hrt >text
is "$(grep -c 'pop-push' text)" 2 "a table of stages" text
is "$(awk 'length > 80' text)" "" "... of 80 columns"
finish
