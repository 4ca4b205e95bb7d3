#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace diagnose of recordings, as `hostrace record` makes them by default, of VMs in which something stood still before,
# or that QEMU throttles, and of healthy ones: one of each of some kinds of tests/diagnose/bench.py. Needs $HOSTRACE and
# $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 qemu-nbd
live_build "$BUILD/countguest.bin"
exec "$ROOT/tests/diagnose/bench.py" "$BUILD" --hostrace "$HOSTRACE" --variations 1 --recorded \
	--tap --kinds paused,stopped-by-signal,frozen-by-cgroup,no-kick,masked-interrupt,nbd-server-stopped,throttled-iops,throttled-to-a-stop,idle,disk
