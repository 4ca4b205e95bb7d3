# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One kernel of the matrix with each QEMU: the short set, and that `doctor` and the trace agree on how each event is taken.
# $out/tested.json has the facts for doc/tested.md.

[ -f "$out/cell.status" ] || return 0 # only with RIG_PARTS=cell: make check-matrix

cell_facts() { # NAME
	jq -n -c --arg kernel "$(cat "$out/cell.kernel")" --arg symbols "$(cat "$out/$1.symbols.how")" \
		--arg symbols_same "$symbols_same" --arg tracefs "$tracefs" --arg nested "${nested_io:-}" \
		--slurpfile demo "$out/$1-demo/demo.json" --slurpfile doctor "$out/$1.doctor.json" \
		--slurpfile info <(timeout 300 "$program" info -f json -i "$out/$1.hrt" 2>>"$work/stderr") \
		--slurpfile events <(timeout 300 "$program" info -f json -i "$out/$1-demo.hrt" 2>>"$work/stderr") '
		{kernel: $kernel, nested: $nested, symbols: $symbols, symbols_same: ($symbols_same == "1"), tracefs: ($tracefs | tonumber),
		 demo: $demo[0].result.checks, doctor: $doctor[0].result, plan: $doctor[0].rows, vm: $info[0].result.vm,
		 probes: $info[0].result.probes, events: $events[0].result.events}'
}

rm -f "$out/tested.json"
for name in $qemus; do
	tracefs=0
	for trace in "$name-demo" "$name"; do
		oracle_sequence "$trace" >"$work/wanted"
		hostrace_sequence "$trace.hrt" >"$work/got"
		same_lines "$trace: exits and entries are tracefs's, one by one" "$work/got" "$work/wanted"
		tracefs=$((tracefs + $(wc -l <"$work/got")))
		for event in kvm_userspace_exit kvm_pio kvm_mmio kvm_msr; do
			equal "$trace: $event as often as tracefs recorded" "$(report "$trace.hrt" info ".result.events.$event // 0")" \
				"$(oracle "$trace" | grep -c " $event: ")"
		done
		equal "$trace: nothing lost" "$(lost_in "$trace.hrt")" nothing
	done
	equal "$name: the demo's known figures" \
		"$(cat "$out/$name-demo.status") $(jq -r '.result.checks | "\(length) \(map(select(.ok)) | length)"' "$out/$name-demo/demo.json")" "0 11 11"
	equal "$name: the recording ended with the Linux guest" "$(cat "$out/$name.record.status")" 0
	equal "$name: the guest's symbols, as it has them itself" "$(cat "$out/$name.symbols")" "$(l2_said "$name" symbols)"
	symbols_same=$([ "$(cat "$out/$name.symbols")" = "$(l2_said "$name" symbols)" ] && echo 1)
	jq -r '.rows[] | "\(.event) \(.how)"' "$out/$name.doctor.json" | sort >"$work/doctor"
	report "$name.hrt" info '.result.probes[] | "\(.event) \(.how)"' | sort >"$work/got"
	join "$work/doctor" <(cut -d ' ' -f 1 "$work/got") >"$work/wanted" # those of the recording
	same_lines "$name: each event was taken as doctor had said" "$work/got" "$work/wanted"
	equal "$name: a VM of one vCPU" "$(report "$name.hrt" info '.result.vm.vcpus | length')" 1
	equal "$name: the guest is no hypervisor" "$(jq '.result.vms[0].hypervisor' "$out/$name.doctor.json")" false
	equal "$name: the kernel rejected none of our programs" \
		"$(report "$name.hrt" info '[.result.probes[].reason | select(contains("rejected"))] | length')" 0
	equal "$name: the tracepoints' arguments are read, of kvm_exit with SVM" \
		"$(report "$name.hrt" info '.result.probes[] | select(.event | test("^kvm_(exit|entry|page_fault)$")).where' | paste -s)" \
		"$(printf 'tp%s/kvm_exit\ttp_btf/kvm_entry\ttp_btf/kvm_page_fault' \
			"$(report "$name.hrt" info 'if .result.vm.isa == 2 then "_btf" else "/kvm" end')")"
	cell_facts "$name" >>"$out/tested.json"
	nested_io= # was with the first QEMU only
done
