#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace-guest in a real Linux guest, recorded in the same go: through a virtio-serial port, through shared memory,
# and with a recorder that is killed. The guest runs under TCG, which needs nothing of this host. Wants $HOSTRACE and
# $BUILD; writes TAP.
set -u
BUILD=${BUILD:-build}
HOSTRACE=${HOSTRACE:-$BUILD/hostrace}
. "$ROOT/tests/live/demo-lib.inc"
live_needs_root
for program in qemu-system-x86_64 busybox cpio; do
	command -v $program >/dev/null || skip_all "there is no $program"
done
vmlinuz=$("$ROOT/tests/rig/rig.sh" guest guest.cpio "$ROOT/tests/rig/agentguest/init.sh" \
	virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_console 2>rig.err) ||
	skip_all "kernel: Debian's is not to be had: $(tail -n 1 rig.err)"
cp "$BUILD/hostrace-guest" .
echo hostrace-guest | cpio --quiet -o -H newc -R 0:0 >>guest.cpio
vm=
trap '[ -z "$vm" ] || kill $vm 2>/dev/null; rm -rf "$scratch"' EXIT

# says TEXT: waits until the guest has said it
says() {
	for _ in $(seq 900); do
		grep -aq "guest: $1" console 2>/dev/null && return
		kill -0 $vm 2>/dev/null || break
		sleep .1
	done
	grep -aq "guest: $1" console && return # its last words, just before it powered off
	bail "the guest did not say '$1': $(tail -n 20 console | tr -d '\r')"
}

# record NAME SOURCE: returns when it takes events; $recorder
record() {
	"$HOSTRACE" record --vm $vm -e sched -o "$1.hrt" --guest "$2" 2>record.err &
	recorder=$!
	until_line recording record.err || bail "record did not start: $(cat record.err)"
}

# calls FILE: system calls with the mode that only the test's have
calls() {
	"$HOSTRACE" list -f json -i "$1" --limit 0 --event guest:sys_enter_mknodat 2>list.err |
		jq '[.rows[] | select(.fields.mode == 4495 or .fields.mode == "0x118f")] | length'
}

plan 12
qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 192 -nodefaults -display none -serial file:console -no-reboot \
	-kernel "$vmlinuz" -initrd guest.cpio -append "console=ttyS0 quiet panic=-1 tsc=reliable" \
	-chardev socket,id=h,path=port,server=on,wait=off -device virtio-serial-pci \
	-device virtserialport,chardev=h,name=hostrace \
	-object memory-backend-file,id=m,mem-path=memory,size=1M,share=on -device ivshmem-plain,memdev=m 2>qemu.err &
vm=$!

for way in serial:port shm:memory; do
	name=${way%%:*}
	says "waits $name"
	record "$name" "$way"
	says "worked $name"
	kill -INT $recorder
	wait $recorder
	is $? 0 "$name: the recorder ends" record.err
	says "ended $name"
	is "$(grep -a "guest: ended $name" console | tr -d '\r')" "guest: ended $name status 0 instances 0" \
		"$name: the agent ends as it should and leaves nothing" console
	is "$(calls "$name.guest")" 23 "$name: the known number of system calls" list.err
	is "$("$HOSTRACE" info -i "$name.guest" | sed -n 's/.*ended by //p')" host "$name: the stream is whole" record.err
done
is "$("$HOSTRACE" info -f json -i serial.guest | jq -r '.result.lost | if . == {} or . == 0 then "none" else tostring end')" \
	none "nothing is lost"
is "$("$HOSTRACE" list -i serial.guest --event guest:sys_enter_mknodat 2>&1 | grep -c ' mkfifo *guest:')" 23 "threads have names"

says "waits gone"
record gone serial:port
says "worked gone"
kill -KILL $recorder
wait $recorder 2>/dev/null
says "ended gone"
is "$(grep -a "guest: ended gone" console | tr -d '\r')" "guest: ended gone status 0 instances 0" \
	"the host is gone: the agent ends and leaves nothing" console
wait $vm
is $? 0 "the guest powers off" qemu.err
vm=
finish
