# SPDX-License-Identifier: GPL-2.0-or-later
# Repeats a trace in hostrace's text form until it has `events` events, each copy later than the one before. Times in TSC
# ticks, of calibration pairs, follow; `khz` is their frequency. A guest's trace (text of tracefs in ticks) is repeated as
# often as the host's, with `copies` and the same `step` in seconds.

BEGIN { n = 0 }
/^# (hostrace|type|meta|tracer)/ && !seen[$2]++ { print }
/^# type/ && seen["type"] > 1 { print }
/^[0-9]/ { begin[n] = $1; sub(/^[^ ]+/, ""); line[n++] = $0 }
/^ .*: / { ticks = 1; match($0, / [0-9]+: /); before[n] = substr($0, 1, RSTART); begin[n] = substr($0, RSTART + 1, RLENGTH - 3)
	line[n++] = substr($0, RSTART + RLENGTH - 2) }

function later(text, copy) { # with the time in ticks that it holds
	if (!match(text, /tsc=[0-9]+/))
		return text
	return substr(text, 1, RSTART - 1) sprintf("tsc=%.0f", substr(text, RSTART + 4, RLENGTH - 4) + copy * step * khz * 1000) \
		substr(text, RSTART + RLENGTH)
}

END {
	if (!step)
		step = int(begin[n - 1] - begin[0]) + 1
	if (!copies)
		copies = int((events + n - 1) / n)
	for (copy = 0; copy < copies; copy++)
		for (i = 0; i < n; i++)
			if (ticks)
				printf "%s%.0f%s\n", before[i], begin[i] + copy * step * khz * 1000, line[i]
			else
				printf "%.9f%s\n", begin[i] + copy * step, later(line[i], copy)
}
