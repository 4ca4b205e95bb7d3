#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A VM that crashes and is started again under the same name while its command is recorded: every start is in the file,
# and what the recorder holds for those that have ended is given back.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

STARTS=8

# What supervises it: starts it again whenever it ends, until there is a file `enough`.
supervise() {
	local n=0
	while [ ! -e enough ]; do
		n=$((n + 1))
		guest_ram start$n
		guest_set start$n GUEST_LIMIT 4000000000
		guest_set start$n GUEST_GO 1
		(guest_qemu start$n -name web)
	done
}

# descriptors [MOST]: once they have been as many for 3 s, those of the VM that has ended being closed; or no more than MOST
descriptors() {
	local now last=0 same=0
	for _ in $(seq 600); do
		now=$(find "/proc/$recorder/fd" -type l | wc -l)
		same=$((now == last ? same + 1 : 0))
		last=$now
		if [ "$now" -le "${1:-0}" ] || { [ $# = 0 ] && [ $same = 30 ]; }; then
			break
		fi
		sleep .1
	done
	echo "$now"
}

# starts_seen N: the recorder has seen so many starts
starts_seen() {
	for _ in $(seq 2400); do
		[ "$(grep -c 'also recording' record.err)" -lt "$1" ] || return 0
		sleep .05
	done
	bail "start $1 was not seen: $(cat record.err)"
}

plan $((STARTS + 5))
export -f supervise guest_ram guest_set guest_qemu
export BUILD RAM_BYTES PAGE GUEST_LIMIT GUEST_GO
record_start -o crash.hrt --buffer 64M -- bash -c supervise
# Every other one crashes as soon as its guest runs: before /proc has described it.
for n in $(seq $STARTS); do
	starts_seen "$n"
	until [ "$(guest_get start$n GUEST_COUNTS)" -gt 0 ]; do :; done
	if [ $((n % 2)) = 1 ]; then
		kill -s SEGV "$(cat start$n/pid)"
		continue
	fi
	guest_wait start$n 500
	[ $n != 2 ] || early=$(descriptors)
	[ $n != $STARTS ] || { late=$(descriptors "$early"); : >enough; }
	kill -s KILL "$(cat start$n/pid)"
done
wait "$recorder_waiter"
is $? 0 "the recording ends with the command" record.err
is "$(grep -c 'also recording web' record.err)" $STARTS "every start is announced" record.err
is $((late <= early)) 1 "descriptors at start $STARTS, as at start 2 ($late, $early)"
# An access that was under way is recorded, but the guest did not come to count it.
lost=$(lost crash.hrt kvm_pio)
missing=0
all=0
for n in $(seq $STARTS); do
	counted=$(guest_counts start$n)
	recorded=$(accesses "$(cat start$n/pid)" crash.hrt)
	is "$((recorded <= counted + 1 && recorded + lost >= counted))" 1 "start $n: its accesses ($recorded of $counted)"
	all=$((all + counted))
	missing=$((missing + (counted > recorded ? counted - recorded : 0)))
done
is $((missing <= lost && lost * 2 <= all)) 1 "what is missing was lost, and counted ($lost of $all)"
is "$("$HOSTRACE" info -f json -i crash.hrt | jq -c '[.result.vms[].name] | [length, unique[]]')" "[$STARTS,\"web\"]" \
	"the file has $STARTS VMs of one name"
finish
