#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs unit test programs: tests/run-units.sh PROGRAM... Each is a cmocka program named test_STEM.
set -u
here=$(dirname "$0")
export CMOCKA_MESSAGE_OUTPUT=TAP TZ=UTC LC_ALL=C
unset NO_COLOR COLUMNS HOSTRACE_DEBUG
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1

for program in "$@"; do
	stem=$(basename "$program")
	"$here/tap.sh" "unit/${stem#test_}" 120 "$program"
done
