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
ports_of_exits() { # TRACE: by the exits' qualifications alone
	report "$1" exits '.rows[] | select(.port == 752) | "\(.dir) \(.size) \(.count)"' --by =dir,port,size | sort | paste -s -d ,
}
equal "mini: the known accesses, by the exits' qualifications" "$(ports_of_exits mini.hrt)" "in 1 40,out 1 300"
equal "demo: the known accesses, by the exits' qualifications" "$(ports_of_exits demo.hrt)" "in 1 17,out 1 23"

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

# Of a guest that writes to port 0x2f0 before each record and to 0x2f1 after it: the entry to it after the first write and
# the exit by the second, in ns, of each record. From the host's events alone.
brackets() { # TRACE
	events_text "$1" | awk '
		function ns() { return substr($1, 1, index($1, ".") - 1) substr($1, index($1, ".") + 1) }
		$2 == "kvm_entry" && written { entry = ns(); written = 0 }
		$2 == "kvm_exit" { out = ns() }
		$2 == "kvm_pio" && / port=0x2f0 .*write=1/ { written = 1 }
		$2 == "kvm_pio" && / port=0x2f1 .*write=1/ { print entry, out }'
}

# A scaled TSC whose offset changes in the middle: the VM is put back to a snapshot, stopped and continued, and the guest
# sets its TSC forward by 2^32 and back by 2^31 ticks. 20 records lie between two of these.
report moved.hrt sync . --guest "$out/moved.guest" >"$work/moved.sync"
equal "moved: the recording ended" "$(cat "$out/moved.record.status")" 0
equal "moved: every record was read" \
	"$(timeout 300 "$program" info -f json -i "$out/moved.guest" 2>>"$work/stderr" | jq '.result.events["guest:work"]')" 120
equal "moved: stop and cont leave the offset" "$(sed -n 's/^continued //p' "$out/moved.tsc-offset")" \
	"$(sed -n 's/^loaded //p' "$out/moved.tsc-offset")"
sed -n 's/^\(begin\|loaded\|forward\|end\) 0 //p' "$out/moved.tsc-offset" >"$work/wanted"
equal "moved: four different offsets" "$(sort -u "$work/wanted" | wc -l)" 4
jq -r '.rows[].offset' "$work/moved.sync" >"$work/got"
same_lines "moved: a row for each offset that debugfs shows" "$work/got" "$work/wanted"
equal "moved: each with the ratio that debugfs shows" \
	"$(jq --argjson ratio "$(cat "$out/moved.tsc-ratio")" -c '[.rows[].scale * 281474976710656 - $ratio | fabs < 1e6] | unique' "$work/moved.sync")" "[true]"
equal "moved: read, all records lie in guest mode, each with its offset" \
	"$(jq -c '[.rows[] | [.method, .checked, .unchecked, .violations]]' "$work/moved.sync")" \
	'[["read",20,0,0],["read",40,0,0],["read",40,0,0],["read",20,0,0]]'
brackets moved.hrt >"$work/brackets"
equal "moved: each record has its two port writes" "$(wc -l <"$work/brackets")" 120
timeout 300 "$program" list -f json -i "$out/moved.hrt" --event guest:work --limit 0 2>>"$work/stderr" >"$work/moved.list"
equal "moved: merged in the order in which the guest wrote them" "$(jq -c '[.rows[].fields.n] == [range(120)]' "$work/moved.list")" true
equal "moved: each merged time lies between its two port writes, within the bound" \
	"$(jq -r '.clock.error_ns as $bound | .rows[] | "\(.time_ns) \($bound)"' "$work/moved.list" | paste -d ' ' - "$work/brackets" |
		awk '{ n++; bad += $1 + $2 < $3 || $1 - $2 > $4; width += $4 - $3; worst = $4 - $3 > worst ? $4 - $3 : worst }
			END { printf "%d records, %d outside\n", n, bad; printf "%d ns between the writes on average, %d at most\n", width / n, worst >"/dev/stderr" }' 2>"$work/moved.width")" \
	"120 records, 0 outside"
sed 's/^/# moved: /' "$work/moved.width"
