#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Reads the same recordings by hostrace and by its peers (read.sh: cat, trace-cmd, perf), in turns, and compares the
# ratios of their CPU times with those of tests/bench/ratios. Prints TAP, a result per ratio, which fails if hostrace is
# FACTOR_MAX times as slow next to its peer as it was. CPU time, the least of several runs, is the measure: a machine
# that does other work stretches the wall time of both, but not alike. It includes that of the supervisor of files. What
# page faults cost, which is 100 times as much in some VMs, is left out where an event is compared: hostrace has more of
# them, as it maps and keeps what its peers read again.
#
#   ratios.sh BUILD             compare
#   ratios.sh BUILD --update    write tests/bench/ratios; on an idle machine
set -u -o pipefail
build=$1
here=$(dirname "$0")
stored=$here/ratios
FACTOR_MAX=3
ROUNDS=5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for tool in jq perf trace-cmd; do
	command -v $tool >/dev/null || { echo "Bail out! no $tool; scripts/deps.sh bench installs it"; exit 1; }
done
TRACE_EVENTS=200000 LIST_CYCLES_MAX=100000 \
	"$here/read.sh" "$build" "$work" $ROUNDS "100000 1000000" "" >"$work/runs" || exit 1

# Lines "RATIO OURS PEER CYCLES", separated by tabs.
jq -rs 'def peer: if test("trace[.]dat, ") then "trace-cmd report, " + sub(".*trace[.]dat, "; "")
		elif test("perf[.]data, ") then "perf script, an event"
		else "cat" + (capture("(?<s> [(]zstd[)])$").s // "") end;
	[.[] | select(.kind == "read")] | group_by([.cycles, .tool]) |
	map({tool: .[0].tool, cycles: .[0].cycles, ms: (map(.cpu_ms - if .tool | test("an event$") then .fault_ms else 0 end) | min)}) as $rows |
	$rows[] | select(.tool | test("^(exits|list|heatmap|histogram)")) | . as $ours |
	($rows[] | select(.tool == ($ours.tool | peer) and .cycles == $ours.cycles)) as $peer |
	[($ours.ms / ([$peer.ms, 0.1] | max) * 1000 | round / 1000), $ours.tool, $peer.tool, $ours.cycles] | @tsv' \
	"$work/runs" >"$work/ratios" || exit 1

if [ "${2:-}" = --update ]; then
	{
		sed '/^[^#]/d' "$stored"
		cat "$work/ratios"
	} >"$work/new" && cp "$work/new" "$stored"
	exit
fi

awk -F '\t' -v max=$FACTOR_MAX -v cpus="$(nproc)" '
	/^#/ { next }
	{ name = $2 " / " $3 " (" $4 ")" }
	FILENAME == ARGV[1] { old[name] = $1; next }
	{ seen[name] = 1 }
	!(name in old) { printf "not ok %d - %s: %s, none is stored: ratios.sh BUILD --update\n", ++n, name, $1; next }
	{
		factor = $1 / old[name]
		bad = factor > max
		printf "%s %d - %s: %s, stored %s, factor %.2f\n", bad ? "not ok" : "ok", ++n, name, $1, old[name], factor
		failed += bad
	}
	END {
		for (name in old)
			if (name in seen)
				continue
			else if (cpus == 1 && name ~ /^exits( [(]zstd[)])? [/]/)
				printf "ok %d - %s # SKIP hardware: one CPU\n", ++n, name
			else
				printf "not ok %d - %s: stored, but not measured\n", ++n, name
		print "1.." n + 0
	}' "$stored" "$work/ratios" >"$work/tap"
cat "$work/tap"
! grep -q '^not ok' "$work/tap"
