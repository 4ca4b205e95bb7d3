#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record --for boot and boot: a guest that spends known times between the points of its boot, and says by its own TSC
# when it was at each (bootguest.S). Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq
live_build "$BUILD/bootguest.elf"
markers=(--marker port:0x80=1 --marker port:0x80=2 --marker port:0xf4)

# guest_boot NAME [QEMU-OPTION...]: NAME.hrt
guest_boot() {
	local name=$1
	shift
	timeout -s KILL 120 "$HOSTRACE" record --for boot -o "$name.hrt" -- "${QEMU:-qemu-system-x86_64}" \
		-name "$name,debug-threads=on" -M microvm -nodefaults -display none -m 64 -serial "file:$name.console" \
		-device isa-debug-exit,iobase=0xf4,iosize=1 -kernel "$BUILD/bootguest.elf" "$@" >record.out 2>record.err
}

plan 16
guest_boot kvm -accel kvm -smp 2
is "$(grep -c 'exited with status 3' record.err)" 1 "the guest ends QEMU at its last point" record.err
"$HOSTRACE" boot kvm.hrt "${markers[@]}" -f json >boot.json 2>err
is $? 0 "the report reads the recording" err record.err
jq -r '.rows[] | [.phase, .begin_ns, .duration_ns, .share] | @tsv' boot.json | sed 's/^/# /'
is "$(jq -r '[.rows[].phase] | join(" ")' boot.json)" \
	"vmm vm vcpus devices firmware port:0x80=1 kernel init port:0x80=2 port:0xf4 total" "phases in order of time" boot.json
is "$(jq '[.rows[] | select(.begin_ns == null)] | length' boot.json)" 0 "each was seen" boot.json
is "$(jq '(.rows | map(select(.phase == "total"))[0]) as $all | ([.rows[] | select(.phase != "total").duration_ns] | add) == $all.duration_ns' \
	boot.json)" true "they sum to the total" boot.json
is "$(jq '[.rows[] | . as $r | ([to_entries[] | select(.key | test("^(guest|kvm|vmm|syscall|halted|disk|fault|cpu|bql|lock|poll|stopped|unknown)_ns$")).value] | add) == $r.duration_ns] | all' \
	boot.json)" true "causes sum to each of them" boot.json
is "$(jq '.rows[] | select(.phase == "total") | .unknown_ns * 20 < .duration_ns' boot.json)" true \
	"what at least 95 % of the time went into is known" boot.json

# The guest's clock at its five points, in ticks since the first; the host's, in ns.
"$HOSTRACE" list kvm.hrt --event kvm_pio --limit 0 -f json >pio.json
khz=$("$HOSTRACE" info kvm.hrt | sed -n 's/^clock *TSC \([0-9]*\) kHz.*/\1/p')
jq -r '.rows[] | select(.fields.port == 4656).fields.val' pio.json >ticks
is "$(wc -l <ticks)" 5 "the guest's five times" ticks
jq -r '.rows[] | select(.phase == ("port:0x80=1", "kernel", "init", "port:0x80=2", "port:0xf4")).time_ns' boot.json >times
is "$(paste ticks times | awk -v khz="$khz" '
	NR == 1 { tick = $1; ns = $2 }
	{ guest = ($1 - tick + (2 ^ 32) * ($1 < tick)) / khz * 1e6; off = $2 - ns - guest; print "# " guest, $2 - ns, off >"off" }
	off > 1e6 || off < -1e6 { bad++ }
	END { print bad + 0 }')" 0 "phases begin within 1 ms of the guest's own times" ticks times
cat off

"$HOSTRACE" boot kvm.hrt "${markers[@]}" --by point -f json >points.json
is "$(jq -r '[.rows[] | select(.point == "first-run" or .point == "create-vcpu") | "\(.point) \(.vcpu)"] | sort | join(", ")' points.json)" \
	"create-vcpu 0, create-vcpu 1, first-run 0, first-run 1" "two vCPUs" points.json
is "$(jq -r '.rows[] | select(.point == "console") | "\(.what) \(.guest_ns)"' points.json)" \
	"[    0.000000] Linux version 1.2.3 (test) 0
[    0.100000] Run /init as init process 100000000" "the lines of the console, without the divisor" points.json

guest_boot tcg -accel tcg
"$HOSTRACE" boot tcg.hrt "${markers[@]}" -f json >tcg.json
is "$(jq -r '[.rows[] | select(.begin_ns != null).phase] | join(" ")' tcg.json)" \
	"vmm firmware port:0x80=1 kernel init port:0x80=2 port:0xf4 total" "what TCG shows" tcg.json record.err
"$HOSTRACE" boot kvm.hrt tcg.hrt "${markers[@]}" --by phase -f json >phases.json
is "$(jq -c '[.rows[] | select(.phase == ("vm", "kernel", "total")).boots]' phases.json)" "[1,2,2]" "the spread of two boots" phases.json

"$HOSTRACE" boot --repeat 3 --marker port:0xf4 -f json -- "${QEMU:-qemu-system-x86_64}" -M microvm -accel kvm -nodefaults -display none \
	-m 64 -device isa-debug-exit,iobase=0xf4,iosize=1 -kernel "$BUILD/bootguest.elf" >repeat.json 2>err
is $? 0 "three boots of a command" err
is "$(jq -c '[.rows[] | select(.phase == ("vm", "firmware", "total")) | .boots == 3 and .min_ns <= .median_ns and .median_ns <= .max_ns]' \
	repeat.json)" "[true,true,true]" "their spread" repeat.json
"$HOSTRACE" boot --repeat 2 -- /nonexistent >out 2>err
is "$? $(grep -c 'boot 1 was not recorded' err)" "1 1" "a command that cannot be run" err
finish
