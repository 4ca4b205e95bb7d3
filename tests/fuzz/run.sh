#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs fuzz targets one after another and prints a table: `make fuzz` and, for every night, `make fuzz-nightly`.
#
#   tests/fuzz/run.sh BUILD SECONDS RUNS NAME...    each target for so many seconds, or until it did so many runs
#
# BUILD has the fuzzers, as `make fuzz-build` makes them. New inputs are kept in BUILD/new/NAME and used by the next run;
# an input that crashes is in BUILD/crash, and the other targets still run. Status 1: there was a crash.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 seconds=$2 runs=$3
shift 3
log=$build/log
failed=0
mkdir -p "$log" "$build/crash"
# A small quarantine and short stacks: memory is used again soon, which is twice as fast.
export ASAN_OPTIONS=quarantine_size_mb=4:malloc_context_size=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# CPU time of ended children, in ticks of 1/100 s.
cpu_ticks() {
	awk '{ print $16 + $17 }' /proc/$$/stat
}

stat_of() { # NAME FILE
	sed -n "s/^stat::$1: *//p" "$2"
}

fuzz() { # NAME
	local name=$1 out=$log/$1 before after n took result=ok begin
	mkdir -p "$build/new/$name"
	before=$(cpu_ticks) begin=$(date +%s%N)
	"$build/fuzzer-$name" -max_total_time="$seconds" -runs="$runs" -timeout=20 -rss_limit_mb=2048 -verbosity=0 \
		-print_final_stats=1 -artifact_prefix="$build/crash/$name-" "$build/new/$name" "tests/fuzz/corpus/$name" \
		>"$out" 2>&1 </dev/null || result="crash: $(sed -n 's/.*Test unit written to //p' "$out" | tail -n 1)"
	after=$(cpu_ticks) took=$((($(date +%s%N) - begin) / 1000000 + 1))
	n=$(stat_of number_of_executed_units "$out")
	[ "$result" = ok ] || failed=1
	printf '%-10s %12d %8d %10d %8d  %s\n' "$name" "${n:-0}" $((${n:-0} * 1000 / took)) \
		$((${n:-0} * 100 / (after - before + 1))) "$(find "$build/new/$name" -type f | wc -l)" "$result"
	[ "$result" = ok ] || grep -aE 'ERROR|runtime error|SUMMARY' "$out" | head -n 3 | sed 's/^/    /'
}

printf '%-10s %12s %8s %10s %8s  %s\n' target runs runs/s "runs/CPU s" inputs result
for name; do
	fuzz "$name"
done
exit $failed
