# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Clock alignment: every event that the guest recorded itself lies in its vCPU's guest mode; a small error is detected.

guest=$out/traced.guest
equal "the guest's trace was copied out completely" "$(grep -vc '^#' "$guest")" "$(l2_said traced traced)"
report traced.hrt sync '.clock.method, (.totals | .violations, .checked), ([.rows[].error_ns] | max)' \
	--guest "$guest" >"$work/sync"
{
	read -r method
	read -r violations
	read -r checked
	read -r error
} <"$work/sync"
equal "the guest's clock is read from the kernel" "$method" read
equal "no guest event lies outside of guest mode" "$violations" 0
holds "guest events were checked" "$checked" -ge 1000
holds "the error is below a microsecond" "$error" -lt 1000

# The offset that was read, plus and minus what the guest's events cannot allow: four times the error of a fitted clock. That
# is how close they lie to exits and entries, 20 us or, where the emulated CPUs get little time, 50 us.
fitted=$(report traced.hrt sync '.totals.violations' --guest "$guest" --clock fit)
apart=$(report traced.hrt sync '.rows[0] | "\(.offset) \(.error_ns)"' --guest "$guest" --clock fit)
khz=$(report traced.hrt info '.result.clocks[0].tsc_khz')
offset=$(report traced.hrt sync '.rows[0].offset' --guest "$guest")
shift_us=$((4 * ${apart#* } / 1000))
shift_ticks=$((shift_us * ${khz%.*} / 1000))
for sign in + -; do
	timeout 300 "$program" sync -i "$out/traced.hrt" --guest "$guest" --check -f json \
		--clock "$((offset $sign shift_ticks))" >"$work/shifted" 2>>"$work/stderr"
	equal "sync --check detects an error of $sign$shift_us us" $? 3
	holds "... and so many guest events outside" "$(jq .totals.violations "$work/shifted")" -ge 10
done
holds "... which is less than ten milliseconds, us" "$shift_us" -lt 10000

equal "a fitted clock has no violations" "$fitted" 0
holds "the fitted offset is within its error of the one read" \
	"$(awk -v read="$offset" -v khz="$khz" '{d = $1 - read; print int((d < 0 ? -d : d) * 1e6 / khz)}' <<<"$apart")" \
	-le "${apart#* }"
holds "list: host and guest in one" \
	"$(report traced.hrt list '[.rows[].source] | unique | length' --guest "$guest")" -ge 2

# The guest's second buffer: its kvm-clock, in microseconds as the kernel prints them.
ns=$out/traced.ns
equal "the guest's second trace was copied out completely" "$(grep -vc '^#' "$ns")" "$(l2_said traced ns)"
report traced.hrt sync '.clock.method, (.totals | .violations, .checked), ([.rows[].error_ns] | max)' \
	--guest "$ns" >"$work/sync.ns"
{
	read -r method
	read -r violations
	read -r checked
	read -r error
} <"$work/sync.ns"
equal "a guest with timestamps in ns is aligned by its kvm-clock" "$method" pvclock
equal "no guest event lies outside of guest mode by it" "$violations" 0
holds "guest events were checked by it" "$checked" -ge 100
holds "its error is below half a millisecond" "$error" -lt 500000
# The same switches in both buffers: apart by at most the error plus the microsecond that the text cuts off.
for source in guest ns; do
	report traced.hrt list '.rows[] | select(.event == "guest:sched_switch") | "\(.time_ns)\t\(.cpu) \(.fields.text)"' \
		--guest "$out/traced.$source" >"$work/switches.$source"
done
awk -F '\t' -v most=$((error + 2000)) '
	NR == FNR { at[$2, ++nr[$2]] = $1; next }
	{
		best = 1e18
		for (i = 1; i <= nr[$2]; i++) {
			d = at[$2, i] - $1
			d = d < 0 ? -d : d
			best = d < best ? d : best
		}
		apart += best > most
		seen++
	}
	END { print seen, apart + 0 }' "$work/switches.guest" "$work/switches.ns" >"$work/switches"
read -r seen apart <"$work/switches"
holds "switches are in both buffers" "$seen" -ge 100
# A vCPU may be preempted between its two timestamps of one switch.
holds "switches farther apart than the error" "$apart" -le $((seen / 10))
