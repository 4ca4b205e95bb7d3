#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What cannot be recorded is rejected with a helpful error message.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools socat

# refuses STATUS REGEXP NAME ARGS...
refuses() {
	status=$1
	regexp=$2
	name=$3
	shift 3
	timeout 200 "$@" >out 2>record.err
	is $? "$status" "$name: status $status" record.err
	is "$(grep -cE "$regexp" record.err)" 1 "$name: the error message" record.err
}

plan 91
refuses 1 'no process' "a pid that is not there" "$HOSTRACE" record --vm 999999999
refuses 1 'not a virtual machine' "a pid that is not a VM" "$HOSTRACE" record --vm $$
refuses 1 'no VM named' "a name that nobody has" "$HOSTRACE" record --vm no-such-vm-name
refuses 2 'mutually exclusive' "--vm with --all" "$HOSTRACE" record --vm 1 --all
refuses 2 'unexpected argument' "a stray word" "$HOSTRACE" record 4711
refuses 2 "unknown report or analyzer 'exit-latancy'.*exit-latency" "a report that is not there" \
	"$HOSTRACE" record --vm 1 --for exit-latancy
refuses 2 'invalid source .* of a guest trace' "a guest's trace from nowhere" \
	"$HOSTRACE" record --vm 1 --guest nowhere:1
refuses 2 'share of the VM' "a budget that is none" "$HOSTRACE" record --vm 1 --budget lots
refuses 1 'in PATH' "a command that is not there" "$HOSTRACE" record -- no-such-program-anywhere
vmm_start 10
refuses 2 "'kvm_exti'.*default, kvm" "an event that is not there" \
	"$HOSTRACE" record --vm "$vmm" --events kvm_exti
for command in record doctor stat stuck probes "top --batch" "virtio --state"; do
	for option in --tcg "--vm-user root"; do
		case $command$option in stat--tcg | "top --batch--tcg") continue ;; esac # they do not have it
		refuses 2 "${command% *}: ${option% *} has no effect.*a PID selects" "$command $option of a PID" \
			"$HOSTRACE" $command --vm "$vmm" $option
	done
done
refuses 2 'record: --tcg has no effect.*a PID selects' "--tcg of several" "$HOSTRACE" record --vm "$vmm,$vmm" --vm "$vmm" --tcg
refuses 1 'no-such-directory' "a file that cannot be made" \
	"$HOSTRACE" record --vm "$vmm" -o no-such-directory/x.hrt
refuses 1 'cap_bpf.*cap_perfmon.*setcap.*hostrace' "without capabilities" \
	setpriv --bounding-set=-all --inh-caps=-all "$HOSTRACE" record --vm "$vmm" -o x.hrt
refuses 1 'limit of open files is 5.*ulimit -n' "few open files" \
	sh -c 'ulimit -n 5; exec "$@"' sh "$HOSTRACE" record --vm "$vmm" -o x.hrt
refuses 1 'limit of open files is 64.*ulimit -n' "open files for few probes" \
	sh -c 'ulimit -n 64; exec "$@"' sh "$HOSTRACE" record --vm "$vmm" -o x.hrt
refuses 1 'cannot start a thread.*limit of processes and threads is 1 .ulimit -u' "no threads" \
	prlimit --nproc=1 "$HOSTRACE" record --vm "$vmm" -d 1s -o x.hrt
# Libraries call it a kernel without BTF, or events that the host lacks.
for limit in as=20480000 as=28672000 as=34816000 data=4096000 data=9216000; do
	for command in "record -d 1s -o x.hrt" "stat -d 1s" doctor; do
		refuses 1 'out of memory.*the limit of .* is [0-9]* KiB .ulimit -[vd]' "${command%% *} with $limit" \
			prlimit --$limit "$HOSTRACE" $command --vm "$vmm"
	done
done
# Its set-up waits for a monitor that accepts and says nothing, for five seconds; a signal ends it before.
cat >silent.sh <<'END'
until [ -s waiter ]; do sleep .05; done
pkill -TERM -P "$(cat waiter)"
sleep 60
END
socat "UNIX-LISTEN:silent,fork" "SYSTEM:sh silent.sh" 2>/dev/null &
silent=$!
for _ in $(seq 1200); do [ -S silent ] && break; sleep .05; done
timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -o x.hrt --guest "mem:0xffffffff81000000,qmp=silent" 2>record.err &
recorder_waiter=$!
echo $recorder_waiter >waiter
wait "$recorder_waiter"
is "$? $(grep -c 'interrupted' record.err)" "1 1" "a signal ends the set-up" record.err
kill "$silent"
is "$(ls ./*.hrt* 2>/dev/null | wc -l)" 0 "no temporary file remains"
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err

"$HOSTRACE" record -o no/such/x.hrt -- touch ran 2>record.err
is "$(grep -c 'the command was not started' record.err) $(ls ran 2>/dev/null)" "1 " "no recording: the command is not started, and that is said" record.err

# a command that starts the VM as a child process
mkfifo in
record_start -o wrapper.hrt -- sh -c "'$BUILD/minivmm' outb=1 inb=0 mmio=0 hlt=0 wait <in; true"
exec 4>in
until_line 'also recording minivmm' record.err
is $? 0 "a VM that the command starts is recorded" record.err
echo go >&4
exec 4>&-
wait "$recorder_waiter"
finish
