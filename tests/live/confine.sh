#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What a recorder and a report may still do while they run, as the kernel says it in /proc/PID/status. tests/unit/
# test_confine.c tries to break out.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

user=$(awk -F: '$1 == "hostrace" { print $3; found = 1 } $1 == "nobody" { nobody = $3 }
	END { if (!found) print nobody }' /etc/passwd)
[ -n "$user" ] || user=65534

# status PID FIELD: its value; of Uid and Gid all four numbers
status() {
	sed -n "s/^$2:[[:blank:]]*//p" "/proc/$1/status" | tr '\t' ' '
}

# confined PID NAME [CAPABILITIES]: ten tests
confined() {
	caps=${3:-0000000000000000}
	is "$(status "$1" Uid)" "$user $user $user $user" "$2: the user"
	is "$(status "$1" Gid | tr ' ' '\n' | grep -vcx 0)" 4 "$2: no group of root's"
	is "$(status "$1" Groups)" "" "$2: no supplementary group"
	is "$(status "$1" CapEff)" "$caps" "$2: effective capabilities"
	is "$(status "$1" CapPrm)" "$caps" "$2: permitted capabilities"
	is "$(status "$1" CapInh)$(status "$1" CapAmb)" 00000000000000000000000000000000 "$2: no others"
	is "$(status "$1" CapBnd)" 0000000000000000 "$2: the bounding set"
	is "$(status "$1" NoNewPrivs)" 1 "$2: no_new_privs"
	is "$(status "$1" Seccomp)" 2 "$2: a filter of system calls"
	is "$(find "/proc/$1/fd" -lname '*/inherited')" "" "$2: no file of its caller's"
}

recorder_end() {
	kill -s INT "$recorder" 2>/dev/null
	wait "$recorder_waiter"
}

plan 94
vmm_start 500
echo secret >inherited
exec 9<>inherited

mkdir -m 700 private
record_start --vm "$vmm" -o private/vm.hrt
confined "$recorder" "record"
recorder_end
is $? 0 "record: status 0" record.err
record_start --vm "$vmm" --ring 1M -o private/vm.hrt
confined "$recorder" "record --ring"
kill -s USR1 "$recorder"
until_line 'wrote private/vm-1.hrt' record.err
is $? 0 "... writes its dump where only root may" record.err
recorder_end
is $? 0 "... and replaces the old recording" record.err
is "$(stat -c '%u %a' private/vm.hrt private/vm-1.hrt | sort -u)" "0 600" "files belong to root"

# cap_dac_read_search, cap_sys_ptrace, cap_perfmon, cap_bpf
record_start -o follow.hrt -- sleep 190
confined "$recorder" "record -- COMMAND" 000000c000080004
command=$(pgrep -P "$recorder" -x sleep)
recorder_end
kill "$command"
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err

vmm_start 500
: >stat.err
timeout -s KILL 200 "$HOSTRACE" stat --vm "$vmm" -o private/stat.txt 2>stat.err &
recorder_waiter=$!
until_line watching stat.err
recorder=$(pgrep -P "$recorder_waiter" | head -n 1)
confined "$recorder" "stat"
recorder_end
is "$? $(stat -c %u private/stat.txt)" "0 0" "stat: writes its report where only root may" stat.err

# top_start ARGS...: it has printed an interval
top_start() {
	: >top.out
	timeout -s KILL 200 "$HOSTRACE" top --batch --interval 50ms "$@" >top.out 2>top.err &
	recorder_waiter=$!
	until_line '^hostrace top' top.out || bail "top did not start: $(cat top.err)"
	recorder=$(pgrep -P "$recorder_waiter" | head -n 1)
}

top_start --vm "$vmm"
confined "$recorder" "top --vm"
recorder_end
is $? 0 "top --vm: status 0" top.err
top_start
confined "$recorder" "top" 0000000000080004
recorder_end
is $? 0 "top: status 0" top.err

# until_gone PID...: ended; a zombie, whose parent does not wait, has
until_gone() {
	for _ in $(seq 600); do
		gone=1
		for process in "$@"; do
			case $(status "$process" State 2>/dev/null) in
			"" | Z*) ;;
			*) gone=0 ;;
			esac
		done
		[ $gone = 1 ] && return 0
		sleep .1
	done
	return 1
}

# stuck reads the VM in a child process, which has another one that is not confined
timeout -s KILL 200 "$HOSTRACE" stuck --vm "$vmm" --interval 1h >stuck.out 2>stuck.err &
recorder_waiter=$!
for _ in $(seq 600); do
	parent=$(pgrep -P "$recorder_waiter" | head -n 1)
	recorder=$(pgrep -P "${parent:-0}" | head -n 1)
	[ -n "$recorder" ] && [ "$(status "$recorder" Seccomp 2>/dev/null)" = 2 ] && break
	sleep .1
done
confined "$recorder" "stuck"
# shellcheck disable=SC2046 # a list
set -- "$recorder" $(pgrep -P "$recorder")
is $# 3 "stuck: it, its supervisor, and who reads KVM's state for it"
kill -s KILL "$parent"
until_gone "$@"
is $? 0 "stuck: nothing is left behind when it is killed"
wait "$recorder_waiter"
echo 'ffffffff81000000 T kernel_text' >private/symbols
"$HOSTRACE" stuck --vm "$vmm" --interval 50ms --symbols private/symbols -o private/stuck.txt 2>stuck.err
is "$? $(stat -c %u private/stuck.txt)" "0 0" "stuck: reads and writes where only root may" stuck.err
vmm_end

# reports: of a trace that only root may read, blocked because nobody reads their output
"$HOSTRACE" export text "$ROOT/tests/golden/v1-raw.hrt" 2>/dev/null >few.txt
{
	cat few.txt
	event=$(grep ' kvm_entry ' few.txt | tail -n 1)
	yes "$event" | head -n 50000
} >private/many.txt
chmod 600 private/many.txt
mkfifo blocked
for command in "list" "export json"; do
	# shellcheck disable=SC2086
	timeout -s KILL 200 "$HOSTRACE" $command private/many.txt >blocked 2>report.err &
	recorder_waiter=$!
	exec 4<blocked
	for _ in $(seq 1200); do
		recorder=$(pgrep -P "$recorder_waiter" | head -n 1)
		[ -n "$recorder" ] && [ "$(status "$recorder" Seccomp)" = 2 ] && break
		sleep .05
	done
	[ "$command" = list ] && confined "$recorder" "$command"
	lines=$(wc -l <&4)
	exec 4<&-
	wait "$recorder_waiter"
	is "$? $((lines > 50000))" "0 1" "$command: all of it is printed" report.err
done
"$HOSTRACE" list private/many.txt -o private/list.txt 2>report.err
is "$? $(stat -c %u private/list.txt)" "0 0" "list: writes its report where only root may" report.err
finish
