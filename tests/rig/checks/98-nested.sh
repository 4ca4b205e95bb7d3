# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A guest with guests of its own: KVM's exits of both are recorded, and doctor and the trace say that it is a hypervisor.

[ -f "$out/nested.status" ] || return 0 # only with RIG_PARTS=nested: make check-matrix

oracle_sequence nested >"$work/wanted"
hostrace_sequence nested.hrt >"$work/got"
same_lines "nested: exits and entries are tracefs's, one by one" "$work/got" "$work/wanted"
equal "nested: nothing lost" "$(lost_in nested.hrt)" nothing
equal "nested: the guest's guests did what they should" "$(l2_said nested status)" 3

# Reason 123 (SVM) or 30 (VMX); EXITINFO1 and the exit qualification of an I/O exit begin with the port. KVM has the guest do the access for its guests: there is no kvm_pio.
nested_io=$(grep -c '^[0-9]* exit \(123\|30\) [^ ]* 0x2f0[0-9a-f]\{4\} ' "$work/got")
equal "nested: the guest's guests access their port" "$nested_io" $((3 * (300 + 40)))
equal "nested: tracefs has as many nested exits" \
	"$(oracle nested | grep -c ' kvm_nested_vmexit: .* reason \(io\|IO_INSTRUCTION\) .* info1 0x0*2f0[0-9a-f]\{4\} ')" "$nested_io"

# "TID EVENT REASON" of each event, in its thread's order.
oracle nested | sed -n 's/^\([0-9]*\) [^ ]* \(kvm_nested_[a-z_]*\): .*reason:* \(.*\) \(rip\|ext_inf1:\) .*/\1 \2 \3/p' |
	sort -s -n -k 1,1 >"$work/wanted"
report nested.hrt list '.rows[] | "\(.tid) \(.event) \(.fields.reason)"' --event 'kvm_nested_*' |
	sort -s -n -k 1,1 >"$work/got"
same_lines "nested: what KVM says of them is tracefs's, one by one" "$work/got" "$work/wanted"

# "LEVEL HANDLER REASON COUNT" by tracefs's own order of events within each thread.
oracle nested | awk '
	function reason() {
		sub(/.* reason /, "")
		sub(/ rip .*/, "")
		return $0
	}
	$3 == "kvm_exit:" { tid = $1; level[tid] = "L1"; handler[tid] = "L0"; exit_of[tid] = reason() }
	$3 == "kvm_nested_vmexit:" { level[$1] = "L2" }
	$3 == "kvm_nested_vmexit_inject:" && level[$1] == "L2" { handler[$1] = "L1" }
	$3 == "kvm_entry:" && $1 in level {
		count[level[$1] " " handler[$1] " " exit_of[$1]]++
		delete level[$1]
	}
	END { for (key in count) print key, count[key] }' | sort >"$work/wanted"
for trace in nested.hrt nested.trace; do
	report $trace exits '.rows[] | "\(.level) \(.handler) \(.reason) \(.count)"' --by level,handler | sort >"$work/got"
	same_lines "nested: exits of guest and guest's guests, and who handled them, in $trace" "$work/got" "$work/wanted"
done
equal "nested: all accesses to the port are of the guest's guests, and handled by the guest" \
	"$(report nested.hrt exits '.rows[] | select(.port == 752) | "\(.level) \(.handler) \(.count)"' --by =level,handler,port)" \
	"L2 L1 $((3 * (300 + 40)))"

equal "nested: doctor calls it a hypervisor" "$(jq '.result.vms[0].hypervisor' "$out/nested.doctor.json")" true
equal "nested: so does a trace" "$(report nested-late.hrt info .result.vm.hypervisor)" true
