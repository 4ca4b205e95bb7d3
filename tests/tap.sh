#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs one test program that prints TAP, and records its score. Several may run at once.
#
#   tests/tap.sh NAME SECONDS COMMAND...    prints one line on success, the output on failure
#   tests/tap.sh --summary                  prints "N passed, N failed, N skipped" for all recorded scores
#
# CHECK_DIR is the directory of scores and logs. Counted are "ok N" and "not ok N", either with "# SKIP reason" (cmocka
# prints "not ok N # SKIP"). A program that prints no result, crashes, exceeds its time, or does not keep its plan "1..N"
# counts as one more failure. With HOSTRACE_REQUIRE_LIVE=1, a skip counts as a failure unless its reason begins with
# "kernel:" or "hardware:".
set -u

# Reads TAP; prints "passed failed skipped plan", and on stderr every skip, accepted or not.
score() {
	awk -v strict="${HOSTRACE_REQUIRE_LIVE:-0}" -v name="$1" '
	/^1\.\.[0-9]+/ {
		plan += substr($1, 4)
		planned = 1
		if ($1 == "1..0" && /# *[Ss][Kk][Ii][Pp]/)
			skip($0)
		next
	}
	/^(not )?ok([ \t]|$)/ {
		seen++
		if (/# *[Ss][Kk][Ii][Pp]/)
			skip($0)
		else if (/^not ok/)
			failed++
		else
			passed++
	}
	function skip(line) {
		sub(/^.*# *[Ss][Kk][Ii][Pp][Pp]?[Ee]?[Dd]?:? */, "", line)
		if (line == "")
			line = "no reason given"
		if (strict == 1 && line !~ /^(kernel|hardware):/) {
			failed++
			print "  FAIL    " name ": must not be skipped here: " line >"/dev/stderr"
		} else {
			skipped++
			print "  skip    " name ": " line >"/dev/stderr"
		}
	}
	END { print passed + 0, failed + 0, skipped + 0, (planned && plan != seen) ? "broken" : "kept" }'
}

summary() {
	awk -v dir="$CHECK_DIR" '
	{ passed += $2; failed += $3; skipped += $4; if ($3) bad = bad " " $1 }
	END {
		if (bad != "")
			printf "failed:%s (output in %s)\n", bad, dir
		if (passed + failed == 0) {
			print "no test was run"
			failed = 1
		}
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed > 0
	}' "$CHECK_DIR/score" || exit 1
}

run() {
	local name=$1 seconds=$2 log passed failed skipped plan status begin=$SECONDS
	shift 2
	log=$CHECK_DIR/${name//\//_}.log
	timeout -k 10 "$seconds" "$@" >"$log" 2>&1 </dev/null
	status=$?
	read -r passed failed skipped plan < <(score "$name" <"$log")
	if [ $status = 124 ] || [ $status = 137 ]; then
		echo "# killed after $seconds s" >>"$log"
		failed=$((failed + 1))
	elif [ $status != 0 ] && [ "$failed" = 0 ]; then
		echo "# exit status $status" >>"$log"
		failed=1
	elif [ "$plan" = broken ] && [ "$failed" = 0 ]; then
		echo "# the number of results differs from the plan" >>"$log"
		failed=1
	elif [ $((passed + failed + skipped)) = 0 ]; then
		echo "# no result was printed" >>"$log"
		failed=1
	fi
	exec 9>>"$CHECK_DIR/score"
	flock 9 # one result at a time
	echo "$name $passed $failed $skipped" >&9
	if [ "$failed" != 0 ]; then
		printf '  FAIL    %s: %d of %d, after %d s:\n' "$name" "$failed" \
			$((passed + failed + skipped)) $((SECONDS - begin))
		tail -n 120 "$log" | sed 's/^/    /'
	else
		printf '  ok      %-40s %4d passed%s\n' "$name" "$passed" \
			"$([ "$skipped" = 0 ] || echo ", $skipped skipped")"
	fi
}

mkdir -p "${CHECK_DIR:?}"
if [ "$1" = --summary ]; then
	summary
else
	run "$@"
fi
