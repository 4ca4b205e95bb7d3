#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `exporter --downtime`: a VM is stopped and continued a known number of times, and migrates to another QEMU.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl promtool
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"

end() {
	exec 3>&-
	guests_kill
	# shellcheck disable=SC2046
	kill $(jobs -p) 2>/dev/null
	rm -rf "$scratch"
}
trap end EXIT

# In seconds, with an error of 10 ms; not the time of day, which may be set.
now() {
	cut -d ' ' -f 1 /proc/uptime
}

# until_state NAME STATE
until_state() {
	for _ in $(seq 1200); do
		[ "$(qmp "$1" query-status | jq -r .status)" = "$2" ] && return
		sleep .05
	done
	return 1
}

# between LOW X HIGH
between() {
	awk -v low="$1" -v x="$2" -v high="$3" 'BEGIN { print (low - 0.02 <= x && x <= high + 0.02 ? "yes" : low " <= " x " <= " high) }'
}

# host NAME LABEL...: how much higher a figure of the host is than in the page first/page. Stops of other VMs of this
# machine are in it.
host() {
	awk -v now="$(sample "$@")" -v first="$(cd first && sample "$@")" 'BEGIN { print now - first }'
}

# at_least LOW X
at_least() {
	awk -v low="$1" -v x="$2" 'BEGIN { print (x > low - 1e-6 ? "yes" : low " <= " x) }'
}

# until_ended STATE N: until N more stops of the host have ended
until_ended() {
	for _ in $(seq 600); do
		scrape
		[ "$(at_least "$2" "$(host hostrace_ended_stops_total "state=\"$1\"")")" = yes ] && return
		sleep .1
	done
	return 1
}

# For how long the VM has been stopped; it is running, or will be soon.
paused_seconds() {
	local before now=none
	until [ "$now" = "${before:-}" ]; do
		before=$now
		sleep .1
		scrape
		now=$(sample hostrace_vm_stopped_seconds_total "pid=\"$source\"" 'state="paused"')
	done
	echo "$now"
}

plan 23
guest_start source -smp 2
source=$vm
name=none$$
cp "$BUILD/minivmm" "$name"
vmm_start 10 "./$name"
HOSTRACE_DEBUG=attach exporter_start --listen 127.0.0.1:0 --downtime
until_sample 1 hostrace_vm_downtime_watched "pid=\"$source\""
is $? 0 "stops of the VM are watched" page
is "$(sample hostrace_vm_downtime_watched "pid=\"$vmm\"")" 0 "... not of what is no QEMU" page
is "$(sample hostrace_vm_stops_total "pid=\"$source\"" 'state="paused"') $(sample hostrace_vm_stopped_seconds_total "pid=\"$source\"" 'state="paused"')" \
	"0 0" "there are series before the first stop" page
is "$(grep -c "^hostrace_vm_stop.*pid=\"$vmm\"" page)" 0 "... none of a VM that is not watched" page

# ---- pauses ----
mkdir first
cp page first/
guest_set source GUEST_GO 1
guest_set source GUEST_START_OTHERS 1
guest_wait source 1000
low=0 high=0
for _ in 1 2 3 4 5; do
	before=$(now)
	qmp source stop >/dev/null
	stopped=$(now)
	sleep .2
	continues=$(now)
	qmp source cont >/dev/null
	after=$(now)
	low=$(awk -v n="$low" -v a="$stopped" -v b="$continues" 'BEGIN { print n + b - a }')
	high=$(awk -v n="$high" -v a="$before" -v b="$after" 'BEGIN { print n + b - a }')
done
until_ended paused 5
is $? 0 "five stops have ended" page
is "$(sample hostrace_vm_stops_total "pid=\"$source\"") $(sample hostrace_vm_stops_total "pid=\"$source\"" 'state="paused"')" "5 5" \
	"... of this VM" page
paused=$(paused_seconds)
is "$(between "$low" "$paused" "$high")" yes "... for as long as it was stopped" page
is "$(at_least "$paused" "$(host hostrace_ended_stop_phase_seconds_total 'state="paused"')")" yes "... which is also in the host's sum" page
qmp source stop >/dev/null
until_sample 6 hostrace_vm_stops_total "pid=\"$source\"" 'state="paused"'
is $? 0 "a stop that has not ended is counted as the VM's" page
until_more "$(sample hostrace_vm_stopped_seconds_total "pid=\"$source\"" 'state="paused"')" \
	hostrace_vm_stopped_seconds_total "pid=\"$source\"" 'state="paused"'
is $? 0 "... and grows" page
qmp source cont >/dev/null
promtool check metrics <page >promtool.out 2>&1
is $? 0 "promtool check metrics" promtool.out

# ---- a migration, to a QEMU that has run no vCPU ----
guest_ram target
(guest_qemu target -smp 2 -incoming unix:migration) &
disown
until_line . target/pid
target=$(cat target/pid)
until_sample 1 hostrace_vm_downtime_watched "pid=\"$target\""
is $? 0 "a QEMU that waits for a migration is watched" page
before=$(now)
is "$(qmp source migrate '{"uri":"unix:migration"}')" "{}" "the migration begins" source/qmp.err
until_state source postmigrate && until_state target running
is $? 0 "... and ends"
after=$(now)
until_ended finish-migrate 1
# The source's state may have been written, and the destination not run yet, when the page was made.
ran() {
	for _ in $(seq 600); do
		[ "$(host hostrace_ended_stop_phase_seconds_total 'state="finish-migrate"' 'phase="activate"')" != 0 ] && return
		sleep .1
		scrape
	done
	return 1
}
ran
is $? 0 "a migration's downtime has all its phases" page
is "$(sample hostrace_vm_stops_total "pid=\"$source\"" 'state="finish-migrate"') $(sample hostrace_vm_stops_total "pid=\"$target\"")" "1 0" \
	"... it is a stop of the source" page
downtime=$(sample hostrace_vm_stopped_seconds_total "pid=\"$source\"" 'state="finish-migrate"')
is "$(between 0 "$downtime" "$(awk -v a="$before" -v b="$after" 'BEGIN { print b - a }')")" yes "... no longer than the migration" page
is "$(for phase in stopped ram devices activate; do
	host hostrace_ended_stop_phase_seconds_total 'state="finish-migrate"' "phase=\"$phase\""
done | awk -v all="$downtime" '{ sum += $1; zero += $1 == 0 } END { print zero, (sum > all - 1e-6) }')" "0 1" \
	"... phases that sum to it" page
qmp source quit >/dev/null
until_sample none hostrace_vm_info "pid=\"$source\""
is "$(sample hostrace_vm_stops_total "pid=\"$source\"") $(at_least 1 "$(host hostrace_ended_stops_total 'state="finish-migrate"')")" "none yes" \
	"a VM that ended is only in the host's figures" page
# What could not be attached to is tried again, after 1, 2, 4 ... seconds.
tries() {
	grep -c "process $vmm: 0 user probes" exporter.err
}
for _ in $(seq 300); do
	[ "$(tries)" -lt 3 ] || break
	sleep .1
done
is "$(at_least 3 "$(tries)")" yes "probes that cannot be attached are tried again" exporter.err
is "$(grep -c "^hostrace: warning: VM $name (pid $vmm) is not watched completely: vm_state: " exporter.err)" 1 \
	"... which is logged once, with the reason" exporter.err
is "$(at_least 3 "$(sample hostrace_attach_failures_total)")" yes "... and counted" page
exporter_end
is $? 0 "^C: status 0" exporter.err
vmm_go
vmm_end
finish
