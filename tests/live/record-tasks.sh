#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record --guest-tasks: a guest whose port accesses say which of its tasks does them; all of them agree with what is
# recorded, also when the VM is reset meanwhile. tests/rig/checks/48-tasks.sh has real kernels.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq socat
live_build "$BUILD/taskguest.elf"

timeout -s KILL 700 qemu-system-x86_64 -accel kvm -m 64 -nodefaults -display none -serial none \
	-qmp unix:qmp,server=on,wait=off -pidfile qemu.pid -kernel "$BUILD/taskguest.elf" >qemu.out 2>&1 &
until_line '^[0-9]' qemu.pid || bail "QEMU did not start: $(cat qemu.out)"
vm=$(cat qemu.pid)
trap 'kill -KILL "$vm" 2>/dev/null; rm -rf "$scratch"' EXIT

# Starts a recorder; returns when the guest's tasks are known.
tasks_record() { # TRACE [ARGS...]
	local trace=$1
	shift
	: >record.err
	timeout -s KILL 200 "$HOSTRACE" record --vm "$vm" --guest-tasks -o "$trace" "$@" 2>record.err &
	recorder=$!
	until_line 'guest tasks of pid' record.err || bail "no tasks: $(cat record.err)"
	until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
}

tasks_stop() {
	kill -INT "$(pgrep -P $recorder)" # timeout would pass it on twice, and the second one ends it at once
	wait $recorder
}

# "WHOSE VALUE TASK COUNT" of the port accesses so far. Port 752 is the guest's: "again" after its firmware ran once more.
accesses() { # TRACE
	"$HOSTRACE" export text -i "$1" 2>export.err | awk '
		function field(name) { return match($0, " " name "=[^ ]*") ? substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 2) : "" }
		$2 == "guest_task" { task = field("task") ~ /^0(x0)?$/ ? "unknown" : field("guest_tid") }
		$2 == "kvm_pio" {
			is_guest = field("port") ~ /^(752|0x2f0)$/
			again = again || (begun && !is_guest)
			begun = begun || is_guest
			n[(is_guest ? again ? "again" : "guest" : "firmware") " " (is_guest ? field("val") : "-"), task == "" ? "unknown" : task]++
		}
		END { for (i in n) { split(i, k, SUBSEP); print k[1], k[2], n[i] } }' | sort
}

# Records until CONDITION, a program for awk that exits with 0, holds of the accesses, which are in "got".
until_accesses() { # TRACE CONDITION
	for _ in $(seq 120); do
		accesses "$1" >got
		! awk "$2" got || return 0
		sleep .5
	done
	bail "the accesses did not come: $(cat got)"
}

# Of each task many.
many='$1 == "guest" && $4 >= 100 {n++} END {exit n < 4}'

plan 9
tasks_record a.hrt
until_accesses a.hrt "$many"
tasks_stop
is "$?" 0 "tasks are recorded" record.err
accesses a.hrt >got
is "$(awk '$1 == "guest" && $4 >= 100 {print $2, $3}' got | xargs)" "0x46 70 0x47 71 0x48 72 0x49 unknown" \
	"each access has the task that does it" got
"$HOSTRACE" exits -i a.hrt --by =guest-task -f csv >rows
is "$(awk -F, 'NR > 1 && $2 >= 100 {print $1}' rows | sort | xargs)" "a thread-71 fifteen letters-72 first-70 unknown" \
	"names, as the guest has them" rows

tasks_record b.hrt
until_accesses b.hrt "$many"
printf '%s\n' '{"execute":"qmp_capabilities"}' '{"execute":"system_reset"}' | timeout 200 socat -t 5 - UNIX-CONNECT:qmp >qmp.out
until_accesses b.hrt '$1 == "again" && $3 != "unknown" && $4 >= 100 {n++} END {exit n < 3}'
tasks_stop
accesses b.hrt >got
is "$(awk '$1 == "firmware" {print $3}' got)" unknown "after a reset, the firmware has no task" got
is "$(awk '$1 == "again" && $4 >= 100 && $3 != "unknown" {print $2, $3}' got | xargs)" "0x46 70 0x47 71 0x48 72" \
	"the tasks of the kernel that runs afterwards are known" got
is "$(awk '$1 != "firmware" && $3 != "unknown" && $2 != sprintf("0x%x", $3)' got)" "" "no access has another task" got

# KVM has no vCPU loaded then, by which its current task is found
tasks_record c.hrt -e kvm_userspace_exit
tasks_stop
is "$? $(grep -c 'warning: no guest task was recorded.*kvm_exit,kvm_pio' record.err)" "0 1" \
	"events that cannot name a task: reported, with the next step" record.err

# a command that does not start the VM
rm -f stop
tasks_record d.hrt -- sh -c 'until [ -e stop ]; do sleep .1; done'
until_accesses d.hrt "$many"
touch stop
wait $recorder
is "$?" 0 "tasks of a VM while a command runs" record.err
timeout -s KILL 200 "$HOSTRACE" record --guest-tasks -o e.hrt -- touch started 2>record.err
is "$? $(grep -c 'start the VM, then record it with --vm' record.err) $(ls started 2>&1 | grep -c '^started')" "2 1 0" \
	"a command that starts the VM is wrong usage, and not run" record.err
finish
