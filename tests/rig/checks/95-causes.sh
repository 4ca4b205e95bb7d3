# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Profiles of a Linux guest's own trace, which has threads in place of call paths; and what its vCPUs did while its tasks
# waited.

guest=$out/traced.guest
# Sum of the time of all nodes "[cause]" (a name, or the last frame merged into a node).
sum='def causes: if (.name | test("^\\[")) or ((.tail[-1] // "") | test("^\\[")) then .time_ns
	else ([.children[] | causes] | add) // 0 end;'
waited=$(report traced.hrt prof-wait '[.rows[].time_ns] | add' --guest "$guest")
holds "prof-wait: the guest's tasks waited, ms" "$((waited / 1000000))" -ge 100
equal "prof-wait --causes: the waits equal those of prof-wait" \
	"$(report traced.hrt "prof-wait --causes" '[.rows[].time_ns] | add' --guest "$guest")" "$waited"
equal "... and the causes add up to them" \
	"$(report traced.hrt "prof-wait --causes" "$sum"'[.rows[] | causes] | add' --guest "$guest")" "$waited"
holds "... nearly all of them are known, % that are not" \
	"$(report traced.hrt "prof-wait --causes" '.caveats[] | capture("unknown (?<n>[0-9]+)") | .n' --guest "$guest")" -le 10
holds "prof-wait -g thread: dd waits for its disk, ms" \
	"$(report traced.hrt "prof-wait -g thread" '[.rows[] | select(.group | test("Thread dd ")) | .time_ns] | add / 1000000 | floor' \
		--guest "$guest")" -ge 10
holds "prof-timed -t syscall: system calls of the guest" \
	"$(report traced.hrt "prof-timed -t syscall" '[.rows[].hits] | add' --guest "$guest")" -ge 100
holds "summary --timed: interrupts of the guest" \
	"$(report traced.hrt "summary --timed" '[.. | objects | select(.name? == "irq_handler_entry") | .count] | max' --guest "$guest")" -ge 10
