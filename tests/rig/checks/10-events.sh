# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The healthy VM, event by event, compared with tracefs, which recorded the same tracepoints in its own buffers.

equal "the recording ended with the VM, status 0" "$(cat "$out/healthy.record.status")" 0
equal "L2's Linux ran its workload to the end" "$(grep -c 'l2: done' "$out/healthy.console")" 1
equal "L2's ping was answered" "$(grep -c 'l2: ping answered' "$out/healthy.console")" 1
equal "tracefs lost nothing" "$(awk '/overrun:|dropped/ {n += $NF} END {print n + 0}' "$out/healthy.trace.stats")" 0
equal "hostrace lost nothing" "$(lost_in healthy.hrt)" nothing

for event in kvm_exit kvm_entry kvm_userspace_exit kvm_pio kvm_mmio kvm_msr kvm_write_tsc_offset; do
	counted=$(awk -F , -v event="kvm:$event" '$3 == event {print $1}' "$out/healthy.perf")
	equal "$event: as many as perf counted" "$(report healthy.hrt info ".result.events.$event")" "$counted"
	equal "$event: as many as tracefs recorded" "$(oracle | grep -c " $event: ")" "$counted"
done

# Not only the same number: the same events in the same order, thread by thread.
oracle_sequence healthy >"$work/wanted"
hostrace_sequence healthy.hrt >"$work/got"
same_lines "each vCPU's exits and entries are the same, one by one" "$work/got" "$work/wanted"
equal "kvm_exit is read from the tracepoint's arguments, not from the formatted record" \
	"$(report healthy.hrt info '.result.probes[] | select(.event == "kvm_exit") | .where')" "tp_btf/kvm_exit"
equal "a vCPU's exits and entries alternate" \
	"$(awk '$1 == tid && $2 == last {n++} {tid = $1; last = $2} END {print n + 0}' "$work/got")" 0
equal "there are two vCPUs" "$(cut -d ' ' -f 1 "$work/got" | sort -u | wc -l)" 2

# The file's description of the VM, which did not exist yet when the recording began.
equal "info: the VM's name, vCPUs, memory and accelerator" \
	"$(report healthy.hrt info '.result.vm | "\(.name) \(.vcpus) \(.memory_bytes) \(.accel)"')" \
	"healthy 2 $((256 << 20)) kvm"
equal "info: no probe is missing on this kernel and this QEMU" \
	"$(report healthy.hrt info '[.result.probes[] | select(.how == "absent") | .event] | "none but: " + join(" ")')" \
	"none but: "
