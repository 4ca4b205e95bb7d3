# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Host and guest side by side: each block request that the guest traced has its virtqueue element; the timeline has both.

guest=$out/traced.guest
report traced.hrt requests . --guest "$guest" >"$work/requests"
requests=$(jq '.totals.requests' "$work/requests")
holds "the guest traced its requests" "$requests" -ge 100
holds "requests that have their element" "$(jq '.totals.matched' "$work/requests")" -ge $((requests * 98 / 100))
holds "requests whose element went through their CPU's queue" \
	"$(jq '[.rows[] | select(.queue == .vcpu)] | length' "$work/requests")" -ge $((requests * 9 / 10))
equal "all are of the first disk" "$(jq -r '[.rows[].device | values] | unique | join(" ")' "$work/requests")" \
	"/machine/peripheral/disk/virtio-backend"
error=$(jq '.clock.error_ns' "$work/requests")
equal "pop and fill lie within the request" \
	"$(jq --argjson e "$error" '[.rows[] | select(.pop_ns) | .issue_ns <= .pop_ns + $e and .fill_ns <= .complete_ns + $e] | all' "$work/requests")" true
holds "requests whose kick was seen as an exit" "$(jq '[.rows[] | select(.exit_reason)] | length' "$work/requests")" \
	-ge $((requests / 2))
holds "requests whose interrupt was seen in the guest" "$(jq '[.rows[] | select(.irq_ns)] | length' "$work/requests")" \
	-ge $((requests / 2))
# 1000 s of error: the two traces no longer overlap.
offset=$(report traced.hrt sync '.rows[0].offset' --guest "$guest")
khz=$(report traced.hrt info '.result.clocks[0].tsc_khz')
holds "with 1000 s of error hardly any fits" \
	"$(report traced.hrt requests '.totals.matched' --guest "$guest" --clock "$((offset + 1000000 * khz))")" \
	-lt $((requests / 10))

report traced.hrt timeline '[.rows[].kind] | unique | join(" ")' --guest "$guest" >"$work/kinds"
for kind in guest kernel halted request task irq; do
	holds "timeline: $kind" "$(grep -cw "$kind" "$work/kinds")" -eq 1
done
holds "timeline: arrows that end at the guest's completion" \
	"$(report traced.hrt timeline '[.rows[] | select(.flows and (.name | startswith("complete ")))] | length' \
		--guest "$guest")" -ge $((requests * 98 / 100))
timeout 300 "$program" timeline -i "$out/traced.hrt" --guest "$guest" -f perfetto -o "$work/pftrace" 2>>"$work/stderr"
holds "timeline: bytes for Perfetto" "$(stat -c %s "$work/pftrace")" -ge 500000
# The time of four requests: in the rig a single one may last longer than 10 ms.
read -r first period < <(jq -r '[.rows[] | select(.pop_ns)] | sort_by(.issue_ns) | .[:4] |
	"\(.[0].issue_ns) \((map(.complete_ns) | max) - .[0].issue_ns)"' "$work/requests")
timeout 300 "$program" timeline -i "$out/traced.hrt" --guest "$guest" --since "${first}ns" --period "${period}ns" -f svg \
	-o "$work/timeline.svg" 2>>"$work/stderr"
holds "timeline: arrows of four requests" "$(grep -c marker-end "$work/timeline.svg")" -ge 4
