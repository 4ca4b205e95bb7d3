# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# blame with true exits: an idle guest halts, one whose memory comes late faults, one beside a CPU hog is preempted; the
# parts of all exits sum to their lengths.

# ns that pages took so far
late_ns() {
	od -A n -t u8 -w8 "$1" | sed -n 2p | tr -d ' '
}

# The largest cause, but for the host's other tasks.
cause='[.causes[] | select(.cause != "preempted" and .cause != "runqueue")][0] | .cause'

equal "the recordings ended, status 0" "$(cat "$out"/{idle,late,hogged}.record.status | xargs)" "0 0 0"
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

read -r vcpu inside outside <"$out/hogged.ran"
hog='(.cause == "preempted" or .cause == "runqueue") and .comm == "blamehog"'
equal "blame: a guest beside a CPU hog is preempted by it" \
	"$(report hogged.hrt blame '.causes[0] | .cause + " " + .comm')" "preempted blamehog"
named=$(report hogged.hrt blame "[.causes[] | select($hog) | .time_ns] | add // 0")
holds "... at least 95 % of the time that it ran ($inside ns) is attributed to it" "$named" -ge $((inside / 100 * 95))
holds "... and at most 105 % of what it ran in all ($outside ns)" "$named" -le $((outside / 100 * 105))
# What the switches themselves say: the time that the hog ran on the CPU of the vCPU's thread, which could run, in exits
# that are complete in the recording.
switched=$(events_text hogged.hrt | awk -v vcpu="$vcpu" '
	function value(key) {
		return match($0, " " key "=[^ ]*") ? substr($0, RSTART + length(key) + 2, RLENGTH - length(key) - 2) : ""
	}
	function runs(task) {
		if (hog)
			pending += ($1 - since) * 1e9
		since = $1
		hog = task ~ /^"?blamehog/
	}
	$2 == "kvm_exit" && value("tid") == vcpu { pending = 0; open = 1 }
	$2 == "kvm_entry" && value("tid") == vcpu { ns += open ? pending : 0; open = 0 }
	$2 == "sched_switch" && value("next_tid") == vcpu { runs(""); cpu = "" }
	$2 == "sched_switch" && value("prev_tid") == vcpu && value("prev_state") ~ /^(0x)?0$/ { runs(value("next_comm")); cpu = value("cpu") }
	$2 == "sched_ran" && value("cpu") == cpu { runs(value("next_comm")) }
	END { printf "%.0f", ns }')
holds "... at least 95 % of the time between its switches ($switched ns)" "$named" -ge $((switched / 100 * 95))
holds "... and at most 105 % of that" "$named" -le $((switched / 100 * 105))
for name in idle late hogged healthy traced; do
	[ ! -s "$out/$name.hrt" ] || equal "blame: the causes of every exit in $name add up to it" \
		"$(report $name.hrt "blame --limit 100000" '[.rows[] | select(.latency_ns != ([.causes[]] | add))] | length')" 0
done
