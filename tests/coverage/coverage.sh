#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs tests with a build made by COVERAGE=1 and reports which lines and branches they executed.
#
#   tests/coverage/coverage.sh PART...    units cases broken agree live; none: only report what was measured before
#   tests/coverage/coverage.sh --one TEST COMMAND...    one test
#
# BUILD is that build. It receives profile/PART/TEST.profdata, executed (TEST, function), coverage.lcov, coverage.txt.
# A part that is not run keeps its profiles: those of functions that changed since are dropped by llvm-cov.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
BUILD=$(realpath "${BUILD:-$root/build/coverage}")
profiles=$BUILD/profile
export BUILD HOSTRACE=$BUILD/hostrace CHECK_DIR=$BUILD/check JOBS=${JOBS:-$(nproc)}
cd "$root" || exit 1

# The counters of all processes of one program are one file, which they map (%m: one per program, %c: mapped).
one() {
	local test=$1 raw
	shift
	raw=$(mktemp -d)
	LLVM_PROFILE_FILE=$raw/%m%c.profraw "$@"
	mkdir -p "$(dirname "$profiles/$test")"
	if ls "$raw"/*.profraw >/dev/null 2>&1; then
		llvm-profdata merge -sparse -o "$profiles/$test.profdata" "$raw"/*.profraw
	fi
	rm -rf "$raw"
}

# The tests of a part: TEST COMMAND.
list() {
	local file name
	case $1 in
	units) for file in "$BUILD"/tests/unit/test_*.o; do
		name=units/$(basename "$file" .o)
		echo "$name tests/tap.sh $name 600 tests/run-unit.sh ${file%.o}"
	done ;;
	cases) for file in tests/cases/*/cmd; do
		name=$(basename "$(dirname "$file")")
		echo "cases/$name tests/tap.sh cases/$name 120 tests/run-cases.sh $name"
	done ;;
	broken) echo "broken/broken tests/tap.sh broken 300 tests/run-broken.sh" ;;
	agree) echo "agree/agree tests/tap.sh agree 900 tests/agree/run.sh" ;;
	live) for file in tests/live/*.sh; do
		echo "live/$(basename "$file" .sh) tests/run-live.sh $file"
	done ;;
	*) echo "coverage: unknown part '$1'" >&2 ;;
	esac
}

# Live tests run one at a time.
run_part() {
	rm -rf "${profiles:?}/$1"
	list "$1" | xargs -P "$([ "$1" = live ] && echo 1 || echo "$JOBS")" -L 1 "$0" --one
}

# Functions that a test executed: TEST <tab> FUNCTION, a static one as FILE:FUNCTION.
executed() {
	find "$profiles" -name '*.profdata' | sort | while read -r file; do
		test=${file#"$profiles"/}
		llvm-profdata show --all-functions --counts "$file" | awk -v test="${test%.profdata}" '
			/^  [^ ].*:$/ { name = substr($0, 3, length($0) - 3) }
			/^    Function count: [1-9]/ { print test "\t" name }'
	done >"$BUILD/executed"
}

report() {
	find "$profiles" -name '*.profdata' >"$BUILD/profiles"
	llvm-profdata merge -sparse -o "$BUILD/all.profdata" -f "$BUILD/profiles" || return 1
	llvm-cov export -format=lcov -instr-profile="$BUILD/all.profdata" "$BUILD/hostrace" \
		-object "$BUILD/hostrace-http" -object "$BUILD/hostrace-httpd" -object "$BUILD/hostrace-decode" -object "$BUILD/hostrace-guest" >"$BUILD/coverage.lcov" || return 1
	awk -f tests/coverage/report.awk src/folders "$BUILD/coverage.lcov" | tee "$BUILD/coverage.txt"
}

if [ "${1:-}" = --one ]; then
	shift
	one "$@"
	exit
fi
mkdir -p "$CHECK_DIR" "$profiles"
rm -f "$CHECK_DIR/score"
for part; do
	run_part "$part"
done
executed
report || exit 1
[ $# = 0 ] || tests/tap.sh --summary
