#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mutation test: changes one line of src/ at a time (mutants.awk) and runs the tests that executed the changed function,
# until one fails. A mutant that no test notices survives: a test is missing, or the line has no effect.
#
#   tests/mutate/mutate.sh          tests N mutants more, at random; then the summary
#   tests/mutate/mutate.sh again    tests the survivors again, after tests were added
#   tests/mutate/mutate.sh one FILE LINE FUNCTION TEXT    tests the mutant whose line is TEXT
#   tests/mutate/mutate.sh summary  only the summary
#
# N (default 200), SEED (1), FOLDER (src), COVERAGE: the build of `make coverage`, which says what is executed by which
# test; DIR: where the copy of the source tree, the results and the survivors are. Lines that no unit test and no case
# executes are not mutated. A mutant whose object code is the same is not counted. The copy is built once; what was
# measured is kept, so that the command can be interrupted and repeated. Results of a source file that changed are dropped.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
n=${N:-200} seed=${SEED:-1} folder=${FOLDER:-src}
COVERAGE=$(realpath "${COVERAGE:-$root/build/coverage}")
DIR=$(realpath -m "${DIR:-$root/build/mutate}")
tree=$DIR/tree
results=$DIR/results # STATUS KILLER SECONDS FILE LINE OPERATOR FUNCTION TEXT, separated by tabs
mkdir -p "$DIR/tmp"
touch "$results"
export TMPDIR=$DIR/tmp JOBS=1 BUILD=build HOSTRACE=build/hostrace CHECK_DIR=$DIR/check
export ASAN_OPTIONS='' MAKEFLAGS=

# Own processes only, and bounded: a mutant may signal any process, and fill memory or the disk.
sandboxed() {
	(
		ulimit -d 8000000 -f 40000000 -c 0 # a test has a sparse file of 30 GiB
		exec unshare --pid --fork --kill-child --mount-proc "$@"
	) >"$DIR/output" 2>&1 </dev/null
}

# run_test TEST SECONDS
run_test() {
	case $1 in
	units/*) sandboxed timeout -k 5 "$2" tests/run-unit.sh "build/tests/unit/${1#units/}" ;;
	cases/*) sandboxed timeout -k 5 "$2" tests/run-cases.sh "${1#cases/}" ;;
	broken/*) sandboxed timeout -k 5 "$2" tests/run-broken.sh ;;
	esac
}

copy_tree() {
	local file
	mkdir -p "$tree"
	(cd "$root" && git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
		[ -f "$file" ] && ! cmp -s "$file" "$tree/$file" && printf '%s\0' "$file"
	done) >"$DIR/changed"
	(cd "$root" && xargs -0 -r cp --parents -t "$tree") <"$DIR/changed"
	tr '\0' '\n' <"$DIR/changed" | grep '^src/.*\.c$' >"$DIR/changed.src"
	awk -F '\t' 'FILENAME == ARGV[1] { changed[$1]; next } !($4 in changed)' "$DIR/changed.src" "$results" \
		>"$results.new" && mv "$results.new" "$results"
	make -s -C "$tree" check-build >"$DIR/build.log" 2>&1 || { tail "$DIR/build.log"; exit 1; }
}

# Every test must pass without a mutant; its duration limits how long it may take with one.
baseline() {
	local test begin
	cut -f 1 "$COVERAGE/executed" | sort -u | grep -E '^(units|cases|broken)/' | while read -r test; do
		grep -q "^$test	" "$DIR/baseline" 2>/dev/null && continue
		begin=$(date +%s%N)
		if run_test "$test" 600; then
			printf '%s\t%d\n' "$test" $((($(date +%s%N) - begin) / 1000000)) >>"$DIR/baseline"
		else
			echo "mutate: $test fails without a mutant and is not used" >&2
		fi
	done
}

# Lines that units, cases and broken files execute: FILE LINE.
covered_lines() {
	local parts=()
	for part in units cases broken; do
		[ -d "$COVERAGE/profile/$part" ] && parts+=("$COVERAGE/profile/$part"/*.profdata)
	done
	llvm-profdata merge -sparse -o "$DIR/fast.profdata" "${parts[@]}" &&
		llvm-cov export -format=lcov -instr-profile="$DIR/fast.profdata" "$COVERAGE/hostrace" | awk -F '[:,]' '
			/^SF:/ { file = $2; sub(/^.*\/src\//, "src/", file) }
			/^DA:/ && $3 > 0 { print file "\t" $2 }' >"$DIR/covered"
}

random_bytes() {
	openssl enc -aes-256-ctr -pass "pass:$seed" -nosalt -pbkdf2 </dev/zero 2>/dev/null
}

# One mutant per line that is executed, in random order.
candidates() {
	(cd "$tree" && find "$folder" -name '*.c' | sort | xargs awk -f tests/mutate/mutants.awk) |
		awk -F '\t' 'FNR == NR { covered[$1, $2]; next } ($1, $2) in covered' "$DIR/covered" - |
		shuf --random-source=<(random_bytes) | awk -F '\t' '!seen[$1, $2]++' |
		sort | shuf --random-source=<(random_bytes) >"$DIR/candidates"
}

# The tests that executed FUNCTION of FILE: MILLISECONDS TEST, in the order to run them: unit tests first, then what
# killed a mutant of this file before, then the quickest.
tests_of() {
	awk -F '\t' -v file="$1" -v name="$2" '
		BEGIN { base = file; sub(/.*\//, "", base) }
		FILENAME == ARGV[1] { ms[$1] = $2; next }
		FILENAME == ARGV[2] { if ($4 == file) kills[$2]++; next }
		($2 == name || $2 == base ":" name) && $1 in ms {
			print ($1 ~ /^units/ ? 0 : 1) "\t" (-kills[$1]) "\t" ms[$1] "\t" $1
		}' "$DIR/baseline" "$results" "$COVERAGE/executed" | sort -k 1n -k 2n -k 3n | cut -f 3,4
}

# Sets status and killer.
judge() {
	local file=$1 function=$2 ms test linked=' '
	local object=build/${file%.c}.o
	status=survived killer=-
	cp -p "$object" "$DIR/object"
	if ! make -s "$object" >"$DIR/output" 2>&1; then
		status=invalid
		return
	fi
	objcopy --strip-debug "$object" "$DIR/mutant.o" && objcopy --strip-debug "$DIR/object" "$DIR/same.o" || exit 1
	if cmp -s "$DIR/mutant.o" "$DIR/same.o"; then
		status=same
		return
	fi
	while read -r ms test; do
		case $test in
		units/*) target=build/tests/unit/${test#units/} ;;
		*) target=build/hostrace ;;
		esac
		case $linked in
		*" $target "*) ;;
		*) make -s "$target" >"$DIR/output" 2>&1 || { status=invalid; return; }
			linked="$linked$target " ;;
		esac
		run_test "$test" $((ms / 100 + 20)) && continue
		status=killed killer=$test
		return
	done < <(tests_of "$file" "$function")
}

# mutate FILE LINE OPERATOR FUNCTION TEXT: appends the result.
mutate() {
	local begin=$SECONDS status killer
	cp -p "$1" "$DIR/original"
	TEXT=$5 awk -v line="$2" 'FNR == line { print ENVIRON["TEXT"]; next } { print }' "$DIR/original" >"$1"
	judge "$1" "$4"
	cp -p "$DIR/original" "$1"
	[ -f "$DIR/object" ] && cp "$DIR/object" "build/${1%.c}.o"
	rm -rf "$DIR/object" "${TMPDIR:?}"/*
	printf '%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n' "$status" "$killer" $((SECONDS - begin)) "$@" >>"$results"
	printf '%-8s %s:%d %s (%s)\n' "$status" "$1" "$2" "$3" "$killer"
}

more() {
	local done=0 file line operator function text
	while [ "$done" -lt "$n" ] && IFS=$'\t' read -r file line operator function text <&7; do
		grep -qF "$(printf '\t%s\t%s\t%s\t%s\t%s' "$file" "$line" "$operator" "$function" "$text")" "$results" &&
			continue
		mutate "$file" "$line" "$operator" "$function" "$text"
		tail -n 1 "$results" | grep -qE '^(killed|survived)' && done=$((done + 1))
	done 7<"$DIR/candidates"
}

again() {
	local file line operator function text
	grep '^survived' "$results" >"$DIR/survived"
	grep -v '^survived' "$results" >"$results.new"
	mv "$results.new" "$results"
	while IFS=$'\t' read -r _ _ _ file line operator function text <&7; do
		mutate "$file" "$line" "$operator" "$function" "$text"
	done 7<"$DIR/survived"
}

summary() {
	local file line operator function text
	grep '^survived' "$results" | sort -t '	' -k 4,4 -k 5n |
		while IFS=$'\t' read -r _ _ _ file line operator function text; do
			printf '%s:%d: %s in %s\n-%s\n+%s\n' "$file" "$line" "$operator" "$function" \
				"$(sed -n "${line}p" "$tree/$file")" "$text"
		done | tee "$DIR/survivors"
	awk -F '\t' '
		$1 == "killed" || $1 == "survived" {
			folder = $4
			sub(/\/[^\/]*$/, "", folder)
			count[folder, $1]++
			count["total", $1]++
			all[folder]++
			all["total"]++
		}
		function row(name) {
			return sprintf("%-28s %5d mutants %5d killed %5.1f %%", name, all[name], count[name, "killed"],
				100 * count[name, "killed"] / all[name])
		}
		END {
			for (folder in all)
				if (folder != "total")
					print row(folder) | "sort"
			close("sort")
			if (all["total"])
				print row("total")
		}' "$results" | tee "$DIR/summary"
}

main() {
	[ "${1:-}" = summary ] && { summary; return; }
	[ -s "$COVERAGE/executed" ] || { echo "mutate: run 'make coverage' first" >&2; return 2; }
	copy_tree
	cd "$tree" || return 1
	baseline
	covered_lines
	case ${1:-} in
	one) mutate "$2" "$3" given "$4" "$5" ;;
	again) again && summary ;;
	*) candidates && more && summary ;;
	esac
}

main "$@"
exit
