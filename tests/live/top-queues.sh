#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# top --queues on a terminal: a guest writes 60 sectors to one disk, and then leaves 6 requests with another one, which is
# throttled. Keys are sent by tmux, and its screen is compared.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools tmux jq qemu-system-x86_64
. "$ROOT/tests/live/tmux.inc"

vm=
end() {
	exec 4>&-
	[ -z "$vm" ] || kill -KILL "$vm" 2>/dev/null
	tm kill-server 2>/dev/null
	rm -rf "$scratch"
}
trap end EXIT
mkfifo monitor.in
timeout -s KILL 580 qemu-system-x86_64 -S -name "queues-$$,debug-threads=on" -accel kvm -machine pc -m 32 -nodefaults \
	-display none -no-reboot -pidfile pid -serial file:console -kernel "$BUILD/demo-guest.elf" \
	-append "reads=0 writes=60 leak=6 wait_ms=600000" -device isa-debug-exit,iobase=0xf4,iosize=1 \
	-drive driver=null-co,if=none,id=d0,size=2097152 -device virtio-blk-pci,drive=d0,id=disk,addr=4 \
	-drive driver=null-co,if=none,id=s0,size=16777216,throttling.bps-total=64 -device virtio-blk-pci,drive=s0,id=slow,addr=5 \
	-monitor stdio <monitor.in >qemu.out 2>&1 &
exec 4>monitor.in
until_line '^[0-9]' pid || bail "QEMU did not start: $(cat qemu.out)"
vm=$(cat pid)

plan 10
timeout -s KILL 580 "$HOSTRACE" top -f json --vm "$vm" --queues --interval 100ms >all.jsonl 2>json.err &
json=$!
until_line vms all.jsonl || bail "top -f json did not start: $(cat json.err)"
terminal_start
keys "'$HOSTRACE' top --vm $vm --queues --interval 100ms" Enter
shows "^$vm queues-$$ +0 +0 +" "the VM, before it runs"
keys Tab Tab Tab Tab
shows "^$vm queues-$$: virtqueues" "Tab: its virtqueues"
shows '^no request was seen yet' "... without requests yet"
keys c
echo cont >&4
shows '^name +requests +depth +\*busy% +p50 +p99 +max' "the heading of queues"
shows '^disk queue request0 +60 +0 ' "60 requests, none in flight"
shows '^slow queue request0 +1 +6 ' "one request, and six in flight"
keys c
shows '^slow queue request0 +0 +6 +100\.0 +0 +0 +0 ' "... with figures of the interval: they do not end"
keys q
until_screen '^prompt>'
kill -TERM "$(pgrep -P $json | head -n 1)" # timeout runs it
wait $json
is "$(jq -s -c '[.[].vms[].queues[]] | group_by(.queue) | map([.[0].queue, (map(.count) | add), .[-1].in_flight])' all.jsonl)" \
	'[["disk queue request0",60,0],["slow queue request0",1,6]]' "JSON lines add up to the same" json.err
is "$(jq -s '(map(.vms[].queues[] | select(.queue == "slow queue request0").busy_ns) | add) as $busy | (map(.interval_ns) | add) as $all |
	$busy > 0 and $busy <= $all' all.jsonl)" true "a queue is not busy for longer than the time that passed" json.err
follows top all.jsonl
finish
