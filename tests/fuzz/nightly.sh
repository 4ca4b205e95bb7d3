#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs fuzz targets in slices, one after another, until each did so many runs, used so much CPU time, or crashed:
# `make fuzz-nightly`. It may be ended at any time; the next one continues with the inputs and counts in STATE.
#
#   tests/fuzz/nightly.sh BUILD STATE RUNS CPU_SECONDS NAME...
#
# SLICE: seconds of a slice (default 120); SECONDS_MAX: it ends after about so many. Prints the counts at the end.
# Status 1: a target crashed.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 state=$2 runs=$3 cpu=$4
shift 4
mkdir -p "$state/counts"

counts_of() { # NAME; prints runs, ms of CPU time, findings
	cat "$state/counts/$1" 2>/dev/null || echo 0 0 0
}

# How many runs a target has left; 0: it is done.
runs_left() { # NAME
	local n ms findings
	read -r n ms findings < <(counts_of "$1")
	[ "$findings" = 0 ] && [ "$ms" -lt $((cpu * 1000)) ] && [ "$n" -lt "$runs" ] && echo $((runs - n)) || echo 0
}

# Of the clock: at nice 19 an input may wait long for a CPU.
export INPUT_SECONDS=${INPUT_SECONDS:-300}
begun=$SECONDS
more=1
while [ $more = 1 ]; do
	more=0
	for name; do
		left=$(runs_left "$name")
		[ "$left" = 0 ] && continue
		[ $((SECONDS - begun)) -lt "${SECONDS_MAX:-999999999}" ] || break 2
		more=1
		tests/fuzz/run.sh "$build" "$state" "${SLICE:-120}" "$left" "$name" | grep -vE '^target|^[0-9]+ passed'
	done
done

printf '%-10s %12s %10s %10s %8s  %s\n' target runs 'CPU s' 'runs/CPU s' inputs findings
status=0
for name; do
	read -r n ms findings < <(counts_of "$name")
	printf '%-10s %12d %10d %10d %8d  %d\n' "$name" "$n" $((ms / 1000)) $((n * 1000 / (ms + 1))) \
		"$(find "$state/new/$name" -type f 2>/dev/null | wc -l)" "$findings"
	[ "$findings" = 0 ] || status=1
done
exit $status
