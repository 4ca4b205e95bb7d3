#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# USDT probes: a program with QEMU's probes that pops 100 elements and returns 93.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

${CC:-gcc} -D_GNU_SOURCE -O2 -Wall -o marks "$ROOT/tests/live/record-marks.c" ||
	bail "cannot build record-marks; scripts/deps.sh live installs sys/sdt.h"
mkfifo in
timeout 200 ./marks 100 7 <in >marks.out 2>marks.err &
marks_waiter=$!
exec 3>in
until_line '^ready' marks.out || bail "record-marks did not start: $(cat marks.err)"
pid=$(sed -n 's/^ready //p' marks.out)

plan 10
record_start --vm "$pid" -o marks.hrt
echo go >&3
exec 3>&-
wait "$marks_waiter"
is $? 0 "the program ran to its end" marks.err
wait "$recorder_waiter"
is $? 0 "its end ends the recording" record.err
is "$(sed -n 's/^semaphore //p' marks.out)" 1 "the semaphore was raised"
is "$(events virtqueue_pop marks.hrt)" 100 "100 pops" record.err
is "$(events virtqueue_fill marks.hrt)" 93 "93 fills"
is "$(events virtqueue_flush marks.hrt)" 93 "93 flushes"
is "$(events virtio_set_status marks.hrt)" 1 "the USDT probe with a semaphore"
"$HOSTRACE" list --wide -i marks.hrt >list.out
is "$(grep 'virtqueue_pop' list.out | tail -n 1 | grep -c 'head=99 .*queue=3')" 1 "the newest pop's head and queue" list.out
is "$(grep -c 'virtio_device.*path=/machine/peripheral/marks0/virtio-backend' list.out)" 1 "the device's path"
is "$("$HOSTRACE" info -i marks.hrt | grep -c 'virtqueue_pop *usdt')" 1 "the file records that USDT probes were used"
finish
