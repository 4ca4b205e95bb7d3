#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# record --guest-tasks: an L2 that traces its own task switches, to compare with; then two L2s at once, one whose exits are
# a dd's, one whose exits are those of a task that writes lines on the console.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh
set -m

# VM NAME with VCPUS, its three disks, and work=WORK
tasks_start() { # NAME VCPUS WORK
	truncate -s 16M "/tmp/$1.img" "/tmp/$1-out.img"
	truncate -s 512 "/tmp/$1-go.img"
	l2_command "$1" "$2" "$3" \
		-drive "file=/tmp/$1.img,if=none,id=d0,format=raw" -device virtio-blk-pci,drive=d0,id=disk \
		-drive "file=/tmp/$1-go.img,if=none,id=d1,format=raw" -device virtio-blk-pci,drive=d1 \
		-drive "file=/tmp/$1-out.img,if=none,id=d2,format=raw" -device virtio-blk-pci,drive=d2
	l2_start "$1"
	jobs_started+=("$job")
}

# Records these VMs from their "working" on, until they end.
tasks_record() { # NAME VM...
	local name=$1 vm list=
	shift
	for vm; do
		wait_until said_or_died "$vm" working
		l2_reached "$vm" working
		list+=${list:+,}$(cat "$out/$vm.pid")
	done
	timeout -k 5 "$life_seconds" env LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace record --vm "$list" --guest-tasks \
		-o "$out/$name.hrt" </dev/null >"$out/$name.record" 2>&1 &
	recorder=$!
	wait_until grep -q '^hostrace: recording' "$out/$name.record"
	for vm; do
		wait_until grep -q "^hostrace: guest tasks of pid $(cat "$out/$vm.pid")" "$out/$name.record"
	done
	for vm; do
		printf go | dd of="/tmp/$vm-go.img" conv=notrunc 2>/dev/null
	done
	wait "${jobs_started[@]}"
	wait $recorder
	echo $? >"$out/$name.record.status"
	for vm; do
		l2_reached "$vm" "done"
	done
}

jobs_started=()
tasks_start tasks 2 tasks
tasks_record tasks tasks
tr -d '\0' </tmp/tasks-out.img >"$out/tasks.guest"

jobs_started=()
tasks_start taskdisk 1 taskdisk
tasks_start taskline 1 taskline
tasks_record taskpair taskdisk taskline
