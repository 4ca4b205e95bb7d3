# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The guest's own trace, recorded together with the host's: on the host's clock, complete, and for a ring without exits.

[ -f "$out/agent.status" ] || return 0 # only with RIG_PARTS=agent: make check-agent
equal "the recording with an agent ends" "$(cat "$out/agent.record.status")" 0
equal "the agents end with status 0 and remove their instances" "$(l2_said agent serial) $(l2_said agent vsock) $(l2_said agent instances)" "0 0 0"
equal "agent: the known number of system calls" \
	"$(timeout 300 "$program" list -i "$out/agent.guest" --limit 0 --event guest:sys_enter_mknodat 2>>"$work/stderr" |
		grep -c 'mode=\(4495\|0x118f\)')" 23
for file in agent.guest agent.guest2; do
	equal "$file is complete" "$(timeout 300 "$program" info -i "$out/$file" 2>>"$work/stderr" | sed -n 's/.*ended by //p')" duration
done
report agent.hrt sync '.clock.method, (.totals | .violations, .checked), ([.rows[].error_ns] | max)' \
	--guest "$out/agent.guest" >"$work/sync"
{
	read -r method
	read -r violations
	read -r checked
	read -r error
} <"$work/sync"
equal "agent: the guest's clock is read from the kernel" "$method" read
equal "agent: no guest event lies outside of guest mode" "$violations" 0
holds "agent: guest events were checked" "$checked" -ge 1000
holds "agent: the error is below a microsecond" "$error" -lt 1000
equal "agent: both guest traces are found next to the recording" \
	"$(report agent.hrt sync '[.inputs[].file | sub(".*/"; "")] | join(" ")')" "agent.hrt agent.guest agent.guest2"
holds "vsock: guest events" \
	"$(timeout 300 "$program" info -f json -i "$out/agent.guest2" 2>>"$work/stderr" | jq '[.result.events[]] | add')" -ge 100
equal "vsock: none lies outside of guest mode" \
	"$(report agent.hrt sync '.totals.violations' --guest "$out/agent.guest2")" 0

# exits NAME: those that the guest itself causes, from its first known port write to the end of its last output
guest_exits() {
	report "$1.hrt" list '[.rows[] | select(.event == "kvm_exit" or .event == "kvm_pio")]
		| .[([.[] | .event == "kvm_pio" and (.fields.port == "0x2f0" or .fields.port == 752)] | index(true)):]
		| map(select(.event == "kvm_exit") | .fields.reason | tostring
			| select(test("intr|interrupt|hlt"; "i") | not)) | group_by(.) | map("\(.[0]) \(length)") | join(" ")' \
		--limit 0 --event kvm_exit,kvm_pio
}
equal "ring: every record was read" \
	"$(timeout 300 "$program" info -f json -i "$out/ringed.guest" 2>>"$work/stderr" | jq '.result.events["guest:work"]')" 143
equal "ring: all lie in guest mode" \
	"$(report ringed.hrt sync '.totals | "\(.checked) \(.violations)"' --guest "$out/ringed.guest")" "143 0"
equal "ring: it costs the guest no exit" "$(guest_exits ringed)" "$(guest_exits ringless)"
