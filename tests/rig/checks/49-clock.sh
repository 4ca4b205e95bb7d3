# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# guest clock, against what the guest said itself: its time lies between the host's before and after it was asked.

# What a step's answer has that the guest refutes.
clock_wrong() { # NAME
	awk -v ahead="$(jq '.result.ahead_ns / 1000' "$out/clock.$1.json")" \
		-v bound="$(jq '.result.bound_ns / 1000' "$out/clock.$1.json")" '
		ahead - bound > $2 - $1 + 1 || ahead + bound < $2 - $3 - 1 {print "guest - host: " $2 - $3 " to " $2 - $1 " us, not " ahead}
		END {if (NR != 10) print NR " answers"}' "$out/clock.$1.asked"
}

clock_is() { # JQ NAME
	jq -r ".result | $1" "$out/clock.$2.json"
}

for step in started ahead stopped other; do
	wrong=$(clock_wrong $step)
	if [ -z "$wrong" ]; then
		pass "guest clock is what the guest says: $step ($(clock_is '"\(.ahead_ns) +- \(.bound_ns) ns by \(.clocksource)"' $step))"
	else
		not_pass "guest clock is what the guest says: $step" "$wrong" "$(cat "$out/clock.$step.err")"
	fi
done
equal "by the TSC, known to less than 1 ms" "$(clock_is '"\(.clocksource) \(.method) \(.bound_ns < 1e6)"' started)" "kvm-clock tsc true"
equal "by its updates, from another clock source" "$(clock_is '"\(.clocksource) \(.method)"' other)" "acpi_pm updates"
equal "100 s ahead: exit status" "$(cat "$out/clock.ahead.status")" 3
holds "a stop of 3 s takes kvm-clock back, ms" \
	$((($(clock_is .ahead_ns ahead) - $(clock_is .ahead_ns stopped)) / 1000000)) -ge 3000
equal "both vCPUs have one TSC" "$(clock_is '[.vcpus[].tsc_ahead] | tostring' started)" "[0,0]"
