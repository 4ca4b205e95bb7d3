#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# resources: cpus
# hostrace diagnose of VMs that get too little of their CPU: one of each of some kinds of
# tests/diagnose/bench.py. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 taskset
live_build "$BUILD/countguest.bin"
exec "$ROOT/tests/diagnose/bench.py" "$BUILD" --hostrace "$HOSTRACE" --variations 1 \
	--tap --kinds quota-on-busy-host,host-task,other-vm,own-threads,no-cpu
