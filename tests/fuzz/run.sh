#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs fuzz targets and prints a table: `make fuzz`, `make fuzz-check` and, in slices, `make fuzz-nightly`.
#
#   tests/fuzz/run.sh BUILD STATE SECONDS RUNS NAME...    each target for so many seconds, or until it did so many runs
#
# BUILD has the fuzzers, as `make fuzz-build` makes them. New inputs are kept in STATE/new/NAME and used by the next run;
# an input that crashes is in STATE/crash, and the other targets still run. STATE/counts/NAME has the runs, milliseconds
# of CPU time and findings so far. SEED (default: a new one, which is printed) is that of all targets; JOBS run at once;
# an input may take INPUT_SECONDS. Status 1: there was a crash.
set -u
cd "$(dirname "$0")/../.." || exit 2
export SEED=${SEED:-$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')} INPUT_SECONDS=${INPUT_SECONDS:-20}
# A small quarantine and short stacks: memory is used again soon, which is twice as fast.
asan=quarantine_size_mb=4:malloc_context_size=4${ASAN_OPTIONS:+:$ASAN_OPTIONS}

# CPU time of ended children, in ms.
cpu_ms() {
	awk '{ print 10 * ($16 + $17) }' /proc/$$/stat
}

counts_add() { # FILE RUNS MS FINDINGS
	local runs=0 ms=0 findings=0
	[ ! -f "$1" ] || read -r runs ms findings <"$1"
	echo $((runs + $2)) $((ms + $3)) $((findings + $4)) >"$1.new" && mv "$1.new" "$1"
}

# What went wrong, the input as text if it is small, and how to run the target so again.
failure_show() { # NAME LOG SECONDS RUNS INPUT STATUS
	local text
	echo "exit status $6"
	grep -aE 'ERROR|runtime error|SUMMARY|^ *#[0-5] ' "$2" | grep -v ' fuzzer::' | head -n 8 | cut -c 1-200
	grep -aqE 'ERROR|runtime error' "$2" || tail -n 3 "$2" | cut -c 1-300
	[ ! -f "$5" ] || {
		text=$(gzip -9n <"$5" | base64 -w0)
		[ ${#text} -gt 6000 ] && echo "input: $(stat -c %s "$5") bytes, too long to be shown" ||
			echo "input: echo $text | base64 -d | gunzip >input; build/fuzz/fuzzer-$1 input"
	}
	echo "again: make fuzz FUZZ_NAMES=$1 SEED=$SEED T=$3 RUNS=$4"
}

fuzz() { # BUILD STATE SECONDS RUNS NAME
	local build=$1 state=$2 seconds=$3 runs=$4 name=$5 log=$2/log/$5 before ms n input status=0 result=ok
	mkdir -p "$state/new/$name"
	before=$(cpu_ms)
	ASAN_OPTIONS=$asan "$build/fuzzer-$name" -seed="$SEED" -max_total_time="$seconds" -runs="$runs" \
		-timeout="$INPUT_SECONDS" -rss_limit_mb=2048 -verbosity=0 -print_final_stats=1 \
		-artifact_prefix="$state/crash/$name-" "$state/new/$name" "tests/fuzz/corpus/$name" >"$log" 2>&1 </dev/null || status=$?
	input=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
	[ $status = 0 ] || result="crash: $input"
	ms=$(($(cpu_ms) - before + 1))
	n=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
	counts_add "$state/counts/$name" "${n:-0}" $ms $(($([ "$result" = ok ]; echo $?)))
	printf '%-10s %12d %10d %10d %8d  %s\n' "$name" "${n:-0}" $((ms / 1000)) $((${n:-0} * 1000 / ms)) \
		"$(find "$state/new/$name" -type f | wc -l)" "$result"
	[ "$result" != ok ] || return 0
	echo "not ok - fuzz/$name: $result"
	failure_show "$name" "$log" "$seconds" "$runs" "$input" $status | sed 's/^/    /'
	return 1
}

if [ "$1" = --one ]; then
	fuzz "${@:2}" >"$3/log/$6.row"
	status=$?
	cat "$3/log/$6.row"
	exit $status
fi

build=$1 state=$2 seconds=$3 runs=$4
shift 4
mkdir -p "$state"/{log,crash,counts,new}
echo "seed $SEED"
printf '%-10s %12s %10s %10s %8s  %s\n' target runs 'CPU s' 'runs/CPU s' inputs result
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -n 1 tests/fuzz/run.sh --one "$build" "$state" "$seconds" "$runs" && failed=0 || failed=1
nr_failed=$(for name; do cat "$state/log/$name.row"; done | grep -c '^not ok')
echo "$(($# - nr_failed)) passed, $nr_failed failed, 0 skipped"
exit "$failed"
