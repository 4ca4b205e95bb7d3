#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs live tests: tests/run-live.sh SCRIPT... Each is a script that prints TAP and makes a real recording. $HOSTRACE is
# the program, $BUILD the build directory (absolute), $ROOT the source tree, $TEST_TMP a temporary directory.
# A script that cannot run here prints "1..0 # SKIP reason"; tests/tap.sh describes which reasons are accepted.
set -u
here=$(cd "$(dirname "$0")" && pwd)
ROOT=$(dirname "$here")
BUILD=$(realpath "${BUILD:-$ROOT/build}")
HOSTRACE=$(realpath "${HOSTRACE:-$BUILD/hostrace}")
CHECK_DIR=${CHECK_DIR:-$BUILD/check}
export ROOT BUILD HOSTRACE CHECK_DIR TZ=UTC LC_ALL=C TERM=dumb
unset NO_COLOR COLUMNS LINES HOSTRACE_DEBUG PAGER MAKEFLAGS MFLAGS MAKELEVEL

for script in "$@"; do
	name=$(basename "$script" .sh)
	TEST_TMP=$(mktemp -d)
	export TEST_TMP
	"$here/tap.sh" "live/$name" "${LIVE_SECONDS:-250}" bash "$script"
	rm -rf "$TEST_TMP"
done
