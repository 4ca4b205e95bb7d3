# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What the guest sees as steal is what `sched` reports as ready; the hog took it. The guest's timer, with injections and
# entries, which only VMX and SVM have.

equal "steal: recorded" "$(cat "$out/steal.record.status")" 0
equal "steal: nothing was lost" "$(lost_in steal.hrt)" nothing
# The guest does not count what was stolen from its firmware, and after it has looked; but all of the window, since it
# looked before and after that.
read -r -a window <<<"$(window_of steal.hrt "$out/steal.window")"
seen() { # WORD: ns
	l2_said steal "$1" | awk '{printf "%.0f", $9 * 10000000}'
}
steal=$(seen steal)
stolen=$((steal - $(seen before)))
ready=$(report steal.hrt sched '.rows[] | select(.kind == "vcpu") | .ready_ns')
holds "steal: the guest saw some, ns" "$stolen" -ge 2000000000
holds "steal: ready ns, at least 95 % of all that it saw" "$ready" -ge $((steal * 95 / 100))
ready=$(report steal.hrt sched '.rows[] | select(.kind == "vcpu") | .ready_ns' "${window[@]}")
holds "steal: ready ns beside the hog, at most 105 % of what it saw at this time" "$ready" -le $((stolen * 105 / 100))
# What runs in guest mode leaves it before it is switched out, so that all of it is in exits.
got=$(jq -s '[.[].vms[].vcpus[].reasons[].causes.preempted] | add' "$out/steal.top")
holds "steal: ns that top counts as preempted, at least 95 % of what was ready beside the hog" "$got" -ge $((ready * 95 / 100))
# It also runs while the guest waits for its disk.
ran=$(cat "$out/steal.ran")
taken=$(report steal.hrt sched ".rows[] | select(.kind == \"vcpu\" and .task_tid == $(cat "$out/steal.hog")) | .time_ns" --by task,tid)
holds "steal: ns that the hog ran instead, at least 75 % of its $ran" "$taken" -ge $((ran * 75 / 100))
holds "steal: ... and at most 105 %" "$taken" -le $((ran * 105 / 100))
equal "steal: the task that ran instead" \
	"$(report steal.hrt sched '.rows[] | select(.kind == "vcpu") | .ran_instead' "${window[@]}" | cut -d ' ' -f 1)" sh
equal "diagnose: the hog is the first cause" \
	"$(report steal.hrt diagnose '.result.causes[0] | select(.wrong) | .id' "${window[@]}")" cpu-host-task
equal "steal: no switch is missing" "$(report steal.hrt sched '[.caveats[] | select(contains("did not report"))] | length')" 0

# Linux: vector 236 is the local APIC's timer. The host sees a few more, after the guest has counted.
counted=$(l2_said steal timer | awk '{print $2}')
timer='.rows[] | select(.vector == 236)'
holds "interrupts: the guest's timer, as often as the guest counted" "$(report steal.hrt interrupts "$timer | .injected")" \
	-ge "$counted"
holds "interrupts: ... and not twice as often" "$(report steal.hrt interrupts "$timer | .injected")" -le $((counted * 3 / 2 + 200))
equal "interrupts: raised by the timer" "$(report steal.hrt interrupts "$timer | .source")" timer
equal "interrupts: accepted is injected and coalesced, but for one that is pending" \
	"$(report steal.hrt interrupts "$timer | .accepted - .injected - .coalesced | fabs <= 1")" true
equal "interrupts: each has the stages of its total" \
	"$(report steal.hrt interrupts "$timer | .inject_p50_ns > 0 and .handle_p50_ns > 0 and .total_max_ns >= .inject_max_ns")" true
equal "interrupts: all injections are in the report" \
	"$(report steal.hrt interrupts '[.rows[].injected] | add')" \
	"$(events_text steal.hrt | grep ' kvm_inj_virq ' | grep -vc ' soft=1\| reinjected=1')"
holds "interrupts: sources of vectors" "$(report steal.hrt interrupts '[.rows[] | select(.source == "msi")] | length')" -ge 1
holds "timers: with a deadline" "$(report steal.hrt interrupts '.rows[0] | .count - .unknown' --timers)" -ge $((counted * 9 / 10))
equal "timers: the entry comes after the interrupt" \
	"$(report steal.hrt interrupts '.rows[0] | .entry_p50_ns >= .accept_p50_ns' --timers)" true
holds "timers: late by as much as the hog runs at a time, ns" "$(report steal.hrt interrupts '.rows[0].entry_max_ns' --timers)" \
	-ge 1000000
