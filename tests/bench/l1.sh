#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in the rig's L1 guest, as its main.sh: the same loop under each tracer, with kvm_exit and kvm_entry events.
cd /rig || exit 1
export LD_LIBRARY_PATH=/rig/lib PATH=/rig/bin:$PATH
mkdir -p work out
mount -t tmpfs tmpfs work
mount -t tmpfs tmpfs out # the root is small
say() {
	echo "L1 $(cut -d ' ' -f 1 /proc/uptime) $*"
}
export TOOLS="none empty clock hostrace hostrace-exit-reasons hostrace-zstd stat ftrace perf perf-kvm-stat bpftrace trace-cmd"
[ ! -s tools ] || TOOLS=$(cat tools)
say "bench begins"
bash bench/record.sh /rig/build /rig/work "$(cat rounds)" "$(cat cycles)" "$(cat mode)" >out/runs 2>out/bench.log
say "bench ends with status $?: $(wc -l <out/runs) runs"
mv work/"$(cat mode)".* out/
if [ "$(cat long)" -gt 0 ]; then # for the analysis alone: its rows of recording are nobody's
	TOOLS="hostrace perf-kvm-stat" bash bench/record.sh /rig/build /rig/work 1 "$(cat long)" nested >/dev/null 2>>out/bench.log
	for tool in hostrace perf-kvm-stat; do
		mv "work/nested.$tool" "out/long.$tool"
	done
	say "the long recordings end"
fi
uname -r >out/kernel
