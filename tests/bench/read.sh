#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reports over synthetic recordings of increasing length and number of vCPUs, on one CPU and on all, compared with
# `cat`, which reads the file once from the page cache: the lower bound. Synthetic recordings of trace-cmd, read directly
# by both tools. Then peers on their own forms of recordings of the lapic loop (from record.sh), and of recordings that
# are given: TRACE_DAT=FILE (trace-cmd's), PERF_DATA=FILE (perf's, of kvm:kvm_exit and kvm:kvm_entry). A line of JSON
# per run.
#   read.sh BUILD WORK ROUNDS "CYCLES..." "VCPUS..."
set -u -o pipefail
build=$1 work=$2 rounds=$3 lengths=$4 widths=$5
bench=$build/tests/bench hostrace=$build/hostrace
WIDTH_CYCLES_MAX=10000000 # of the recordings of many widths
ZSTD_CYCLES_MAX=10000000
TRACE_EVENTS=${TRACE_EVENTS:-3000000}
LIST_CYCLES_MAX=${LIST_CYCLES_MAX:-1000000} # a listed event costs what a hundred folded ones do

# NAME CYCLES VCPUS COMMAND...
one_run() {
	local what=$1 cycles=$2 vcpus=$3 figures
	shift 3
	figures=$("$bench/measure" /dev/null "$@" 2>"$work/log") ||
		{ echo "bench: $*: failed" >&2; cat "$work/log" >&2; return; }
	jq -c --arg tool "$what" --argjson n "$cycles" --argjson v "$vcpus" \
		'. + {kind: "read", tool: $tool, cycles: $n, vcpus: $v, ns: (.wall_ms * 1e6 / $n)}' <<<"$figures"
}

# FILE CYCLES VCPUS SUFFIX
reports() {
	one_run "cat$4" "$2" "$3" cat "$1"
	one_run "exits -j1$4" "$2" "$3" "$hostrace" exits -j 1 -i "$1"
	[ "$(nproc)" -gt 1 ] && one_run "exits$4" "$2" "$3" "$hostrace" exits -i "$1"
	one_run "heatmap$4" "$2" "$3" "$hostrace" heatmap exit-latency -f json -i "$1"
	one_run "histogram$4" "$2" "$3" "$hostrace" histogram exit-latency -f json -i "$1"
	[ "$2" -le $LIST_CYCLES_MAX ] && one_run "list$4" "$2" "$3" "$hostrace" list -i "$1"
}

# CYCLES VCPUS SUFFIX OPTION-OF-GEN
synthetic() {
	local file=$work/synthetic.hrt
	"$bench/gen" ${4:+"$4"} "$file" "$1" "$2" || return
	cat "$file" >/dev/null
	for _ in $(seq "$rounds"); do
		reports "$file" "$1" "$2" "$3"
	done
	jq -nc --arg tool "${4:+zstd}" --argjson n "$1" --argjson v "$2" --argjson b "$(stat -c %s "$file")" \
		'{kind: "size", tool: (if $tool == "" then "raw" else $tool end), cycles: $n, vcpus: $v, bytes: ($b / $n)}'
	rm -f "$file"
}

# Number of events of a file, which must not be 0.
events_of() {
	"$hostrace" info -f json -i "$1" | jq '.inputs[0].events'
}

# Peers: text output, one event per line, each from its own recording of the lapic loop; $1 events.
peers() {
	for _ in $(seq "$rounds"); do
		[ -s "$work/lapic.hostrace" ] &&
			one_run "list of a recording" "$1" 1 "$hostrace" list -i "$work/lapic.hostrace"
		[ -s "$work/lapic.hostrace" ] &&
			one_run "mmio of a recording" "$1" 1 "$hostrace" mmio -i "$work/lapic.hostrace"
		[ -s "$work/lapic.perf" ] && one_run "perf script" "$1" 1 perf script -i "$work/lapic.perf"
	done
}

# A recording by trace-cmd, read directly and imported. Figures are per event.
given_trace_dat() {
	local n
	"$hostrace" import -q "$1" -o "$work/given.hrt" || return
	n=$(events_of "$work/given.hrt")
	for _ in $(seq "$rounds"); do
		command -v trace-cmd >/dev/null && one_run "trace-cmd report, an event" "$n" 1 trace-cmd report -i "$1"
		one_run "list, an event" "$n" 1 "$hostrace" list -i "$work/given.hrt"
		one_run "exits of trace.dat, an event" "$n" 1 "$hostrace" exits -i "$1"
		one_run "exits, imported, an event" "$n" 1 "$hostrace" exits -j 1 -i "$work/given.hrt"
	done
	rm -f "$work/given.hrt"
}

# PEER-NS OUR-NS GOAL WHAT: how many times faster, of runs that followed each other.
ratio() {
	[ -n "$1" ] && [ -n "$2" ] && jq -nc --argjson peer "$1" --argjson ours "$2" --argjson goal "$3" --arg what "$4" \
		'{kind: "ratio", what: $what, unit: "x", goal: $goal, value: ($peer / $ours)}'
}

ns_of() {
	jq -r .ns <<<"$1"
}

# Synthetic recordings of trace-cmd, of the same events plain and packed, read directly. Figures are per event.
# EVENTS PACKER
synthetic_trace_dat() {
	local file=$work/synthetic.dat theirs ours
	awk -v events="$1" -f "$(dirname "$0")/tracedat.awk" | "$build/tests/gen/tracedat" -z "$2" /dev/stdin "$file" || return
	for _ in $(seq "$rounds"); do
		theirs=$(one_run "trace-cmd report, $2, an event" "$1" 4 trace-cmd report -i "$file")
		ours=$(one_run "exits of trace.dat, $2, an event" "$1" 4 "$hostrace" exits -i "$file")
		echo "$theirs"
		echo "$ours"
		one_run "exits -j1 of trace.dat, $2, an event" "$1" 4 taskset -c 0 "$hostrace" exits -j 1 -i "$file"
		one_run "list of trace.dat, $2, an event" "$1" 4 "$hostrace" list -i "$file"
		ratio "$(ns_of "$theirs")" "$(ns_of "$ours")" 50 "trace-cmd report against exits of the same trace.dat ($2)"
	done
	rm -f "$file"
}

# The same events as perf records them, a file and its two readers in perf.
synthetic_perf_data() { # EVENTS
	local file=$work/synthetic.data script stat ours
	awk -v events="$1" -v rounds=1 -f "$(dirname "$0")/tracedat.awk" | "$build/tests/gen/perfdata" /dev/stdin "$file" || return
	for _ in $(seq "$rounds"); do
		script=$(one_run "perf script, an event" "$1" 4 perf script -i "$file")
		stat=$(one_run "perf kvm stat report, an event" "$1" 4 perf kvm --host -i "$file" stat report)
		ours=$(one_run "exits of perf.data, an event" "$1" 4 "$hostrace" exits -i "$file")
		printf '%s\n' "$script" "$stat" "$ours"
		one_run "exits -j1 of perf.data, an event" "$1" 4 taskset -c 0 "$hostrace" exits -j 1 -i "$file"
		one_run "cat of perf.data, an event" "$1" 4 cat "$file"
		ratio "$(ns_of "$script")" "$(ns_of "$ours")" 100 "perf script against exits of the same perf.data"
		ratio "$(ns_of "$stat")" "$(ns_of "$ours")" 50 "perf kvm stat report against exits of the same perf.data"
	done
	rm -f "$file"
}

given_perf_data() {
	local n
	n=$(perf script -i "$1" 2>/dev/null | wc -l)
	for _ in $(seq "$rounds"); do
		one_run "perf kvm stat report, an event" "$n" 1 perf kvm --host -i "$1" stat report
	done
}

[ -s "$work/lapic.cycles" ] && peers "$(cat "$work/lapic.cycles")"
if command -v trace-cmd >/dev/null; then
	synthetic_trace_dat "$TRACE_EVENTS" none
	synthetic_trace_dat "$TRACE_EVENTS" zstd
fi
command -v perf >/dev/null && synthetic_perf_data "$TRACE_EVENTS"
[ -n "${TRACE_DAT:-}" ] && given_trace_dat "$TRACE_DAT"
[ -n "${PERF_DATA:-}" ] && given_perf_data "$PERF_DATA"
width_cycles=1000000
for cycles in $lengths; do
	synthetic "$cycles" 8 ""
	[ "$cycles" -le $ZSTD_CYCLES_MAX ] && synthetic "$cycles" 8 " (zstd)" --zstd
	[ "$cycles" -le $WIDTH_CYCLES_MAX ] && [ "$cycles" -gt $width_cycles ] && width_cycles=$cycles
done
for vcpus in $widths; do
	synthetic "$width_cycles" "$vcpus" ""
done
exit 0
