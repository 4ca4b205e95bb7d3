#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Prints how much of the files that each fuzz target is for (tests/fuzz/targets) its inputs reach: `make fuzz-coverage`.
#
#   tests/fuzz/coverage.sh BUILD FOUND NAME...
#
# BUILD has fuzzers built with FUZZ=cov. Inputs are those of tests/fuzz/corpus/NAME and FOUND/NAME (of `make fuzz`). Lines
# of each file are in BUILD/coverage/NAME.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=$1 found=$2
shift 2
out=$build/coverage
llvm=$(dirname "$(readlink -f "$(command -v "${CLANG:-clang}")")")
mkdir -p "$out"

files_of() { # NAME
	# shellcheck disable=SC2046 # globs
	printf '%s\n' $(sed -n "s/^$1: *//p" tests/fuzz/targets)
}

printf '%-10s %8s %8s %7s %9s\n' target inputs lines covered percent
for name; do
	dirs=tests/fuzz/corpus/$name
	[ ! -d "$found/$name" ] || dirs="$dirs $found/$name"
	# shellcheck disable=SC2086 # directories
	LLVM_PROFILE_FILE=$out/$name.raw "$build/fuzzer-$name" -runs=0 -timeout=60 -verbosity=0 $dirs >"$out/$name.log" 2>&1 </dev/null ||
		{ echo "$name: see $out/$name.log" >&2; exit 1; }
	"$llvm/llvm-profdata" merge -o "$out/$name.data" "$out/$name.raw" || exit 1
	# The program has the files as "./src/...", which llvm-cov's own selection of files does not find.
	"$llvm/llvm-cov" export --summary-only -instr-profile="$out/$name.data" "$build/fuzzer-$name" |
		jq -r '.data[0].files[] | [(.filename | sub(".*/src/"; "src/")), .summary.lines.count, .summary.lines.covered] | @tsv' |
		awk 'NR == FNR { wanted[$1] = 1; next } $1 in wanted { print; n += $2; covered += $3 }
			END { print "TOTAL\t" n "\t" covered }' <(files_of "$name") - >"$out/$name"
	rm -f "$out/$name.raw"
	# shellcheck disable=SC2086 # directories
	awk -v name="$name" -v inputs="$(find $dirs -type f | wc -l)" '$1 == "TOTAL" {
		printf "%-10s %8d %8d %7d %8.1f%%\n", name, inputs, $2, $3, 100 * $3 / ($2 ? $2 : 1) }' "$out/$name"
done
