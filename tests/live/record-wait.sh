#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record --wait, as a service runs it: begins before its VM, survives the VM's restart, logs to the journal.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

plan 13
name=life$$
cp "$BUILD/minivmm" "$name"

# What systemd gives a service whose stderr is the journal's.
: >record.err
JOURNAL_STREAM=$(stat -c %d:%i record.err) timeout -s KILL 200 "$HOSTRACE" record --vm "$name" --wait -o life.hrt \
	--ring 4M --trigger 'exit-latency>2s' --trigger vm-end --after 0s --keep 100 2>record.err &
recorder_waiter=$!
until_line "waiting for VM $name" record.err
is $? 0 "it waits for a VM that does not run yet" record.err
recorder=$(pgrep -P "$recorder_waiter" | head -n 1)

# dumps REASON: how many
dumps() {
	ls life-"$1"-*.hrt 2>/dev/null | wc -l
}

# life N: the VM's N-th life, with one slow exit. Others may be as slow on a machine that does other work.
life() {
	slow=$(dumps exit-latency)
	vmm_options="slow=100 pause=4000" vmm_start 150 "./$name"
	until_line "recording $name (pid $vmm)" record.err
	is $? 0 "life $1: the VM is found" record.err
	vmm_go
	until_line '^outb 150' vmm.out
	vmm_end
	for _ in $(seq 600); do
		[ "$(grep -c '^<5>.*; dump: life-vm-end-' record.err)" = "$1" ] && break
		sleep .1
	done
	is "$(($(dumps exit-latency) > slow)) $(dumps vm-end)" "1 $1" "life $1: its dumps" record.err
}

life 1
md5sum life-* >first.sum
life 2
is "$(md5sum --quiet -c first.sum >sum.out 2>&1; echo $?)" 0 "the dumps of the first one are unchanged" sum.out
is "$(grep -c '^<5>hostrace: exit-latency .*next: hostrace blame --list -i life-exit-latency-' record.err)" "$(dumps exit-latency)" \
	"each is logged as a notice, with the command to run" record.err
kill "$recorder"
wait "$recorder_waiter"
is $? 0 "it ends when it is told to" record.err

# ---- a directory that was removed, and a recorder that is killed ----
mkdir gone
(
	cd gone || exit
	exec timeout -s KILL 200 "$HOSTRACE" record --vm "$name" --wait -o life.hrt --ring 4M --trigger vm-end --after 0s 2>../gone.err
) &
recorder_waiter=$!
vmm_start 10 "./$name"
until_line "recording $name (pid $vmm)" gone.err
rm -rf gone
vmm_go
vmm_end
until_line 'triggers: 1, dumps written: 0' gone.err
is $? 0 "a dump whose directory was removed is given up" gone.err
until [ "$(tail -n 1 gone.err | grep -c 'waiting for VM')" = 1 ] || [ -z "$(pgrep -P "$recorder_waiter")" ]; do sleep .1; done
is "$(tail -n 1 gone.err | grep -c 'waiting for VM')" 1 "... and the VM's next run is waited for" gone.err
recorder=$(pgrep -P "$recorder_waiter" | head -n 1)
child=$(pgrep -P "$recorder" | head -n 1)
kill -s KILL "$recorder"
for _ in $(seq 600); do # a zombie has ended, too
	grep -qs '^State:	[^ZX]' "/proc/${child:-none}/status" || break
	sleep .1
done
is "$(grep -hs '^State:	[^ZX]' "/proc/$child/status")" "" "a recorder that is killed leaves none behind" gone.err
wait "$recorder_waiter" 2>/dev/null
"$HOSTRACE" record --vm "$$" --wait --trigger vm-end >usage.out 2>&1
is "$? $(grep -c 'select it by name or UUID' usage.out)" "2 1" "a PID is wrong usage" usage.out
"$HOSTRACE" record --vm "$name" --wait >usage.out 2>&1
is $? 2 "so is a recorder without triggers" usage.out
finish
