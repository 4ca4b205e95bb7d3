#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace stuck, attached after the hang: requests held by a throttled disk, in a VM that answers, whose monitor another
# client has, and whose QEMU is stopped.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/stuck-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 jq socat

vm_start "reads=0 writes=0 leak=6 wait_ms=3600000" -qmp unix:qmp,server=on,wait=off -device virtio-rng-pci,id=rng \
	-drive driver=null-co,if=none,id=s0,size=16777216,read-zeroes=on,throttling.bps-total=512 \
	-device virtio-blk-pci,drive=s0,id=slow,addr=5

held() {
	stuck --interval 100ms && [ "$(rows slow length)" = 6 ]
}

stopped() {
	stuck --interval 50ms && [ "$(jq -r '[.threads[].state] | unique | join(" ")' stuck.json)" = stopped ]
}

plan 22
until_true held
is $? 0 "the six held requests are found" stuck.err
stuck --check --min-age 100ms
is $? 3 "--check: status 3" stuck.err
is "$(rows slow 'map([.head, .stage, .op, .sector, .bytes])')" "$(jq -nc \
	'[range(6) | [3 * ., "popped", "write", ., 65536]]')" "... with head, operation, sector and size" stuck.json
is "$(rows slow 'map([.age_exact, .certain, .element, .stands]) | unique')" '[["yes","yes","yes","yes"]]' \
	"... and exact ages, from QEMU's memory" stuck.json
age=$(rows slow 'map(.age_ns) | max')
sleep .2
stuck --interval 100ms
is "$(rows slow "map(.age_ns) | max - $age >= 300000000")" true "... which grow" stuck.json
is "$(findings 'map([.kind, (.device | split("/")[3])])')" '[["throttled","slow"]]' "that is the only finding" stuck.json
is "$(jq -c '[.queues[] | [.inuse, .kicks_pending]]' stuck.json)" "[[6,0]]" "no kick is pending" stuck.json
where=$(if [ $accel = kvm ]; then echo '[[0,"halted",[]]]'; else echo '[[0,"userspace",null]]'; fi)
vcpu_waits() { # unless a tick of the guest's timer has just come
	stuck --interval 100ms && [ "$(jq -c '[.vcpus[] | [.vcpu, .where, .pending_vectors]]' stuck.json)" = "$where" ]
}
until_true vcpu_waits
is $? 0 "the vCPU waits" stuck.json
is "$(jq -r '.threads[] | select(.role == "main") | .user_stack | test("poll;.*main;(libc[.]so[.]6[+]0x[0-9a-f]+;)?__libc_start_main")' stuck.json)" true \
	"the main thread's stack" stuck.json
stuck --check --min-age 1h
is $? 0 "--check --min-age 1h: status 0" stuck.err

socat -u UNIX-CONNECT:qmp,retry=100,interval=.1 OPEN:greeting,creat &
client=$!
until_line QMP greeting
kill -STOP "$vm"
until_true stopped
stuck --interval 100ms --check --min-age 100ms
is $? 3 "QEMU stopped, its monitor taken: status 3" stuck.err
is "$(rows slow 'map([.head, .stage, .op, .sector, .bytes, .certain]) | length')" 6 "... the same six requests" stuck.json
is "$(kinds)" "stopped throttled" "... and that QEMU is stopped" stuck.json
is "$(jq -r '[.threads[].state] | unique | join(" ")' stuck.json)" stopped "... as each thread is" stuck.json
is "$(jq -r '[.vcpus[].where] | unique | join(" ")' stuck.json)" stopped "... and the vCPU" stuck.json
"$HOSTRACE" stuck --vm "$vm" --interval 50ms > text 2>&1
is "$(grep -c 'slow .* popped .* write' text) $(awk 'length > 80' text | wc -l)" "6 0" "as text of 80 columns" text
kill -CONT "$vm"
kill $client
lib=$(awk '/libz\.so/ { print $6; exit }' "/proc/$vm/maps")
vm_end

# Stopped while a monitor command holds the mutex that a vCPU waits for: SIGCONT ends that wait, so it is no finding.
waits_for_mutex() {
	stuck --interval 100ms && kinds | grep -q mutex
}
mkfifo slow.fifo
vm_start "reads=1000000000 writes=0" -qmp unix:qmp,server=on,wait=off
qmp '{"execute":"pmemsave","arguments":{"val":0,"size":4096,"filename":"slow.fifo"}}' > qmp.out 2>&1 &
until_true waits_for_mutex
is $? 0 "a monitor command holds a mutex that the vCPU waits for" stuck.json
kill -STOP "$vm"
until_true stopped
is "$(kinds)" stopped "... and with QEMU stopped, that is the only finding" stuck.json
kill -CONT "$vm"
vm_end

# A library of QEMU's on a file system that does not answer: its stacks are left out.
mkdir mnt
cp "$lib" lib.so
"$BUILD/slowfuse" mnt lib.so 0 > fuse.out &
fuse=$!
until_line ready fuse.out
export LD_PRELOAD=$scratch/mnt/disk
vm_start "reads=0 writes=0 hlt=1000000"
unset LD_PRELOAD
until_line mmio console.txt
kill -STOP $fuse
timeout -s KILL 200 "$HOSTRACE" stuck --vm "$vm" --interval 50ms --timeout 10s -f json > stuck.json 2> stuck.err
is $? 0 "QEMU's library is on a file system that does not answer: a report" stuck.err
is "$(jq -c '[(.vcpus | length), ([.threads[].user_stack] | unique), (.caveats | any(test("user mode are left out")))]' stuck.json)" \
	'[1,[""],true]' "... without stacks" stuck.json
follows stuck stuck.json
kill -CONT $fuse
vm_end
umount mnt
"$HOSTRACE" stuck --vm $$ > text 2>&1
is $? 1 "a shell is no VM" text
finish
