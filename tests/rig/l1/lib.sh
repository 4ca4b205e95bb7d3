# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# For the scripts that run in L1: starting an L2, waiting for conditions, and the kernel's own trace and counters.
# All results go to $out; L1's console gets one line per step.

out=/rig/out
tracing=/sys/kernel/tracing
STATUS_L2_FAILED=75
STATUS_PEER_LOST=76
why=/tmp/why # an L2 failed

# Limits in seconds, for a machine ten times slower than one of two CPUs without load: of each wait, of a wait after
# another one has timed out, as what is waited for depends on it, and of a QEMU and the recorder with it.
wait_seconds=300
later_wait_seconds=30
# shellcheck disable=SC2034
life_seconds=500
# A part ends before its boot does (run_seconds in rig.sh), so that its results leave L1.
# shellcheck disable=SC2034
part_seconds=1200

# The build under test, with the libraries it was linked to.
hostrace() {
	LD_LIBRARY_PATH=/rig/lib /rig/bin/hostrace "$@"
}

log() {
	echo "L1 $(cut -d ' ' -f 1 /proc/uptime) $*"
}

# Waits until a command succeeds. Nothing in the rig waits without bound.
wait_until() { # COMMAND...
	local end=$((SECONDS + ${timed_out:-$wait_seconds}))
	while ! "$@" 2>/dev/null; do
		((SECONDS < end)) || {
			log "timed out waiting for: $*"
			timed_out=$later_wait_seconds
			return 1
		}
		sleep 0.1
	done
}

# Has a recording that still runs so many of an event?
has_events() { # NAME EVENT COUNT [OPTION...]
	local name=$1 event=$2 count=$3
	shift 3
	[ "$(hostrace list -f csv --event "$event" --limit 0 -i "$out/$name.hrt" "$@" | wc -l)" -gt "$count" ]
}

# Does `stuck --check` have this status (3: something is stuck) and this text in its answer, which remains in NAME.stuck?
stuck_has() { # NAME STATUS REGEXP [OPTION...]
	local name=$1 wanted=$2 regexp=$3 status
	shift 3
	hostrace stuck --vm "$name" --interval 200ms --min-age 200ms --check -f json "$@" \
		</dev/null >"$out/$name.stuck" 2>"$out/$name.stuck.err"
	status=$?
	[ $status = "$wanted" ] && grep -q "$regexp" "$out/$name.stuck"
}

console_has() { # NAME TEXT
	grep -q "l2: $2" "$out/$1.console"
}

# To be waited for. QEMU makes its pidfile before the console, and removes it at its end.
said_or_died() { # NAME TEXT
	console_has "$1" "$2" || { [ -e "$out/$1.console" ] && [ ! -e "/tmp/$1.pid" ]; }
}

# Ends the part with STATUS_L2_FAILED, and the reason in $why, if the guest did not reach this point.
l2_reached() { # NAME TEXT
	console_has "$1" "$2" && return
	if [ -e "/tmp/$1.pid" ]; then
		echo "$1 has not printed '$2' in $wait_seconds s"
	elif grep -qs 'terminating on signal' "$out/$1.qemu" "$out/$1.record"; then
		echo "$1 was ended by a signal before it printed '$2'"
	else
		echo "$1 died before it printed '$2'"
	fi | tee "$why"
	exit $STATUS_L2_FAILED
}

# A line for the monitor of the guest NAME. A FIFO whose QEMU has died would wait for a reader for ever.
monitor_write() { # NAME FIFO LINE
	timeout "$wait_seconds" bash -c 'echo "$1" >"$0"' "$2" "$3" && return
	echo "$1 did not open its monitor in $wait_seconds s, or has died" | tee "$why"
	exit $STATUS_L2_FAILED
}

# The directories in /proc of the processes of a session.
session_processes() { # SID
	local process fields
	for process in /proc/[0-9]*; do
		read -r -a fields <<<"$(sed 's/.*) //' "$process/stat" 2>/dev/null)"
		[ "${fields[3]:-}" != "$1" ] || echo "$process"
	done
}

# What each process and thread of a session does, for a part that does not end.
processes_print() { # SID
	local process thread
	for process in $(session_processes "$1"); do
		echo "${process#/proc/}: $(tr '\0' ' ' <"$process/cmdline" | cut -c 1-120)"
		for thread in "$process"/task/*; do
			echo "  ${thread##*/} $(cat "$thread/comm"): $(sed -n 's/^State:.//p' "$thread/status"), system call $(cat "$thread/syscall")"
			sed 's/^/    /' "$thread/stack"
		done
	done 2>/dev/null
}

# Removes everything that a part has left behind, so that it can be repeated: also a QEMU whose recorder timed out.
part_forget() { # PART
	local file
	for file in /tmp/*.pid; do
		[ -s "$file" ] && kill -KILL "$(cat "$file")" 2>/dev/null && wait_until is_gone "$(cat "$file")"
	done
	rm -f /tmp/*.pid /tmp/*.img /tmp/monitor.*
	case $1 in
	healthy) rm -f "$out"/healthy.* ;;
	traced) rm -f "$out"/traced.* ;;
	pair) rm -f "$out"/pair.* "$out"/leaky.* "$out"/busy.* "$out"/both.* ;;
	host) rm -f "$out"/host.* "$out"/clock.* /tmp/go /tmp/vmm.out /tmp/clock* ;;
	stat) rm -f "$out"/counted.* /tmp/stat-monitor.* ;;
	steal) rm -f "$out"/steal.* ;;
	vmx) rm -rf "$out"/{mini,demo,ringed,scaled,moved}* /tmp/go /tmp/vmm.out ;;
	tasks) rm -f "$out"/tasks.* "$out"/taskdisk.* "$out"/taskline.* "$out"/taskpair.* ;;
	sample) rm -f "$out"/sampled.* "$out"/exits-only.* ;;
	blame) rm -f "$out"/idle.* "$out"/late.* "$out"/hogged.* /tmp/blamehog ;;
	marks) rm -rf "$out"/marks "$out"/marks.* ;;
	agent) rm -f "$out"/agent.* "$out"/ringed.* "$out"/ringless.* /tmp/agent.sock /tmp/ring.qmp ;;
	nested) rm -f "$out"/nested.* "$out"/nested-late.* ;;
	cell) rm -rf "$out"/{cell,installed,newer}* ;;
	stap) rm -rf "$out"/stap "$out"/stapped.* ;;
	esac
}

is_gone() { # PID
	! kill -0 "$1"
}

# shellcheck disable=SC2034
# Sets qemu_command[] for the L2 called NAME with so many vCPUs and workload WORK; further arguments go to QEMU.
# At most as many vCPUs in total as L1 has CPUs: when vCPU threads preempt each other, QEMU's emulation of SVM (7.2)
# sometimes mixes up the two sides of a VMRUN, and the guest dies of a triple fault with L1's instruction pointer.
# noxsave: that emulation has no exit for XSETBV, so that KVM's CPUID contradicts the guest's XCR0. Older kernels find that
# out and do without XSAVE, 7.3 dereferences NULL.
l2_command() { # NAME VCPUS WORK [ARGUMENT...]
	local name=$1 vcpus=$2 work=$3
	shift 3
	qemu_command=(qemu-system-x86_64 -name "$name" -accel kvm -cpu host -smp "$vcpus" -m 256 -nodefaults
		-vga none -nographic -no-reboot -kernel /boot/vmlinuz -initrd /boot/l2.cpio
		-append "console=ttyS0 quiet panic=-1 ipv6.disable=1 noxsave work=$work"
		-serial "file:$out/$name.console" -pidfile "/tmp/$name.pid" "$@")
}

# To be waited for. QEMU makes its pidfile before it asks KVM for a VM.
is_vm_or_died() { # NAME
	ls -l "/proc/$(cat "$out/$1.pid")/fd" | grep -q 'anon_inode:kvm-vm' || [ ! -e "/tmp/$1.pid" ]
}

# Starts qemu_command[]; sets $job, and keeps the pid in NAME.pid (QEMU removes its own at its end).
l2_start() { # NAME
	timeout -k 5 "$life_seconds" "${qemu_command[@]}" </dev/null >"$out/$1.qemu" 2>&1 &
	# shellcheck disable=SC2034
	job=$!
	wait_until test -s "/tmp/$1.pid"
	cp "/tmp/$1.pid" "$out/$1.pid"
	wait_until is_vm_or_died "$1"
}

# The reference: tracefs writes the same events into its own buffers while hostrace records, perf only counts them.
# tracefs's times are CLOCK_MONOTONIC, as hostrace's are.
oracle_events="kvm_exit kvm_entry kvm_userspace_exit kvm_pio kvm_mmio kvm_msr kvm_write_tsc_offset"
oracle_kb=16384 # per CPU

oracle_start() {
	local event
	echo mono >"$tracing/trace_clock"
	echo 0 >"$tracing/options/overwrite" # a full buffer must be visible as a loss
	echo "$oracle_kb" >"$tracing/buffer_size_kb"
	: >"$tracing/trace" # empties it
	for event in $oracle_events; do
		echo 1 >"$tracing/events/kvm/$event/enable"
	done
}

# perf stat around a command: EVENT counts in FILE as CSV.
oracle_count() { # FILE COMMAND...
	local file=$1 events
	shift
	# shellcheck disable=SC2086
	events=$(printf ',kvm:%s' $oracle_events)
	perf stat -a -x , -o "$file" -e "${events#,}" "$@"
}

oracle_stop() { # FILE
	echo 0 >"$tracing/events/kvm/enable"
	cat "$tracing/trace" >"$1"
	cat "$tracing"/per_cpu/cpu*/stats >"$1.stats"
	cat "$tracing/events/kvm/kvm_exit/format" >"$1.kvm_exit"
}

# How many events tracefs lost.
oracle_lost() { # FILE
	awk '/overrun:|dropped/ {n += $NF} END {print n + 0}' "$1.stats"
}

# "VCPU OFFSET" of each vCPU of process PID, as KVM itself shows it in debugfs.
tsc_offsets_read() { # PID
	local dir
	for dir in /sys/kernel/debug/kvm/"$1"-*/vcpu*; do
		echo "${dir##*/vcpu} $(cat "$dir/tsc-offset")"
	done
}
