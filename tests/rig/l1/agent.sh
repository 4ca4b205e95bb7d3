#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A guest's own trace in the same recording: hostrace-guest in an L2, through a virtio-serial port and vsock at once; then
# a guest with a ring of its own, read from its memory, and for comparison the same guest without a ring.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

for module in vhost_iotlb vhost vsock vmw_vsock_virtio_transport_common vhost_vsock; do
	busybox insmod "modules/$module.ko"
done
truncate -s 16M /tmp/agent.img
l2_command agent 2 agent -initrd agent.cpio \
	-drive file=/tmp/agent.img,if=none,id=d0,format=raw -device virtio-blk-pci,drive=d0 \
	-chardev socket,id=h,path=/tmp/agent.sock,server=on,wait=off -device virtio-serial-pci \
	-device virtserialport,chardev=h,name=hostrace -device vhost-vsock-pci,guest-cid=3
# It lasts 40 s, on a loaded machine twice as long.
hostrace record -o "$out/agent.hrt" --guest serial:/tmp/agent.sock --guest vsock:3:9999 -- \
	timeout -k 5 "$life_seconds" "${qemu_command[@]}" </dev/null >"$out/agent.record" 2>&1
echo $? >"$out/agent.record.status"
l2_reached agent "done"

# ringed NAME KIND: from the first instruction until the guest halts for good
ringed() {
	local name=$1 source=()
	[ "$2" = 0 ] || source=(--guest "mem:ring_virtual,elf=ring-guest.elf,qmp=/tmp/ring.qmp")
	rm -f /tmp/ring.qmp
	# Not the shell function, because a signal must reach the program itself.
	LD_LIBRARY_PATH=/rig/lib timeout -k 5 "$life_seconds" /rig/bin/hostrace record -o "$out/$name.hrt" "${source[@]}" -- qemu-system-x86_64 -name "$name" -accel kvm -cpu host \
		-m 32 -nodefaults -display none -no-reboot -serial "file:$out/$name.console" -kernel ring-guest.elf \
		-append "ring=$2" -pidfile "/tmp/$name.pid" -qmp unix:/tmp/ring.qmp,server=on,wait=off \
		</dev/null >"$out/$name.record" 2>&1 &
	wait_until grep -q '^done' "$out/$name.console"
	kill -TERM $! # timeout passes it on
	wait $!
	kill "$(cat "/tmp/$name.pid")"
}

ringed ringed 1
ringed ringless 0
