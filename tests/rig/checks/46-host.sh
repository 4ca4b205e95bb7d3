# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Recordings of a host that changes have all accesses of the VM, none twice, at times of CLOCK_MONOTONIC.

wanted host "${RIG_PARTS:-}" || return 0
for change in cpu clock; do
	equal "host, $change: changed; the VM did its work; the recording ended with it" \
		"$(cat "$out/host.$change".{did,vmm,record}.status | xargs)" "0 0 0"
	equal "host, $change: 60000 accesses and the last one are recorded" \
		"$(report host.$change.hrt info '.result | "\(.events.kvm_pio) \(.events.kvm_run) \(.lost | length)"')" "60001 60001 0"
	equal "host, $change: no exit without its entry" \
		"$(report host.$change.hrt info '.result.events | .kvm_exit - .kvm_entry | fabs <= 1')" true
	ran=$(awk 'NR == 1 { begin = $1 } END { printf "%d\n", ($1 - begin) * 1000 }' "$out/host.$change.uptime")
	# The clock is set by an hour or two; the recording begins before the first look at the uptime and ends after the last.
	more=$(($(report host.$change.hrt info '.result.span_ns / 1e6 | floor') - ran))
	holds "host, $change: the recording lasted as long as the host ran, $ran ms, or longer, ms" "$more" -ge 0
	holds "host, $change: ... by less than ten minutes, ms" "$more" -lt 600000
done
equal "host, cpu: the CPU was gone three times" "$(xargs <"$out/host.cpu.did")" "0 1 0 1 0 1"
equal "host, clock: the wall clock was set three times" "$(wc -l <"$out/host.clock.did")" 3
