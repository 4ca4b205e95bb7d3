#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which consoles show a boot that the rig repeats (tests/rig/boot.inc).
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lint/rule.inc
. tests/rig/boot.inc
console=$(mktemp)
trap 'rm -f "$console"' EXIT

shows() { # NAME WANTED CONSOLE: the reason, and the status
	local got
	printf '%b' "$3" >"$console"
	got=$(boot_failure "$console"; echo $?)
	rule "$1" "$([ "$got" = "$2" ] || echo "got: $got")"
}

shows "a panic" "Kernel panic - not syncing: IO-APIC + timer doesn't work!  Boot with apic=debug
0" "SeaBIOS\r\n[    0.02] ..MP-BIOS bug\r\n[    0.03] Kernel panic - not syncing: IO-APIC + timer doesn't work!  Boot with apic=debug\r\n\r\nx"
shows "a soft lockup, among other lines" "BUG: soft lockup - CPU#1 stuck for 103s
0" "L1 3 pair begins\r\n[  200.1] watchdog: BUG: soft lockup - CPU#1 stuck for 103s! [qemu:5]\r\n[  201.0] Kernel panic - not syncing: softlockup: hung tasks\r\n"
shows "a boot that succeeded" 1 "[    0.03] kvm: Unhandled WRMSR\r\nL1 3 pair begins\r\nL1 9 pair ends with status 1\r\n"
shows "nothing yet" 1 ""
echo "1..$n"
exit $failed
