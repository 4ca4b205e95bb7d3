#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `make bench`: runs all measurements; writes medians and spread to BUILD/bench.json, BUILD/bench.svg, and as a table.
#   bench.sh BUILD      QUICK=1: less than two minutes, without the rig
#   PARTS="recording live reading pictures osv rig": only these; RUNS=FILE: appends the runs to FILE and evaluates all
#   runs in it;
#   RIG_LONG=150000: a third of the cycles of the rig's recording for peers' analysis, 0: none
#   OSV_TRACE_PY=FILE: OSv's own tool, to compare with;
#   ROUNDS=5, LENGTHS="100000 1000000": how often, and exit cycles of the synthetic recordings;
#   DRAWN="1000 10000000 100000000": of those that pictures and the report page are made of
# Measurements that cannot run on a machine are skipped, and the reason is printed.
set -u -o pipefail
build=$1
here=$(dirname "$0")
work=$(mktemp -d "${TMPDIR:-/var/tmp}/hostrace-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

if [ "${QUICK:-0}" = 1 ]; then
	rounds=1 cycles=30000 requests=200 lengths="100000 1000000" widths="1 64" modes="lapic user tasks"
	drawn="1000 1000000" parts=${PARTS:-recording live reading pictures osv}
else
	rounds=${ROUNDS:-5} cycles=300000 requests=1000 lengths="${LENGTHS:-100000 1000000 10000000 100000000}"
	widths="1 2 64" modes="lapic pic user tasks" drawn=${DRAWN:-1000 10000000 100000000}
	parts=${PARTS:-recording live reading pictures osv rig}
fi

say() {
	echo "bench: $*" >&2
}

wanted() {
	case " $parts " in *" $1 "*) return 0 ;; esac
	return 1
}

part() { # NAME COMMAND...: its rows, whatever becomes of it
	local start=$SECONDS name=$1
	shift
	wanted "$name" || return
	say "$name"
	"$@" >>"$runs" || say "$name exit status $?"
	say "$name took $((SECONDS - start)) s"
}

skipped() { # MODE REASON
	printf '{"kind":"absent","mode":"%s","tool":"all","reason":"%s"}\n' "$1" "$2" >>"$runs"
	say "$1 skipped: $2"
}

runs=${RUNS:-$work/runs}
touch "$runs"
echo $((3 * cycles)) >"$work/lapic.cycles"
why=
[ "$(id -u)" = 0 ] || why="recording needs root"
[ -w /dev/kvm ] || why="recording needs /dev/kvm"
[ -e "$build/hostrace.skel.h" ] || why="this hostrace was built without recording (LIVE=0)"
if [ -n "$why" ]; then
	skipped recording "$why"
	skipped live "$why"
else
	# shellcheck disable=SC2086
	part "recording" "$here/record.sh" "$build" "$work" "$rounds" "$cycles" $modes
	part "live" "$here/live.sh" "$build" "$work" "$rounds" "$requests"
fi
part "rig" "$here/rig.sh" "$build" "$work" 3 20000 "${RIG_LONG:-150000}"
for given in TRACE_DAT:trace-cmd PERF_DATA:perf; do # what the reading rows can take from the rig
	file=$work/rig/out/nested.${given#*:}
	[ ! -s "$file" ] || export "${given%%:*}=$file"
done
part "reading" "$here/read.sh" "$build" "$work" "$rounds" "$lengths" "$widths"
part "pictures" "$here/pictures.sh" "$build" "$work" "$drawn"
part "osv" "$here/osv.sh" "$build" "$work" "$rounds" 300000
wanted rig || [ -n "${PARTS:-}" ] || skipped nested "the rig takes some minutes: without QUICK=1"

version() {
	command -v "$1" >/dev/null && "$@" 2>&1 | head -1 || echo "no $(basename "$1")"
}
jq -s --arg cpu "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)" --arg cpus "$(nproc)" \
	--arg kernel "$(uname -r)" --arg hostrace "$(version "$build/hostrace" --version)" \
	--arg perf "$(version perf --version)" --arg bpftrace "$(version bpftrace --version)" \
	--arg trace_cmd "$(trace-cmd 2>&1 | grep -m1 version)" --arg load "$(cat /proc/loadavg)" \
	--arg date "$(date -u +%F)" --arg rig "$(jq -rs 'map(select(.kind == "rig"))[-1].kernel // ""' "$runs")" \
	-f "$here/summary.jq" "$runs" >"$build/bench.json" || { say "no bench.json"; exit 1; }
jq -r -f "$here/svg.jq" "$build/bench.json" >"$build/bench.svg"
jq -r -f "$here/table.jq" "$build/bench.json" |
	awk -v RS= '{ print | "column -t -s \"\t\""; close("column -t -s \"\t\""); print "" }'
say "figures: $build/bench.json; plot: $build/bench.svg; as a page: jq -r -f $here/page.jq $build/bench.json"
