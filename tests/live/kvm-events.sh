#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The tracepoints of bpf/events_kvm.def that any VM fires: recorded as often as perf records them for the same process,
# and shown by name.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq perf

fired=kvm_apicv_inhibit_changed,kvm_update_master_clock,kvm_track_tsc
all=$(sed -n 's/^EVENT([0-9]*, \([a-z_0-9]*\),.*/\1/p' "$ROOT/bpf/events_kvm.def" | paste -sd,)
for event in $(echo $fired | tr , ' '); do
	[ -e "/sys/kernel/tracing/events/kvm/$event" ] || skip_all "kernel: no tracepoint kvm:$event"
done

# counts FIELD FILE: events by name, in the order of $fired
ours() {
	"$HOSTRACE" info -i trace.hrt -f json | jq -r --arg names $fired '.result.events as $e | $names | split(",")[] | "\(.) \($e[.] // 0)"'
}
perfs() {
	for event in $(echo $fired | tr , ' '); do
		echo "$event $(perf script -i perf.data -F pid,event 2>/dev/null | grep -c "^ *$1 *kvm:$event:")"
	done
}

plan 5
mkfifo monitor.in
# shellcheck disable=SC2046
perf record -q -a -o perf.data $(echo $fired | tr , '\n' | sed 's/^/-e kvm:/') -- sleep 1000 >perf.out 2>&1 &
perf=$!
until [ -s perf.data ] || ! kill -0 $perf 2>/dev/null; do sleep .1; done
timeout -s KILL 200 "$HOSTRACE" record -q -o trace.hrt -e "$all" -- timeout -s KILL 200 qemu-system-x86_64 \
	-name events,debug-threads=on -accel kvm -m 32 -smp 2 -nodefaults -display none -serial none -qmp stdio \
	<monitor.in >record.out 2>&1 &
recorder=$!
exec 4>monitor.in
until_line 'QMP' record.out || bail "QEMU did not start: $(cat record.out)"
echo '{"execute":"qmp_capabilities"}{"execute":"quit"}' >&4
exec 4>&-
wait $recorder
is $? 0 "recorded" record.out
kill -INT $perf
wait $perf
pid=$("$HOSTRACE" info -i trace.hrt -f json | jq '.result.vms[0].pid')
ours >ours.out
perfs "$pid" >perfs.out
is "$(cat ours.out)" "$(cat perfs.out)" "as often as perf records them" perf.out
is "$(awk '$2 == 0' ours.out | wc -l)" 0 "and each at least once" ours.out
is "$("$HOSTRACE" list -i trace.hrt --event $fired -f json | jq -r '[.rows[].event] | unique | join(",")')" \
	kvm_apicv_inhibit_changed,kvm_track_tsc,kvm_update_master_clock "list has them by name" ours.out
"$HOSTRACE" interrupts -i trace.hrt >interrupts.out 2>&1
is "$(tr -d '\n' <interrupts.out | grep -c 'APICv or AVIC was inhibited')" 1 "interrupts has a line for inhibitions" interrupts.out
finish
