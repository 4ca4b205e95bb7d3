#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The TAP reader (tests/tap.sh) itself: what it counts, and what it does not accept.
set -u
cd "$(dirname "$0")/../.." || exit 1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset HOSTRACE_REQUIRE_LIVE TAP_PARTIAL TAP_SLOWER
export QUARANTINE=$work/quarantine CHECK_DIR=$work/check
n=0
failed=0
echo "p: known | 2 of 9 | a reason" >"$QUARANTINE"

# score NAME WANTED PROGRAM: WANTED is "PASSED FAILED SKIPPED QUARANTINED QUARANTINED_FAILED" of a shell program, which is
# called p unless $program is set, then a text that the output must contain. $seconds: its limit, 60 by default.
score() {
	local name=$1 counts=${2%%;*} text=${2#*;} got
	n=$((n + 1))
	rm -rf "$CHECK_DIR"
	tests/tap.sh "${program:-p}" "${seconds:-60}" bash -c "$3" >"$work/out" 2>&1
	got=$(cut -d ' ' -f 2- "$CHECK_DIR/score")
	if [ "$got" = "$counts" ] && { [ "$text" = "$2" ] || grep -qF -- "$text" "$work/out"; }; then
		echo "ok $n - $name"
	else
		failed=1
		echo "not ok $n - $name"
		echo "# score $got, wanted $2"
		sed 's/^/# /' "$work/out"
	fi
}

program=q
score "a plan before the results" "2 0 0 0 0" 'printf "%s\n" 1..2 "ok 1 - a" "ok 2 - b"'
score "a plan after the results" "2 0 0 0 0" 'printf "%s\n" "ok 1 - a" "ok 2 - b" 1..2'
score "two groups, each with its plan" "3 0 0 0 0" 'printf "%s\n" 1..2 "ok 1" "ok 2" 1..1 "ok 1"'
score "failures" "1 1 0 0 0" 'printf "%s\n" 1..2 "ok 1" "not ok 2 - b"; exit 1'
score "skips" "1 0 2 0 0;a reason" 'printf "%s\n" 1..3 "ok 1" "not ok 2 # SKIP b" "ok 3 - c # SKIP a reason"'
score "a program that is skipped" "0 0 1 0 0;not here" 'echo "1..0 # SKIP not here"'
score "no plan" "1 1 0 0 0;plan (1..N) is missing" 'echo "ok 1 - a"'
score "no output" "0 1 0 0 0;plan (1..N) is missing" ':'
score "an empty plan" "0 1 0 0 0;no result was printed" 'echo 1..0'
score "a program that dies half way" "1 1 0 0 0;the plan has 2 results, 1 were printed" 'printf "%s\n" 1..2 "ok 1 - a"; kill -9 $$'
score "a program that ends half way" "1 1 0 0 0;the plan has 2 results, 1 were printed" 'printf "%s\n" 1..2 "ok 1 - a"'
score "a program that ends half way after a failure" "1 2 0 0 0;the plan has 3 results, 2 were printed" \
	'printf "%s\n" 1..3 "ok 1" "not ok 2"; exit 1'
score "a program that dies before its plan" "1 1 0 0 0;plan (1..N) is missing" 'echo "ok 1 - a"; kill -SEGV $$'
score "more results than planned" "2 1 0 0 0;the plan has 1 results, 2 were printed" 'printf "%s\n" 1..1 "ok 1" "ok 2"'
score "a number twice" "3 1 0 0 0;result 2 follows result 2" 'printf "%s\n" 1..3 "ok 1" "ok 2" "ok 2"'
score "numbers that restart without a plan" "2 1 0 0 0;result 1 follows result 1" 'printf "%s\n" 1..2 "ok 1" "ok 1"'
score "a missing number" "2 1 0 0 0;result 3 follows result 1" 'printf "%s\n" 1..2 "ok 1" "ok 3"'
score "a result without a number" "1 1 0 0 0;a result has no number" 'printf "%s\n" 1..1 "ok - a"'
score "an exit status" "1 1 0 0 0;exit status 3" 'printf "%s\n" 1..1 "ok 1"; exit 3'
score "a signal" "1 1 0 0 0;exit status 139" 'printf "%s\n" 1..1 "ok 1"; kill -SEGV $$'
score "a program that gives up" "1 1 0 0 0;Bail out! no disk" 'printf "%s\n" 1..1 "ok 1" "Bail out! no disk"'
seconds=2 score "a program that exceeds its time" "1 1 0 0 0;killed after 2 s" 'printf "%s\n" 1..1 "ok 1"; exec sleep 60'
program=p
score "a quarantined test that fails" "1 0 0 1 1;failed; known rate of failure: 2 of 9 (a reason)" \
	'printf "%s\n" 1..2 "ok 1 - a" "not ok 2 - known (7)"; exit 1'
score "a quarantined test that passes" "1 0 0 1 0;passed; known rate" 'printf "%s\n" 1..2 "ok 1 - a" "ok 2 - known"'
score "another failure beside it" "0 1 0 1 1" 'printf "%s\n" 1..2 "not ok 1 - a" "not ok 2 - known"; exit 1'
score "a crash is not quarantined" "1 1 0 1 1;exit status 139" \
	'printf "%s\n" 1..2 "ok 1 - a" "not ok 2 - known"; kill -SEGV $$'
score "an entry without a test" "1 1 0 0 0;no test has this name: 'known'" 'printf "%s\n" 1..1 "ok 1 - a"'
score "... of a program that failed before it" "0 1 0 0 0" 'printf "%s\n" 1..1 "not ok 1 - a"; exit 1'
export TAP_PARTIAL=1
score "... among some of the tests" "1 0 0 0 0" 'printf "%s\n" 1..1 "ok 1 - a"'
unset TAP_PARTIAL
program=q
export HOSTRACE_REQUIRE_LIVE=1
score "a skip that is not allowed" "1 1 0 0 0;must not be skipped here" 'printf "%s\n" 1..2 "ok 1" "ok 2 # SKIP lazy"'
score "a skip that is allowed" "1 0 1 0 0" 'printf "%s\n" 1..2 "ok 1" "ok 2 # SKIP kernel: no KVM"'
unset HOSTRACE_REQUIRE_LIVE

# One program sleeps, another one computes until the kernel ends it after a second of CPU time.
rm -rf "$CHECK_DIR"
tests/tap.sh q/asleep 60 bash -c 'sleep 1; printf "%s\n" 1..1 "ok 1"' >"$work/out"
tests/tap.sh busy 60 bash -c '(ulimit -t 1; while :; do :; done); printf "%s\n" 1..1 "ok 1"' >"$work/out"
n=$((n + 1))
if awk '{ cpu[$1] = $3; wall[$1] = $2 } END { exit !(wall["q/asleep"] >= 1 && cpu["q/asleep"] < cpu["busy"]) }' \
	"$CHECK_DIR/seconds" && tests/tap.sh --summary | grep -A 1 '^slowest:' | grep -q '^  busy  *[0-9.]* *[0-9.]*$'; then
	echo "ok $n - the slowest are listed, by CPU time"
else
	failed=1
	echo "not ok $n - the slowest are listed, by CPU time"
	sed 's/^/# /' "$CHECK_DIR/seconds"
fi
rm -rf "$CHECK_DIR"

# summary NAME STATUS WANTED SCORE...: the last lines of the summary, joined by "; ".
summary() {
	local name=$1 status=$2 wanted=$3 got
	shift 3
	n=$((n + 1))
	mkdir -p "$CHECK_DIR"
	printf '%s\n' "$@" >"$CHECK_DIR/score"
	got="$(tests/tap.sh --summary >"$work/out"; echo $?); $(grep -v '^failed:' "$work/out" | paste -sd ';' | sed 's/;/; /g')"
	if [ "$got" = "$status; $wanted" ]; then
		echo "ok $n - $name"
	else
		failed=1
		echo "not ok $n - $name"
		echo "# got $got, wanted $status; $wanted"
	fi
}

summary "the summary adds up" 1 "30 passed, 2 failed, 1 skipped" "a 10 0 1 0 0" "b 20 2 0 0 0"
summary "quarantined tests are counted apart" 0 "3 quarantined (1 failed); 5 passed, 0 failed, 0 skipped" "a 5 0 0 3 1"
summary "fuzz inputs are counted apart" 0 "7 fuzz inputs replayed; 5 passed, 0 failed, 0 skipped" "a 5 0 0 0 0" "fuzz/x 7 0 0 0 0"
summary "... but a failure fails" 1 "6 fuzz inputs replayed; 5 passed, 1 failed, 0 skipped" "a 5 0 0 0 0" "fuzz/x 6 1 0 0 0"
summary "nothing was run" 1 "no test was run; 0 passed, 1 failed, 0 skipped" "a 0 0 0 0 0"
echo "1..$n"
exit $failed
