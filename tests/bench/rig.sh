#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The recording rows that need kvm_exit and kvm_entry: the loop runs in the rig (tests/rig/README.md), whose CPU is
# emulated, so only ratios, bytes and losses are meaningful. Its recordings are then analysed on the real CPU.
#   rig.sh BUILD WORK ROUNDS CYCLES [LONG]    RIG_CPU=vmx: on an Intel CPU; rows of mode vmx instead of nested
# LONG: cycles of one more recording by perf kvm stat and by hostrace each (0: none), long enough that
# the programs' start-up time is negligible in their analysis.
# shellcheck source-path=SCRIPTDIR
set -u -o pipefail
build=$1 work=$2 rounds=$3 cycles=$4 long=${5:-0}
here=$(dirname "$0")
. "$here/lib.sh"
dir=$work/rig
mode=nested
[ "${RIG_CPU:-svm}" = svm ] || mode=vmx
total=$((3 * cycles))

for program in qemu-system-x86_64 busybox cpio mke2fs dpkg-deb apt-get perf; do
	if ! type -P "$program" >/dev/null; then
		absent $mode hostrace "the rig needs $program (scripts/deps.sh rig)"
		exit 0
	fi
done

libraries_add() { # PROGRAM
	local library
	for library in $("$here/../rig/libraries.sh" "$1"); do
		cp -L "$library" "$dir/in/lib/"
	done
}

mkdir -p "$dir/in"/{bin,lib,bench,build/tests/bench}
cp "$here/l1.sh" "$dir/in/main.sh"
cp "$here"/{lib,record}.sh "$dir/in/bench/"
cp "$bench"/{vmloop,empty,empty.bpf.o} "$dir/in/build/tests/bench/"
cp "$hostrace" "$dir/in/build/hostrace"
cp "$hostrace-decode" "$dir/in/build/"
libraries_add "$hostrace"
libraries_add "$hostrace-decode"
libraries_add "$bench/empty"
if type -P trace-cmd >/dev/null; then
	cp "$(type -P trace-cmd)" "$dir/in/bin/"
	libraries_add "$(type -P trace-cmd)"
fi
echo "$mode" >"$dir/in/mode"
echo "$rounds" >"$dir/in/rounds"
echo "$cycles" >"$dir/in/cycles"
echo "$long" >"$dir/in/long"
echo "${TOOLS:-}" | grep . >"$dir/in/tools"
if ! RIG_SECONDS=${RIG_SECONDS:-840} "$here/../rig/rig.sh" run "$dir" >"$work/rig.log" 2>&1; then
	absent $mode hostrace "the rig did not run: $(tail -n 1 "$work/rig.log")"
	exit 0
fi
# The interpreter of a script is looked up by its full path: a tool that is missing in L1 has a reason of its own.
cat "$dir/out/runs"
row rig kernel="$(cat "$dir/out/kernel")"
cat "$dir/out/bench.log" >&2
[ "$mode" = nested ] || exit 0

# what, command... of $total cycles
analyse() {
	local what=$1 figures
	shift
	for _ in $(seq "$rounds"); do
		figures=$(cd "$dir/out" && "$bench/measure" "$work/analysis" "$@" 2>"$work/log") ||
			{ absent analysis "$what" "$(grep -v '^$' "$work/log" | tail -n 1 | cut -c 1-100)"; return; }
		jq -c --arg tool "$what" --argjson n "$total" \
			'. + {kind: "analysis", mode: "nested", tool: $tool, cycles: $n, ns: (.wall_ms * 1e6 / $n)}' <<<"$figures"
	done
}
bench=$(realpath "$bench")
hostrace=$(realpath "$hostrace")
analyse "cat (hrt)" cat nested.hostrace
analyse "hostrace exits" "$hostrace" exits -i nested.hostrace
analyse "hostrace exits (zstd)" "$hostrace" exits -i nested.hostrace-zstd
analyse "hostrace list" "$hostrace" list -i nested.hostrace
type -P perf >/dev/null && [ -s "$dir/out/nested.perf-kvm-stat" ] &&
	analyse "perf kvm stat report" perf kvm -i nested.perf-kvm-stat stat report
type -P perf >/dev/null && [ -s "$dir/out/nested.perf" ] && analyse "perf script" perf script -i nested.perf
type -P trace-cmd >/dev/null && [ -s "$dir/out/nested.trace-cmd" ] &&
	analyse "trace-cmd report" trace-cmd report -i nested.trace-cmd
[ -s "$dir/out/long.hostrace" ] && [ -s "$dir/out/long.perf-kvm-stat" ] || exit 0
total=$((3 * long))
analyse "cat (hrt)" cat long.hostrace
analyse "hostrace exits, 1 CPU" "$hostrace" exits -j 1 -i long.hostrace
analyse "hostrace exits" "$hostrace" exits -i long.hostrace
analyse "perf kvm stat report" perf kvm -i long.perf-kvm-stat stat report
exit 0
