# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Port I/O of a whole boot, per direction, port and width. String I/O counts as several accesses, in both.

oracle | awk '$3 == "kvm_pio:" {
		for (i = 4; i < NF; i++)
			value[$i] = $(i + 1)
		dir = /pio_write/ ? "out" : "in"
		count[dir " " value["at"] " " value["size"]] += value["count"]
	}
	END { for (key in count) print key, count[key] }' |
	while read -r dir port size count; do
		echo "$dir $((port)) $size $count"
	done | sort >"$work/wanted"
report healthy.hrt ports '.rows[] | "\(.dir) \(.port) \(.size) \(.count)"' | sort >"$work/got"
same_lines "ports: each (dir, port, size) as often as tracefs saw it" "$work/got" "$work/wanted"
equal "ports: bytes are size x count" \
	"$(report healthy.hrt ports '[.rows[] | select(.bytes != .size * .count)] | length')" 0

oracle | sed -n 's/.* kvm_msr: msr_read \([0-9a-f]*\) = .*/in 0x\1/p
		s/.* kvm_msr: msr_write \([0-9a-f]*\) = .*/out 0x\1/p' |
	sort | uniq -c | awk '{print $2, $3, $1}' | sort >"$work/wanted"
report healthy.hrt msrs '.rows[] | "\(.dir) \(.msr) \(.count)"' | sort >"$work/got"
same_lines "msrs: each (dir, msr) as often as tracefs saw it" "$work/got" "$work/wanted"
