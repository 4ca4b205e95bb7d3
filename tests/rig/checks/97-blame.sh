# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# blame with true exits: an idle guest halts, one whose memory comes late faults; the parts of all exits sum to their
# lengths.

# ns that pages took so far
late_ns() {
	od -A n -t u8 -w8 "$1" | sed -n 2p | tr -d ' '
}

# The largest cause, but for the host's other tasks.
cause='[.causes[] | select(.cause != "preempted" and .cause != "runqueue")][0] | .cause'

equal "both recordings ended, status 0" "$(cat "$out"/{idle,late}.record.status | xargs)" "0 0"
equal "blame: an idle guest is halted" "$(report idle.hrt blame "$cause")" halted
ns() { # JQ-FILTER of causes
	report idle.hrt blame "[.causes[] | select($1) | .time_ns] | add // 0"
}
holds "... most of the time in which no other task had its CPU, %" "$((100 * $(ns '.cause == "halted"') /
	($(report idle.hrt info .result.span_ns) - $(ns '.cause == "preempted" or .cause == "runqueue"'))))" -ge 40
equal "blame: a guest whose pages come late waits for faults" "$(report late.hrt blame "$cause")" fault
injected=$(($(late_ns "$out/late.after") - $(late_ns "$out/late.before")))
fault=$(report late.hrt "blame $(window_of late.hrt "$out/late.window")" '[.causes[] | select(.cause == "fault") | .time_ns] | add // 0')
holds "... at least 95 % of the time that they took ($injected ns) is attributed to faults" "$fault" -ge $((injected / 100 * 95))
for name in idle late healthy traced; do
	[ ! -s "$out/$name.hrt" ] || equal "blame: the causes of every exit in $name add up to it" \
		"$(report $name.hrt "blame --limit 100000" '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length')" 0
done
