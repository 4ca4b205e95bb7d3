#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares what hostrace counts in each captured recording with what perf or trace-cmd counted there (peer.sh; stored
# beside the recording as NAME.oracle, so that neither is needed here).
#
#   tests/oracles/run.sh              every recording of tests/cases and tests/oracles, as TAP
#   tests/oracles/run.sh --remake     runs perf and trace-cmd again; prints what differs from what is stored
#   tests/oracles/run.sh --update     stores what they print now; read the diff before committing
#
# A recording must have an oracle or a row in `differences`, the table of what differs on purpose; a row that matches
# nothing fails. HOSTRACE is the program (default build/hostrace).
# shellcheck source-path=SCRIPTDIR
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
tests=$(dirname "$here")
hostrace=$(realpath "${HOSTRACE:-$here/../../build/hostrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C TZ=UTC
unset COLUMNS
. "$here/../tap.inc"
: >"$work/used"

recordings() {
	(cd "$tests" && find cases oracles -type f '(' -name '*.dat' -o -name '*.data' ')' | sort)
}

# The facts of peer.sh, as hostrace's reports have them. Times are without those of events of hostrace's own.
facts() { # FILE
	"$hostrace" list -q -i "$1" -f json >"$work/list" && "$hostrace" info -q -i "$1" -f json >"$work/info" || return
	jq -r '.rows | (group_by(.event)[] | "event \(.[0].event | sub("^.*:"; "")) \(length)"),
		(map(select(.event | IN("thread", "gap", "lost") | not) | .time_ns // .time_ticks) | "first \(min)", "last \(max)")' \
		"$work/list"
	jq -r '"lost \(.result.lost // {} | add // 0)",
		(.caveats[] | capture(": (?<n>[0-9]+) events without a usable format") | "event UNKNOWN \(.n)")' "$work/info"
	[ "${1##*.}" = data ] || return 0
	"$hostrace" exits -q -i "$1" -f csv 2>"$work/no-exits" | awk -F , '
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
		!("min_ns" in column) { exit } # counted, without ends
		{ printf "exit %s %d %.2f %.2f\n", $column["reason"], $column["count"], $column["min_ns"] / 1000, $column["max_ns"] / 1000 }'
}

# Drops the lines of a diff on stdin that the table explains, and notes which rows were used.
unexplained() { # FILE
	local line name pattern row explained
	while IFS= read -r line; do
		explained=
		row=0
		while IFS=$'\t' read -r name pattern _; do
			row=$((row + 1))
			# shellcheck disable=SC2053
			[[ $name != \#* && $1 == $name && $line == $pattern ]] || continue
			echo $row >>"$work/used"
			explained=yes
		done <"$here/differences"
		[ -n "$explained" ] || echo "$line"
	done
}

compare() { # FILE
	local oracle=$tests/$1.oracle
	if [ ! -f "$oracle" ]; then
		echo "-no oracle" | unexplained "$1" >"$work/diff"
	else
		facts "$tests/$1" | sort >"$work/ours" || echo "hostrace failed" >>"$work/ours"
		grep -v '^#' "$oracle" | sort | diff -U 0 - "$work/ours" | tail -n +3 | grep -v '^@' | unexplained "$1" >"$work/diff"
	fi
	[ -s "$work/diff" ]
	result "$1" $((!$?)) "$work/diff"
}

# Rows of the table that no recording needed.
check_table() {
	awk -F '\t' 'NR == FNR { used[$1] = 1; next } !/^#/ && !(FNR in used) { print "row " FNR " explains nothing: " $0; bad = 1 }
		END { exit bad }' "$work/used" "$here/differences" >"$work/stale"
	result "differences: every row is needed" $? "$work/stale"
}

remake() { # FILE UPDATE
	local oracle=$tests/$1.oracle
	"$here/peer.sh" "$tests/$1" >"$work/peer" 2>"$work/error" || {
		[ ! -f "$oracle" ]
		result "$1: $(sed "s|$tests/||" "$work/error" | tail -n 1)" $?
		return
	}
	[ "$2" = no ] || cp "$work/peer" "$oracle"
	diff -u --label "$1.oracle" --label "printed now" "$oracle" "$work/peer" >"$work/diff" 2>&1
	result "$1" $? "$work/diff"
}

for file in $(recordings); do
	case ${1:-} in
	--remake) remake "$file" no ;;
	--update) remake "$file" yes ;;
	*) compare "$file" ;;
	esac
done
[ $# -gt 0 ] || check_table
results_end
