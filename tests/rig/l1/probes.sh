#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Functions of the kernel as events (record -e kprobe:FUNCTION ...) while minivmm does a known number of outb, and the
# kernel's own kprobe events of the same functions meanwhile. Run by host.sh, in its boot.
# shellcheck source-path=SCRIPTDIR
. ./lib.sh

accesses=2000

begin() { # starts the VM: $vmm
	rm -f /tmp/go
	mkfifo /tmp/go
	./bin/minivmm outb=$accesses inb=0 mmio=0 hlt=0 wait linger </tmp/go >/tmp/vmm.out 2>"$out/probes.vmm" &
	vmm=$!
	exec 3>/tmp/go
	wait_until grep -q '^ready' /tmp/vmm.out
}

# Each of them ends with a status and an error message, and without a recording.
wrong() { # NAME EVENT
	LD_LIBRARY_PATH=/rig/lib timeout -s KILL "$life_seconds" /rig/bin/hostrace record --vm $vmm -o "$out/probes.wrong.hrt" -e "$2" </dev/null 3>&- 2>"$out/probes.$1.err"
	echo $? >"$out/probes.$1.status"
}

mkdir -p $tracing/instances/probes
begin
{
	echo 'p:probes/pio kvm:kvm_fast_pio size=%si:s32 port=%dx:u16 in=%cx:s32'
	echo 'r:probes/pio_ret kvm:kvm_fast_pio ret=$retval:s32'
	echo 'p:probes/fpu fpu_swap_kvm_fpstate enter=%si:u8'
} >$tracing/kprobe_events
for event in pio pio_ret fpu; do
	echo "common_pid == $vmm" >"$tracing/instances/probes/events/probes/$event/filter"
	echo 1 >"$tracing/instances/probes/events/probes/$event/enable"
done
LD_LIBRARY_PATH=/rig/lib timeout -s KILL "$life_seconds" /rig/bin/hostrace record --vm $vmm -o "$out/probes.hrt" \
	-e 'kprobe:kvm_fast_pio,kretprobe:kvm_fast_pio,fentry:kvm_fast_pio port=arg2 size,fexit:kvm_fast_pio,kprobe:fpu_swap_kvm_fpstate,fentry:fpu_swap_kvm_fpstate' \
	</dev/null 3>&- 2>"$out/probes.record" &
recorder=$!
wait_until grep -q recording "$out/probes.record"
echo go >&3
# The guest has done its work: wait for the last access.
wait_until has_events probes kprobe:kvm_fast_pio $accesses
wrong unknown kprobe:kvm_fast_poi
wrong argument 'fentry:kvm_fast_pio gpa'
wrong blacklist kprobe:exc_int3
wrong notrace fentry:exc_int3
wrong twice 'fentry:kvm_fast_pio,fentry:kvm_fast_pio'
echo end >&3
exec 3>&-
wait $vmm
echo $? >"$out/probes.vmm.status"
wait $recorder
echo $? >"$out/probes.record.status"
cat $tracing/instances/probes/trace >"$out/probes.trace"
for event in pio pio_ret fpu; do
	echo 0 >"$tracing/instances/probes/events/probes/$event/enable"
done
rmdir $tracing/instances/probes
echo >$tracing/kprobe_events
exit 0
