# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the scripts that run in L1: how an L2 is started, how one waits, how the kernel counts for itself.
# All results go to $out; L1's console gets one line per step.

out=/rig/out
tracing=/sys/kernel/tracing

# The build under test, with the libraries it was linked to.
hostrace() {
	LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace "$@"
}

say() {
	echo "L1 $(cut -d ' ' -f 1 /proc/uptime) $*"
}

# Waits until a command succeeds, at most SECONDS. Nothing in the rig waits without bound.
wait_until() { # SECONDS COMMAND...
	local tries=$(($1 * 10))
	shift
	while ! "$@" 2>/dev/null; do
		((tries-- > 0)) || {
			say "gave up waiting for: $*"
			return 1
		}
		sleep 0.1
	done
}

console_says() { # NAME TEXT
	grep -q "l2: $2" "$out/$1.console"
}

is_gone() { # PID
	! kill -0 "$1"
}

# Sets qemu_command[] for the L2 called NAME with workload WORK; further arguments go to QEMU.
l2_command() { # NAME WORK [ARGUMENT...]
	local name=$1 work=$2
	shift 2
	qemu_command=(qemu-system-x86_64 -name "$name" -accel kvm -cpu host -smp 2 -m 256 -nodefaults
		-vga none -nographic -no-reboot -kernel /boot/vmlinuz -initrd /boot/l2.cpio
		-append "console=ttyS0 quiet panic=-1 ipv6.disable=1 work=$work"
		-serial "file:$out/$name.console" -pidfile "$out/$name.pid" "$@")
}

# tracefs counts for itself while hostrace records: the oracle. Its times are CLOCK_MONOTONIC, as hostrace's are.
oracle_start() {
	local event events=()
	for event in kvm_exit kvm_entry kvm_userspace_exit kvm_pio kvm_mmio kvm_msr kvm_write_tsc_offset; do
		events+=(-e "kvm:$event")
	done
	trace-cmd start -C mono -b 16384 "${events[@]}" >"$out/oracle.log" 2>&1
	echo 0 >"$tracing/options/overwrite"
}

oracle_stop() { # FILE
	trace-cmd stop
	cat "$tracing"/per_cpu/cpu*/stats >"$1.stats"
	trace-cmd extract -o "$1" >>"$out/oracle.log" 2>&1
	trace-cmd reset >>"$out/oracle.log" 2>&1
}

# "VCPU OFFSET" of each vCPU of process PID, as KVM itself shows it in debugfs.
tsc_offsets_read() { # PID
	local file
	for file in /sys/kernel/debug/kvm/"$1"-*/vcpu*/tsc-offset; do
		echo "$(sed 's/.*vcpu\([0-9]*\).*/\1/' <<<"$file") $(cat "$file")"
	done
}
