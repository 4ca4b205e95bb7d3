# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# profile --host of a guest that spends 70 % of its time in spin_hot and 30 % in spin_warm.

guest=$rig/in/sampleguest.elf

# Hits in the lines of a folded profile that match: TRACE REGEXP [OPTION...]
folded() {
	local trace=$1 want=$2
	shift 2
	timeout 300 "$program" profile --host -i "$out/$trace" --symbols "$guest" -f folded "$@" 2>>"$work/stderr" |
		awk -v want="$want" '$0 ~ want { n += $NF } END { print n + 0 }'
}

# Is the share of HOT in HOT + WARM 70 %, within 5 standard deviations plus 2 percentage points?
share() { # HOT WARM
	awk -v h="$1" -v n="$(($1 + $2))" 'BEGIN {
		if (!n) { print "no samples"; exit }
		s = h / n; d = 5 * sqrt(.7 * .3 / n) + .02
		print (s > .7 - d && s < .7 + d) ? "70 %" : s " of " n }'
}

equal "both recordings ended, status 0" "$(xargs <"$out/sampled.status")" "0 0"
hot=$(folded sampled.hrt ';spin_hot ')
warm=$(folded sampled.hrt ';spin_warm ')
holds "the sampling clock's ticks in the two loops" "$((hot + warm))" -ge 300
equal "record --sample: spin_hot has the expected share ($hot : $warm)" "$(share "$hot" "$warm")" "70 %"
holds "... nearly all ticks in the guest have their call chain, % of them" \
	"$((100 * $(folded sampled.hrt '^long_mode;main_loop;call_(hot|warm);spin_(hot|warm) ') / ($(folded sampled.hrt '^\[guest\] ' --sort dso) + 1)))" -ge 90
equal "... which are the guest's own, not the kernel's" \
	"$(report sampled.hrt "profile --host" '[.caveats[] | select(test("emulates"))] | length')" 0
holds "... ticks in the kernel of the host are there, too" "$(folded sampled.hrt ' \[host\]')" -ge 1
hot=$(folded exits-only.hrt 'spin_hot ')
warm=$(folded exits-only.hrt 'spin_warm ')
holds "without the clock, exits by interrupts in the two loops" "$((hot + warm))" -ge 50
equal "profile --host by interrupts alone: spin_hot has the expected share ($hot : $warm)" "$(share "$hot" "$warm")" "70 %"
equal "profile --host --causes-exits counts every exit" \
	"$(report exits-only.hrt "profile --host --causes-exits" '[.rows[].hits] | add')" \
	"$(report exits-only.hrt info '.result.events.kvm_exit')"
