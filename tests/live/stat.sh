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
	timeout 60 "$HOSTRACE" stat --vm "$vmm" "$@" > "$out" 2> "$out.err" &
	stat_waiter=$!
	until_line 'watching' "$out.err" || bail "stat did not start: $(cat "$out.err")"
}

plan 12
timeout 30 "$HOSTRACE" stat --vm 1 > out 2> err
is $? 1 "process 1 is not a VM" err
timeout 30 "$HOSTRACE" stat --by reason > out 2> err
is $? 2 "--by accepts only vcpu" err

vmm_start 2300
stat_start total.csv -f csv
total_waiter=$stat_waiter
stat_start vcpu.csv -f csv --by vcpu
vcpu_waiter=$stat_waiter
stat_start parts.csv -f csv --interval 100ms
parts_waiter=$stat_waiter
stat_start short.csv -f csv -d 10ms
wait "$stat_waiter"
is "$? $(csv_sum reason=KVM_EXIT_IO < short.csv)" "0 0" "a duration ends it; nothing was counted yet" short.csv.err
record_start --vm "$vmm" --events kvm -o t.hrt
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err
wait "$total_waiter"
is $? 0 "stat ends with the VM" total.csv.err
wait "$vcpu_waiter" && wait "$parts_waiter"
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
is "$(grep -v '^reason' parts.csv | sed '1i reason,count' | csv_sum)" "$(csv_sum < total.csv)" \
	"--interval: the parts make the whole" parts.csv
is "$(awk -F, 'NR > 1 && !($4 <= $8 && $8 <= $9 && $9 <= $10 && $10 <= $11 && $11 <= $6)' total.csv)" "" \
	"percentiles lie between the least and the largest, in order" total.csv
finish
