#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Pictures and the report page of synthetic recordings (gen.c) of increasing length: CPU time, memory, and the size of
# what they write, which must not grow with the recording. One run each, a line of JSON.
#   pictures.sh BUILD WORK "CYCLES..."
set -u -o pipefail
build=$1 work=$2 lengths=$3
bench=$build/tests/bench hostrace=$build/hostrace
file=$work/synthetic.hrt

# CYCLES GOAL-BYTES COMMAND...
picture() {
	local cycles=$1 goal=$2 figures
	shift 2
	figures=$("$bench/measure" "$work/picture" "$hostrace" "$@" -i "$file" 2>"$work/log") ||
		{ echo "bench: $*: failed" >&2; cat "$work/log" >&2; return; }
	jq -c --arg tool "$*" --argjson n "$cycles" --argjson goal "$goal" --argjson b "$(stat -c %s "$work/picture")" \
		'. + {kind: "picture", tool: $tool, cycles: $n, goal: $goal, bytes: $b, ns: (.wall_ms * 1e6 / $n)}' <<<"$figures"
}

for cycles in $lengths; do
	"$bench/gen" "$file" "$cycles" 8 || exit
	cat "$file" >/dev/null
	picture "$cycles" 1000000 heatmap exit-latency -f svg
	picture "$cycles" 1000000 timeline -f svg
	picture "$cycles" 1000000 blame -f svg
	picture "$cycles" 1000000 blame -f flame
	picture "$cycles" 1000000 prof-flame -t kvm_exit -f svg
	picture "$cycles" 5000000 report -o /dev/stdout
	rm -f "$file"
done
rm -f "$work/picture"
