#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Power failures while recordings are written: QEMU's blklogwrites logs what the file system wrote to its disk and when
# it waited for it; the log is replayed up to random writes, and hostrace reads what the file system then has.
# `make check-crash N=100` for more of them. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
[ -c /dev/fuse ] || skip_all "kernel: no /dev/fuse"
[ -c /dev/loop-control ] || skip_all "kernel: no /dev/loop-control"
live_needs_tools qemu-storage-daemon mke2fs losetup mount
. "$ROOT/tests/live/record-lib.inc"

N=${N:-20}
SEED=${SEED:-$(date +%s)}
ROUNDS=100 # of the writer with a sync after each chunk
powercut=$BUILD/powercut

# ext4 does of its own accord what other file systems leave to the program (auto_da_alloc)
mount_options=noauto_da_alloc,commit=1

clean_up() {
	exec 2>/dev/null
	kill "${vmm:-}"
	umount -l cut disk
	losetup -D -j nothing
	for dev in ${loop:-} ${cut_loop:-}; do losetup -d "$dev"; done
	kill "$(cat daemon.pid)"
	umount -l export
	rm -rf "$scratch"
}
trap clean_up EXIT

disk_start() {
	truncate -s 64M base.img
	mke2fs -q -t ext4 base.img || bail "mke2fs failed"
	cp --sparse=always base.img disk.img
	truncate -s 1G log.img
	: >export
	qemu-storage-daemon --daemonize --pidfile "$PWD/daemon.pid" \
		--blockdev driver=file,filename=disk.img,node-name=data \
		--blockdev driver=file,filename=log.img,node-name=log \
		--blockdev driver=blklogwrites,node-name=logged,file=data,log=log,log-sector-size=512 \
		--export "type=fuse,id=e,node-name=logged,mountpoint=$PWD/export,writable=on" 2>daemon.err ||
		bail "qemu-storage-daemon: $(cat daemon.err)"
	loop=$(losetup -f --show export) || bail "losetup failed"
	mkdir disk cut
	mount -o $mount_options "$loop" disk || bail "mount failed"
}

entries() {
	"$powercut" entries log.img
}

record() {
	timeout -s KILL 200 "$HOSTRACE" record -q --vm "$vmm" "$@" 2>>record.err || bail "record: $(cat record.err)"
}

numbers() {
	"$HOSTRACE" list -i "$1" --event kvm_pio -f csv 2>rows.err |
		awk -F, 'NR > 1 { if (n++ && $10 != last + 1) gaps++; last = $10 } END { print n + 0, gaps + 0 }'
}

# What happens on the disk. After each step that waited for it, where the log is.
work() {
	mkdir disk/d
	record -d 500ms -o disk/d/replaced.hrt
	cp disk/d/replaced.hrt first.hrt
	"$HOSTRACE" exits -i first.hrt -o disk/d/report.txt
	cp disk/d/report.txt first.txt
	sync -f disk
	begin=$(entries)
	"$powercut" write log.img disk/d/written.hrt $ROUNDS >written &
	waiters=$!
	record -d 3s --sync none -o disk/d/none.hrt &
	waiters="$waiters $!"
	record -d 2s -o disk/d/replaced.hrt
	replaced=$(entries)
	"$HOSTRACE" list -i first.hrt -o disk/d/report.txt
	record -d 300ms -z -o disk/d/new.hrt
	new=$(entries)
	wait $waiters
	mkdir final
	cp disk/d/* final
	end=$(entries)
}

wrong() {
	echo "$*" >>wrong
}

# The trace that was written with a sync after each chunk: all that was safe, in order, and nothing else.
check_written() {
	safe=$(awk -v n="$1" '$1 <= n { max = $2 } END { print max + 0 }' written)
	set -- $(numbers cut/d/written.hrt)
	[ "$1" -ge "$safe" ] || wrong "written.hrt: $1 numbers, $safe were safe: $(cat rows.err)"
	[ "$2" = 0 ] || wrong "written.hrt: $2 gaps"
	saved=$1
}

# The recording that replaced another one
check_replaced() {
	file=cut/d/replaced.hrt
	if [ "$1" -ge "$replaced" ]; then
		cmp -s $file final/replaced.hrt || wrong "replaced.hrt is not the new one, which was safe"
	elif ! cmp -s $file first.hrt; then
		set -- $(numbers $file)
		{ [ "$1" -gt 0 ] && [ "$2" = 0 ]; } || wrong "replaced.hrt is neither old nor new: $* $(cat rows.err)"
	fi
}

# A file that nobody waited for: missing, or not readable, or a part
check_none() {
	kind=missing
	if [ -e cut/d/none.hrt ]; then
		set -- $(numbers cut/d/none.hrt)
		kind=short
		[ "$1" != 0 ] || kind=unreadable
		! cmp -s cut/d/none.hrt final/none.hrt || kind=whole
	fi
	echo $kind >>kinds
	[ $kind = missing ] && return
	[ "$2" = 0 ] || wrong "none.hrt: $2 gaps in $1 numbers"
}

# check ENTRIES SEED NR
check() {
	rm -f wrong
	cp --sparse=always base.img cut.img
	"$powercut" cut log.img cut.img "$1" "$2" || wrong "no image"
	cut_loop=$(losetup -f --show cut.img)
	if mount "$cut_loop" cut; then
		check_written "$1"
		check_replaced "$1"
		check_none
		[ "$1" -lt "$new" ] || cmp -s cut/d/new.hrt final/new.hrt || wrong "new.hrt was safe"
		cmp -s cut/d/report.txt first.txt || cmp -s cut/d/report.txt final/report.txt ||
			wrong "report.txt is neither old nor new"
		umount cut
	else
		wrong "the file system cannot be mounted"
	fi
	losetup -d "$cut_loop"
	: >>wrong
	echo "# after write $1 of $end: $saved of $((ROUNDS * 2000)) numbers, $safe were safe"
	is "$(cat wrong)" "" "power failure $3"
}

plan $((N + 1))
disk_start
"$BUILD/minivmm" count=count >vmm.out 2>vmm.err &
vmm=$!
until_line '^ready' vmm.out || bail "minivmm did not start"
work
umount disk
echo "# SEED=$SEED"
is "$(numbers final/written.hrt)" "$((ROUNDS * 2000)) 0" "without a failure"
awk -v n="$N" -v seed="$SEED" -v begin="$begin" -v end="$end" 'BEGIN {
	srand(seed)
	for (i = 1; i <= n; i++)
		print begin + int(rand() * (end - begin + 1)), seed + i
}' >cuts
nr_cut=0
while read -r at seed; do
	nr_cut=$((nr_cut + 1))
	check "$at" "$seed" $nr_cut
done <cuts
echo "# lost without a sync: $(sort kinds | uniq -c | tr -s ' \n' ' ')"
finish
