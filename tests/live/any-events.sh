#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record -e SUBSYSTEM:EVENT: as many events, with the same fields, as ftrace records meanwhile, also with --filter; with --host also other
# threads' events; names that do not exist.
# Needs $HOSTRACE and $BUILD; prints TAP. Takes 4 s.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools jq
[ -e /sys/kernel/tracing/events/kvm/kvm_pio ] || skip_all "kernel: no tracepoint kvm:kvm_pio"

plan 14

ftrace=/sys/kernel/tracing/instances/hostrace-any-$$
mkdir "$ftrace" || bail "no instance of tracefs"
trap 'rmdir "$ftrace" 2>/dev/null' EXIT

# "port count" lines, sorted
ours() {
	"$HOSTRACE" count kvm:kvm_pio --by =port -i any.hrt -f json | jq -r '.rows[] | "\(.port) \(.count)"' | sort
}
ftraces() {
	sed -n 's/.*kvm_pio: pio_write at 0x\([0-9a-f]*\) .*/\1/p' "$ftrace/trace" | while read -r port; do
		echo $((0x$port))
	done | sort | uniq -c | awk '{ print $2, $1 }' | sort
}

vmm_start 1000
echo "common_pid == $vmm" >"$ftrace/events/kvm/kvm_pio/filter"
echo 1 >"$ftrace/events/kvm/kvm_pio/enable"
record_start --vm "$vmm" -o any.hrt -e kvm:kvm_pio,'sched:sched_process_*,-sched:sched_process_fork'
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err
wait "$recorder_waiter"
is $? 0 "tracepoints by their names are recorded" record.err
ours >ours.out
ftraces >ftrace.out
echo 0 >"$ftrace/events/kvm/kvm_pio/enable"
is "$(cat ours.out)" "$(cat ftrace.out)" "as often as ftrace records them, by a field" ftrace.out
is "$(awk '{ sum += $2 } END { print sum }' ours.out)" 1001 "... all that the guest did"
is "$("$HOSTRACE" list -i any.hrt --event kvm:kvm_pio -f json | jq -c '[.rows[] | [.tid, .vcpu]] | unique')" "[[$vmm,0]]" "... in the thread of the vCPU"
is "$("$HOSTRACE" count sched:sched_process_fork -i any.hrt 2>&1 | grep -c 'unknown event')" 1 "... without what was excluded"

vmm_start 1000
port=$(head -n 1 ours.out | cut -d ' ' -f 1)
echo "common_pid == $vmm && port != $port" >"$ftrace/events/kvm/kvm_pio/filter"
echo >"$ftrace/trace"
echo 1 >"$ftrace/events/kvm/kvm_pio/enable"
record_start --vm "$vmm" -o any.hrt -e kvm:kvm_pio,kvm:kvm_exit --filter "event == 'kvm:kvm_pio' && port != $port || event == 'kvm:kvm_exit' && exit_reason == 12"
vmm_go
vmm_end
wait "$recorder_waiter"
ours >ours.out
ftraces >ftrace.out
echo 0 >"$ftrace/events/kvm/kvm_pio/enable"
is "$(cat ours.out)" "$(cat ftrace.out)" "--filter records as many as ftrace's filter" ftrace.out
is "$("$HOSTRACE" info any.hrt -f json | jq -c '[.result.events["kvm:kvm_exit"] < 100, .result.lost]')" "[true,{}]" "... of each event by its fields"

vmm_start 1
"$HOSTRACE" record --vm "$vmm" -o host.hrt -e sched:sched_process_exec --host -q -- /bin/true 2>record.err
is "$? $("$HOSTRACE" list -i host.hrt --event sched:sched_process_exec -f json | jq -r '.rows[] | .fields.filename' | grep -cx /bin/true)" "0 1" "--host records other threads, and texts" record.err
wrong() {
	timeout 100 "$HOSTRACE" record --vm "$vmm" -o wrong.hrt "$@" 2>wrong.err
}
wrong -e kvm:kvm_poi
is "$? $(grep -c "no tracepoint 'kvm:kvm_poi'; the nearest: .*'kvm:kvm_pio'" wrong.err)" "2 1" "an unknown tracepoint" wrong.err
wrong -e kvm_pio --host
is "$? $(grep -c -- '--host requires a tracepoint' wrong.err)" "2 1" "--host without one" wrong.err
wrong --stop-on kvm:kvm_pio
is "$? $(grep -c "'kvm:kvm_pio' is not recorded" wrong.err)" "2 1" "--stop-on one that is not recorded" wrong.err
wrong -e kvm:kvm_pio --filter 'port == 1 && ret < 0'
is "$? $(grep -c "column 14: kvm:kvm_pio has no field 'ret' (fields: event, rw (u32), port (u32)," wrong.err)" "2 1" "--filter by a field that the event lacks" wrong.err
is "$(ls wrong.hrt 2>/dev/null)" "" "... and no file is written"
vmm_go
vmm_end
finish
