#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# resources: cpus
# What takes a VM's CPU, or stops it: hostrace diagnose, top and exporter name the same cause. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 taskset
live_build "$BUILD/countguest.bin" "$BUILD/blameguest-touch.elf"
exec "$ROOT/tests/diagnose/bench.py" "$BUILD" --hostrace "$HOSTRACE" --variations 1 \
	--tap --views --kinds quota,host-task,other-vm,own-threads,stopped-by-signal,stopped-by-signals,frozen-by-cgroup,paused,stop-and-go,auto-converge
