#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recording cost: the same VM loop, untraced and under each tracer in turn, several times over (interleaved, so that
# a drifting machine hurts all alike). Prints lines "mode tool ns_per_cycle cpu_ms bytes lost" for report.awk.
#   record.sh BUILD ROUNDS CYCLES [MODE...]
set -u -o pipefail
build=$1 rounds=$2 cycles=$3
shift 3
modes=${*:-lapic pic user}
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
tools="none empty hostrace hostrace-zstd trace-cmd perf bpftrace"

events_of() {
	case $1 in
	lapic) echo kvm_mmio ;;
	pic) echo kvm_pio ;;
	user) echo kvm_pio kvm_userspace_exit ;;
	esac
}

have() {
	case $1 in
	none | empty | hostrace | hostrace-zstd) return 0 ;;
	*) command -v "$1" >/dev/null ;;
	esac
}

# Starts tool $1 on pid $2 for mode $3 in the background; sets $tracer (pid) and $out (its file).
start() {
	local events e list=""
	events=$(events_of "$3")
	out=$work/out
	rm -rf "$out"*
	case $1 in
	none) tracer= ;;
	empty)
		# shellcheck disable=SC2086
		"$build/bench/empty" "$build/bench/empty.bpf.o" $events >"$work/log" 2>&1 &
		tracer=$!
		wait_for ready ;;
	hostrace | hostrace-zstd)
		"$build/hostrace" record --vm "$2" -o "$out" --events "${events// /,}" \
			$([ "$1" = hostrace-zstd ] && echo --zstd) >"$work/log" 2>&1 &
		tracer=$!
		wait_for recording ;;
	trace-cmd)
		for e in $events; do list="$list -e kvm:$e"; done
		# shellcheck disable=SC2086
		trace-cmd record -q -P "$2" $list -o "$out" >"$work/log" 2>&1 &
		tracer=$!
		sleep 1 ;;
	perf)
		for e in $events; do list="$list -e kvm:$e"; done
		# shellcheck disable=SC2086
		perf record -q -p "$2" $list -o "$out" >"$work/log" 2>&1 &
		tracer=$!
		sleep 1 ;;
	bpftrace)
		for e in $events; do list="$list tracepoint:kvm:$e { @n = count(); }"; done
		bpftrace -e "$list" >"$out" 2>"$work/log" &
		tracer=$!
		sleep 3 ;;
	esac
}

wait_for() {
	for _ in $(seq 100); do
		grep -q "$1" "$work/log" && return
		sleep 0.05
	done
	echo "bench: no '$1' from the tracer:" >&2
	cat "$work/log" >&2
}

# utime + stime of a process and its children so far, in ms.
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{print ($14 + $15 + $16 + $17) * 1000 / hz}' "/proc/$1/stat" 2>/dev/null || echo 0
}

one_run() {
	local mode=$1 tool=$2 before=0 after=0 bytes=0 lost=0 ns
	coproc LOOP { exec taskset -c 1 "$build/bench/vmloop" "$mode" "$cycles" 3; }
	start "$tool" "$LOOP_PID" "$mode"
	[ -n "$tracer" ] && before=$(cpu_ms "$tracer")
	exec {loop_in}>&"${LOOP[1]}" {loop_out}<&"${LOOP[0]}"
	echo >&"$loop_in"
	ns=$(sort -n <&"$loop_out" | head -1)
	exec {loop_in}>&- {loop_out}<&-
	if [ -n "$tracer" ]; then
		after=$(cpu_ms "$tracer")
		kill -INT "$tracer" 2>/dev/null
		[ "$tool" = empty ] && kill "$tracer" 2>/dev/null
		wait "$tracer" 2>/dev/null
		bytes=$(stat -c %s "$out" 2>/dev/null || echo 0)
		lost=$(lost_of "$tool")
	fi
	echo "$mode $tool $ns $(awk "BEGIN{print $after - $before}") $bytes $lost"
}

lost_of() {
	case $1 in
	hostrace*) "$build/hostrace" info -f json "$out" | grep -o '"lost": *[0-9][0-9]*' | grep -o '[0-9]*' | head -1 ;;
	perf) perf report -i "$out" --stats 2>/dev/null | awk '/LOST_SAMPLES|LOST /{n += $NF} END{print n + 0}' ;;
	trace-cmd) trace-cmd report --stat "$out" 2>/dev/null | awk '/overrun|dropped/{n += $NF} END{print n + 0}' ;;
	*) echo 0 ;;
	esac
}

for mode in $modes; do
	for _ in $(seq "$rounds"); do
		for tool in $tools; do
			have "$tool" && one_run "$mode" "$tool"
		done
	done
done
