# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two VMs at once: a recording of one has no events of the other. And a recorder that is killed: its VM continues,
# its file is read up to the last complete chunk.

jq -r '.rows[] | "\(.name) \(.pid) \(.accelerator) \(.memory_bytes) \(.vcpus)"' \
	"$out/pair.ps.json" | sort >"$work/got"
for vm in busy leaky; do
	echo "$vm $(cat "$out/$vm.pid") kvm $((256 << 20)) 1"
done >"$work/wanted"
same_lines "ps: both VMs with pid, accelerator, memory and vCPUs" "$work/got" "$work/wanted"
equal "record without --vm fails when two VMs run" "$(cat "$out/pair.refused.status")" 1
equal "and its error message names --vm" "$(grep -c -e --vm "$out/pair.refused")" 1

pids_of() { # TRACE: processes that KVM events came from
	events_text "$1" | sed -n 's/.* kvm_e[xn][a-z]* pid=\([0-9]*\) .*/\1/p' | sort -u | tr '\n' ' '
}

vcpu_tids_of() {
	events_text "$1" | sed -n 's/.* kvm_exit .*tid=\([0-9]*\) .*/\1/p' | sort -u
}

equal "record --vm leaky: exits of leaky only" "$(pids_of leaky.hrt)" "$(cat "$out/leaky.pid") "
equal "record --vm busy: exits of busy only" "$(pids_of busy.hrt)" "$(cat "$out/busy.pid") "
for vm in leaky busy; do
	vcpu_tids_of $vm.hrt >"$work/got"
	equal "$vm: one vCPU thread" "$(wc -l <"$work/got")" 1
	equal "$vm: it is a thread of this process" "$(grep -c -x -F -f "$work/got" "$out/$vm.tids")" 1
done
holds "both VMs were at work at the same time" \
	"$(events_text leaky.hrt | awk -v from="$(events_text busy.hrt | head -n 1 | cut -d ' ' -f 1)" \
		'$2 == "kvm_exit" && $1 > from {n++} END {print n + 0}')" -ge 1

equal "after SIGKILL of its recorder the VM ran to its end" "$(grep -c 'l2: done' "$out/busy.console")" 1
equal "and QEMU ended with status 0" "$(cat "$out/busy.status")" 0
equal "the VM was still working when the recorder was killed" "$(cat "$out/busy.killed")" "status 137, working"
succeeds "info reads the killed recorder's file" timeout 300 "$program" info -i "$out/busy.hrt"
holds "with exits in it" "$(report busy.hrt info .result.events.kvm_exit)" -ge 500
equal "and exits reports their sum" \
	"$(report busy.hrt exits '[.rows[].count] | add > 400 | tostring')" true
