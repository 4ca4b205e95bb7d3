#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two reports of one trace must not disagree: every figure that appears in two reports is compared, for the whole trace,
# for three consecutive time windows that make it up, and for one vCPU. agree.jq has the rules.
#
#   tests/agree/run.sh              the recordings listed below, as TAP
#   tests/agree/run.sh FILE...      these
#
# HOSTRACE is the program (default build/hostrace); KEEP=DIR keeps the reports of each file there.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
hostrace=$(realpath "${HOSTRACE:-$root/build/hostrace}")
work=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
export TZ=UTC LC_ALL=C
unset COLUMNS

analyzers="exit-latency userspace-exit run-length pio mmio msr virtqueue virtio-kick halt-poll irq-inject sched-out
	bql-wait bql-hold block aio-poll qemu-pio"

# report NAME ARGUMENT...: NAME.json, or nothing if the report fails.
report() {
	local name=$1
	shift
	"$hostrace" "$@" -f json >"$dir/$set.$name.json" 2>/dev/null || rm -f "$dir/$set.$name.json"
}

# Columns of numbers of a table in text: the sum of the one called "count".
text_count() {
	"$hostrace" "$@" 2>/dev/null | awk -F '  +' '
		{ sub(/^ +/, "") }
		!column { for (i = 1; i <= NF; i++) if ($i == "count") column = i; next }
		/^#/ || !($column ~ /^[0-9]+$/) { exit }
		{ sum += $column }
		END { printf "{\"text_count\": %.0f}\n", sum }'
}

csv_rows() {
	"$hostrace" "$@" -f csv 2>/dev/null | awk -F , '
		{ gsub(/[\\"]/, "\\\\&") }
		NR == 1 { for (i = 1; i <= NF; i++) head[i] = $i; n = NF; next }
		{
			row = ""
			for (i = 1; i <= n; i++)
				row = row (i > 1 ? "," : "") "\"" head[i] "\":" (i <= NF ? "\"" $i "\"" : "null")
			rows = rows (NR > 2 ? "," : "") "{" row "}"
		}
		END { print "{\"csv\":[" rows "]}" }'
}

# reports FILE OPTION...: all reports of one set.
reports() {
	local a
	report list list "$@"
	report exits exits "$@"
	report leaks leaks "$@"
	report virtio virtio "$@"
	[ $set != whole ] || report timeline timeline "$@"
	for a in $present; do
		[ $set = whole ] || report "count:$a" count "$a" "$@"
		report "list-spans:$a" list-spans "$a" "$@"
		report "summary:$a" summary "$a" "$@"
		report "histogram:$a" histogram "$a" "$@"
		report "heatmap:$a" heatmap "$a" "$@"
		case $set in whole | middle) report "timeline:$a" timeline "$a" "$@" ;; esac
		[ $set = whole ] || continue
		text_count summary "$a" "$@" >"$dir/$set.summary-text:$a.json"
		text_count count "$a" "$@" >"$dir/$set.count-text:$a.json"
		csv_rows summary "$a" "$@" >"$dir/$set.summary-csv:$a.json"
		csv_rows list-spans "$a" "$@" >"$dir/$set.list-spans-csv:$a.json"
	done
	report ports ports "$@"
	report mmio mmio "$@"
	report msrs msrs "$@"
	report causes profile --host --causes-exits -x "$@"
	[ $set = whole ] || return
	if jq -e '.result.format | startswith("osv")' "$dir/info.info.json" >/dev/null; then
		report samples summary "$@"
		report prof prof -x "$@"
	fi
	csv_rows leaks "$@" >"$dir/$set.leaks-csv.json"
	csv_rows virtio "$@" >"$dir/$set.virtio-csv.json"
}

# The reports of one file, then the rules: prints what disagrees.
check() {
	local span a
	dir=$work/$n
	mkdir -p "$dir"
	set=info
	report info info "$1"
	span=$(jq '.result.span_ns // 0' "$dir/info.info.json" 2>/dev/null) || return 1
	present=
	set=whole
	for a in $analyzers; do
		report "count:$a" count "$a" "$1"
		if grep -qs '^{.*"count"' "$dir/$set.count:$a.json"; then present="$present $a"; else rm -f "$dir/$set.count:$a.json"; fi
	done
	reports "$1"
	if [ "${span:-0}" -gt 10 ]; then
		set=first
		reports "$1" --until $((span / 3))ns
		set=middle
		reports "$1" --since $((span / 3))ns --until $((span * 2 / 3))ns
		set=last
		reports "$1" --since $((span * 2 / 3))ns
	fi
	set=vcpu
	reports "$1" --vcpu 0
	set=slow
	HOSTRACE_FAST_PATH=0 report exits exits "$1"
	jq "[.result.start_ns + $((span / 3)), .result.start_ns + $((span * 2 / 3))]" "$dir/info.info.json" >"$dir/bounds.json"
	jq -n 'reduce inputs as $report ({}; .[input_filename | sub(".*/"; "") | rtrimstr(".json")] = $report)' "$dir"/*.json |
		jq -r -f "$root/tests/agree/agree.jq"
}

if [ $# = 0 ]; then
	cd "$root/tests" || exit 1
	set -- golden/v1.4-zstd.hrt cases/{analyzers,window,timeline,exits-lost,virtio-kick-reset}/trace.txt \
		cases/{leak-two-vms,leak-events-lost}/trace.txt cases/exit-accesses/svm.txt cases/osv-reports/tracefile
fi
n=0
failed=0
for file in "$@"; do
	n=$((n + 1))
	found=$(check "$file" 2>&1)
	if [ -n "$found" ]; then
		echo "not ok $n - $file"
		echo "$found" | head -n 40 | sed 's/^/# /'
		failed=1
	else
		echo "ok $n - $file"
	fi
done
echo "1..$n"
exit $failed
