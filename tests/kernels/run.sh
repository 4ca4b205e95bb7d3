#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same events in five forms must be the same events: trace.dat, perf.data, the text of tracefs, that of trace-cmd
# report and that of perf script, for each tracepoint of KVM, the scheduler, the block layer and interrupts in each form
# that kernels from 4.4 on gave it (tests/gen/kernel_formats.def). trace-cmd and perf print; values are random (SEED).
#
#   tests/kernels/run.sh [VERSION...]
#
# HOSTRACE is the program (default build/hostrace); KEEP=DIR keeps the files there.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/tests/tap.inc"
hostrace=$(realpath "${HOSTRACE:-$root/build/hostrace}")
gen=$(dirname "$hostrace")/tests/gen
work=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
export TZ=UTC LC_ALL=C
seed=${SEED:-1}

# One version after each change, and the newest.
versions=${*:-4.4 4.7 4.9 4.14 4.19 5.3 5.10 5.15 6.0 6.1 6.9 6.12 6.14 7.1}

for tool in trace-cmd perf jq; do
	command -v $tool >/dev/null || skip_all "no $tool"
done

# What perf script prints may lack columns: each list of fields that names the event, in lines of "-F" and without.
fields() {
	cat <<EOF
comm,pid,tid,cpu,time,event,trace
pid,tid,cpu,time,event,trace
tid,cpu,time,event,trace
cpu,time,event,trace
time,event,trace
event,trace
comm,time,event,trace
comm,cpu,event,trace
comm,event,trace
tid,event,trace
comm,tid,time,event,trace
comm,pid,time,event,trace
comm,tid,cpu,time,period,event,trace
comm,pid,cpu,event,trace
comm,tid,cpu,time,event,trace,flags
EOF
}

# counts FILE: how many there are of each event
counts() {
	"$hostrace" info -i "$1" -f json | jq -S -c '.result.events | del(.thread)'
}

# notes FILE: what reports say of events that none pairs
notes() {
	for report in exits interrupts; do
		"$hostrace" "$report" -i "$1" -f json |
			jq -r '.caveats[] | select(test("APIC|AVIC|async page|Hyper-V|kvm-clock|TSC|dirty ring|\\(L2\\)|posted"))'
	done
}

make_forms() {
	"$gen/kernelevents" "$1" "$2" "$seed" . >count &&
		"$gen/tracedat" dat.script trace.dat &&
		"$gen/perfdata" perf.script perf.data &&
		trace-cmd report -i trace.dat >trace-cmd.txt 2>trace-cmd.err &&
		perf script -i perf.data >perf.txt 2>perf.err
}

for version in $versions; do
	for kind in vmx svm arm64; do
		mkdir -p "$work/$version-$kind"
		cd "$work/$version-$kind" || exit
		if ! make_forms "$version" $kind; then
			result "$version $kind: five forms are made" 1 perf.err
			continue
		fi
		for form in trace.dat perf.data tracefs.txt trace-cmd.txt perf.txt; do
			"$hostrace" list -i $form -f json >$form.json
		done
		jq -nr --arg version "$version" --argjson count "$(cat count)" -f "$root/tests/kernels/forms.jq" -- *.json >wrong 2>&1 ||
			echo "jq failed" >>wrong
		notes trace.dat >want.notes
		"$hostrace" import -q perf.data -o own.hrt && "$hostrace" export -q text own.hrt -o own.txt
		for form in perf.data tracefs.txt trace-cmd.txt perf.txt own.hrt own.txt; do
			notes $form | diff want.notes - >diff.notes || { echo "notes of $form:" && cat diff.notes; } >>wrong
		done
		right "$version $kind: $(cat count) events, five forms" "$(cat wrong 2>/dev/null)"
	done
done

cd "$work" && "$gen/kernelevents" "${versions##* }" vmx "$seed" . >count && "$gen/perfdata" perf.script perf.data
counts perf.data >want
rm -f wrong
fields >fields.list
while read -r list; do
	perf script -F "$list" -i perf.data >fields.txt 2>perf.err
	counts fields.txt >have
	cmp -s want have || echo "-F $list: other events" >>wrong
done <fields.list
for option in --ns -I --show-task-events -D --show-lost-events --reltime --deltatime --header; do
	perf script $option -i perf.data >fields.txt 2>perf.err
	counts fields.txt >have
	cmp -s want have || echo "$option: other events" >>wrong
done
right "perf script: $(wc -l <fields.list) lists of fields, 8 options" "$(cat wrong 2>/dev/null)"
results_end
