#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace diagnose of VMs whose disk is slow, that are stopped again and again, or idle: one of each of some kinds of
# tests/diagnose/bench.py. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64
live_build "$BUILD/countguest.bin" "$BUILD/slowmem.so" "$BUILD/blameguest-touch.elf" "$BUILD/blameguest-write.elf" \
	"$BUILD/blameguest-slow.elf" "$BUILD/blameguest-bar.elf" "$BUILD/blameguest-ata.elf"
exec "$ROOT/tests/diagnose/bench.py" "$BUILD" --hostrace "$HOSTRACE" --variations 1 \
	--tap --kinds idle,throttled-iops,throttled-ide,slow-backend,stop-and-go,late-memory,memory-limit,full-console,port-poll,register-poll,stopped-by-signals
