#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# All of `make bench`: the runs, their medians and spread as BUILD/bench.json and as a table.
#   bench.sh BUILD      QUICK=1: under two minutes
set -u -o pipefail
build=$1
here=$(dirname "$0")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/hostrace-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

if [ "${QUICK:-0}" = 1 ]; then
	rounds=1 cycles=100000 lengths="100000 1000000" widths="1 64" modes="lapic user"
else
	rounds=${ROUNDS:-5} cycles=500000 lengths="${LENGTHS:-100000 1000000 10000000 100000000}"
	widths="1 2 64" modes="lapic pic user"
fi
echo $((3 * cycles)) >"$work/lapic.cycles"
if [ "$(id -u)" = 0 ] && [ -w /dev/kvm ] && [ -e "$build/hostrace.skel.h" ]; then
	# shellcheck disable=SC2086
	"$here/record.sh" "$build" "$work" "$rounds" "$cycles" $modes >"$work/runs"
else
	echo "bench: recording needs root, /dev/kvm and a hostrace that can record; skipped" >&2
fi
"$here/read.sh" "$build" "$work" "$rounds" "$lengths" "$widths" >>"$work/runs"

version() {
	"$@" 2>&1 | head -1
}
jq -s --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)" --arg cpus "$(nproc)" \
	--arg kernel "$(uname -r)" --arg hostrace "$(version "$build/hostrace" --version)" \
	--arg perf "$(version perf --version)" --arg bpftrace "$(version bpftrace --version)" \
	--arg trace_cmd "$(trace-cmd 2>&1 | grep -m1 version)" --arg load "$(cat /proc/loadavg)" \
	-f "$here/summary.jq" "$work/runs" >"$build/bench.json"
jq -r -f "$here/table.jq" "$build/bench.json" | column -t -s '	'
