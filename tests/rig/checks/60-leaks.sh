# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The VM whose throttled disk holds two writes (../l1/pair.sh, ../l2/leak.sh): exactly these two are leaked.

equal "the recording ended by SIGINT, status 0" "$(cat "$out/leaky.record.status")" 0
equal "L2 itself reports that two writes are in flight" "$(l2_said leaky inflight)" "0 2"
equal "leaks: two elements, both reported as leaked" \
	"$(report leaky.hrt leaks '[.rows[].verdict] | join(" ")')" "leaked leaked"
equal "leaks: on the throttled disk" \
	"$(report leaky.hrt leaks '[.rows[].device | contains("/slow/")] | all | tostring')" true
equal "leaks: two different elements" "$(report leaky.hrt leaks '[.rows[].elem] | unique | length')" 2
equal "leaks: older than 1 s, younger than the throttle holds them" \
	"$(report leaky.hrt leaks '[.rows[].age_ns | . > 1e9 and . < 1.024e12] | all | tostring')" true
equal "leaks: the process is the VM's" \
	"$(report leaky.hrt leaks '[.rows[].pid] | unique | join(" ")')" "$(cat "$out/leaky.pid")"
equal "leaks: popped - returned = leaked = 2" \
	"$(report leaky.hrt leaks '.totals // .result.totals | .popped - .returned, .leaked' | tr '\n' ' ')" "2 2 "
fills_of_linux leaky.hrt >"$work/fills"
read -r -a stat <<<"$(l2_said leaky stat)"
equal "virtio-blk: fills = requests that L2 saw complete" "$(sum_fills slow)" "$((stat[0] + stat[4] + stat[11]))"
timeout 300 "$program" leaks --check -i "$out/leaky.hrt" >/dev/null 2>&1
equal "leaks --check: status 3" $? 3
equal "leaks --min-age 1h: still in flight" \
	"$(report leaky.hrt leaks '[.rows[].verdict] | unique | join(" ")' --min-age 1h)" "in-flight"
timeout 300 "$program" leaks --check --min-age 1h -i "$out/leaky.hrt" >/dev/null 2>&1
equal "leaks --check --min-age 1h: status 0" $? 0
