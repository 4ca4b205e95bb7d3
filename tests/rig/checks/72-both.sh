# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two VMs in one recording, by hostrace and at the same time by trace-cmd (../l1/pair.sh): each VM's exits are the same
# events in both. hostrace knows the VMs by name, a trace.dat and trace-cmd's text only by thread.

# "TID REASON RIP" of each exit, by thread, in order.
exits_of() { # FILE
	timeout 60 "$program" list -f json --event kvm_exit -i "$1" 2>>"$work/stderr" |
		jq -r '.rows[] | "\(.tid) \(.fields.reason) \(.fields.rip)"'
}

# Are the lines of one thread in $1 a part of those in $2, without a gap? Prints how many of them.
contained() { # TID PART WHOLE
	awk -v tid="$1" '
	$1 != tid { next }
	NR == FNR { part = part $2 " " $3 "\n"; n++; next }
	{ whole = whole $2 " " $3 "\n" }
	END { print n && index("\n" whole, "\n" part) ? n : "not in it" }' "$2" "$3"
}

equal "both VMs in one recording: status 0" "$(cat "$out/both.record.status")" 0
equal "hostrace lost nothing" "$(report both.hrt info '[.result.lost | .. | numbers] | add // 0')" 0
equal "trace-cmd lost nothing" "$(report both.dat info '[.result.lost | .. | numbers] | add // 0')" 0
report both.hrt info '.result.vms[] | "\(.name) \(.pid)"' | sort >"$work/got"
for vm in busy leaky; do
	echo "$vm $(cat "$out/$vm.pid")"
done >"$work/wanted"
same_lines "info: both VMs with name and pid" "$work/got" "$work/wanted"

exits_of "$out/both.hrt" >"$work/ours"
exits_of "$out/both.dat" >"$work/theirs"
timeout 60 trace-cmd report -i "$out/both.dat" >"$work/both.txt" 2>>"$work/stderr"
awk '/ kvm_exit: / { sub(/^.*-/, "", $1); n[$1]++ } END { for (tid in n) print tid, n[tid] }' "$work/both.txt" |
	sort >"$work/by_thread"
for vm in busy leaky; do
	tid=$(report both.hrt info ".result.vms[] | select(.name == \"$vm\") | .vcpu_threads[0].tid")
	equal "$vm: its vCPU thread is a thread of its process" "$(grep -c -x "$tid" "$out/$vm.tids")" 1
	equal "$vm: trace-cmd's file has the same exits in the same order" \
		"$(contained "$tid" "$work/ours" "$work/theirs")" "$(grep -c "^$tid " "$work/ours")"
	equal "$vm: count --by vm counts them all" \
		"$(report both.hrt 'count pair:kvm_exit,kvm_entry,tid' ".rows[] | select(.vm == \"$vm\") | .count" --by =vm)" \
		"$(report both.hrt 'count pair:kvm_exit,kvm_entry,tid' '.rows[0].count' --by =tid --tid "$tid")"
	for file in "$out/both.dat" "$work/both.txt"; do
		equal "$vm: $(basename "$file"): as many exits as trace-cmd reports for its thread" \
			"$(timeout 60 "$program" list -f json --event kvm_exit --vm "tid $tid" -i "$file" 2>>"$work/stderr" |
				jq '.rows | length')" \
			"$(sed -n "s/^$tid //p" "$work/by_thread")"
	done
done
equal "trace.dat: exits --by vcpu has a row for vCPU 0 of each VM" \
	"$(report both.dat 'exits' '[.rows[] | select(.vcpu == 0) | .vm] | length' --by =vcpu)" 2
