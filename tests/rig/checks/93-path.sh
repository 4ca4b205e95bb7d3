# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# requests --stages with true exits and the guest's trace: each read of the guest's is followed from its issue over the
# kick, QEMU, the disk of the host and the interrupt to its completion.

guest=$out/traced.guest
report traced.hrt "requests --stages" . --guest "$guest" --limit 100000 >"$work/path"
jq '[.rows[] | select(.points_ns.issue)]' "$work/path" >"$work/reads"
reads=$(grep -c 'block_rq_issue: .* R' "$guest")
holds "path: the guest traced its reads" "$reads" -ge 100
equal "path: each was followed" "$(jq length "$work/reads")" "$reads"
all="issue kick handler pop submit dispatch done push notify raise inject irq complete"
# Of one that comes while QEMU works for another the kick wakes nobody; of one that ends so, the interrupt is another's.
holds "path: ... most of them through all points" \
	"$(jq --arg all "$all" '[.[] | select((.points_ns | keys_unsorted | join(" ")) == $all)] | length' "$work/reads")" \
	-ge $((reads * 8 / 10))
equal "path: the points are in this order, but for the error of the guest's clock" \
	"$(jq --argjson error "$(jq .clock.error_ns "$work/path")" \
		'[.[].points_ns | [.[]] as $p | [range(1; $p | length) | $p[.] >= $p[. - 1] - $error] | all] | all' "$work/reads")" true
equal "path: the stages of every request add up to its length" \
	"$(jq '[.rows[] | .total_ns == ([.parts[].duration_ns] | add)] | all' "$work/path")" true
equal "path: ... and all stages to all requests" "$(jq '([.stages[].time_ns] | add) == .totals.time_ns' "$work/path")" true
# The guest's text has its timestamps in TSC ticks, and the sector of each request.
ticks=$(awk '
	/ block_rq_(issue|complete): / {
		match($0, /[0-9]+: block_rq_/)
		at = substr($0, RSTART, RLENGTH) + 0
		sub(/.*\(\) /, "")
		if (!($1 in issued)) issued[$1] = at
		else sum += at - issued[$1]
	}
	END { printf "%.0f", sum }' "$guest")
took=$((ticks * 1000 / $(report traced.hrt info '.result.clocks[0].tsc_khz') * 1000))
followed=$(jq '[.[].points_ns | .complete - .issue] | add' "$work/reads")
holds "path: ns that they took, at least 99.9 % of what the guest's timestamps say" "$followed" -ge $((took / 1000 * 999))
holds "path: ... and at most 100.1 %" "$followed" -le $((took / 1000 * 1001))
report traced.hrt list '[.rows[].time_ns]' --event kvm_exit --limit 0 >"$work/exit-times"
equal "path: each kick is an exit" "$(jq --slurpfile exits "$work/exit-times" \
	'($exits[0] | map({key: tostring, value: true}) | from_entries) as $at |
	[.[].points_ns.kick | values | $at[tostring] // false] | all' "$work/reads")" true
equal "path: each has one I/O request of the host" "$(jq -c '[.[].host_ios] | unique' "$work/reads")" "[1]"
equal "path: each I/O of the host lies within QEMU's hands" \
	"$(jq '[.[].points_ns | select(.submit) | .pop <= .submit and .submit <= .dispatch and .dispatch <= .done and .done <= .push] | all' \
		"$work/reads")" true
