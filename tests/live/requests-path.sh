#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# resources: cpus
# requests --stages: a guest reads sectors, and a delay that is known in another way appears in its stage: a slow disk
# of the host (a loop device on a FUSE file system that logs its reads), an iothread that shares its CPU with a hog (the
# kernel's schedstat), QEMU's throttle. Each with another way to the host's disk: in all of them a request has one I/O
# request of the host.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/requests-lib.inc"
live_needs_tools losetup taskset
[ -c /dev/fuse ] || skip_all "kernel: no /dev/fuse"
live_build "$BUILD/slowfuse"

READS=40
${CC:-gcc} -c -DREADS=$READS -o boot.o "$ROOT/tests/live/record-boot.S" &&
	ld --oformat binary -Ttext 0x7c00 -o boot.img boot.o || bail "cannot build the boot sector"
truncate -s 1M boot.img
loop=
hog=
clean() {
	[ -z "$hog" ] || kill "$hog" 2>/dev/null
	[ -z "$vm" ] || kill "$vm" 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop"
	mountpoint -q slow && umount slow
	rm -rf "$scratch"
}
trap clean EXIT

# disk_start DRIVE, disk_record TRACE: of a VM with this disk
disk_start() {
	vm_start -drive "$1,if=none,id=d,format=raw" -device virtio-blk-pci,drive=d,id=disk0,iothread=io0
}

disk_record() {
	vm_record "$1"
	is "$(jq -c '.totals | [.requests, .host_ios.ambiguous]' path.json)" "[$((READS + 1)),0]" "$1: all requests are there" record.err
	host_ios_are_there "$1" $((READS + 1)) "$1: each has one I/O request of the host, or it is counted as lost"
}

# stage FILTER: the time of these stages, ns
stage() {
	jq "[.stages[] | select($1) | .time_ns] | add // 0" path.json
}

# The time of intervals ([begin, end] each, in FILE) that lies between two points of a request, over all requests.
between() { # FILE FROM TO
	jq --slurpfile intervals "$1" --arg from "$2" --arg to "$3" '[.rows[] | .points_ns[$from] as $a |
		.points_ns[$to] as $b | select($a and $b) | $intervals[0][] |
		[([.[1], $b] | min) - ([.[0], $a] | max), 0] | max] | add // 0' path.json
}

share() { # PART WHOLE: is it at least 95 %?
	[ "$(($1 * 100))" -ge "$(($2 * 95))" ]
}

plan 20

# A slow disk of the host: what its server logged, as far as a request waited for it.
mkdir slow
"$BUILD/slowfuse" slow boot.img 5000 >reads.log 2>&1 &
until_line ready reads.log || bail "no slow disk: $(cat reads.log)"
loop=$(losetup -f --show -r slow/disk) || bail "no loop device"
disk_start "file=$loop,cache=none,aio=threads,readonly=on"
disk_record slow.hrt
grep '^[0-9]' reads.log | jq -R 'split(" ") | map(tonumber)' | jq -s . >reads.json
injected=$(between reads.json kick push)
named=$(between reads.json dispatch done)
is $((injected >= READS * 5000000)) 1 "the slow disk took as long as it had to ($injected ns)" reads.log
share "$named" "$injected"
is $? 0 "... between dispatch and done ($named ns)" stages
share "$(stage '.stage == "dispatch-done" and .thread == "host"')" "$injected"
is $? 0 "... which is that stage's time" stages

# An iothread beside a hog, which is preferred to it: what the kernel says the thread waited for a CPU.
disk_start "file=boot.img,cache=none,aio=native"
cpu=$(($(nproc) - 1))
taskset -a -p -c 0 "$vm" >/dev/null && taskset -p -c "$cpu" "$io" >/dev/null || bail "cannot pin the VM's threads"
taskset -p -c 0 $$ >/dev/null
cp "$(command -v yes)" hog
taskset -c "$cpu" nice -n -10 ./hog >/dev/null &
hog=$!
before=$(waited)
disk_record hog.hrt
kill $hog
hog=
taskset -p -c "0-$cpu" $$ >/dev/null
# Of these waits, some are between two requests, or while the disk works for one.
thread_waits hog.hrt "$io" >waits.json
total=$(jq 'map(.[1] - .[0]) | add' waits.json)
other=$((total - $(between waits.json kick submit) - $(between waits.json done notify)))
injected=$((waited_ns - before - other))
queued=$(stage '.thread == "I/O thread" and .state == "run queue"')
echo "# the iothread waited $((waited_ns - before)) ns for a CPU, $other ns of them not for requests"
share "$queued" "$injected" && share "$injected" "$queued"
is $? 0 "what the iothread waited is in its stages ($injected ns, $queued ns)" stages
"$HOSTRACE" requests -i hog.hrt --waterfall --limit 1000 >waterfall
grep -q "thread $io waits for CPU $cpu: hog" waterfall
is $? 0 "... which the slowest requests name" stages

# QEMU's throttle holds requests before they are submitted: it lets a tenth of a second's requests pass at once
# (util/throttle.c, throttle_compute_wait). None is submitted before that allows it, however late QEMU runs.
RATE=10
disk_start "file=boot.img,cache=none,aio=io_uring,throttling.iops-total=$RATE"
disk_record throttle.hrt
jq --argjson rate $RATE '
	def submitted: .submit // .push;
	[.rows[].points_ns] | sort_by(.pop) |
	reduce .[] as $rq ({level: 0, at: 0, held_ns: 0, kept: true};
		.level = ([.level - ($rq.pop - .at) * $rate / 1e9, 0] | max) |
		.wait = ([.level - $rate / 10, 0] | max) * 1e9 / $rate |
		.level = ([.level - .wait * $rate / 1e9, 0] | max) + 1 |
		.at = $rq.pop + .wait | .held_ns += .wait |
		.kept = (.kept and ($rq | submitted) >= .at - 1e6)) | .held_ns |= floor' path.json >throttle.json
is "$(jq .kept throttle.json)" true "throttled to $RATE requests a second" stages
injected=$(jq .held_ns throttle.json)
held=$(stage '.stage == "pop-submit"')
busy=$(stage '.stage == "pop-submit" and .state != "asleep"')
[ "$injected" -gt 0 ] && share "$held" "$injected"
is $? 0 "... which holds them between pop and submit ($held ns, at least $injected ns)" stages
share $((held - busy)) $((injected - busy))
is $? 0 "... while QEMU sleeps" stages
finish
