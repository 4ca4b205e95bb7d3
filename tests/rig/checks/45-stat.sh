# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What `stat` counted in the kernel equals what a recording of the same VM's whole life reports.

equal "stat and the recording ended with the VM, status 0" \
	"$(cat "$out/counted.stat.status" "$out/counted.record.status" | xargs)" "0 0"
equal "stat takes kvm_exit from the tracepoint's own argument" "$(jq -r .where "$out/counted.stat")" "tp_btf/kvm_exit"
rows='.rows[] | select(.count > 0) | "\(.vcpu) \(.reason) \(.count) \(.userspace_count)"'
jq -r "$rows" "$out/counted.stat" | sort >"$work/got"
report counted.hrt "exits --by vcpu" "$rows" | sort >"$work/wanted"
same_lines "stat: exits by vCPU and reason, and how many went through QEMU" "$work/got" "$work/wanted"
holds "some thousand exits" "$(jq '[.rows[].count] | add' "$out/counted.stat")" -ge 3000

# The two programs read the clock in the same tracepoint one after the other: where the machine below stands still between
# them, one reason's time differs. So it must agree for most of those with 100 ms and more.
times='.rows[] | select(.total_ns >= 1e8) | "\(.vcpu):\(.reason) \(.total_ns)"'
jq -r "$times" "$out/counted.stat" | sort >"$work/got"
report counted.hrt "exits --by vcpu" "$times" | sort >"$work/wanted"
close_by=$(join "$work/got" "$work/wanted" | awk '
	{ close_by += ($2 > $3 ? $2 - $3 : $3 - $2) < $3 / 20 }
	END { print NR < 4 ? "fewer than 4 reasons" : int(100 * close_by / NR) }')
holds "stat: reasons whose time is within 5 % of the recording's, %" "$close_by" -ge 75
equal "stat: percentiles lie between the least and the largest, in order" \
	"$(jq '[.rows[] | [.min_ns, .p50_ns, .p90_ns, .p99_ns, .p999_ns, .max_ns] | . == sort] | all' "$out/counted.stat")" true

# top counts the same with other programs attached, in intervals.
equal "top ended with the VM, status 0" "$(cat "$out/counted.top.status")" 0
jq -rs '[.[].vms[].vcpus[] | .vcpu as $v | .reasons[] | {key: "\($v) \(.name)", count, userspace_count}] | group_by(.key)[] |
	"\(.[0].key) \(map(.count) | add) \(map(.userspace_count) | add)" | select(test(" 0 0$") | not)' \
	"$out/counted.top" | sort >"$work/got"
report counted.hrt "exits --by vcpu" "$rows" | sort >"$work/wanted"
same_lines "top: exits by vCPU and reason, and how many went through QEMU" "$work/got" "$work/wanted"
equal "top: accesses to ports" "$(jq -s '[.[].vms[].ports[].count] | add' "$out/counted.top")" \
	"$(report counted.hrt ports '[.rows[].count] | add')"
got=$(jq -s '[.[].vms[].vcpus[].reasons[].causes[]] | add' "$out/counted.top")
wanted=$(jq -s '[.[].vms[].vcpus[].time_ns] | add' "$out/counted.top")
holds "top: the causes make the time of the exits, $wanted ns, within 1 %; ns of difference" \
	"$((got > wanted ? got - wanted : wanted - got))" -lt "$((wanted / 100))"

holds "top: intervals of which it is known what cost most" "$(jq -s '[.[].vms[].causes | arrays] | length' "$out/counted.top")" -ge 2
equal "top: causes that lost more than their share of the interval" \
	"$(jq -s '[.[] | .interval_ns as $ns | .vms[].causes[]? | select(.lost_ns > $ns * 1.01 or .share > 1)] | length' "$out/counted.top")" 0

# The exporter counts the same with the programs of `top`, one for MMIO and one for cgroups; its last page is from before the VM ended.
equal "exporter: no probe was rejected" "$(grep -c '^hostrace_probe_attached{.*} 1$' "$out/counted.page") $(grep -c '^hostrace_probe_attached{.*} 0$' "$out/counted.page")" "10 0"
page_sum() { # METRIC; not the rest, in which is also what the others counted before they had series of their own
	awk -v name="$1{vm=\"counted\"," 'index($0, name) == 1 && !/="other"/ { sum += $NF } END { print sum + 0 }' "$out/counted.page"
}
equal "exporter: what cgroups took is a part of the time without a CPU" \
	"$(awk -v stolen="$(page_sum hostrace_vm_stolen_seconds_total)" -v ready="$(page_sum hostrace_vcpu_ready_seconds_total)" \
		'BEGIN { print (stolen > 0 && stolen <= ready ? "yes" : stolen " of " ready) }')" yes
accesses=$(page_sum hostrace_port_accesses_total)
holds "exporter: accesses to ports" "$accesses" -ge 1000
holds "... not more than in the recording" "$accesses" -le "$(report counted.hrt ports '[.rows[].count] | add')"
accesses=$(page_sum hostrace_mmio_accesses_total)
holds "exporter: accesses to MMIO" "$accesses" -ge 100
holds "... not more than in the recording" "$accesses" -le "$(report counted.hrt mmio '[.rows[].count] | add')"
