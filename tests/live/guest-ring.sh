#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A running guest's ring, read by the recorder: from guest memory through its page tables, from guest memory by physical
# address, and from a shared file; reading it causes no exit; and its times are right also after a stop. Needs $HOSTRACE and
# $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 socat
guest=$BUILD/ring-guest.elf
live_build "$guest"
vm=
export append= # to the guest's command line
trap 'kill $vm $(cat pid 2>/dev/null) 2>/dev/null; rm -rf "$scratch"' EXIT

qemu() { # KIND QEMU-ARGS...: in the foreground
	local kind=$1
	shift
	rm -f serial qmp monitor
	exec qemu-system-x86_64 -accel kvm -m 32 -nodefaults -display none -serial file:serial -no-reboot \
		-kernel "$guest" -append "ring=$kind $append" -qmp unix:qmp,server=on,wait=off -pidfile pid "$@" 2>qemu.err
}

# wait_done: waits until the guest has finished its work and halts
wait_done() {
	for _ in $(seq 1800); do
		grep -q '^done' serial 2>/dev/null && return
		sleep .1
	done
	bail "the guest did not come to its end: $(cat serial qemu.err record.err 2>/dev/null)"
}

# record NAME KIND SOURCE QEMU-ARGS...: records from the guest's first instruction to the end of its work
record() {
	local name=$1 kind=$2 source=$3
	shift 3
	rm -f serial pid record.err
	"$HOSTRACE" record -o "$name.hrt" ${source:+--guest "$source"} -- bash -c "$(declare -f qemu); guest='$guest'; qemu \"\$@\"" \
		- "$kind" "$@" 2>record.err &
	recorder=$!
	until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
	until_line '[0-9]' pid || bail "QEMU did not start: $(cat record.err qemu.err)"
	vm=$(cat pid)
	wait_done
	kill -INT $recorder
	wait $recorder || bail "record failed: $(cat record.err)"
	kill "$vm"
	rm -f pid
	vm=
}

# numbers FILE: checks that the records are 0, 1, 2, ... with the values that the guest wrote; prints their number
numbers() {
	"$HOSTRACE" list -f json -i "$1" --limit 0 2>list.err | jq '
		[.rows[].fields] | if all(.[]; .square == .n * .n and .text == "a text of 15 ..") and
			([.[].n] == [range(length)]) then length else "wrong" end'
}

# exits FILE: number of port writes from the first to the last that the guest's work causes
exits() {
	"$HOSTRACE" list -f json -i "$1" --limit 0 --event kvm_pio 2>list.err | jq '
		[.rows[].fields | .port |= (if type == "string" then . else tostring end)] |
		.[([.[].port] | map(. == "0x2f0" or . == "752") | index(true)):] | length'
}

plan 13
record virtual 1 "mem:ring_virtual,elf=$guest,qmp=qmp"
is "$(numbers virtual.guest)" 143 "through the page tables: every record, as it was written" record.err
is "$("$HOSTRACE" info -f json -i virtual.hrt | jq -r '.result.guests[0].kind // .result.meta.guests[0].kind // "?"')" guest-ring \
	"the recording names it"
is "$("$HOSTRACE" sync --check -f json -i virtual.hrt --guest virtual.guest 2>list.err | jq -r '.totals | "\(.checked) \(.violations)"')" \
	"143 0" "all on the host's clock, within guest mode" list.err
is "$("$HOSTRACE" list -f json -i virtual.hrt --event 'guest:*' --limit 0 2>list.err | jq '.rows | length') $(grep -c 'virtual.guest, .* is merged' list.err)" \
	"143 1" "and found without being named" list.err

record plain 2 "mem:ring_plain,elf=$guest"
is "$(numbers plain.guest)" 143 "as it lies in memory" record.err

record shared 2 shm:ram -object memory-backend-file,id=m,size=32M,mem-path=ram,share=on -machine memory-backend=m
is "$(numbers shared.guest)" 143 "in a file that is the guest's memory" record.err

# The VM is stopped and continued while the guest waits. It writes to port 0x2f0 before each record and to 0x2f1 after it.
monitor() {
	echo "$1" | timeout 60 socat -t 30 - UNIX-CONNECT:monitor >>monitor.out 2>&1
}
turn() {
	until_line '^turn 1' serial || return
	monitor stop
	sleep .5
	monitor cont
	monitor 'o /b 0x3ff 1'
}
append="records=400 turns=w"
turn &
record stopped 1 "mem:ring_virtual,elf=$guest,qmp=qmp" -monitor unix:monitor,server=on,wait=off
append=
is "$("$HOSTRACE" sync -f json -i stopped.hrt --guest stopped.guest 2>list.err | jq -c '[.clock.method, .totals.violations]')" \
	'["read",0]' "stopped and continued: all within guest mode" list.err
is "$("$HOSTRACE" list -f json -i stopped.hrt --event guest:work --event kvm_pio --limit 0 2>list.err | jq -c '
	[.rows[] | if .event == "guest:work" then "record" else .fields.port end | select(IN("record", 752, 753))] |
	[range(0; length; 3) as $i | .[$i:$i + 3] | map(tostring) | join(" ")] | unique, length')" \
	'["752 record 753"]
400' "... each record between its two port writes" list.err

record none 0 ""
is "$(exits none.hrt)" 28 "the guest's work takes so many exits without a ring" list.err
is "$(exits virtual.hrt) $(exits shared.hrt)" "28 28" "and with one that is read meanwhile" list.err

# A guest that has halted: its ring can still be read.
rm -f serial # of the one before
(qemu 1) &
vm=$!
wait_done
"$HOSTRACE" record --vm $vm -d 200ms -o late.hrt --guest "mem:ring_virtual,elf=$guest,qmp=qmp" 2>record.err
is "$(numbers late.guest)" 143 "of a guest that hangs, afterwards" record.err
"$HOSTRACE" record --vm $vm -d 200ms -o no.hrt --guest "mem:0x200000" 2>record.err
is "$? $(grep -c 'no guest ring at that address' record.err)" "1 1" "no ring there: it is said" record.err
"$HOSTRACE" record --vm $vm -d 200ms -o no.hrt --guest "mem:ring_virtual" 2>record.err
is $? 1 "a symbol needs its file" record.err
kill $vm
rm -f pid
vm=
finish
