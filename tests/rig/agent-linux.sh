#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace-guest in a real Linux guest, recorded together with the host: through a virtio-serial port, through shared
# memory, with a recorder that is killed, with random data instead of a stream, and with a process of the guest that
# connects to the agent's vsock. The guest runs under TCG, so the host needs no KVM. Requires $HOSTRACE and $BUILD; writes
# TAP. Runs for ten seconds; all waits share one limit, $WAIT_LIMIT_S seconds, after which it reports what it was waiting
# for. A runner's own timeout must be longer.
set -u
BUILD=${BUILD:-build}
HOSTRACE=${HOSTRACE:-$BUILD/hostrace}
WAIT_LIMIT_S=${WAIT_LIMIT_S:-300}
. "$ROOT/tests/live/demo-lib.inc"
. "$ROOT/tests/rig/boot.inc"
live_needs_root
for program in qemu-system-x86_64 busybox cpio jq; do
	command -v $program >/dev/null || skip_all "$program is not installed"
done
vmlinuz=$("$ROOT/tests/rig/rig.sh" guest guest.cpio "$ROOT/tests/rig/agentguest/init.sh" \
	virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_console \
	vsock vmw_vsock_virtio_transport_common vsock_loopback 2>rig.err) ||
	skip_all "Debian's kernel is unavailable: $(tail -n 1 rig.err)"
cp "$BUILD/hostrace-guest" .
${CC:-cc} -static -O -o vsock_local "$ROOT/tests/rig/agentguest/vsock_local.c" || bail "cannot build vsock_local"
printf '%s\n' hostrace-guest vsock_local | cpio --quiet -o -H newc -R 0:0 >>guest.cpio
vm=
recorder=
trap '[ -z "$vm$recorder" ] || kill -KILL $vm $recorder 2>/dev/null; rm -rf "$scratch"' EXIT

# wait_failed WHAT: prints the logs and the processes' states, and ends the test
wait_failed() {
	echo "# after $SECONDS s: $1"
	for file in console qemu.err record.err; do
		[ -s $file ] || continue
		echo "# --- $file"
		tail -n 25 $file | tr -d '\r' | cut -c 1-200 | sed 's/^/# /'
	done
	ps -o pid,ppid,stat,wchan:24,etime,args -p "${vm:-1},${recorder:-1}" | cut -c 1-120 | sed 's/^/# /'
	bail "$1"
}

# until_true WHAT COMMAND...: waits until COMMAND succeeds, at most what is left of $WAIT_LIMIT_S
until_true() {
	local what=$1
	shift
	until "$@"; do
		[ $SECONDS -lt "$WAIT_LIMIT_S" ] || wait_failed "$what"
		sleep .1
	done
}

has_ended() {
	! kill -0 "$1" 2>/dev/null
}

# A complete line, as the guest's serial port delivers single bytes.
has_printed() {
	grep -aq "guest: $1.*"$'\r' console 2>/dev/null
}

printed_or_ended() {
	has_printed "$1" || has_ended $vm
}

# guest_prints TEXT: waits until the guest has printed it; its last output comes just before it powers off
guest_prints() {
	until_true "the guest did not print '$1'" printed_or_ended "$1"
	has_printed "$1" || wait_failed "the guest ended without printing '$1'"
}

# child_wait PID WHAT: waits for the end of a child; returns its status
child_wait() {
	until_true "$2 does not end" has_ended "$1"
	wait "$1" 2>/dev/null
}

record_runs_or_ended() {
	record_runs || has_ended $recorder
}

record_runs() {
	grep -q recording record.err 2>/dev/null
}

# record NAME SOURCE: returns when events are being recorded; sets $recorder
record() {
	rm -f record.err # the previous recorder's messages
	"$HOSTRACE" record --vm $vm -e sched -o "$1.hrt" --guest "$2" 2>record.err &
	recorder=$!
	until_true "record does not start" record_runs_or_ended
	record_runs || wait_failed "record did not start"
}

# calls FILE: number of system calls with the mode that only the test uses
calls() {
	"$HOSTRACE" list -f json -i "$1" --limit 0 --event guest:sys_enter_mknodat 2>list.err |
		jq '[.rows[] | select(.fields.mode == 4495 or .fields.mode == "0x118f")] | length'
}

plan 15
# With a thread for each vCPU, TCG's default, the guest's kernel locks up on both CPUs about once in a hundred runs, when
# the agent switches on tracepoints.
vm_start() {
	rm -f console port
	qemu-system-x86_64 -accel tcg,thread=single -cpu max -smp 2 -m 192 -nodefaults -display none -serial file:console \
		-no-reboot \
		-kernel "$vmlinuz" -initrd guest.cpio -append "console=ttyS0 quiet panic=-1 tsc=reliable" \
		-chardev socket,id=h,path=port,server=on,wait=off -device virtio-serial-pci \
		-device virtserialport,chardev=h,name=hostrace \
		-object memory-backend-file,id=m,mem-path=memory,size=1M,share=on -device ivshmem-plain,memdev=m 2>qemu.err &
	vm=$!
}

booted_or_failed() {
	printed_or_ended "waits noise" || boot_failure console >/dev/null 2>&1
}

boots=1
vm_start
until_true "the guest does not boot" booted_or_failed
while ! has_printed "waits noise" && [ $boots -lt $BOOTS_MAX ] && reason=$(boot_failure console); do
	echo "# boots repeated: $boots ($reason)"
	boots=$((boots + 1))
	kill -KILL $vm 2>/dev/null
	wait $vm
	vm_start
	until_true "the guest does not boot" booted_or_failed
done
guest_prints "waits noise"
is "$(grep -a "guest: local vsock" console | tr -d '\r')" "guest: local vsock connects, bytes 0, closed" \
	"a process of the guest itself gets nothing over vsock" console
record noise serial:port
guest_prints "worked noise"
kill -INT $recorder
child_wait $recorder "noise: the recorder"
is "$? $(grep -c 'guest: serial:port: .* no beginning of an agent.s stream' record.err)" "0 1" "random data from the guest: the recorder ends and reports it" record.err
recorder=
is "$("$HOSTRACE" info -f json -i noise.hrt | jq '.result.events.sched_switch > 0 and .result.lost == {}')" true \
	"the host's recording is complete" record.err

# The port is not used first: the recorder of the random data may still have it open.
for way in shm:memory serial:port; do
	name=${way%%:*}
	guest_prints "waits $name"
	record "$name" "$way"
	guest_prints "worked $name"
	kill -INT $recorder
	child_wait $recorder "$name: the recorder"
	is $? 0 "$name: the recorder ends" record.err
	recorder=
	guest_prints "ended $name"
	is "$(grep -a "guest: ended $name" console | tr -d '\r')" "guest: ended $name status 0 instances 0" \
		"$name: the agent ends with status 0 and removes its instance" console
	is "$(calls "$name.guest")" 23 "$name: the known number of system calls" list.err
	is "$("$HOSTRACE" info -i "$name.guest" | sed -n 's/.*ended by //p')" host "$name: the stream is complete" record.err
	[ $failed = 0 ] || sed 's/^/# console: /' console
done
is "$("$HOSTRACE" info -f json -i serial.guest | jq -r '.result.lost | if . == {} or . == 0 then "none" else tostring end')" \
	none "nothing is lost"
is "$("$HOSTRACE" list --wide -i serial.guest --event guest:sys_enter_mknodat 2>&1 | grep -c ' mkfifo *guest:')" 23 "threads have names"

guest_prints "waits gone"
record gone serial:port
guest_prints "worked gone"
kill -KILL $recorder
child_wait $recorder "the recorder that was killed"
recorder=
guest_prints "ended gone"
is "$(grep -a "guest: ended gone" console | tr -d '\r')" "guest: ended gone status 0 instances 0" \
	"the host has ended: the agent ends and removes its instance" console
child_wait $vm "the guest"
is $? 0 "the guest powers off" qemu.err
vm=
finish
