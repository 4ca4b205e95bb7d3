#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# doctor's report about the installed QEMU: each probe site that it chose inside a function is hit as often as the
# function's entry, counted by kernel probes (tracefs) while a guest reads its disk.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 jq

READS=50
tracing=/sys/kernel/tracing
group=hostrace_test_$$
instance=$tracing/instances/$group

cleanup() {
	[ -s pid ] && kill "$(cat pid)"
	if [ -d "$instance" ]; then
		echo 0 >"$instance/events/$group/enable"
		rmdir "$instance"
	fi 2>/dev/null
	for p in $(sed -n "s/^.:\($group\/[^ ]*\) .*/\1/p" $tracing/uprobe_events 2>/dev/null); do
		echo "-:$p" >>$tracing/uprobe_events
	done
	rm -rf "$scratch"
}
trap cleanup EXIT

${CC:-gcc} -c -DREADS=$READS -o boot.o "$ROOT/tests/live/record-boot.S" &&
	ld --oformat binary -Ttext 0x7c00 -o boot.img boot.o || bail "cannot build the boot sector"
truncate -s 1M boot.img

# A copy of QEMU, so that no other VM of this host hits the probes.
cp "$(command -v qemu-system-x86_64)" qemu-system-copy || bail "cannot copy QEMU"
for dir in /usr/lib/"$(uname -m)"-linux-gnu/qemu /usr/lib64/qemu; do
	[ -d "$dir" ] && export QEMU_MODULE_DIR="$dir"
done

# qemu ARGS...
qemu() {
	timeout -s KILL 200 ./qemu-system-copy -L /usr/share/seabios -L /usr/share/qemu -accel tcg -m 64 \
		-nodefaults -display none -drive file=boot.img,if=none,id=d,format=raw,snapshot=on \
		-device virtio-blk-pci,drive=d,id=disk0 -device isa-debug-exit,iobase=0xf4,iosize=1 "$@"
}

qemu -S -name doctor-$$ -pidfile pid 2>qemu.err &
for _ in $(seq 1200); do
	[ -s pid ] && break
	sleep .05
done
[ -s pid ] || bail "QEMU did not start: $(cat qemu.err)"

plan 21
"$HOSTRACE" doctor --tcg --vm doctor-$$ -f json >doctor.json 2>err
is $? 0 "recording is possible" err
follows doctor doctor.json
unshare -p -f --mount-proc "$HOSTRACE" doctor -f json >none.json 2>err # a PID namespace without VMs
is $? 0 "without a VM: JSON" err
is "$(jq -c '[.result.vms, (.rows | length > 0), ([.rows[] | select(.pid)] | length)]' none.json)" "[[],true,0]" "... of the kernel's events"
"$HOSTRACE" doctor --vm "$(cat pid)" >doctor.txt 2>err
is $? 0 "so says the text" err
is "$(awk 'length > 80' doctor.txt)" "" "it fits 80 columns"
jq -r '.rows[].group' doctor.json | sort -u >groups
is "$([ "$(wc -l <groups)" -ge 12 ] && while read -r group; do
	grep -q "^$group  *[0-9-]* *[0-9-]* *[0-9-]* *[0-9-]* " doctor.txt || echo "$group"
done <groups)" "" "a line for each group" doctor.txt
"$HOSTRACE" doctor --vm "$(cat pid)" --probes >probes.txt 2>err
is "$(jq -r '.rows[].event' doctor.json | while read -r event; do
	grep -q "^$event  *[a-z]" probes.txt || echo "$event"
done)" "" "each event with --probes" probes.txt
is "$(jq '[.rows[].how] | unique - ["absent", "function", "tracepoint", "usdt"] | length' doctor.json)" 0 \
	"each event has its way"
is "$(jq '[.rows[] | select(.how == "absent" and .reason == "")] | length' doctor.json)" 0 \
	"what is absent has a reason"
is "$(jq '[.rows[] | select(.how != "absent" and .where == "")] | length' doctor.json)" 0 \
	"what is there has a place"
is "$(jq -r '.rows[] | select(.event == "sched_switch") | .how' doctor.json)" tracepoint "sched_switch"
is "$(jq -r '.result.vms[0].analyzers | .virtqueue + .pio' doctor.json)" okqemu-pio "virtqueues can be measured, and ports through QEMU" doctor.json
"$HOSTRACE" ps --tcg -f json >ps.json
is "$(jq -r '.result.vms[0].version' doctor.json)" \
	"$(jq -r ".rows[] | select(.pid == $(cat pid)) | .version" ps.json)" "the version is ps's"
is "$(jq -r '[.rows[].places[]? | select(.insn == "nop" and .offset > 0 and .cheap)] | length' doctor.json)" 0 \
	"no NOP within a function"

# Each probe site in a function, and the entry of the same function, as tracefs probes.
exe=$(jq -r ".rows[] | select(.pid == $(cat pid)) | .exe" ps.json)
jq -r '.rows[].places[]? | select(.function != "" and (.return | not)) | "\(.function) \(.offset) \(.file_offset)"' \
	doctor.json | sort -u >places
is "$([ "$(wc -l <places)" -ge 15 ] && echo many)" many "functions are found" places
hits() {
	awk -v name="$1" '$1 == name { print $2 }' hits
}
count_hits() {
	mkdir "$instance" || bail "cannot make a tracing instance"
	while read -r function offset file_offset; do
		printf 'p:%s/%s_place %s:%s\n' "$group" "$function" "$exe" "$file_offset"
		printf 'p:%s/%s_entry %s:0x%x\n' "$group" "$function" "$exe" $((file_offset - offset))
	done <places >probes
	while read -r line; do
		echo "$line" >>$tracing/uprobe_events || bail "the kernel refuses: $line"
	done <probes
	echo 1 >"$instance/events/$group/enable"
	qemu >qemu.out 2>&1
	status=$?
	awk -v group="$group" '$2 ~ "_(place|entry)$" { print $2, $3 }' $tracing/uprobe_profile | sort >hits
	is $status 33 "the guest did its reads" qemu.out
	wrong=
	while read -r function _; do
		[ "$(hits "${function}_place")" = "$(hits "${function}_entry")" ] || wrong="$wrong $function"
	done <places
	is "$wrong" "" "each probe site is hit as often as its function's entry" hits
	is "$(hits virtqueue_fill_place)" $((READS + 1)) "and as often as the guest read" hits
}
if [ -e $tracing/uprobe_events ]; then
	count_hits
else
	for _ in 1 2 3; do skip "kernel: no tracefs in $tracing"; done
fi
if [ -c /dev/kvm ]; then # a VM under KVM, and no QEMU
	. "$ROOT/tests/live/record-lib.inc"
	vmm_start 1
	"$HOSTRACE" doctor --vm "$vmm" >doctor.txt 2>err
	is $? 0 "a VM under KVM has its text" err
	"$HOSTRACE" doctor --vm "$vmm" -f json >doctor.json 2>err
	is "$(jq -c '[.. | objects | select(.event? == "qemu_pio") | .how, (.group | length > 0)]' doctor.json)" \
		'["absent",true]' "and its JSON: port I/O is not QEMU's there" err
	vmm_go
	vmm_end
else
	echo "ok 20 # SKIP kernel: no /dev/kvm"
	echo "ok 21 # SKIP kernel: no /dev/kvm"
	nr=21
fi
finish
