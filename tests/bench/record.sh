#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording cost: the same VM loop, untraced and under each tracer in turn, in several rounds (interleaved, so that
# changes of the machine's speed affect all tracers). A line of JSON per run; recordings of the last round stay in WORK.
# MODE nested is for the rig, whose backend has kvm_exit and kvm_entry (rig.sh); vmx is the same on an Intel CPU.
#   record.sh BUILD WORK ROUNDS CYCLES [MODE...]
# shellcheck source-path=SCRIPTDIR
set -u -o pipefail
build=$1 work=$2 rounds=$3 most_cycles=$4
shift 4
modes=${*:-lapic pic user tasks}
export VMLOOP_KERNEL=$build/taskguest.elf.bin
tools=${TOOLS:-none empty clock hostrace hostrace-zstd stat ftrace perf perf-kvm-stat bpftrace trace-cmd
	hostrace-exit-reasons hostrace-tasks hostrace-ring hostrace-armed hostrace-blame hostrace-requests hostrace-sched hostrace-interrupts perf-sched
	offcputime-bpfcc}
repeat=3
. "$(dirname "$0")/lib.sh"
bpftool=$(type -P bpftool || echo /usr/sbin/bpftool)
was=""
leave() {
	[ -z "$was" ] || echo "$was" >/proc/sys/kernel/bpf_stats_enabled
	tracer_end
}
trap leave EXIT
trap 'exit 1' INT TERM

# Complete KVM_RUN calls take ten times as long.
cycles_of() {
	case $1 in
	user | tasks) echo $((most_cycles / 5)) ;;
	*) echo "$most_cycles" ;;
	esac
}

events_of() {
	case $1 in
	lapic) echo kvm_mmio ;;
	pic | tasks) echo kvm_pio ;;
	user) echo kvm_userspace_exit kvm_run ;;
	nested | vmx) echo kvm_exit kvm_entry ;;
	esac
}

loop_of() {
	case $1 in
	nested | vmx) echo pic ;;
	*) echo "$1" ;;
	esac
}

# Until it has its vCPU. On one CPU a recorder may be faster.
loop_wait() { # PID
	local end=$((SECONDS + 30))
	until ls -l "/proc/$1/fd" 2>/dev/null | grep -q kvm-vcpu; do
		((SECONDS < end)) || return
		sleep 0.02
	done
}

one_run() { # MODE TOOL
	local mode=$1 tool=$2 before after ns loop_in loop_pid cycles per events
	cycles=$(cycles_of "$mode")
	per=$((cycles * repeat))
	read -ra events <<<"$(events_of "$mode")"
	rm -f "$work/go"
	mkfifo "$work/go"
	taskset -c $(($(nproc) - 1)) "$bench/vmloop" "$(loop_of "$mode")" "$cycles" $repeat <"$work/go" >"$work/loop" &
	loop_pid=$!
	exec {loop_in}>"$work/go"
	loop_wait "$loop_pid"
	if ! tracer_start "$tool" "$loop_pid" "$work/$mode.$tool" "${events[@]}"; then
		exec {loop_in}>&-
		wait "$loop_pid"
		tracer_stop "$tool"
		absent "$mode" "$tool" "it did not start: $(grep -v '^$' "$work/log" | tail -n 1 | cut -c 1-100)"
		return
	fi
	before=$(cpu_ns "$tracer")
	echo >&"$loop_in"
	exec {loop_in}>&-
	wait "$loop_pid"
	after=$(cpu_ns "$tracer")
	[ "$tool" = none ] || [ "$after" -gt 0 ] || after=$before # it has ended with the VM: its last round is not seen
	tracer_stop "$tool"
	ns=$(sort -n "$work/loop" | head -1)
	[ "$mode" = lapic ] && echo "$per" >"$work/lapic.cycles"
	row record mode="$mode" tool="$tool" ns="$ns" cpu_ns="$(awk "BEGIN {printf \"%.2f\n\", ($after - $before) / $per}")" \
		bytes="$(tracer_bytes "$tool" $per)" lost="$(tracer_lost "$tool")"
}

# Run time of the BPF programs, as the kernel measures it (it reads the clock before and after each run): varies less
# than the loop's time. The sum over all programs of the tool, per run of the rarest: an event's program runs once per
# cycle, kvm_fpu's twice. Other recordings may run: the first new programs of these names are used.
program_run() { # MODE TOOL
	local mode=$1 tool=$2 loop_pid loop_in events ns="" newest names="stat_"
	read -ra events <<<"$(events_of "$mode")"
	case $tool in
	hostrace | hostrace-tasks) names=$(printf 'tp_%s ' "${events[@]}") ;;
	empty | clock) names=${tool}_ ;;
	esac
	newest=$("$bpftool" prog show -j 2>/dev/null | jq '[.[].id] | max // 0')
	rm -f "$work/go"
	mkfifo "$work/go"
	"$bench/vmloop" "$(loop_of "$mode")" 1000 1000000 <"$work/go" >/dev/null &
	loop_pid=$!
	exec {loop_in}>"$work/go"
	loop_wait "$loop_pid"
	if tracer_start "$tool" "$loop_pid" "$work/program.$tool" "${events[@]}"; then
		echo >&"$loop_in"
		sleep 1
		ns=$("$bpftool" prog show -j 2>/dev/null | jq --argjson newest "$newest" --arg names "$names" \
			'[.[] | select(.id > $newest and .run_cnt > 1000) | select((.name // "") as $name | $names | split(" ") | any(. != "" and (. as $n | $name | startswith($n))))]
			| group_by(.name) | map(min_by(.id)) | if length > 0 then (map(.run_time_ns) | add) / (map(.run_cnt) | min) else empty end')
	fi
	kill "$loop_pid"
	exec {loop_in}>&-
	wait "$loop_pid" 2>/dev/null
	tracer_stop "$tool"
	[ -z "$ns" ] || row program mode="$mode" tool="$tool" ns="$ns"
}

for mode in $modes; do
	can=""
	for tool in $tools; do
		case $mode.$tool in # where threads wait is only of interest where they call KVM_RUN, tasks where the guest has some
		tasks.none | tasks.hostrace | tasks.hostrace-tasks) ;;
		tasks.* | *.hostrace-tasks) continue ;;
		vmx.hostrace-exit-reasons) ;;
		*.hostrace-exit-reasons) continue ;; # the same as hostrace
		user.*) ;;
		nested.hostrace-ring | nested.hostrace-armed) ;; # as are triggers on what a loop records
		*.hostrace-ring | *.hostrace-armed) continue ;;
		*.hostrace-blame | *.hostrace-requests | *.hostrace-sched | *.perf-sched | *.offcputime-bpfcc) continue ;;
		esac
		why=$(reason_against "$tool")
		[ "$tool" = stat ] && [[ $mode = lapic || $mode = pic ]] && ! grep -qsE 'vmx|svm' /proc/cpuinfo &&
			why="no kvm_exit on this backend: stat has nothing to count in this loop"
		if [ -n "$why" ]; then
			absent "$mode" "$tool" "$why"
		else
			can+=" $tool"
		fi
	done
	was=$(cat /proc/sys/kernel/bpf_stats_enabled 2>/dev/null)
	if [ -n "$was" ] && type -P jq >/dev/null && [ -x "$bpftool" ]; then
		echo 1 >/proc/sys/kernel/bpf_stats_enabled
		for _ in $(seq "$rounds"); do
			for tool in $can; do
				case $tool in
				empty | clock | hostrace | hostrace-tasks | stat) program_run "$mode" "$tool" ;;
				esac
			done
		done
		echo "$was" >/proc/sys/kernel/bpf_stats_enabled
	fi
	for _ in $(seq "$rounds"); do
		for tool in $can; do
			one_run "$mode" "$tool"
		done
	done
done
