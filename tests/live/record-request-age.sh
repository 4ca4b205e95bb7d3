#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --trigger request-age: a disk request that QEMU holds back for minutes (its throttling lets a byte a second
# pass) is dumped while it is still in flight. The request before it may take seconds on a machine that does other work.
# The firmware reads a timer's port meanwhile: these events push the request's first one out of a small ring, and the
# dump says so. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools qemu-system-x86_64

plan 9
accel=tcg
[ ! -c /dev/kvm ] || accel=kvm
boot_sector_make 5

# record_held NAME OPTION...: a VM with a disk of its own; its recorder is $waiter
record_held() {
	name=$1
	shift
	cp boot.img "$name.img"
	timeout -s KILL 200 "$HOSTRACE" record -o "$name.hrt" --trigger 'request-age>8s' --after 0s "$@" -- \
		qemu-system-x86_64 -accel $accel -m 64 -nodefaults -nographic -display none -pidfile "$name.pid" \
		-drive file="$name.img",if=none,id=d,format=raw,throttling.bps-total=1 \
		-device virtio-blk-pci,drive=d,id=disk0 -device isa-debug-exit,iobase=0xf4,iosize=1 >"$name.out" 2>"$name.err" &
	waiter=$!
}

# dumped NAME: waits for its first dump
dumped() {
	until_line "; dump: $1-request-age-" "$1.err"
}

# Both at once: each takes more than eight seconds.
record_held held --ring 16M --events default,-qemu_pio,-kvm_pio,-kvm_userspace_exit,-kvm_run,-kvm_entry,-kvm_exit
held=$waiter
record_held small --ring 64K
small=$waiter
dumped held
is $? 0 "the request triggers before it returns" held.err
line='request-age [0-9.]*s so far > 8.00s: (pid [0-9]*, tid [0-9]*) device=/machine/peripheral/disk0/virtio-backend queue=0'
is "$(grep -c "$line" held.err)" 1 "... named by device and queue" held.err
dump=$(ls held-request-age-*.hrt)
is "$(head -n 1 "${dump%.hrt}.txt" | grep -c "^$line$")" 1 "the report says the same" "${dump%.hrt}.txt"
is "$(grep -c '^next' "${dump%.hrt}.txt") $(sed -n 's/.*next: hostrace \([a-z]*\) -i held-request-age.*/\1/p' held.err)" \
	"1 leaks" "the command to run is logged" held.err
"$HOSTRACE" leaks -i "$dump" >leaks.out 2>&1
is "$(grep -c 'disk0' leaks.out)" 1 "the request is in flight in the dump" leaks.out
kill "$(cat held.pid)"
wait "$held"
is "$(ls held-* | wc -l) $(grep -c 'triggers: 1, dumps written: 1' held.err)" "2 1" "one request, one dump" held.err

dumped small
dump=$(ls small-request-age-*.hrt)
is "$(grep -c '^in the dump: from [0-9.]*s after the culprit began' "${dump%.hrt}.txt")" 1 \
	"a ring that is too small for the request's beginning: the report says so" "${dump%.hrt}.txt"
"$HOSTRACE" leaks -i "$dump" >leaks.out 2>&1
is "$(grep -c 'virtqueue_pop was recorded, and did not occur in the time that the ring' leaks.out)" 1 "so does leaks" \
	leaks.out
is "$(grep -c 'QEMU was not recorded' leaks.out)" 0 "... which does not take it for a recording without QEMU" leaks.out
kill "$(cat small.pid)"
wait "$small"
finish
