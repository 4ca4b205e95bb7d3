#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs a unit test program, which is built with cmocka: tests/run-unit.sh PROGRAM
set -u
export CMOCKA_MESSAGE_OUTPUT=TAP TZ=UTC LC_ALL=C
HOSTRACE_LIBEXEC=$(dirname "$1")/../.. # hostrace-decode
export HOSTRACE_LIBEXEC
unset NO_COLOR COLUMNS HOSTRACE_DEBUG
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 UBSAN_OPTIONS=print_stacktrace=1

exec "$1"
