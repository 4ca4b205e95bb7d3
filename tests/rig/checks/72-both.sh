# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two VMs in one recording, by hostrace and at the same time by trace-cmd (../l1/pair.sh): each VM's exits are the same
# events in both, but for those that trace-cmd lost. hostrace knows the VMs by name, a trace.dat and trace-cmd's text only
# by thread.

# "TID REASON RIP" of each exit, by thread, in order.
exits_of() { # FILE
	timeout 60 "$program" list -f json --event kvm_exit -i "$1" 2>>"$work/stderr" |
		jq -r '.rows[] | "\(.tid) \(.fields.reason) \(.fields.rip)"'
}

# How many of a thread's lines in PART are in WHOLE, one after the other; where WHOLE has lost lines, up to that number may
# be missing there.
found() { # TID PART WHOLE LOST
	sed -n "s/^$1 //p" "$2" >"$work/part"
	sed -n "s/^$1 //p" "$3" >"$work/whole"
	awk -v lost="$4" -v missing="$(diff "$work/part" "$work/whole" | grep -c '^<')" '
	NR == FNR { part = part $0 "\n"; n++; next }
	{ whole = whole $0 "\n" }
	END {
		if (n && (index("\n" whole, "\n" part) || (lost > 0 && missing <= lost)))
			print n
		else
			print "not all: " missing " of " n " are missing"
	}' "$work/part" "$work/whole"
}

# What trace-cmd lost by the kernel's statistics in its file: the events that were in the buffers, without those in its
# text. A recorder that is stopped while it moves a page can lose that page.
lost_by_statistics() { # FILE TEXT
	timeout 60 trace-cmd report --stat -i "$1" 2>>"$work/stderr" |
		awk -v events="$(grep -c ' kvm_[a-z]*: ' "$2")" '
		/^(entries|overrun|commit overrun|dropped events|read events): / { n += $NF }
		END { print n - events }'
}

equal "both VMs in one recording: status 0" "$(cat "$out/both.record.status")" 0
equal "hostrace lost nothing" "$(lost_in both.hrt)" nothing
timeout 60 trace-cmd report -i "$out/both.dat" >"$work/both.txt" 2>>"$work/stderr"
lost=$(report both.dat info '[.result.lost | .. | numbers] | add // 0')
equal "trace.dat: hostrace counts the losses that the kernel's statistics show" "$lost" \
	"$(lost_by_statistics "$out/both.dat" "$work/both.txt")"
report both.hrt info '.result.vms[] | "\(.name) \(.pid)"' | sort >"$work/got"
for vm in busy leaky; do
	echo "$vm $(cat "$out/$vm.pid")"
done >"$work/wanted"
same_lines "info: both VMs with name and pid" "$work/got" "$work/wanted"

exits_of "$out/both.hrt" >"$work/ours"
exits_of "$out/both.dat" >"$work/theirs"
awk '/ kvm_exit: / { sub(/^.*-/, "", $1); n[$1]++ } END { for (tid in n) print tid, n[tid] }' "$work/both.txt" |
	sort >"$work/by_thread"
for vm in busy leaky; do
	tid=$(report both.hrt info ".result.vms[] | select(.name == \"$vm\") | .vcpu_threads[0].tid")
	equal "$vm: its vCPU thread is a thread of its process" "$(grep -c -x "$tid" "$out/$vm.tids")" 1
	equal "$vm: trace-cmd's file has the same exits in the same order" \
		"$(found "$tid" "$work/ours" "$work/theirs" "$lost")" "$(grep -c "^$tid " "$work/ours")"
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
