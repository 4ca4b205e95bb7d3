#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# resources: cpus
# `exporter`: a VM shares its CPU with a loop in another cgroup, which the page names; what all cgroups took is the time
# that the VM's vCPU waited for a CPU.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl promtool taskset
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"

top=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/self/mounts)
[ -n "$top" ] || skip_all "kernel: no cgroup hierarchy of version 2 is mounted"
hog=hostrace-hog-$$
mkdir "$top/$hog" 2>mkdir.err || skip_all "kernel: cannot make a cgroup: $(cat mkdir.err)"
end() {
	for _ in $(seq 100); do # as long as it has processes
		# shellcheck disable=SC2046
		kill -KILL $(cat "$top/$hog/cgroup.procs") 2>/dev/null
		rmdir "$top/$hog" 2>/dev/null && break
		sleep .1
	done
	pkill -P $$
	rm -rf "$scratch"
}
trap end EXIT
cpu=$(taskset -cp $$ | sed 's/.*: //; s/[,-].*//')

name=cgroups$$
cp "$BUILD/minivmm" "$name"
timeout 500 taskset -c "$cpu" "./$name" count=numbers >vmm.out 2>&1 &
until_line '^ready' vmm.out || bail "minivmm did not start: $(cat vmm.out)"
vm="pid=\"$(sed -n 's/^ready //p' vmm.out)\""
exporter_start --listen 127.0.0.1:0
scrape
[ "$(sample hostrace_probe_attached 'probe="stat_steal"')" = 1 ] || skip_all "kernel: it rejects stat_steal"
plan 5
is "$(sample hostrace_vm_stolen_seconds_total "$vm" "cgroup=\"/$hog\"")" none "a cgroup that has not run is not there" page

# It is in the cgroup before it loops.
cat >hog.sh <<-END
	echo \$\$ >"$top/$hog/cgroup.procs" && while :; do :; done
END
timeout -s KILL 500 taskset -c "$cpu" sh hog.sh 2>hog.err &
until_stolen() {
	for _ in $(seq 600); do
		scrape
		[ "$(sample hostrace_vm_stolen_seconds_total "$vm" "cgroup=\"/$hog\"" | awk '{ print ($1 > 0.2) }')" = 1 ] && return
		sleep .1
	done
	return 1
}
until_stolen
is $? 0 "a loop's cgroup steals CPU time" page hog.err

# The vCPU may have waited before it was known, and waits now.
all_is_known() {
	for _ in $(seq 1000); do
		scrape
		share=$(awk -v a="$(sample hostrace_vm_stolen_seconds_total "$vm")" -v b="$(sample hostrace_vcpu_ready_seconds_total "$vm")" \
			'BEGIN { print a / b }')
		[ "$(awk -v share="$share" 'BEGIN { print (share > 0.8) }')" = 1 ] && return
		sleep .1
	done
	return 1
}
all_is_known
is $? 0 "... most of the time that the vCPU waited belongs to a cgroup" page
echo "# share: $share"
is "$(awk -v share="$share" 'BEGIN { print (share <= 1) }')" 1 "... and not more than all of it" page
promtool check metrics <page >promtool.out 2>&1
is $? 0 "promtool check metrics" promtool.out
exporter_end
finish
