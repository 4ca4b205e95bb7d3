#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A recorder that does not run for some seconds (SIGSTOP): what it lost is counted, recorded + lost = done.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/count-lib.inc"

plan 10
for mode in "" "--ring 256M"; do
	rm -rf slow slow.hrt
	guest_start slow
	# shellcheck disable=SC2086
	record_start --vm "$vm" -o slow.hrt --buffer 256K $mode
	guest_set slow GUEST_GO 1
	guest_wait slow 500
	kill -s STOP "$recorder"
	guest_wait slow 20000 # the buffer holds fewer
	kill -s CONT "$recorder"
	guest_wait slow 500
	all=$(guest_stop slow)
	kill "$recorder"
	wait "$recorder_waiter"
	is $? 0 "${mode:-plain}: the recording ends" record.err
	recorded=$(accesses slow slow.hrt)
	lost=$(lost slow.hrt kvm_pio)
	echo "# $all = $recorded recorded + $lost lost"
	is $((recorded + lost)) "$all" "... recorded + lost = done"
	is $((lost > 0)) 1 "... some were lost"
	is "$(grep -c 'warning: [0-9]* events were lost' record.err)" 1 "... which is said" record.err
	"$HOSTRACE" exits --strict -i slow.hrt >exits.out 2>&1
	is $? 3 "... and --strict reports fail" exits.out
	kill -s KILL "$vm"
done
finish
