#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --trigger request-age: a disk request that QEMU holds back for minutes (its throttling lets a byte a second
# pass) is dumped while it is still in flight. The request before it may take seconds on a machine that does other work. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools qemu-system-x86_64

plan 6
accel=tcg
[ ! -c /dev/kvm ] || accel=kvm
boot_sector_make 5
timeout -s KILL 200 "$HOSTRACE" record -o held.hrt --ring 16M --trigger 'request-age>8s' --after 0s -- \
	qemu-system-x86_64 -accel $accel -m 64 -nodefaults -nographic -display none -pidfile qemu.pid \
	-drive file=boot.img,if=none,id=d,format=raw,throttling.bps-total=1 \
	-device virtio-blk-pci,drive=d,id=disk0 -device isa-debug-exit,iobase=0xf4,iosize=1 >qemu.out 2>record.err &
waiter=$!
until_line '; dump: held-request-age-' record.err
is $? 0 "the request triggers before it returns" record.err
line='request-age [0-9.]*s so far > 8.00s: (pid [0-9]*, tid [0-9]*) device=/machine/peripheral/disk0/virtio-backend queue=0'
is "$(grep -c "$line" record.err)" 1 "... named by device and queue" record.err
dump=$(ls held-request-age-*.hrt)
is "$(head -n 1 "${dump%.hrt}.txt" | grep -c "^$line$")" 1 "the report says the same" "${dump%.hrt}.txt"
is "$(grep -c '^next' "${dump%.hrt}.txt") $(sed -n 's/.*next: hostrace \([a-z]*\) -i held-request-age.*/\1/p' record.err)" \
	"1 leaks" "the command to run is logged" record.err
"$HOSTRACE" leaks -i "$dump" >leaks.out 2>&1
is "$(grep -c 'disk0' leaks.out)" 1 "the request is in flight in the dump" leaks.out
kill "$(cat qemu.pid)"
wait "$waiter"
is "$(ls held-* | wc -l) $(grep -c 'triggers: 1, dumps written: 1' record.err)" "2 1" "one request, one dump" record.err
finish
