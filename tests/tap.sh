#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs one test program that prints TAP, and records its score. Several may run at once.
#
#   tests/tap.sh [--show] NAME SECONDS COMMAND...    prints one line on success, the output on failure (--show: always)
#   tests/tap.sh --summary                           prints "N passed, N failed, N skipped" for all recorded scores, and
#                                                    the ten programs that took the most CPU time
#
# CHECK_DIR is the directory of scores, logs and "seconds": a line "NAME WALL CPU" for each program. CPU is the user and
# system time of the processes that it waited for: other work on the machine does not change it much. Counted are "ok N"
# and "not ok N", either with "# SKIP reason" (cmocka prints "not ok N # SKIP"). A program that prints no plan "1..N",
# other numbers or another number of results, crashes, or exceeds its time counts as one more failure (tap.awk). With HOSTRACE_REQUIRE_LIVE=1, a skip counts as a failure
# unless its reason begins with "kernel:" or "hardware:".
# The results of programs named fuzz/... are inputs, not tests: they are not counted as passed.
#
# TAP_SLOWER=5 gives every program five times as many seconds.
#
# A test that is listed in tests/quarantine is run and reported, but is neither passed nor failed. An entry that is no
# test of its program is a failure, unless TAP_PARTIAL=1 says that only some of the program's tests run. QUARANTINE names
# another list.
set -u
here=$(cd "$(dirname "$0")" && pwd)

summary() {
	awk -v dir="$CHECK_DIR" '
	{
		if ($1 ~ /^fuzz\//)
			replayed += $2
		else
			passed += $2
		failed += $3; skipped += $4; quarantined += $5; quarantined_failed += $6
		if ($3)
			bad = bad " " $1
	}
	END {
		if (bad != "")
			printf "failed:%s (output in %s)\n", bad, dir
		if (passed + failed + replayed == 0) {
			print "no test was run"
			failed = 1
		}
		if (replayed)
			printf "%d fuzz inputs replayed\n", replayed
		if (quarantined)
			printf "%d quarantined (%d failed)\n", quarantined, quarantined_failed
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed > 0
	}' "$CHECK_DIR/score" || exit 1
}

slowest() {
	[ -e "$CHECK_DIR/seconds" ] || return 0
	sort -k 3,3nr -k 1,1 "$CHECK_DIR/seconds" | head -n 10 | awk '
	BEGIN { printf "%-44s %7s %7s\n", "slowest:", "wall s", "CPU s" }
	{ printf "  %-42s %7.1f %7.1f\n", $1, $2, $3 }'
}

# Runs the command; its output is in $log, its times in $wall and $cpu.
run_logged() { # SECONDS COMMAND...
	local job status begin=${EPOCHREALTIME/[.,]/}
	: >"$log" # tail must find it
	timeout -k 10 "$@" >"$log" 2>&1 </dev/null &
	job=$!
	trap 'kill $job; exit 143' INT TERM
	[ $show = 0 ] || tail -n +1 --pid=$job -s .2 -f "$log"
	wait $job
	status=$?
	wall=$((${EPOCHREALTIME/[.,]/} - begin))
	times >"$log.times"
	cpu=$(tail -n 1 "$log.times" | awk -F '[ms ]+' '{ print 60 * $1 + $2 + 60 * $3 + $4 }')
	rm "$log.times"
	return $status
}

# Prints what is wrong with a program that ended with this status, apart from its results.
fault_of_status() { # STATUS SECONDS FAILED QUARANTINED_FAILED
	case $1 in
	0) ;;
	124 | 137) echo "killed after $2 s" ;;
	*) [ "$3" != 0 ] || { [ "$4" != 0 ] && [ "$1" -lt 124 ]; } || echo "exit status $1" ;;
	esac
}

run() {
	local name=$1 seconds=$(($2 * ${TAP_SLOWER:-1})) passed failed skipped quarantined quarantined_failed status faults wall cpu
	shift 2
	log=$CHECK_DIR/${name//\//_}.log
	run_logged "$seconds" "$@"
	status=$?
	{
		read -r passed failed skipped quarantined quarantined_failed
		faults=$(cat; fault_of_status $status "$seconds" "$failed" "$quarantined_failed")
	} < <(awk -v name="$name" -v strict="${HOSTRACE_REQUIRE_LIVE:-0}" -v partial="${TAP_PARTIAL:-0}" \
		-v quarantine="${QUARANTINE:-$here/quarantine}" -f "$here/tap.awk" "$log")
	if [ -n "$faults" ]; then
		printf '%s\n' "$faults" | sed 's/^/# /' >>"$log"
		failed=$((failed + 1))
	fi
	exec 9>>"$CHECK_DIR/score"
	flock 9 # one result at a time
	echo "$name $passed $failed $skipped $quarantined $quarantined_failed" >&9
	echo "$name $((wall / 1000000)).$((wall / 100000 % 10)) $cpu" >>"$CHECK_DIR/seconds"
	wall=$((wall / 1000000))
	if [ "$failed" != 0 ]; then
		printf '  FAIL    %s: %d of %d, after %d s:\n' "$name" "$failed" \
			$((passed + failed + skipped)) $wall
		if [ $show = 0 ]; then tail -n 120 "$log"; else printf '%s\n' "$faults"; fi | sed 's/^/    /'
	else
		printf '  ok      %-40s %4d %s%s%s\n' "$name" "$passed" \
			"$(case $name in fuzz/*) echo replayed ;; *) echo passed ;; esac)" \
			"$([ "$skipped" = 0 ] || echo ", $skipped skipped")" "$([ $wall -lt 10 ] || echo ", $wall s")"
	fi
}

mkdir -p "${CHECK_DIR:?}"
show=0
case $1 in
--summary)
	slowest
	summary
	exit
	;;
--show)
	show=1
	shift
	;;
esac
run "$@"
