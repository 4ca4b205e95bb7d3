#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs one test program that speaks TAP and keeps the score; quiet if all is well. Several may run at once.
#
#   tests/tap.sh NAME SECONDS COMMAND...    one line on success, the whole output on failure
#   tests/tap.sh --summary                  "N passed, N failed, N skipped" of all since the score was removed
#
# CHECK_DIR is where scores and logs are kept. What counts:
#   "ok N", "not ok N"; "# SKIP reason" on either (cmocka says "not ok N # SKIP"). A program that prints no result,
#   dies, runs out of time or breaks its plan "1..N" is one failure more. With HOSTRACE_REQUIRE_LIVE=1 a skip is a
#   failure unless its reason begins with "kernel:" or "hardware:".
set -u

# Reads TAP; prints "passed failed skipped plan" and, on stderr, each skip that is allowed and each that is not.
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
			print "  FAIL    " name ": may not be skipped here: " line >"/dev/stderr"
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
			print "no test ran"
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
		echo "# stopped after $seconds s" >>"$log"
		failed=$((failed + 1))
	elif [ $status != 0 ] && [ "$failed" = 0 ]; then
		echo "# ended with status $status" >>"$log"
		failed=1
	elif [ "$plan" = broken ] && [ "$failed" = 0 ]; then
		echo "# the plan promised another number of tests" >>"$log"
		failed=1
	elif [ $((passed + failed + skipped)) = 0 ]; then
		echo "# no result was printed" >>"$log"
		failed=1
	fi
	exec 9>>"$CHECK_DIR/score"
	flock 9 # results do not mix
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
