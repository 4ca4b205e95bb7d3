# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# One clock: every event that the guest recorded itself lies in its vCPU's guest mode, and 50 us of error are seen.

guest=$out/traced.guest
equal "the guest's text came out whole" "$(grep -vc '^#' "$guest")" "$(l2_said traced traced)"
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

# TSC ticks of 50 us more or less than the offset that was read.
offset=$(report traced.hrt sync '.rows[0].offset' --guest "$guest")
shift_ticks=$(report traced.hrt info '.result.clocks[0].tsc_khz * 50 / 1000 | floor')
for sign in + -; do
	timeout 60 "$program" sync -i "$out/traced.hrt" --guest "$guest" --check -f json \
		--clock "$((offset $sign shift_ticks))" >"$work/shifted" 2>>"$work/stderr"
	equal "sync --check sees ${sign}50 us" $? 3
	holds "guest events outside by ${sign}50 us" "$(jq .totals.violations "$work/shifted")" -ge 10
done

fitted=$(report traced.hrt sync '.totals.violations' --guest "$guest" --clock fit)
equal "a fitted clock puts none outside" "$fitted" 0
apart=$(report traced.hrt sync '.rows[0] | "\(.offset) \(.error_ns)"' --guest "$guest" --clock fit)
khz=$(report traced.hrt info '.result.clocks[0].tsc_khz')
holds "the fitted offset is within its error of the one read" \
	"$(awk -v read="$offset" -v khz="$khz" '{d = $1 - read; print int((d < 0 ? -d : d) * 1e6 / khz)}' <<<"$apart")" \
	-le "${apart#* }"
holds "list: host and guest in one" \
	"$(report traced.hrt list '[.rows[].source] | unique | length' --guest "$guest")" -ge 2
