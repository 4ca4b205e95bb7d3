#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace diagnose of VMs whose disk is slow, or in which something stands still, and of healthy ones: one of each kind of
# tests/diagnose/bench.py. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 qemu-nbd gdb
live_build "$BUILD/countguest.bin"
exec "$ROOT/tests/diagnose/bench.py" "$BUILD" --hostrace "$HOSTRACE" --variations 1 \
	--tap --kinds idle,fast-disk,throttled-iops,slow-backend,io-limit,no-kick,masked-interrupt,held-request,stopped-by-signal,debugger,stop-and-go,nbd-server-stopped
