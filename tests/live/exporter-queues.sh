#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `exporter --queues`: a guest writes 60 sectors to one disk, and then leaves 6 requests with another one, which is
# throttled. A VM of another program runs beside it.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl promtool qemu-system-x86_64
. "$ROOT/tests/live/exporter-lib.inc"

vm=
end() {
	exec 4>&-
	[ -z "$vm" ] || kill -KILL "$vm" 2>/dev/null
	pkill -P $$
	rm -rf "$scratch"
}
trap end EXIT
name=queues$$

# qemu_start OPTION...: with the monitor at descriptor 4; $vm is its pid
qemu_start() {
	rm -f monitor.in pid
	mkfifo monitor.in
	timeout -s KILL 280 qemu-system-x86_64 -name "$name" -accel kvm -machine pc -m 32 -nodefaults -display none -no-reboot \
		-pidfile pid -serial file:console -kernel "$BUILD/demo-guest.elf" -device isa-debug-exit,iobase=0xf4,iosize=1 \
		-monitor stdio "$@" <monitor.in >qemu.out 2>&1 &
	exec 4>monitor.in
	until_line '^[0-9]' pid || bail "QEMU did not start: $(cat qemu.out)"
	vm=$(cat pid)
	until_vcpus 1 "$vm" # the exporter looks for VMs when it starts
	labels="vm=\"$name\" pid=\"$vm\""
}

plan 18
timeout 200 "$HOSTRACE" exporter --queues --max-devices 5000 2>err
is $? 2 "too many devices" err
disks="-drive driver=null-co,if=none,id=d0,size=2097152 -device virtio-blk-pci,drive=d0,id=disk,addr=4
	-drive driver=null-co,if=none,id=s0,size=16777216,throttling.bps-total=64 -device virtio-blk-pci,drive=s0,id=slow,addr=5"
"$BUILD/minivmm" "count=$PWD/count" >mini.out 2>&1 & # a VM of another program, without virtqueues
until_vcpus 1 $!
# shellcheck disable=SC2086
qemu_start -S -append "reads=0 writes=60 leak=6 wait_ms=600000" $disks
exporter_start --listen 127.0.0.1:0 --queues
until_sample 1 hostrace_vm_devices_watched "$labels"
is $? 0 "the VM's devices are watched" page
until_sample 1 hostrace_probe_attached 'probe="virtqueue_pop"' # of all QEMUs of this host: others may just begin or end
is "$(sample hostrace_probe_attached 'probe="virtqueue_pop"') $(sample hostrace_probe_attached 'probe="virtqueue_fill"')" "1 1" \
	"the probes are attached" page
echo cont >&4
until_sample 60 hostrace_device_requests_total "$labels" 'device="disk"'
is $? 0 "60 requests" page
until_sample 6 hostrace_device_requests_in_flight "$labels" 'device="slow"'
is $? 0 "6 requests in flight" page
is "$(sample hostrace_device_requests_in_flight "$labels" 'device="disk"') $(sample hostrace_device_requests_total "$labels" 'device="slow"')" \
	"0 1" "... none of the other disk; one is over" page
is "$(sample hostrace_device_request_latency_seconds_count "$labels" 'device="disk"')" 60 "a histogram of the latency" page
is "$(sample hostrace_device_request_latency_seconds_bucket "$labels" 'device="disk"' 'le="+Inf"')" 60 "... whose last bucket has all" page
is "$(awk -v s="$(sample hostrace_device_request_latency_seconds_sum "$labels" 'device="disk"')" 'BEGIN { print (s > 0) }')" 1 \
	"... and the time" page
kicks=$(sample hostrace_device_kicks_total "$labels" 'device="disk"')
is "$(awk -v n="$kicks" 'BEGIN { print (n >= 1 && n <= 200) }')" 1 "kicks" page
interrupts=$(sample hostrace_device_interrupts_total "$labels" 'device="disk"')
is "$(awk -v n="$interrupts" 'BEGIN { print (n >= 1 && n <= 200) }')" 1 "interrupts" page
is "$(sample hostrace_device_oldest_request_seconds "$labels" 'device="disk"')" 0 "no request has an age there" page
until_more "$(sample hostrace_device_oldest_request_seconds "$labels" 'device="slow"')" \
	hostrace_device_oldest_request_seconds "$labels" 'device="slow"'
is $? 0 "the oldest request grows older" page
promtool check metrics <page >promtool.out 2>&1
is $? 0 "promtool check metrics" promtool.out

# ---- a VM that ends, and one that starts later ----
exec 4>&-
kill -KILL "$vm"
until_sample none hostrace_vm_info "pid=\"$vm\""
is $? 0 "a VM that ended is gone" page
is "$(grep -c "^hostrace_device.*pid=\"$vm\"" page)" 0 "... with its devices" page
# shellcheck disable=SC2086
qemu_start -append "reads=0 writes=1 leak=6 wait_ms=600000" $disks # without a leak it ends before it is noticed
until_sample 1 hostrace_vm_devices_watched "$labels"
is $? 0 "one that started later is watched" page
exporter_end
is $? 0 "^C: status 0" exporter.err
finish
