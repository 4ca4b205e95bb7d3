#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# USDT probes in a program that stands in for a QEMU: found, read at the offsets of its version, and rejected where a
# probe would corrupt the program. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools jq

pids=
trap 'kill $pids 2>/dev/null; rm -rf "$scratch"' EXIT

# build NAME VERSION VQ_VDEV [FLAGS...]
build() {
	name=$1 version=$2 vdev=$3
	shift 3
	${CC:-gcc} -D_GNU_SOURCE -O2 -DVERSION="\"$version\"" -DVQ_VDEV="$vdev" "$@" -o "$name" \
		"$ROOT/tests/live/usdt_prog.c" || bail "cannot build usdt_prog; scripts/deps.sh check installs sys/sdt.h"
}

# start NAME POPS FILLS: $pid
start() {
	rm -f in prog.out
	mkfifo in
	timeout 200 "./$1" "$2" "$3" <in >prog.out 2>prog.err &
	prog=$!
	pids="$pids $prog"
	exec 3>in
	until_line '^ready' prog.out || bail "$1 did not start: $(cat prog.err)"
	pid=$(sed -n 's/^ready //p' prog.out)
}

# go: lets the program run to its end; returns its status
go() {
	echo go >&3
	exec 3>&-
	wait "$prog"
}

# doctor EVENT FILTER
doctor() {
	"$HOSTRACE" doctor --vm "$pid" -f json 2>err | jq -r ".rows[] | select(.event == \"$1\") | $2"
}

# record TRACE: records the program
record() {
	: >record.err
	timeout -s KILL 200 "$HOSTRACE" record --vm "$pid" -e qemu -o "$1" 2>record.err &
	recorder=$!
	pids="$pids $recorder"
	until_line recording record.err || bail "record did not start: $(cat record.err)"
	go || bail "the program failed: $(cat prog.err)"
	wait "$recorder" || bail "record failed: $(cat record.err)"
}

count() {
	"$HOSTRACE" list -i "$1" -f json 2>/dev/null | jq "[.rows[] | select(.event == \"$2\" and $3)] | length"
}

plan 27
build qemu-system-new 10.1.0 96
start qemu-system-new 1000 990
for event in virtqueue_pop virtqueue_fill virtqueue_flush virtio_queue_notify virtio_notify virtio_set_status vm_state; do
	is "$(doctor $event .how)" usdt "$event has its USDT probe" err
done
is "$(doctor virtqueue_pop .where)" "mark virtqueue_pop, 2 sites" "pop has two sites"
is "$(doctor virtqueue_pop .cost)" cheap "a USDT probe is a NOP, which is cheap"
is "$(doctor virtqueue_detach .how)" absent "no release has a USDT probe for detach"
record new.hrt
is "$(sed -n 's/^sum //p' prog.out)" $((999 * 1000 / 2 + 989 * 990 / 2)) "the program computed right" prog.out
is "$(awk '/^semaphores/ { print ($2 > 0 && $3 > 0) }' prog.out)" 1 "semaphores were raised" prog.out
is "$(count new.hrt virtqueue_pop '.fields.queue == 5 and .fields.in_num == 2 and .fields.out_num == 1')" 1000 "1,000 pops of both sites" record.err
is "$(count new.hrt virtqueue_fill '.fields.len == 512')" 990 "990 fills"
is "$(count new.hrt virtqueue_flush true)" 990 "990 flushes"
is "$(count new.hrt virtio_notify true)" 990 "990 interrupts, of both marks"
is "$(count new.hrt virtio_queue_notify '.fields.queue == 5')" 1 "one kick"
is "$(count new.hrt virtio_set_status true)" 1 "what is behind a semaphore"
is "$(count new.hrt vm_state '.fields.state == 4 and .fields.running == 0')" 1 "the machine's state"
is "$(count new.hrt virtio_device '.fields.path == "/machine/peripheral/marked/virtio-backend"')" 1 "the device's name"

# Up to QEMU 6.2, the device is 8 bytes further.
build qemu-system-old 6.2.0 104
start qemu-system-old 10 10
record old.hrt
is "$(count old.hrt virtio_device '.fields.path == "/machine/peripheral/marked/virtio-backend"')" 1 "the name at 6.2's offset"
is "$(count old.hrt virtqueue_pop '.fields.queue == 5')" 10 "pops of 6.2"

build qemu-system-ancient 2.11.0 104
start qemu-system-ancient 10 10
is "$(doctor virtqueue_pop .how)" absent "a QEMU older than all layouts is not read"
is "$(doctor virtqueue_pop '.reason | contains("2.11.0 is not supported: 4.2 is the oldest")')" true "and it says why"
go

# An SDT header whose probes are 5-byte NOPs: probing these would corrupt the program.
header=$(echo '#include <sys/sdt.h>' | ${CC:-gcc} -M -E - | tr ' ' '\n' | grep 'sys/sdt\.h$')
mkdir -p nop5/sys
cp "$(dirname "$header")"/sdt*.h nop5/sys/
sed 's/^\(# *define _SDT_NOP\).*/\1 .4byte 0x00441f0f ; .byte 0/' "$header" >nop5/sys/sdt.h
build qemu-system-nop5 10.1.0 96 -Inop5
start qemu-system-nop5 10 10
is "$(doctor virtqueue_pop .how)" absent "USDT probes on 5-byte NOPs are rejected"
is "$(doctor virtqueue_pop '.reason | contains("5-byte NOP")')" true "and it says why" err
go
is $? 0 "the program ran to its end" prog.err
finish
