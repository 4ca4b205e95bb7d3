# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# TSC offsets: ours are read from struct kvm_vcpu, or from kvm_write_tsc_offset; KVM shows its own in debugfs.

# "VCPU OFFSET": the last known of each vCPU.
offsets_known() { # TRACE
	events_text "$1" | sed -n 's/.* vcpu_tsc .* vcpu=\([0-9]*\) offset=\(-\{0,1\}[0-9]*\).*/\1 \2/p
		s/.* kvm_write_tsc_offset .* new=\(-\{0,1\}[0-9]*\) target=\([0-9]*\).*/\2 \1/p' |
		awk '{last[$1] = $2} END {for (vcpu in last) print vcpu, last[vcpu]}' | sort
}

sort "$out/healthy.tsc-offset" >"$work/wanted"
offsets_known healthy.hrt >"$work/got"
same_lines "offsets after kvm_write_tsc_offset are debugfs's" "$work/got" "$work/wanted"

report healthy.hrt info '.result.clocks[] | .vcpus[]? | "\(.vcpu) \(.offset)"' | sort >"$work/got"
same_lines "info: the newest offset of each vCPU" "$work/got" "$work/wanted"

# A recording that begins after the vCPUs were created has only the offsets that it reads from the kernel.
sort "$out/leaky.tsc-offset" >"$work/wanted"
events_text leaky.hrt | sed -n 's/.* vcpu_tsc .* vcpu=\([0-9]*\) offset=\(-\{0,1\}[0-9]*\).*/\1 \2/p' |
	sort -u >"$work/got"
same_lines "offsets read from struct kvm_vcpu are debugfs's" "$work/got" "$work/wanted"

# tracefs prints the offsets as unsigned; bash's arithmetic is signed 64-bit, which is what they are.
oracle | sed -n 's/.* kvm_write_tsc_offset: *vcpu=\([0-9]*\) prev=\([0-9]*\) next=\([0-9]*\).*/\1 \2 \3/p' |
	while read -r vcpu old new; do
		printf '%d %d %d\n' "$vcpu" "$((old))" "$((new))"
	done >"$work/wanted"
events_text healthy.hrt |
	grep ' kvm_write_tsc_offset ' |
	sed -n 's/.* old=\(-\{0,1\}[0-9]*\) new=\(-\{0,1\}[0-9]*\) target=\([0-9]*\).*/\3 \1 \2/p' >"$work/got"
same_lines "kvm_write_tsc_offset: vCPU, old and new are tracefs's" "$work/got" "$work/wanted"
holds "the clock was calibrated through the recording" "$(events_text healthy.hrt | grep -c ' clock_pair ')" -ge 5
