#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# requests --stages: a guest reads sectors, and a delay that is known in another way appears in its stage: a slow disk
# of the host (a loop device on a FUSE file system that logs its reads), an iothread that shares its CPU with a hog (the
# kernel's schedstat), QEMU's throttle. Each with another way to the host's disk: in all of them a request has one I/O
# request of the host.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq losetup taskset
[ -c /dev/fuse ] || skip_all "kernel: no /dev/fuse"
[ -x "$BUILD/slowfuse" ] || make -s -C "$ROOT" BUILD="$BUILD" "$BUILD/slowfuse" >&2 || bail "cannot build slowfuse"

READS=40
${CC:-gcc} -c -DREADS=$READS -o boot.o "$ROOT/tests/live/record-boot.S" &&
	ld --oformat binary -Ttext 0x7c00 -o boot.img boot.o || bail "cannot build the boot sector"
truncate -s 1M boot.img
loop=
hog=
vm=
clean() {
	[ -z "$hog" ] || kill "$hog" 2>/dev/null
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop"
	mountpoint -q slow && umount slow
	rm -rf "$scratch"
}
trap clean EXIT

# vm_start DRIVE: stopped before its first instruction; $vm, and $io, its iothread
vm_start() {
	rm -f monitor.in qemu.pid qemu.out
	mkfifo monitor.in
	timeout -s KILL 100 qemu-system-x86_64 -S -name "path,debug-threads=on" -accel kvm -m 64 -nodefaults -display none \
		-pidfile qemu.pid -object iothread,id=io0 -drive "$1,if=none,id=d,format=raw" \
		-device "virtio-blk-pci,drive=d,id=disk0,iothread=io0" \
		-device isa-debug-exit,iobase=0xf4,iosize=1 -monitor stdio <monitor.in >qemu.out 2>&1 &
	qemu_waiter=$!
	exec 4>monitor.in
	until_line '^[0-9]' qemu.pid || bail "QEMU did not start: $(cat qemu.out)"
	vm=$(cat qemu.pid)
	io=$(grep -l 'IO io0' /proc/"$vm"/task/*/comm | cut -d/ -f5)
}

# vm_record TRACE: lets it run to its end
vm_record() {
	timeout -s KILL 100 "$HOSTRACE" record --vm "$vm" -o "$1" --for requests 2>record.err &
	recorder=$!
	until_line 'recording' record.err || bail "record did not start: $(cat record.err)"
	echo cont >&4
	wait $qemu_waiter
	status=$?
	exec 4>&-
	wait $recorder || bail "the recording failed: $(cat record.err)"
	vm=
	is $status 33 "$1: the guest did all its reads" qemu.out
	"$HOSTRACE" requests -i "$1" --stages --limit 1000 -f json >path.json || bail "no report"
	is "$(jq -c '.totals | [.requests, .host_ios.ambiguous]' path.json)" "[$((READS + 1)),0]" "$1: all requests are there" record.err
	is "$(jq '[.rows[] | .total_ns == ([.parts[].duration_ns] | add)] | all' path.json)" true "$1: their parts add up"
	is "$(jq -c '[.rows[] | .host_ios] | unique' path.json)" '[1]' "$1: each has one I/O request of the host"
	"$HOSTRACE" requests -i "$1" --stages >stages
}

# stage FILTER: the time of these stages, ns
stage() {
	jq "[.stages[] | select($1) | .time_ns] | add // 0" path.json
}

share() { # PART WHOLE: is it at least 95 %?
	[ "$(($1 * 100))" -ge "$(($2 * 95))" ]
}

plan 19

# A slow disk of the host: what its server logged, as far as a request waited for it.
mkdir slow
"$BUILD/slowfuse" slow boot.img 5000 >reads.log 2>&1 &
until_line ready reads.log || bail "no slow disk: $(cat reads.log)"
loop=$(losetup -f --show -r slow/disk) || bail "no loop device"
vm_start "file=$loop,cache=none,aio=threads,readonly=on"
vm_record slow.hrt
grep '^[0-9]' reads.log | jq -R 'split(" ") | map(tonumber)' | jq -s . >reads.json
# The log's time that lies between two points of a request, over all requests.
between() { # FROM TO
	jq --slurpfile reads reads.json --arg from "$1" --arg to "$2" '[.rows[] | (.points_ns[$from] // .start_ns) as $a |
		(.points_ns[$to] // $a) as $b | $reads[0][] | [([.[1], $b] | min) - ([.[0], $a] | max), 0] | max] | add' path.json
}
injected=$(between kick push)
named=$(between dispatch done)
is $((injected >= READS * 5000000)) 1 "the disk took $injected ns of the requests" reads.log
share "$named" "$injected"
is $? 0 "... $named ns of them between dispatch and done" stages
share "$(stage '.stage == "dispatch-done" and .thread == "host"')" "$injected"
is $? 0 "... which is that stage's time" stages

# An iothread beside a hog, which is preferred to it: what the kernel says the thread waited for a CPU.
vm_start "file=boot.img,cache=none,aio=native"
cpu=$(($(nproc) - 1))
taskset -a -p -c 0 "$vm" >/dev/null && taskset -p -c "$cpu" "$io" >/dev/null || bail "cannot pin the VM's threads"
taskset -p -c 0 $$ >/dev/null
cp "$(command -v yes)" hog
taskset -c "$cpu" nice -n -10 ./hog >/dev/null &
hog=$!
waited() {
	cut -d' ' -f2 /proc/"$vm"/task/"$io"/schedstat
}
before=$(waited)
# The thread ends with the VM: its last figure is read while it runs.
(while waited >now 2>/dev/null && [ -s now ]; do mv now last; sleep .02; done) &
vm_record hog.hrt
kill $hog
hog=
taskset -p -c "0-$cpu" $$ >/dev/null
injected=$(($(cat last) - before))
# Some of it is between two requests; the last figure of the thread misses the last 20 ms.
queued=$(stage '.thread == "I/O thread" and .state == "run queue"')
echo "# the iothread waited $injected ns for a CPU, $queued ns of them for requests"
is $((queued * 100 >= injected * 90 && queued <= injected + 25000000)) 1 "what the iothread waited for a CPU is in its stages" stages
"$HOSTRACE" requests -i hog.hrt --waterfall --limit 1000 >waterfall
grep -q "thread $io waits for CPU $cpu: hog" waterfall
is $? 0 "... which the slowest requests name" stages

# QEMU's throttle holds requests before they are submitted.
vm_start "file=boot.img,cache=none,aio=io_uring,throttling.iops-total=20"
vm_record throttle.hrt
# It lets a tenth of a second's requests pass at once, then one every 50 ms.
is "$(jq '[.rows[].points_ns.submit] | sort | [range(1; length) as $i | .[$i] - .[$i - 1] | select(. > 45000000)] |
	length >= 30' path.json)" true "throttled to 20 requests a second" stages
held=$(stage '.stage == "pop-submit" and .state == "asleep"')
is $((held * 2 > $(jq .totals.time_ns path.json))) 1 "... which QEMU holds for $held ns, while it sleeps" stages
finish
