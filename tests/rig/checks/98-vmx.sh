# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host with an Intel CPU: the exits are tracefs's one by one, the demo's figures are right, and a guest's own stamps lie
# where the TSC's offset and ratio put them.

[ -f "$out/vmx.status" ] || return 0 # only with RIG_CPU=vmx: make check-vmx
equal "kvm_intel with EPT" "$(cat "$out/vmx.ept")" Y

for name in mini demo; do
	equal "$name: exits of VMX, nothing lost" \
		"$(report $name.hrt "list --event kvm_exit --limit 1" '.rows[].fields.isa') $(report $name.hrt info '.result.lost | length')" "vmx 0"
	oracle_sequence $name >"$work/wanted"
	hostrace_sequence $name.hrt >"$work/got"
	same_lines "$name: exits and entries are tracefs's, one by one" "$work/got" "$work/wanted"
	for event in kvm_userspace_exit kvm_pio kvm_mmio kvm_msr; do
		equal "$name: $event as often as tracefs recorded" "$(report $name.hrt info ".result.events.$event // 0")" \
			"$(oracle $name | grep -c " $event: ")"
	done
	report $name.hrt ports '.rows[] | "\(.dir) \(.port) \(.size) \(.count)"' | sort >"$work/ports.$name"
done
equal "mini: the VM did its work, the recordings ended with it" "$(cat "$out"/mini.{vmm,record}.status | xargs)" "0 0 0"
equal "mini: the known accesses" "$(sort "$work/ports.mini" | paste -s -d ,)" "in 752 1 40,out 244 1 1,out 752 1 300"
equal "mini: the known halts" "$(report mini.hrt exits '.rows[] | select(.reason == "HLT").count')" 5

# record --exit-reasons of the same VM at the same time
for name in mini mini-reasons; do
	report $name.hrt "list --event kvm_exit --limit 0" '.rows[].fields.reason' >"$work/exits.$name"
done
same_lines "exit-reasons: each exit's reason is that of the other recording" "$work/exits.mini-reasons" "$work/exits.mini"
equal "exit-reasons: no exit has an instruction pointer or a qualification" \
	"$(report mini-reasons.hrt "list --event kvm_exit --limit 0" '.rows[].fields | "\(.rip) \(.info1) \(.info2)"' | sort -u)" "0x0 0x0 0x0"
equal "exit-reasons: the trace says so" \
	"$(report mini-reasons.hrt info '(.result.probes[] | select(.event == "kvm_exit") | .where), (.caveats | map(select(test("--exit-reasons"))) | length)' | xargs)" \
	"tp_btf/kvm_exit 1"
equal "exit-reasons: ports are known from kvm_pio" \
	"$(report mini-reasons.hrt ports '.rows[] | "\(.dir) \(.port) \(.size) \(.count)"' | sort | paste -s -d ,)" \
	"$(sort "$work/ports.mini" | paste -s -d ,)"
equal "exit-reasons: profile --host does not count exits without an instruction pointer" \
	"$("$program" profile --host --causes-exits -i "$out/mini-reasons.hrt" 2>&1 >/dev/null | grep -c "no kvm_exit with the guest's instruction pointer")" 1

equal "demo: the trace says from what kvm_exit was read" \
	"$(report demo.hrt info '.result.probes[] | select(.event == "kvm_exit") | "\(.where) \(.reason)"')" \
	"tp/kvm/kvm_exit from the formatted record, which costs more"
equal "demo: status 0, all known figures" \
	"$(cat "$out/demo.status") $(jq -r '.result.checks | "\(length) \(map(select(.ok)) | length)"' "$out/demo/demo.json")" "0 11 11"

# Two guests that stamp their own events by RDTSC: at the host's rate, and at another.
for name in ringed scaled; do
	equal "$name: every record was read" \
		"$(timeout 300 "$program" info -f json -i "$out/$name.guest" 2>>"$work/stderr" | jq '.result.events["guest:work"]')" 143
	equal "$name: the guest's clock is read from the kernel" \
		"$(report $name.hrt sync .clock.method --guest "$out/$name.guest")" read
	equal "$name: all guest events lie in guest mode" \
		"$(report $name.hrt sync '.totals | "\(.checked) \(.violations)"' --guest "$out/$name.guest")" "143 0"
done
