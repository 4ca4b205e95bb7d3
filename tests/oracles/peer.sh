#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What another program counts in a recording:
#
#   tests/oracles/peer.sh FILE      FILE.data: perf script, perf kvm stat report; FILE.dat: trace-cmd report
#
# Prints a comment with the program's version, then one fact a line:
#
#   event NAME COUNT        events of one type, the subsystem left out; UNKNOWN: those that the program cannot print
#   first TIME, last TIME   the first and last timestamp, in ns or in ticks of the file's clock
#   lost COUNT              events that were lost, as far as the file has the figures
#   exit REASON COUNT MIN MAX    VM-exits by reason with the shortest and longest in us ("perf kvm stat report")
#
# Status 1: the program cannot read the file.
set -u -o pipefail
export LC_ALL=C TZ=UTC
file=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Lines of "TIME NAME", the time as seconds with a fraction or as ticks.
count_events() {
	awk '
	{
		sub(/:$/, "", $1)
		sub(/:$/, "", $2)
		sub(/^[^:]*:/, "", $2)
		sub(/\./, "", $1)
		sub(/^0+/, "", $1)
		if ($1 != "-") {
			if (first == "" || length($1) < length(first) || (length($1) == length(first) && $1 "" < first ""))
				first = $1
			if (length($1) > length(last) || (length($1) == length(last) && $1 "" > last ""))
				last = $1
		}
		count[$2]++
	}
	END {
		for (name in count)
			print "event", name, count[name] | "sort"
		close("sort")
		print "first", first
		print "last", last
	}'
}

peer_perf() {
	echo "# $(perf --version): perf script, perf report --stats, perf kvm stat report"
	perf script -f --ns -F event,time -i "$file" 2>"$work/errors" >"$work/events" && [ -s "$work/events" ] || return
	count_events <"$work/events"
	perf script -f --ns -F event,time --show-lost-events -i "$file" 2>"$work/errors" |
		awk '/PERF_RECORD_LOST/ { lost += $NF } END { print "lost", lost + 0 }'
	# It prints the report on stderr, and fails for a file that was written through a pipe.
	perf kvm --host -i "$file" stat report 2>&1 |
		awk '$4 ~ /%$/ && $5 ~ /us$/ { sub("us", "", $5); sub("us", "", $6); print "exit", tolower($1), $2, $5, $6 }' |
		sort
	return 0
}

# What the kernel's counters have and the file has not: overwritten, dropped, left in the buffers, or read and not here.
peer_trace_cmd() {
	echo "# $(trace-cmd --version | sed -n 's/^trace-cmd version \([^ ]*\).*/trace-cmd \1/p'): trace-cmd report -t, --stat"
	trace-cmd report -t -i "$file" 2>"$work/errors" >"$work/text" || return
	awk '
	/^\[UNKNOWN EVENT\]/ { print "-", "UNKNOWN"; next }
	match($0, /\[[0-9][0-9][0-9]\] *[0-9.]+: [^ ]+:/) {
		split(substr($0, RSTART + 5, RLENGTH - 5), part, " ")
		print part[1], part[2]
	}' "$work/text" >"$work/events"
	count_events <"$work/events"
	trace-cmd report --stat -i "$file" 2>"$work/errors" |
		awk -v present="$(wc -l <"$work/events")" '
		/^(entries|overrun|commit overrun|dropped events|read events): / { handed += $NF }
		END { print "lost", (handed > present ? handed - present : 0) }'
}

case $file in
*.data) peer_perf ;;
*.dat) peer_trace_cmd ;;
*) false ;;
esac || {
	echo "peer.sh: $file: $(tail -n 1 "$work/errors")" >&2
	exit 1
}
