#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace diagnose of VMs in which something stands still: one of each of some kinds of
# tests/diagnose/bench.py. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 qemu-nbd
live_build "$BUILD/countguest.bin" "$BUILD/blameguest-touch.elf" "$BUILD/slowmem.so"
exec "$ROOT/tests/diagnose/bench.py" "$BUILD" --hostrace "$HOSTRACE" --variations 1 \
	--tap --kinds no-kick,lost-memory,masked-interrupt,stopped-by-signal,frozen-by-cgroup,nbd-server-stopped,monitor-command
