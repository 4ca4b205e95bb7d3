#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The counts of `stat` equal those of a simultaneous recording and the workload of the guest.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

# stat_start NAME ARGS...: starts it in the background ($stat_waiter); its table is written to NAME
stat_start() {
	out=$1
	shift
	: > "$out.err"
	timeout 200 "$HOSTRACE" stat --vm "$vmm" "$@" > "$out" 2> "$out.err" &
	stat_waiter=$!
	until_line 'watching' "$out.err" || bail "stat did not start: $(cat "$out.err")"
}

# all_start NAME ARGS...: the same of all VMs, which runs until all_end ($all_pids)
all_start() {
	out=$1
	shift
	: > "$out.err"
	timeout 200 "$HOSTRACE" stat --all "$@" > "$out" 2> "$out.err" &
	all_pids="${all_pids-} $!"
	until_line 'watching all VMs' "$out.err" || bail "stat --all did not start: $(cat "$out.err")"
}

all_end() {
	for pid in $all_pids; do
		kill "$pid"
		wait "$pid" || return
	done
}

# until_without PID FILE: waits up to three minutes until this VM has no more lines
until_without() {
	for _ in $(seq 1800); do
		tail -n 1 "$2" | grep -q "\"pid\":$1," || return 0
		sleep .1
	done
	return 1
}

# until_lines N FILE: waits up to three minutes
until_lines() {
	for _ in $(seq 3600); do
		[ "$(wc -l < "$2")" -ge "$1" ] && return
		sleep .05
	done
	return 1
}

plan 36
timeout 200 "$HOSTRACE" stat --vm 1 > out 2> err
is $? 1 "process 1 is not a VM" err
timeout 200 "$HOSTRACE" stat --by reason > out 2> err
is $? 2 "--by accepts only vcpu" err
timeout 200 "$HOSTRACE" stat --all --vm 1 > out 2> err
is $? 2 "all VMs, and one" err
timeout 200 "$HOSTRACE" stat --interval 1s --sort count > out 2> err
is $? 2 "lines of intervals have one order" err
timeout 200 "$HOSTRACE" stat --interval 0 > out 2> err
is $? 2 "an interval of 0" err

live_needs_tools qemu-system-x86_64 jq script
qemu-system-x86_64 -name tcg$$ -accel tcg -m 16 -S -nodefaults -display none -pidfile tcg.pid > tcg.out 2>&1 &
tcg_waiter=$!
until_line '^[0-9]' tcg.pid || bail "QEMU did not start: $(cat tcg.out)"
timeout 200 "$HOSTRACE" stat --vm "$(cat tcg.pid)" -d 1s > out 2> err
is "$? $(grep -c 'does not use KVM' err)" "1 1" "a VM without KVM has nothing to count" err
timeout 200 "$HOSTRACE" top --batch --vm "$(cat tcg.pid)" -d 1s > out 2> err
is "$? $(grep -c 'does not use KVM' err)" "1 1" "... top says so, too" err
kill "$(cat tcg.pid)"
wait "$tcg_waiter"

vmm_start 2300
stat_start total.csv -f csv
total_waiter=$stat_waiter
stat_start vcpu.csv -f csv --by vcpu
vcpu_waiter=$stat_waiter
stat_start parts.csv -f csv --interval 100ms
parts_waiter=$stat_waiter
stat_start parts.jsonl -f json --by vcpu --interval 100ms
jsonl_waiter=$stat_waiter
stat_start parts.txt --interval 100ms
text_waiter=$stat_waiter
stat_start total.json -f json --by vcpu
json_waiter=$stat_waiter
stat_start short.csv -f csv -d 10ms
wait "$stat_waiter"
is "$? $(csv_sum reason=KVM_EXIT_IO < short.csv)" "0 0" "a duration ends it; nothing was counted yet" short.csv.err
until_lines 4 parts.csv && until_lines 3 parts.jsonl && until_lines 4 parts.txt || bail "no lines while the VM is idle"
first=$vmm
all_start all.csv -f csv
all_start all.json -f json
all_start all.jsonl -f json --interval 50ms
record_start --vm "$vmm" --events kvm -o t.hrt
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err
wait "$total_waiter"
is $? 0 "stat ends with the VM" total.csv.err
wait "$vcpu_waiter" && wait "$parts_waiter" && wait "$jsonl_waiter" && wait "$json_waiter" && wait "$text_waiter"
is $? 0 "... each of them" parts.csv.err
wait "$recorder_waiter"

# With kvm_exit the table has more exit reasons; these are the ones that the guest causes.
"$HOSTRACE" exits -f csv -i t.hrt > exits.csv
cut -d, -f1,2,12 exits.csv | sort > want
cut -d, -f1,2,12 total.csv | sort > have
is "$(cat have)" "$(cat want)" "reasons, counts and userspace_count are those of exits" total.csv
is "$(head -n 1 total.csv)" "$(head -n 1 exits.csv)" "the columns are those of exits" total.csv
io=$(csv_sum reason=KVM_EXIT_IO < total.csv)
is "$([ "$io" = 0 ] || echo "$io")" "$([ "$io" = 0 ] || echo 2300)" "each outb but the last was answered in userspace"
is "$(csv_sum vcpu=0 < vcpu.csv)" "$(csv_sum < total.csv)" "--by vcpu: all on vCPU 0" vcpu.csv

# A line per interval: the guest ran after the first ones, and all of them together are the total.
all=$(csv_sum < total.csv)
is "$(grep -c '^from_ns,until_ns,count,' parts.csv) $(csv_sum < parts.csv)" "1 $all" \
	"--interval: one heading; the parts make the whole" parts.csv
is "$(sed -n '2,4s/^[0-9]*,[0-9]*,//p' parts.csv)" "$(for _ in 1 2 3; do echo 0,0,0,0,0,0,0,0,0,0,0; done)" \
	"... an interval without exits is a line of zeros" parts.csv
is "$(awk -F, 'NR > 2 && $1 != last { print } { last = $2 }' parts.csv)" "" \
	"... each begins where the one before ended" parts.csv
follows stat total.json
follows stat-interval parts.jsonl
is "$(jq -s 'map(.count) | add' parts.jsonl)" "$all" "... JSON: each line is an object" parts.jsonl
is "$(jq -s 'map(.rows[].count) | add' parts.jsonl)" "$all" "... with the reasons" parts.jsonl
is "$(head -n 1 parts.jsonl | jq -c '[.vcpu, .count, .p99_ns, .missed, .rows]')" "[0,0,0,0,[]]" \
	"... of a vCPU, zeros if it was idle" parts.jsonl
is "$(grep -c time_s parts.txt) $(awk '$1 + 0 > 0 { sum += $2 } END { print sum + 0 }' parts.txt)" "1 $all" \
	"... text: one heading, the same counts" parts.txt
is "$(awk '{ if (length > 80) print }' parts.txt)" "" "... 80 columns" parts.txt
vmm_start 1
timeout 200 script -qec "stty rows 6 cols 80 && '$HOSTRACE' stat -q --vm $vmm --interval 20ms -d 3s" screen > /dev/null
is "$(awk '/time_s/ { if (last) print NR - last - 1; last = NR }' screen | sort -u)" 4 \
	"... on a terminal the heading is printed on each screen" screen
vmm_go
vmm_end
# Of all VMs: the one of before, and one that begins and ends meanwhile. Others may run on this machine.
"$BUILD/minivmm" outb=1000000000 inb=0 mmio=0 hlt=0 > later.out 2>&1 &
later=$!
until_line "\"pid\":$later,\"count\":[1-9]" all.jsonl
is $? 0 "stat --all: a VM that starts later is counted" all.jsonl.err
all_start ended.csv -f csv
# Lines of another one show that this one has no more: without any VM there are none.
"$BUILD/minivmm" outb=1000000000 inb=0 mmio=0 hlt=0 > other.out 2>&1 &
other=$!
until_line "\"pid\":$other,\"count\":[1-9]" all.jsonl
kill "$later"
wait "$later" 2> /dev/null
until_without "$later" all.jsonl
kill "$other"
wait "$other" 2> /dev/null
all_end
is $? 0 "... until it is told to end" all.csv.err
is "$(awk -F, -v pid="$first" '$2 == pid' all.csv | cut -d, -f3- | cut -d, -f1,2,12 | sort)" \
	"$(grep -v "^reason" want)" "... the counts of each VM are those of its own recording" all.csv
is "$(head -n 1 all.csv | cut -d, -f1-3)" "vm,pid,reason" "... by name and process"
is "$(awk -F, -v pid="$first" '$2 == pid { print $1 }' all.csv | sort -u)" "$(basename "$BUILD/minivmm")" "... of the VM" all.csv
is "$(jq "[.rows[] | select(.pid == $first).count] | add" all.json)" "$all" "... JSON has the same" all.json
is "$(jq -s "[.[] | select(.pid == $first).count] | add" all.jsonl)" "$all" "... all intervals together, too" all.jsonl
is "$(awk -F, -v pid="$later" '$2 == pid { n += $4 } END { print (n > 0) }' ended.csv)" 1 "... a VM that has ended keeps its rows" ended.csv
follows stat all.json
is "$(awk -F, 'NR > 1 && !($4 <= $8 && $8 <= $9 && $9 <= $10 && $10 <= $11 && $11 <= $6)' total.csv)" "" \
	"percentiles lie between the least and the largest, in order" total.csv
finish
