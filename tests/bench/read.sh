#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reading: the reports over synthetic recordings of growing length and width, and hostrace's list beside the peers'
# text output of their own recordings of the same VM loop (from record.sh). `cat` is the limit: the file once from the
# page cache. A line of JSON per run.
#   read.sh BUILD WORK ROUNDS "CYCLES..." "VCPUS..."
set -u -o pipefail
build=$1 work=$2 rounds=$3 lengths=$4 widths=$5
bench=$build/tests/bench hostrace=$build/hostrace

# what, cycles, vcpus, command...
one_run() {
	local what=$1 cycles=$2 vcpus=$3 figures
	shift 3
	figures=$("$bench/measure" /dev/null "$@" 2>"$work/log") ||
		{ echo "bench: $*: failed" >&2; cat "$work/log" >&2; return; }
	jq -c --arg tool "$what" --argjson n "$cycles" --argjson v "$vcpus" \
		'. + {kind: "read", tool: $tool, cycles: $n, vcpus: $v, ns: (.wall_ms * 1e6 / $n)}' <<<"$figures"
}

# file, cycles, vcpus, suffix
reports() {
	one_run "cat$4" "$2" "$3" cat "$1"
	one_run "exits$4" "$2" "$3" "$hostrace" exits -i "$1"
	one_run "heatmap$4" "$2" "$3" "$hostrace" heatmap exit-latency -f json -i "$1"
	[ "$2" -le 1000000 ] && one_run "list$4" "$2" "$3" "$hostrace" list -i "$1"
}

synthetic() {
	local file=$work/synthetic.hrt cycles=$1 vcpus=$2
	"$bench/gen" "$file" "$cycles" "$vcpus" || return
	cat "$file" >/dev/null
	for _ in $(seq "$rounds"); do
		reports "$file" "$cycles" "$vcpus" ""
	done
	jq -nc --argjson n "$cycles" --argjson v "$vcpus" --argjson b "$(stat -c %s "$file")" \
		'{kind: "size", tool: "raw", cycles: $n, vcpus: $v, bytes: ($b / $n)}'
	if [ "$cycles" -le 10000000 ]; then
		"$bench/gen" --zstd "$file" "$cycles" "$vcpus" || return
		cat "$file" >/dev/null
		for _ in $(seq "$rounds"); do
			reports "$file" "$cycles" "$vcpus" " (zstd)"
		done
		jq -nc --argjson n "$cycles" --argjson v "$vcpus" --argjson b "$(stat -c %s "$file")" \
			'{kind: "size", tool: "zstd", cycles: $n, vcpus: $v, bytes: ($b / $n)}'
	fi
	rm -f "$file"
}

# Peers: text, an event a line, each from its own recording of the lapic loop; $1 events.
peers() {
	for _ in $(seq "$rounds"); do
		[ -s "$work/lapic.hostrace" ] &&
			one_run "list of a recording" "$1" 1 "$hostrace" list -i "$work/lapic.hostrace"
		[ -s "$work/lapic.hostrace" ] &&
			one_run "mmio of a recording" "$1" 1 "$hostrace" mmio -i "$work/lapic.hostrace"
		[ -s "$work/lapic.perf" ] && one_run "perf script" "$1" 1 perf script -i "$work/lapic.perf"
	done
}

peers "$(cat "$work/lapic.cycles")"
for cycles in $lengths; do
	synthetic "$cycles" 8
done
for vcpus in $widths; do
	synthetic 1000000 "$vcpus"
done
