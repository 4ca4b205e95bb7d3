#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Guest profiles: 300,000 OSv samples with backtraces (osvgen.c), each report compared with `cat`, which reads the file once from
# the page cache. OSV_TRACE_PY=FILE, OSv's own scripts/trace.py, is run on the same file if given. Figures are
# per sample; prints one line of JSON per run.
#   osv.sh BUILD WORK ROUNDS SAMPLES
set -u -o pipefail
build=$1 work=$2 rounds=$3 samples=$4
bench=$build/tests/bench hostrace=$build/hostrace
file=$work/osv.tracefile

one_run() { # what, command...
	local what=$1 figures
	shift
	figures=$("$bench/measure" /dev/null "$@" 2>"$work/log") ||
		{ echo "bench: $*: failed" >&2; cat "$work/log" >&2; return; }
	jq -c --arg tool "$what" --argjson n "$samples" \
		'. + {kind: "read", tool: $tool, cycles: $n, vcpus: 4, ns: (.wall_ms * 1e6 / $n)}' <<<"$figures"
}

"$bench/osvgen" "$samples" >"$file" || exit
cat "$file" >/dev/null
for _ in $(seq "$rounds"); do
	one_run "cat, OSv samples" cat "$file"
	for report in summary "summary --timed" list "list -b -x" list-timed "prof -x" "prof-wait -x" \
		"memory-analyzer -x"; do
		# shellcheck disable=SC2086
		one_run "osv $report" "$hostrace" $report "$file"
		# shellcheck disable=SC2086
		[ -z "${OSV_TRACE_PY:-}" ] || one_run "trace.py $report" python3 "$OSV_TRACE_PY" $report "$file"
	done
done
rm -f "$file"
