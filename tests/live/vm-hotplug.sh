#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# vCPUs that are plugged in while their VM is recorded, not in the order of their numbers: the accesses of each.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

# by_thread TRACE: "TID VCPU COUNT" of each thread that wrote to the port
by_thread() {
	"$HOSTRACE" list -f csv -i "$1" --event kvm_pio >list.csv 2>list.err
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { n[$at["tid"] " " $at["vcpu"]]++ }
		END { for (k in n) print k, n[k] }' list.csv | sort
}

plan 10
guest_start hot -smp 1,sockets=4,cores=1,threads=1,maxcpus=4
record_start --vm "$vm" -o hot.hrt --buffer 64M
guest_set hot GUEST_GO 1
guest_wait hot 500
for socket in 3 1; do
	is "$(qmp hot device_add '{"driver":"qemu64-x86_64-cpu","id":"cpu'$socket'","socket-id":'$socket',"core-id":0,"thread-id":0}')" \
		"{}" "a vCPU is plugged into socket $socket" hot/qmp.err
done
guest_set hot GUEST_START_OTHERS 1
guest_until hot GUEST_BEGUN 3
is $? 0 "the guest starts them"
"$HOSTRACE" record -q --vm "$vm" -d 1s -o later.hrt 2>later.err
is $? 0 "another recording, of the VM that has them" later.err
all=$(guest_stop hot)
counts=$(guest_counts hot)
kill "$recorder"
wait "$recorder_waiter"
is $? 0 "the recording ends" record.err
lost=$(lost hot.hrt kvm_pio)
echo "# $lost of $all accesses were lost"
is $(($(accesses "$vm" hot.hrt) + lost)) "$all" "every access is recorded, or counted as lost" record.err
echo "# guest: $counts"
by_thread hot.hrt | sed 's/^/# /'
# Both sorted; some may be lost.
is "$(paste <(by_thread hot.hrt | awk '{ print $3 }' | sort -n) <(echo "$counts" | tr ' ' '\n' | sort -n) |
	awk -v lost="$lost" '{ print ($1 <= $2 && $1 + lost >= $2) }' | xargs)" "1 1 1" "the accesses of each vCPU" list.err
# QEMU numbers its threads by socket, KVM its vCPUs in the order in which they were made, as do events.
threads=$(by_thread hot.hrt | awk '{ print $1, $2 }' | xargs)
for trace in hot.hrt later.hrt; do
	is "$("$HOSTRACE" info -f json -i $trace | jq -r '.result.vms[].vcpu_threads[] | "\(.tid) \(.index)"' | sort | xargs)" \
		"$threads" "$trace: the threads of three vCPUs"
done
is "$("$HOSTRACE" info -f json -i hot.hrt | jq -c '[.result.clocks[].vcpus[].vcpu] | sort')" '[0,1,2]' \
	"the TSC offsets of three vCPUs"
finish
