#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A VM that migrates to another QEMU of this host while both are recorded: every access is in the file, once, and the
# downtime is known by phase.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

# until_state NAME STATE
until_state() {
	for _ in $(seq 1200); do
		[ "$(qmp "$1" query-status | jq -r .status)" = "$2" ] && return
		sleep .05
	done
	return 1
}

plan 13
guest_start source -smp 2
source=$vm
guest_ram target
(guest_qemu target -smp 2 -incoming unix:migration) &
disown
until_line . target/pid
target=$(cat target/pid)
record_start --vm "$source" --vm "$target" -e default,migration -o moved.hrt --buffer 64M
guest_set source GUEST_GO 1
guest_set source GUEST_START_OTHERS 1
guest_wait source 1000
is "$(qmp source migrate '{"uri":"unix:migration"}')" "{}" "the migration begins" source/qmp.err
until_state source postmigrate
is $? 0 "the source is paused"
until_state target running
is $? 0 "the target runs"
guest_wait target 1000
before=$(guest_counts source | tr ' ' '\n' | awk '{ n += $1 } END { print n }')
all=$(guest_stop target)
kill -0 "$source"
is $? 0 "the source's process is still there"
qmp source query-migrate >source/migrated.json
qmp source quit >/dev/null
qmp target quit >/dev/null
wait "$recorder_waiter"
is $? 0 "the recording ends with both" record.err
echo "# of $all accesses, $before were done before"
there=$(accesses "$source" moved.hrt)
lost=$(lost moved.hrt kvm_pio)
is $((there + $(accesses "$target" moved.hrt) + lost)) "$all" "every access is recorded once, or counted as lost" record.err
# What a vCPU had written but not yet counted, it counts in the target.
is $((there + lost >= before && there <= before + 2)) 1 "... those before it in the source ($there)"
is $((lost * 2 <= all)) 1 "... most are recorded ($lost were lost)"

is "$("$HOSTRACE" diagnose --vm "$source" moved.hrt -f json 2>>diagnose.err |
	jq 'any(.result.causes[]; .id == "migration" and (.text | test("thread (live_migration|mig/src/main)|finish-migrate")))')" true \
	"diagnose names the migration" diagnose.err
# QEMU's own figure is in ms, from the request to stop until the state was sent.
qemu_ms=$(jq -r '.downtime' source/migrated.json)
downtime() {
	"$HOSTRACE" downtime -f json -i moved.hrt 2>>downtime.err | jq -r "$1"
}
echo "# downtime: $(downtime '.rows[0].downtime_ns') ns; $qemu_ms ms by QEMU"
is "$(downtime '.rows[0] | [.vm, .to, .state, .end, .lost] | join(" ")')" "source target finish-migrate migrated no" \
	"downtime: the migration is one row" downtime.err
is "$(downtime '.rows[0] | [.stop_ns, .stopped_ns, .ram_ns, .devices_ns, .activate_ns, .resume_ns] |
	all(. != null and . >= 0)')" true "... with all its phases" downtime.err
is "$(downtime '.rows[0] | .downtime_ns == .stop_ns + .stopped_ns + .ram_ns + .devices_ns + .activate_ns + .resume_ns')" \
	true "... that sum to it" downtime.err
is "$(downtime ".rows[0] | .stopped_ns + .ram_ns <= ($qemu_ms + 1) * 1000000")" true \
	"... and QEMU's own downtime is not less than the source's phases" downtime.err
finish
