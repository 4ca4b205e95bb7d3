# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Functions of the kernel are recorded as often, and with the same arguments, as the kernel's own kprobe events are.

wanted host "${RIG_PARTS:-}" || wanted probes "${RIG_PARTS:-}" || return 0
equal "probes: the VM did its work; the recording ended with it" \
	"$(cat "$out"/probes.{vmm,record}.status | xargs)" "0 0"
equal "probes: nothing is lost" "$(report probes.hrt info '.result.lost | length')" 0

# The kernel's: "port size in count", of calls; "ret count"; "enter count"
probed() { # EVENT FIELDS
	sed -n "s/.*: $1: ([^)]*) //p" "$out/probes.trace" | sed 's/[a-z]*=//g' | sort | uniq -c |
		awk '{ for (i = 2; i <= NF; i++) printf "%s ", $i; print $1 }' | sort >"$work/kernel"
}
ours() { # EVENT FIELDS-OF-JQ
	report probes.hrt list ".rows[].fields | \"$2\"" --limit 0 --event "$1" | sort | uniq -c |
		awk '{ for (i = 2; i <= NF; i++) printf "%s ", $i; print $1 }' | sort >"$work/ours"
}

probed pio
ours kprobe:kvm_fast_pio '\(.size) \(.port) \(.in)'
same_lines "probes: kprobe, arguments by BTF of a module" "$work/ours" "$work/kernel"
ours fexit:kvm_fast_pio '\(.size) \(.port) \(.in)'
same_lines "probes: ... fexit has them, too" "$work/ours" "$work/kernel"
cut -d ' ' -f 1,2,4 "$work/kernel" >"$work/chosen"
ours fentry:kvm_fast_pio '\(.size) \(.port)'
same_lines "probes: ... fentry, two arguments that were chosen" "$work/ours" "$work/chosen"
equal "probes: ... under the names that were given, in the vCPU's thread" \
	"$(report probes.hrt list '[.rows[] | "\(.vcpu) \(.fields | keys | join(" "))"] | unique | join(";")' --limit 0 --event fentry:kvm_fast_pio)" "0 port size"
probed pio_ret
ours kretprobe:kvm_fast_pio '\(.ret)'
same_lines "probes: kretprobe, what it returns" "$work/ours" "$work/kernel"
ours fexit:kvm_fast_pio '\(.ret)'
same_lines "probes: ... fexit has it, too" "$work/ours" "$work/kernel"
probed fpu
for kind in kprobe fentry; do
	ours $kind:fpu_swap_kvm_fpstate '\(.enter_guest)'
	same_lines "probes: $kind, an argument by BTF of the kernel" "$work/ours" "$work/kernel"
done
equal "probes: each call has its return" \
	"$(report probes.hrt summary '[.. | .count? // empty] | max' pair:kprobe:kvm_fast_pio,kretprobe:kvm_fast_pio,tid)" 2001

refused() { # NAME TEXT
	equal "probes: refused: $1" "$(cat "$out/probes.$1.status") $(grep -c "$2" "$out/probes.$1.err")" "2 1"
}
refused unknown "no function 'kvm_fast_poi'; the nearest: 'kvm_fast_pio'"
refused argument "no argument 'gpa': int kvm_fast_pio(struct kvm_vcpu \*vcpu, int size, "
refused blacklist 'kprobe:exc_int3: the kernel does not allow probes in this function'
refused notrace 'fentry:exc_int3: '
refused twice 'named twice'
holds "probes: ... files of those that were refused" "$(find "$out" -name 'probes.wrong.hrt' | wc -l)" -eq 0
