#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `record --for heap` and `heap`: a program that leaks known numbers of blocks by known functions, and a stock QEMU whose
# devices are plugged and unplugged. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools jq qemu-system-x86_64
. "$ROOT/tests/live/vm.inc"

record_heap() { # FILE VM: $recorder
	: >record.err
	timeout -s KILL 100 "$HOSTRACE" record --vm "$2" --for heap -o "$1" 2>record.err &
	recorder=$!
	until_line recording record.err || bail "record did not start: $(cat record.err)"
}

# row FUNCTION STACK: "allocs live live_bytes" of the rows of this function whose stack has this name
row() {
	jq -r "[.rows[] | select(.function == \"$1\" and (.stack // \"\" | test(\"(^|;)$2(;|$)\")))] |
		\"\(map(.allocs) | add) \(map(.live) | add) \(map(.live_bytes) | add)\"" heap.json
}

plan 31
timeout 100 "$HOSTRACE" record --for heap --ring 1M -o never.hrt --vm 1 2>err
is "$? $(grep -c 'cannot be recorded with --ring' err)" "2 1" "not in a flight recorder" err
timeout 100 "$HOSTRACE" record --for heap -o never.hrt -- true 2>err
is "$? $(grep -c 'start the VM, then record it' err)" "2 1" "not of a command" err

${CC:-gcc} -D_GNU_SOURCE -O2 -Wall -Wno-unused-result -fomit-frame-pointer -pthread -o qemu-system-heap "$ROOT/tests/live/heapleak.c" \
	-l:libglib-2.0.so.0 || bail "cannot build heapleak"
mkfifo in
timeout 100 ./qemu-system-heap <in >prog.out 2>prog.err &
program=$!
exec 3>in
until_line '^ready' prog.out || bail "heapleak did not start: $(cat prog.err)"
record_heap heap.hrt "$(sed -n 's/^ready //p' prog.out)"
echo go >&3
until_line '^done' prog.out || bail "heapleak did not end: $(cat prog.err)"
echo go >&3
exec 3>&-
wait "$program"
is $? 0 "the program ran to its end" prog.err
wait "$recorder"
is $? 0 "its end ends the recording" record.err
"$HOSTRACE" heap heap.hrt -f json >heap.json 2>err
is $? 0 "heap" err
follows heap heap.json
is "$(row g_malloc leak_some)" "1000 100 10000" "100 of 1,000 blocks leak"
is "$(row g_malloc plug_a) $(row g_malloc plug_b)" "300 300 19200 200 200 12800" "two callers of one function are told apart"
is "$(row calloc balanced)" "500 0 0" "what is freed is not live"
is "$(row g_realloc grow)" "9 1 4096" "reallocations: one block remains"
is "$(row g_malloc0 mix) $(row malloc mix)" "7 0 0 5 0 0" "what was freed with the other function is freed"
is "$(row g_vasprintf texts | cut -d ' ' -f 2-)" "6 1806" "texts of glib's, for which the C library allocates"
is "$(row qemu_memalign aligned)" "3 3 24576" "aligned blocks"
is "$(row malloc large)" "4 2 2097152" "blocks that malloc() maps"
is "$(row mmap map)" "2 1 3145728" "a mapping with a hole"
is "$(row g_malloc0 thread_leaks)" "1000 1000 33000" "four threads"
is "$(jq -r '.rows[] | select((.stack // "") | test("(^|;)plug_a(;|$)")) | .stack' heap.json | sed 's/;__libc_start.*//' | sort -u)" \
	"g_malloc;device_state_new;plug_a;main" "a whole stack without frame pointers"
is "$(jq '.totals | .not_followed + .without_stack + .unfinished + .replaced + .failed' heap.json)" 0 "nothing was missed"
is "$(jq '.totals.unknown_frees >= 1' heap.json)" true "the block from before is an unknown free"
is "$(jq '[.rows[] | select(.function != "mmap") | .live_bytes] | add' heap.json)" "$(jq '.totals.bytes - .totals.freed_bytes' heap.json)" \
	"the rows add up to the total"
"$HOSTRACE" heap heap.hrt --mismatches -f json >mismatches.json 2>err
follows heap mismatches.json
is "$(jq -r '.rows[] | "\(.allocated) \(.freed) \(.count) \(.bytes)"' mismatches.json | sort | paste -s -d ';')" \
	"g_malloc0 free 7 280;malloc g_free 5 250;qemu_memalign g_free 2 1024" "freed with the wrong function" err
is "$(jq -r '[.rows[] | select((.stack | test("mix")) and (.free_stack | test("mix")))] | length' mismatches.json)" 3 "both stacks" err
"$HOSTRACE" heap heap.hrt --by function -f json >functions.json 2>err
is "$(jq -r '.rows[] | select(.function == "g_malloc") | "\(.allocs) \(.live)"' functions.json)" "1500 600" "by function"
"$HOSTRACE" heap heap.hrt -f folded >folded 2>err
is "$(grep -o 'main;plug_b;device_state_new;g_malloc;g_malloc [0-9]*' folded)" "main;plug_b;device_state_new;g_malloc;g_malloc 12800" \
	"folded stacks"
is "$(awk '{n += $NF} END {print n}' folded)" "$(jq '[.rows[].live_bytes] | add' heap.json)" "they add up to what is live"
"$HOSTRACE" heap heap.hrt -f flame -o heap.svg 2>err
is "$? $(grep -c plug_b heap.svg)" "0 1" "a flame graph" err

# ---- a stock QEMU: 20 keyboards are plugged and unplugged, 3 remain ----

vm_monitor
vm_launch heap$$ -m 16 -S -device qemu-xhci
record_heap qemu.hrt "$vm"
for i in $(seq 20); do
	printf 'device_add usb-kbd,id=k%d\ndevice_del k%d\n' "$i" "$i" >&4
done
printf 'device_add usb-kbd,id=r%d\n' 1 2 3 >&4
printf 'info status\nquit\n' >&4
wait "$vm_job"
wait "$recorder"
is $? 0 "QEMU's end ends the recording" record.err
"$HOSTRACE" heap qemu.hrt -f json >heap.json 2>err
is "$(jq '.totals | .allocs > 1000 and .not_followed == 0' heap.json)" true "a stock QEMU's heap was followed"
is "$(jq '[.rows[] | select((.stack // "") | test("qmp_device_add|qdev_device_add")) | .allocs] | add > 400' heap.json)" true \
	"stacks of device_add"
# QEMU reports the end of a device when it frees it, which may be after the last command.
deleted=$(jq '[.rows[] | select((.stack // "") | test("qdict_new;[^;]*;qapi_event_send_device_deleted;")) | .allocs] | max // 0' heap.json)
{
	echo "deleted $deleted"
	jq -r '.rows[] | select((.stack // "" | test(";qdev_new;")) and .function == "g_malloc") | "\(.allocs) \(.frees) \(.live)"' heap.json
} >devices
is "$(jq '[.rows[] | select((.stack // "" | test(";qdev_new;")) and .function == "g_malloc" and .allocs == 23 and
	.frees == '"$deleted"' and .live == 23 - .frees)] | length >= 1' heap.json)" true \
	"a device is allocated 23 times, and freed as often as QEMU says" devices
finish
