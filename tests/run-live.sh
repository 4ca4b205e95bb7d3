#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Runs live tests: tests/run-live.sh SCRIPT... Each is a script that prints TAP and makes a real recording. $HOSTRACE is
# the program, $BUILD the build directory (absolute), $ROOT the source tree, $TEST_TMP a temporary directory.
# A script that cannot run here prints "1..0 # SKIP reason"; tests/tap.sh describes which reasons are accepted.
#
# LANES scripts run at once (default 2). A script that cannot run beside certain others names what it needs for itself in
# a comment "# resources: NAME..."; of the scripts that name the same resource one runs at a time. "machine" is for a
# script that nothing else may run beside.
set -u
here=$(cd "$(dirname "$0")" && pwd)
ROOT=$(dirname "$here")
BUILD=$(realpath "${BUILD:-$ROOT/build}")
HOSTRACE=$(realpath "${HOSTRACE:-$BUILD/hostrace}")
CHECK_DIR=${CHECK_DIR:-$BUILD/check}
export ROOT BUILD HOSTRACE CHECK_DIR TZ=UTC LC_ALL=C TERM=dumb
unset NO_COLOR COLUMNS LINES HOSTRACE_DEBUG PAGER MAKEFLAGS MFLAGS MAKELEVEL

# The locks are not inherited by what a script leaves running.
run_script() { # SCRIPT
	local name resources locks=() resource
	name=$(basename "$1" .sh)
	resources=$(sed -n 's/^# resources: //p' "$1" | tr ' ' '\n' | sort)
	for resource in $resources; do
		[ "$resource" = machine ] || locks+=(flock -o "$CHECK_DIR/$resource.lock")
	done
	case $resources in
	*machine*) locks+=(flock -o -x "$CHECK_DIR/machine.lock") ;;
	*) locks+=(flock -o -s "$CHECK_DIR/machine.lock") ;;
	esac
	TEST_TMP=$(mktemp -d)
	export TEST_TMP
	"${locks[@]}" "$here/tap.sh" "live/$name" "${LIVE_SECONDS:-250}" bash "$1"
	rm -rf "$TEST_TMP"
}

if [ "${1:-}" = --one ]; then
	run_script "$2"
	exit
fi
mkdir -p "$CHECK_DIR"
[ $# = 0 ] || printf '%s\0' "$@" | xargs -0 -n 1 -P "${LANES:-2}" "$0" --one
