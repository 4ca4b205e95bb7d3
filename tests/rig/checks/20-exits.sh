# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The exits report: a span lasts from kvm_exit to the kvm_entry after it. So every exit except each vCPU's last is
# counted, and the reasons' names are those that the kernel prints.

# "REASON COUNT": exits that were followed by an entry of the same thread.
oracle_reasons() {
	oracle | awk '
	$3 == "kvm_exit:" {
		tid = $1
		sub(/.* reason /, "")
		sub(/ rip .*/, "")
		open[tid] = $0
	}
	$3 == "kvm_entry:" && ($1 in open) {
		count[open[$1]]++
		delete open[$1]
	}
	END { for (reason in count) print reason, count[reason] }' | sort
}

spans=$(report healthy.hrt exits '[.rows[].count] | add')
exits=$(report healthy.hrt info .result.events.kvm_exit)
equal "every kvm_exit except each vCPU's last has its kvm_entry" "$spans" "$((exits - 2))"

oracle_reasons >"$work/wanted"
report healthy.hrt exits '.rows[] | "\(.reason) \(.count)"' | sort >"$work/got"
same_lines "exits by reason: names and counts are tracefs's" "$work/got" "$work/wanted"
holds "the common reasons of SVM are there" \
	"$(grep -c -E '^(io|msr|npf|hlt|cpuid|interrupt) ' "$work/got")" -eq 6

equal "userspace_count of all reasons is the number of kvm_userspace_exit within spans" \
	"$(report healthy.hrt exits '[.rows[].userspace_count] | add')" \
	"$(events_text healthy.hrt | awk '
		match($0, / tid=[0-9]+/) { tid = substr($0, RSTART, RLENGTH) }
		$2 == "kvm_exit" { left[tid] = 1; seen[tid] = 0 }
		$2 == "kvm_userspace_exit" && left[tid] { seen[tid] = 1 }
		$2 == "kvm_entry" { n += seen[tid]; left[tid] = seen[tid] = 0 }
		END { print n + 0 }')"

# The two tracers' timestamps of an exit differ by microseconds, or by as much as the machine below stands still between
# them. So most exits, not their sum, are as long as by tracefs.
oracle | awk '
	$3 == "kvm_exit:" { left[$1] = $2 }
	$3 == "kvm_entry:" && left[$1] { printf "%s %.0f\n", $1, ($2 - left[$1]) * 1e9; left[$1] = 0 }' |
	sort -s -n -k 1,1 >"$work/wanted"
report healthy.hrt "list-spans exit-latency --limit 0" '.rows[] | "\(.tid) \(.duration_ns)"' | sort -s -n -k 1,1 >"$work/got"
close_by=$(paste -d ' ' "$work/got" "$work/wanted" | awk '
	{ close_by += $1 == $3 && ($2 > $4 ? $2 - $4 : $4 - $2) < $4 / 20 + 100000 }
	END { print int(100 * close_by / NR) }')
holds "exits that are as long as by tracefs, within 5 % and 100 us, %" "$close_by" -ge 90
equal "time outside the guest: the sum of all exits" "$(report healthy.hrt exits '[.rows[].total_ns] | add')" \
	"$(awk '{ ns += $2 } END { printf "%.0f", ns }' "$work/got")"

# The numbers of a report depend neither on the view nor on the machine that prints it.
for kind in info exits ports leaks; do
	jq -S 'del(.inputs)' "$out/healthy.$kind.json" >"$work/wanted"
	report healthy.hrt $kind . | jq -S 'del(.inputs)' >"$work/got"
	same_lines "$kind prints the same in the rig and outside" "$work/got" "$work/wanted"
done
equal "the heatmap's cells add up to every span" \
	"$(report healthy.hrt "heatmap exit-latency" '[.result.cells[][]] | add')" "$spans"
equal "the histogram's rows add up to every span" \
	"$(report healthy.hrt "histogram exit-latency" '[.rows[].count] | add')" "$spans"
timeout 300 "$program" heatmap exit-latency -f svg -i "$out/healthy.hrt" >"$work/heatmap.svg" 2>>"$work/stderr"
succeeds "the heatmap is well-formed SVG" xmllint --noout "$work/heatmap.svg"
holds "the SVG has tooltips" "$(grep -c '<title>' "$work/heatmap.svg")" -ge 20
