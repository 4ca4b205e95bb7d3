#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The flight recorder with triggers: one slow exit among many; many slow ones and --keep; --max-disk; a second writer;
# a span that has not ended. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools jq
. "$ROOT/tests/live/record-lib.inc"

# recorder_end: as systemd ends it; its status
recorder_end() {
	kill "$recorder"
	wait "$recorder_waiter"
}

# the dumps of this name
dumps() {
	ls "$1"-[a-z]*.hrt 2>/dev/null
}

plan 37

# One exit of 6 s among 50000, no other is as slow on a busy machine: the dump holds it, and what was before and after it.
vmm_options="slow=30000 pause=6000" vmm_start 50000
record_start --vm "$vmm" -o one.hrt --ring 16M --trigger 'exit-latency>4s' --before 1h --after 6s
vmm_go
until_line 'dump: one-exit-latency-' record.err
is $? 0 "the slow exit is reported" record.err
is "$(grep -c 'next: hostrace blame --list -i one-exit-latency-' record.err)" 1 "... with the command that explains it" record.err
is "$("$HOSTRACE" record --vm "$vmm" -o one.hrt --trigger 'exit-latency>1s' -d 1s >second.out 2>&1; echo $?)" 1 \
	"a second writer is rejected" second.out
is "$(grep -c 'is being written by another process' second.out)" 1 "... with the reason" second.out
one=$(dumps one | head -n 1)
"$HOSTRACE" blame -i "$one" --list --min-latency 4s >blame.out 2>&1
is "$(grep -c ' took [1-9]\.[0-9]*s' blame.out)" 1 "the culprit is in the dump" blame.out
is "$([ "$(events kvm_pio "$one")" -gt 30000 ] && echo both)" both "... with the events before and after it"
report=${one%.hrt}.txt
is "$(head -n 1 "$report" | grep -cE '^exit-latency [0-9.]+s( so far)? > 4.00s: .*reason=')" 1 "the report names it" "$report"
is "$("$HOSTRACE" export text -i "$one" | sed -n "/^# meta /{s///p;q}" |
	jq -r '"\(.trigger.name) \(.trigger.value_ns > 4000000000) \(.vcpus | length) \(has("lost"))"' 2>&1 || echo "no metadata")" \
	"exit-latency true 1 true" "the dump's metadata have the trigger, the vCPUs and the losses"
is "$(grep -cE '^1\. vmm-syscall, |^longest in one: .*port 0x2f0, ' "$report")" 2 "... and its cause, as diagnose has it" "$report"
is "$(grep -cE '^unusual from|^  .*(exit-latency|userspace-exit) reason=' "$report")" 2 \
	"... and that it is longer than all before" "$report"
vmm_end
# The guest's end is an exit, too, that lasts until now; it may have triggered.
wait "$recorder_waiter"
is $? 0 "the recorder ends with the VM" record.err
is "$([ -e one.hrt ] && echo there)" "" "there are only dumps"

# Many slow exits: no more than --keep dumps, none replaced, the rest is counted.
vmm_options="slow=1000 pause=100" vmm_start 65000
record_start --vm "$vmm" -o many.hrt --ring 4M --trigger 'exit-latency>40ms' --before 100ms --after 0s --keep 3
vmm_go
until_line 'triggers are only counted' record.err
is $? 0 "reaching --keep is reported" record.err
dumps many | xargs md5sum >before.sum
until_line '^outb 65000' vmm.out
vmm_end
wait "$recorder_waiter"
is "$(dumps many | wc -l)" 3 "no more than --keep dumps" record.err
is "$(md5sum --quiet -c before.sum >sum.out 2>&1; echo $?)" 0 "... and those of the beginning remain" sum.out
is "$([ "$(sed -n 's/.*triggers suppressed: \([0-9]*\).*/\1/p' record.err)" -ge 5 ] && echo counted)" counted \
	"the others are counted" record.err

# The next recorder knows the dumps that are there.
vmm_options="slow=1000 pause=60" vmm_start 3000
record_start --vm "$vmm" -o many.hrt --ring 4M --trigger 'exit-latency>40ms' --after 0s --keep 3
vmm_go
until_line '^outb 3000' vmm.out
vmm_end
wait "$recorder_waiter"
is "$(dumps many | wc -l) $(grep -c 'dumps written: 0,' record.err)" "3 1" "dumps of earlier runs count" record.err

# Bounded by bytes: what would exceed them is not there, not even in part.
vmm_options="slow=1000 pause=60" vmm_start 60000
record_start --vm "$vmm" -o disk.hrt --ring 8M --trigger 'exit-latency>40ms' --before 1h --after 0s --keep 100 \
	--max-disk 1M
vmm_go
until_line '^outb 60000' vmm.out
vmm_end
wait "$recorder_waiter"
is "$([ "$(cat disk-* | wc -c)" -le 1048576 ] && echo kept)" kept "--max-disk is kept" record.err
is "$(ls | grep -c 'disk.*tmp')" 0 "... and nothing else is left" record.err
is "$(sed -n 's/.*triggers: \([0-9]*\), dumps written: \([0-9]*\), triggers suppressed: \([0-9]*\).*/\1 \2 \3/p' record.err |
	awk '{ print ($1 >= $2 + $3), ($3 > 0) }') $(grep -c 'could not be written' record.err)" "1 1 0" "... the dumps that exceed it are counted" record.err

# What a killed writer of a dump has left is removed: of an earlier run at the start, and at once of this one, whose
# writers fail here, as no file may exceed 8 KiB.
for part in hrt txt; do
	echo part >killed-exit-latency-20261123T000000.000Z.$part.4194999.tmp # no process has this pid
done
vmm_options="slow=1000 pause=60" vmm_start 12000
ulimit -S -f 16
record_start --vm "$vmm" -o killed.hrt --ring 4M --trigger 'exit-latency>40ms' --before 1h --after 0s --keep 100
ulimit -S -f unlimited
is "$(ls killed-*.tmp 2>/dev/null)" "" "what an earlier run has left is removed" record.err
vmm_go
until_line '^outb 12000' vmm.out
vmm_end
wait "$recorder_waiter"
is "$? $(grep -c 'dumps\? could not be written' record.err)" "1 1" "dumps that could not be written: status 1" record.err
is "$(grep -c 'File too large' record.err | sed 's/^[1-9].*/some/') $(ls killed-*.tmp 2>/dev/null)" "some " \
	"... and what their writers have left is removed" record.err

# A span that does not end, and a dump at the VM's end.
vmm_options="slow=100 pause=600000" vmm_start 100
record_start --vm "$vmm" -o open.hrt --trigger 'exit-latency>3s' --trigger vm-end --after 0s --keep 9
vmm_go
until_line 'so far > 3.00s.*dump: open-exit-latency' record.err
is $? 0 "a span that has not ended triggers" record.err
report=$(dumps open | head -n 1 | sed 's/hrt$/txt/')
is "$(grep -cE '^1\. vmm-(syscall|blocked), ' "$report")" 1 "... whose cause so far is known" "$report"
is "$(sed -n 's/^it has not ended in this dump, and has been here for the last [0-9.]*m*s: //p' "$report")" \
	"syscall clock_nanosleep, port 0x2f0" "... and what its thread does" "$report"
kill -s USR1 "$recorder"
until_line 'dump: open-signal-' record.err
is $? 0 "SIGUSR1 writes a dump, too" record.err
kill -KILL "$vmm"
wait "$vmm_waiter" "$recorder_waiter" 2>/dev/null
exec 3>&-
is "$(dumps open | grep -c 'open-vm-end-')" 1 "so does the VM's end" record.err

# A signal just after the VM's end, before the recorder has seen it: a shutdown of the host ends both.
for signal in INT TERM HUP; do
	vmm_start 100
	record_start --vm "$vmm" -o "end$signal.hrt" --ring 1M --trigger vm-end
	vmm_go
	until_line '^outb 100' vmm.out
	kill -s STOP "$recorder"
	until grep -q '^State:.T' "/proc/$recorder/status"; do sleep .02; done
	vmm_end
	kill -s "$signal" "$recorder"
	kill -s CONT "$recorder"
	wait "$recorder_waiter"
	is "$? $(dumps "end$signal" | grep -c "end$signal-vm-end-") $(grep -c 'triggers: 1, dumps written: 1' record.err)" "0 1 1" \
		"SIG$signal just after the VM's end: the dump of its end" record.err
	is "$(events kvm_pio "$(dumps "end$signal")")" 101 "... with all that the VM did" record.err
done

# ... and a signal while the VM runs: none.
vmm_start 100
record_start --vm "$vmm" -o run.hrt --ring 1M --trigger vm-end
recorder_end
is "$? $(dumps run)" "0 " "SIGTERM while the VM runs: no dump of its end" record.err
vmm_end

"$HOSTRACE" record --trigger 'exit-latncy>5ms' >usage.out 2>&1
is "$? $(grep -c "did you mean 'exit-latency'" usage.out)" "2 1" "a wrong condition is wrong usage" usage.out
"$HOSTRACE" record --trigger 'exit-latency' >usage.out 2>&1
is "$? $(grep -c "exit-latency>10ms" usage.out)" "2 1" "... as one without a limit" usage.out
finish
