#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --where: it selects what the same condition selects from the unfiltered answer, by jq; the examples of doc/filters.md
# run.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tests=$(dirname "$here")
top=$(dirname "$tests")
hostrace=$(realpath "${HOSTRACE:-$top/build/hostrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8
cd "$tests/cases" || exit 1
. ../tap.inc

# same NAME COMMAND CONDITION JQ: the rows with --where are those of the whole answer that jq selects
same() {
	# shellcheck disable=SC2086
	"$hostrace" $2 -f json --where "$3" 2>"$work/err" | jq -c '.rows[]' >"$work/where"
	# shellcheck disable=SC2086
	"$hostrace" $2 -f json 2>>"$work/err" | jq -c ".rows[] | select($4)" >"$work/jq"
	if [ ! -s "$work/jq" ]; then
		right "$1" "jq selects nothing: $(cat "$work/err")"
	else
		diff "$work/where" "$work/jq" >"$work/diff"
		result "$1" $? "$work/diff"
	fi
}

f=exits/trace.txt
same "events by a number" "list $f" 'vcpu == 1' '.vcpu == 1'
same "events by a name" "list $f" 'event == "kvm_exit" && reason == "HLT"' '.event == "kvm_exit" and .fields.reason == "hlt"'
same "events that lack a field" "list $f" 'rip >= 0x2000' '.fields.rip == "0x2000"'
same "a negation of what is unknown" "list $f" '!(rip == 0x1000)' '.fields.rip == "0x2000"'
same "events by a pattern" "list $f" 'event ~ "kvm_e*" || event in ("kvm_run")' \
	'.event == "kvm_exit" or .event == "kvm_entry" or .event == "kvm_run"'
same "spans by their duration" "list-spans exit-latency $f" 'ns > 50us' '.duration_ns > 50000'
same "spans by a reason of another ISA" "list-spans exit-latency $f" 'reason == "IO_INSTRUCTION"' '.reason == "io"'
same "spans by a field that is no column" "list-spans exit-latency $f" 'rip == 0x2000' '.vcpu == 1 or .reason == "hlt"'
same "spans that went to the VMM" "list-spans userspace-exit $f" 'ns >= 5us' '.duration_ns >= 5000'
same "tracks of spans" "timeline exit-latency $f" 'ns > 50us' '.duration_ns > 50000'
same "exits of a reason" "exits $f" 'reason == "hlt"' '.reason == "hlt"'
same "ports" "ports ports/trace.txt" 'port == 0x70 || size > 1' '.port == 112 or .size > 1'
same "rows" "sched sched/trace.txt" 'run_ns > 1ms' '.run_ns > 1000000'
same "rows by a text" "interrupts interrupts/trace.txt" 'vcpu == 0 && accepted' '.vcpu == 0 and .accepted > 0'
same "queues" "virtio virtio-in-flight/trace.txt" 'count > 1 && queue == 0' '.count > 1 and .queue == 0'
same "queues by the name of their device" "virtio virtio-in-flight/trace.txt" 'device == "disk"' '.device | test("/disk/")'
same "kept exits of blame" "blame blame-causes/trace.txt" 'latency_ns > 1' 'true'

# rows NAME OTHER COMMAND...: with OTHER, a filter that selects the same, they are not empty and as with the rest
rows() {
	local name=$1 other=$2 all
	shift 2
	# shellcheck disable=SC2086
	all=$("$hostrace" $1 -f json $other 2>"$work/err" | jq -c '.rows[]')
	# shellcheck disable=SC2086
	[ -n "$all" ] && [ "$("$hostrace" $1 -f json --where "$2" 2>>"$work/err" | jq -c '.rows[]')" = "$all" ]
	result "$name" $? "$work/err"
}

rows "samples of an OSv trace" "--event osv:sched_switch --vcpu 1" "prof -x osv-reports/tracefile" 'event == "osv:sched_switch" && vcpu == 1'
rows "samples with their backtraces" "-t sched_switch" "prof tracedat-stacks/trace.dat" 'event == "sched_switch"'
rows "samples of perf" "--event perf:cycles*" "profile --host text-perf-chains/frames.txt" 'event ~ "perf:cycles*"'
rows "stacks" "-t sched_wakeup" "prof-flame tracedat-stacks/trace.dat" 'event == "sched_wakeup"'
rows "samples of the guest's code" "--tid 11" "profile --host -x profile-host/clock.txt" 'tid == 11'
rows "exits by cause, up to their entries" "--reason io" "profile --host -x --causes-exits profile-host-events/trace.txt" 'reason == "io"'
for wrong in 'in_flight > 1' 'coun > 1'; do
	"$hostrace" virtio exits/trace.txt --where "$wrong" >"$work/out" 2>"$work/err"
	[ $? = 2 ] && grep -q "(fields: pid, device, queue, kind, queue_name, count, .*, notifications)" "$work/err"
	result "a queue has no such field: $wrong" $? "$work/err"
done
"$hostrace" virtio virtio-in-flight/trace.txt --where 'count > 100' >"$work/out"
grep -qxF "no queue matches --where 'count > 100' (of 3)" "$work/out"
result "no queue is selected" $? "$work/out"

lost=$("$hostrace" exits exits-lost/trace.txt --where 'ns > 1ns' -f json | jq -r '.caveats[] | select(test("lost"))')
all=$("$hostrace" exits exits-lost/trace.txt -f json | jq -r '.caveats[] | select(test("lost"))')
is "$lost" "$all" "losses are noted as without it"

nr_examples=0
while IFS= read -r line; do
	nr_examples=$((nr_examples + 1))
	(cd "$top" && eval "$(sed "s,^hostrace,\"$hostrace\",; s,vm.txt,tests/cases/exit-accesses/vmx.txt," <<<"$line")") >"$work/out" 2>"$work/err"
	[ $? = 0 ] && [ -s "$work/out" ]
	result "doc/filters.md: $line" $? "$work/err"
done < <(grep '^hostrace .*--where' "$top/doc/filters.md")
[ $nr_examples -ge 7 ]
result "doc/filters.md has examples" $? /dev/null
results_end
