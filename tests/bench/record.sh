#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording cost: the same VM loop, untraced and under each tracer in turn, several times over (interleaved, so that
# a drifting machine hurts all alike). A line of JSON per run; recordings of the last lapic round stay in WORK.
#   record.sh BUILD WORK ROUNDS CYCLES [MODE...]
set -u -o pipefail
build=$1 work=$2 rounds=$3 cycles=$4
shift 4
modes=${*:-lapic pic user}
bench=$build/tests/bench
tools="none empty hostrace hostrace-zstd ftrace perf bpftrace"
repeat=3
tracer=
trap 'touch "$work/stop"; [ -n "$tracer" ] && kill -INT "$tracer" 2>/dev/null && wait' EXIT # ftrace switches its events off
trap 'exit 1' INT TERM

events_of() {
	case $1 in
	lapic) echo kvm_mmio ;;
	pic) echo kvm_pio ;;
	user) echo kvm_pio kvm_userspace_exit ;;
	esac
}

have() {
	case $1 in
	none | empty | hostrace*) return 0 ;;
	ftrace) [ -w /sys/kernel/tracing/events/kvm ] ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

wait_for() {
	for _ in $(seq 200); do
		grep -qs "$1" "$work/log" && return 0
		sleep 0.05
	done
	echo "bench: no '$1' from the tracer:" >&2
	cat "$work/log" >&2
	return 1
}

# ftrace's rings without a reader, overwriting: the least that trace-cmd can cost. (trace-cmd 3.1 itself records nothing
# on kernels that refuse writing ftrace_enabled and set_ftrace_filter.) The size is what an entry takes in the ring.
ftrace_record() {
	local pid=$1 dir=/sys/kernel/tracing e
	shift
	for e in "$@"; do
		echo "common_pid==$pid" >"$dir/events/kvm/$e/filter"
		echo 1 >"$dir/events/kvm/$e/enable"
	done
	echo 1 >"$dir/tracing_on"
	while [ ! -e "$work/stop" ]; do
		sleep 0.1
	done
	for e in "$@"; do
		echo 0 >"$dir/events/kvm/$e/enable"
		echo 0 >"$dir/events/kvm/$e/filter"
	done
	cat "$dir"/per_cpu/cpu*/stats | awk -v per=$# '/^entries/{n += $2} /^bytes/{b += $2} END{print n ? b / n * per : 0}'
	echo >"$dir/trace"
}

# Starts tool $1 on pid $2 for mode $3 in the background; sets $tracer (pid) and $out (its file). A shell that is not
# interactive lets background jobs ignore SIGINT, which tracers need: hence env.
start() {
	local events e list=() script=""
	events=$(events_of "$3")
	for e in $events; do
		list+=(-e "kvm:$e")
		script+=" tracepoint:kvm:$e /pid == $2/ { @[probe] = count(); }"
	done
	out=$work/$3.$1
	tracer=
	rm -rf "$out"* "$work/stop" "$work/log"
	case $1 in
	none) return 0 ;;
	empty)
		# shellcheck disable=SC2086
		"$bench/empty" "$bench/empty.bpf.o" $events >"$work/log" 2>&1 & ;;
	hostrace*)
		# shellcheck disable=SC2046
		env --default-signal=INT "$build/hostrace" record --vm "$2" -o "$out" --events "${events// /,}" \
			$([ "$1" = hostrace-zstd ] && echo --zstd) >"$work/log" 2>&1 & ;;
	ftrace)
		# shellcheck disable=SC2086
		ftrace_record "$2" $events >"$work/log" 2>/dev/null & ;;
	perf)
		env --default-signal=INT perf record -q -p "$2" "${list[@]}" -o "$out" >"$work/log" 2>&1 & ;;
	bpftrace)
		env --default-signal=INT bpftrace -e "$script" >"$work/log" 2>&1 & ;;
	esac
	tracer=$!
	case $1 in
	empty) wait_for ready ;;
	hostrace*) wait_for recording ;;
	bpftrace) wait_for Attaching && sleep 1 ;;
	*) sleep 1.5 ;;
	esac
}

stop() {
	touch "$work/stop"
	case $1 in
	none) return ;;
	empty) kill "$tracer" ;;
	ftrace) ;;
	*) kill -INT "$tracer" ;;
	esac 2>/dev/null
	wait "$tracer" 2>/dev/null
}

# utime + stime of the tracer so far, in ms.
cpu_ms() {
	[ -n "$tracer" ] || { echo 0; return; }
	awk -v hz="$(getconf CLK_TCK)" '{print ($14 + $15 + $16 + $17) * 1000 / hz}' "/proc/$tracer/stat"
}

lost_of() {
	case $1 in
	hostrace*) "$build/hostrace" info -f json -i "$out" | jq '[.result.lost | .. | numbers] | add // 0' ;;
	perf) perf report -i "$out" --stats 2>/dev/null | awk '/LOST/{n += $NF} END{print n + 0}' ;;
	ftrace) echo 0 ;;
	*) echo 0 ;;
	esac
}

one_run() {
	local mode=$1 tool=$2 before after bytes=0 lost=0 ns loop_in loop_pid
	rm -f "$work/go"
	mkfifo "$work/go"
	taskset -c 1 "$bench/vmloop" "$mode" "$cycles" $repeat <"$work/go" >"$work/loop" &
	loop_pid=$!
	exec {loop_in}>"$work/go"
	start "$tool" "$loop_pid" "$mode"
	before=$(cpu_ms)
	echo >&"$loop_in"
	exec {loop_in}>&-
	wait "$loop_pid"
	after=$(cpu_ms)
	stop "$tool"
	ns=$(sort -n "$work/loop" | head -1)
	[ -e "$out" ] && bytes=$(stat -c %s "$out")
	[ "$tool" = ftrace ] && bytes=$(awk -v n=$((cycles * repeat)) '{print $1 * n}' "$work/log")
	[ -n "$tracer" ] && lost=$(lost_of "$tool")
	jq -nc --arg mode "$mode" --arg tool "$tool" --argjson ns "$ns" --argjson cpu "$(awk "BEGIN{print $after - $before}")" \
		--argjson bytes "$bytes" --argjson lost "${lost:-0}" --argjson n $((cycles * repeat)) \
		'{kind: "record", mode: $mode, tool: $tool, ns: $ns, cpu_ns: ($cpu * 1e6 / $n), bytes: ($bytes / $n), lost: $lost}'
}

for mode in $modes; do
	for _ in $(seq "$rounds"); do
		for tool in $tools; do
			have "$tool" && one_run "$mode" "$tool"
		done
	done
done
