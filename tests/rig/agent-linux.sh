#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace-guest in a real Linux guest, recorded in the same go: through a virtio-serial port, through shared memory,
# with a recorder that is killed, and with noise instead of a stream. The guest runs under TCG, which needs nothing of this host. Wants $HOSTRACE and
# $BUILD; writes TAP. Takes ten seconds; every wait shares one limit, $PATIENCE seconds, after which it says where it
# stood. A runner has to give it more than that.
set -u
BUILD=${BUILD:-build}
HOSTRACE=${HOSTRACE:-$BUILD/hostrace}
PATIENCE=${PATIENCE:-300}
. "$ROOT/tests/live/demo-lib.inc"
live_needs_root
for program in qemu-system-x86_64 busybox cpio jq; do
	command -v $program >/dev/null || skip_all "there is no $program"
done
vmlinuz=$("$ROOT/tests/rig/rig.sh" guest guest.cpio "$ROOT/tests/rig/agentguest/init.sh" \
	virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_console 2>rig.err) ||
	skip_all "kernel: Debian's is not to be had: $(tail -n 1 rig.err)"
cp "$BUILD/hostrace-guest" .
echo hostrace-guest | cpio --quiet -o -H newc -R 0:0 >>guest.cpio
vm=
recorder=
trap '[ -z "$vm$recorder" ] || kill -KILL $vm $recorder 2>/dev/null; rm -rf "$scratch"' EXIT

# gave_up WHAT: what is known then
gave_up() {
	echo "# after $SECONDS s: $1"
	for file in console qemu.err record.err; do
		[ -s $file ] || continue
		echo "# --- $file"
		tail -n 25 $file | tr -d '\r' | cut -c 1-200 | sed 's/^/# /'
	done
	ps -o pid,ppid,stat,wchan:24,etime,args -p "${vm:-1},${recorder:-1}" | cut -c 1-120 | sed 's/^/# /'
	bail "$1"
}

# until_true WHAT COMMAND...: within what is left of the patience
until_true() {
	local what=$1
	shift
	until "$@"; do
		[ $SECONDS -lt "$PATIENCE" ] || gave_up "$what"
		sleep .1
	done
}

gone() {
	! kill -0 "$1" 2>/dev/null
}

# A whole line: the guest's serial port brings it byte by byte.
said() {
	grep -aq "guest: $1.*"$'\r' console 2>/dev/null
}

said_or_gone() {
	said "$1" || gone $vm
}

# says TEXT: waits until the guest has said it; its last words come just before it powers off
says() {
	until_true "the guest did not say '$1'" said_or_gone "$1"
	said "$1" || gave_up "the guest ended without saying '$1'"
}

# ended PID WHAT: waits for the end of a child; its status
ended() {
	until_true "$2 does not end" gone "$1"
	wait "$1" 2>/dev/null
}

record_says() {
	record_runs || gone $recorder
}

record_runs() {
	grep -q recording record.err 2>/dev/null
}

# record NAME SOURCE: returns when it takes events; $recorder
record() {
	rm -f record.err # what the one before said is not this one's
	"$HOSTRACE" record --vm $vm -e sched -o "$1.hrt" --guest "$2" 2>record.err &
	recorder=$!
	until_true "record does not start" record_says
	record_runs || gave_up "record did not start"
}

# calls FILE: system calls with the mode that only the test's have
calls() {
	"$HOSTRACE" list -f json -i "$1" --limit 0 --event guest:sys_enter_mknodat 2>list.err |
		jq '[.rows[] | select(.fields.mode == 4495 or .fields.mode == "0x118f")] | length'
}

plan 14
qemu-system-x86_64 -accel tcg -cpu max -smp 2 -m 192 -nodefaults -display none -serial file:console -no-reboot \
	-kernel "$vmlinuz" -initrd guest.cpio -append "console=ttyS0 quiet panic=-1 tsc=reliable" \
	-chardev socket,id=h,path=port,server=on,wait=off -device virtio-serial-pci \
	-device virtserialport,chardev=h,name=hostrace \
	-object memory-backend-file,id=m,mem-path=memory,size=1M,share=on -device ivshmem-plain,memdev=m 2>qemu.err &
vm=$!

says "waits noise"
record noise serial:port
says "worked noise"
kill -INT $recorder
ended $recorder "noise: the recorder"
is "$? $(grep -c 'guest: serial:port: no data received' record.err)" "0 1" "noise from the guest: the recorder ends and says so" record.err
recorder=
is "$("$HOSTRACE" info -f json -i noise.hrt | jq '.result.events.sched_switch > 0 and .result.lost == {}')" true \
	"the host's recording is whole" record.err

# Not over the port at once: the recorder of the noise may still be there.
for way in shm:memory serial:port; do
	name=${way%%:*}
	says "waits $name"
	record "$name" "$way"
	says "worked $name"
	kill -INT $recorder
	ended $recorder "$name: the recorder"
	is $? 0 "$name: the recorder ends" record.err
	recorder=
	says "ended $name"
	is "$(grep -a "guest: ended $name" console | tr -d '\r')" "guest: ended $name status 0 instances 0" \
		"$name: the agent ends as it should and leaves nothing" console
	is "$(calls "$name.guest")" 23 "$name: the known number of system calls" list.err
	is "$("$HOSTRACE" info -i "$name.guest" | sed -n 's/.*ended by //p')" host "$name: the stream is whole" record.err
	[ $failed = 0 ] || sed 's/^/# console: /' console
done
is "$("$HOSTRACE" info -f json -i serial.guest | jq -r '.result.lost | if . == {} or . == 0 then "none" else tostring end')" \
	none "nothing is lost"
is "$("$HOSTRACE" list -i serial.guest --event guest:sys_enter_mknodat 2>&1 | grep -c ' mkfifo *guest:')" 23 "threads have names"

says "waits gone"
record gone serial:port
says "worked gone"
kill -KILL $recorder
ended $recorder "the recorder that was killed"
recorder=
says "ended gone"
is "$(grep -a "guest: ended gone" console | tr -d '\r')" "guest: ended gone status 0 instances 0" \
	"the host is gone: the agent ends and leaves nothing" console
ended $vm "the guest"
is $? 0 "the guest powers off" qemu.err
vm=
finish
