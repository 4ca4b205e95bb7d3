#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two VMs are recorded, one ends, and another process gets its pid: that process is not recorded. And what stuck, stat and
# top do when this happens between two looks.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
[ -w /proc/sys/kernel/ns_last_pid ] || skip_all "kernel: no CONFIG_CHECKPOINT_RESTORE"

# What gets the pid, if it is $1; sleeps, so that it is scheduled often.
cat >stranger <<'END'
#!/bin/bash
[ $$ = "$1" ] || exit
for _ in $(seq 100); do read -r -t .01 <>fifo; done
END
chmod +x stranger
mkfifo fifo

# next_pid PID: the next process gets it if it is free. later_pids: those after it get others again: programs that run beside
# this one may still remember, and end, processes that had the pids after it.
next_pid() {
	read -r newest </proc/sys/kernel/ns_last_pid
	echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
}

later_pids() {
	echo "$newest" >/proc/sys/kernel/ns_last_pid
}

# stranger_start PID: other processes may take the pid first, then again. The wrong one ends by itself: bash's new child
# would run the trap of this script, which removes its directory, if it were killed before it runs the program.
stranger_start() {
	for _ in $(seq 200); do
		next_pid "$1"
		./stranger "$1" &
		later_pids
		[ $! != "$1" ] || return 0
		wait $!
	done
	return 1
}

plan 15
vmm_start 100
first=$vmm
first_waiter=$vmm_waiter
exec 4>&3
vmm_start 200
record_start --vm "$first" --vm "$vmm" -o pid.hrt
echo go >&4
echo end >&4
exec 4>&-
wait "$first_waiter"
is $? 0 "the first VM did all its work"
sleep 2
stranger_start "$first"
is $? 0 "another process gets its pid"
wait $!
vmm_go
vmm_end
wait "$recorder_waiter"
is $? 0 "the recording ends with the second VM" record.err
is "$("$HOSTRACE" list --wide -i pid.hrt 2>list.err | grep -c stranger)" 0 "nothing of the other process is recorded" list.err
is "$("$HOSTRACE" list --wide -i pid.hrt --event kvm_pio 2>list.err | grep -c kvm_pio)" 302 "all of the VMs is"

# One VM, whose recorder does not see in time that it has ended: another VM gets the pid.
cat >again <<'END'
#!/bin/bash
[ $$ = "$1" ] || exit
exec "${@:2}"
END
chmod +x again
vmm_start 100
record_start --vm "$vmm" -o one.hrt
stopped="$recorder $(pgrep -P "$recorder" | tr '\n' ' ')"
# shellcheck disable=SC2086 # several
kill -s STOP $stopped
vmm_go
vmm_end
for _ in $(seq 200); do
	next_pid "$vmm"
	./again "$vmm" "$BUILD/minivmm" outb=50 inb=0 mmio=0 hlt=0 >again.out 2>&1 &
	again=$!
	later_pids
	wait "$again"
	[ "$again" != "$vmm" ] || break
done
is "$again $(grep -c '^outb 50' again.out)" "$vmm 1" "another VM gets the pid of the only one" again.out
# shellcheck disable=SC2086 # several
kill -s CONT $stopped
wait "$recorder_waiter"
is "$("$HOSTRACE" list --wide -i one.hrt --event kvm_pio 2>list.err | grep -c kvm_pio)" 101 "nothing of that VM is recorded" list.err

# The exporter, which does not see in time that a VM has ended: the VM that got its pid is exported.
. "$ROOT/tests/live/exporter-lib.inc"
# exported NAME: scrapes for up to a minute until the VM with this pid has this name
exported() {
	for _ in $(seq 60); do
		scrape
		grep -q "vm=\"$1\",pid=\"$vmm\"" page && return
		sleep 1
	done
	return 1
}

vmm_start 100
exporter_start --listen 127.0.0.1:0
exported minivmm
is $? 0 "the exporter has the VM" page
stopped="$exporter $(pgrep -P "$exporter" | tr '\n' ' ')"
# shellcheck disable=SC2086 # several
kill -s STOP $stopped
vmm_go
vmm_end
cp "$BUILD/minivmm" successor
mkfifo successor.go
exec 5<>successor.go
for _ in $(seq 200); do
	next_pid "$vmm"
	./again "$vmm" ./successor outb=50 inb=0 mmio=0 hlt=0 linger <&5 >again.out 2>&1 &
	again=$!
	later_pids
	[ "$again" != "$vmm" ] || break
	wait "$again"
done
until_line '^outb 50' again.out
# shellcheck disable=SC2086 # several
kill -s CONT $stopped
exported successor
is $? 0 "the VM that got its pid is exported" page
echo end >&5
exec 5>&-
wait "$again"
exporter_end

# Between the two looks of stuck: it ends with an error, not with a report about the other process.
# reused_while WHAT: the VM ends, and another process gets its pid
reused_while() {
	vmm_go
	vmm_end
	stranger_start "$vmm"
	is $? 0 "$1: another process gets the VM's pid"
}

# until_pidfd PROCESS: it watches the VM, by a descriptor that another process with its pid does not end
until_pidfd() {
	for _ in $(seq 600); do
		grep -qs "^Pid:[[:space:]]*$vmm\$" /proc/"$1"/fdinfo/* && return
		sleep .05
	done
	return 1
}

sed -i 's/seq 100/seq 2000/' stranger # it outlives the second look
vmm_start 100
timeout -s KILL 100 "$HOSTRACE" stuck --vm "$vmm" --interval 8s >stuck.out 2>stuck.err &
waiter=$!
for _ in $(seq 600); do
	stuck=$(pgrep -P "$waiter" | head -n 1)
	[ -z "$stuck" ] || for child in $(pgrep -P "$stuck"); do until_pidfd "$child" && break 2; done
	sleep .05
done
sleep 2 # the first look
reused_while stuck
wait "$waiter"
is "$? $(grep -c 'ended while\|has exited' stuck.err) $(wc -c <stuck.out)" "1 1 0" "stuck: an error, and no report" stuck.err
kill "$(pgrep -f "^/bin/bash ./stranger $vmm\$")"

for command in stat "top --batch"; do
	vmm_start 100
	timeout -s KILL 100 "$HOSTRACE" $command --vm "$vmm" --interval 200ms -f json -o watch.out 2>watch.err &
	waiter=$!
	until_pidfd "$(pgrep -P "$waiter" | head -n 1)"
	reused_while "$command"
	wait "$waiter"
	is $? 0 "$command: ends with the VM, though its pid is in use" watch.err
	kill "$(pgrep -f "^/bin/bash ./stranger $vmm\$")"
done
finish
