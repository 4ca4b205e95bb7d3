#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# What the holder of the global mutex does: its call stack, sampled while a vCPU waits. QEMU's file was deleted after it
# was started, as an upgrade does, and it is in a mount namespace of its own.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/blame-lib.inc"
live_needs_tools unshare

plan 7
mkdir bin
cp "$(command -v qemu-system-x86_64)" bin
PATH=$PWD/bin:$PATH
vm_start unshare --mount
rm bin/qemu-system-x86_64
storm 400
record_start
sleep 3
until_slept 100
record_stop
is $? 0 "recorded" record.err
vm_stop
"$HOSTRACE" list --wide -i trace.hrt --event sched_holder >holder.out
is $(($(grep -c 'sampled=1' holder.out) > 0)) 1 "stacks were sampled" holder.out
is $(($(grep -c 'sampled=0' holder.out) > 0)) 1 "... and copied when the holder left the CPU" holder.out
is "$(grep -c ' nr=0 ' holder.out)" 0 "each could be unwound" holder.out
# The monitor reads into a buffer of 4 KiB on its stack, more than is copied.
known=$(grep -c 'main_loop_wait;qemu_main_loop\|readline_handle_byte\|monitor_flush;\|start_thread\|;qio_channel_read;' holder.out)
all=$(wc -l <holder.out)
echo "# $known of $all stacks end in QEMU's threads"
is $((known * 10 >= all * 9)) 1 "their outermost functions are those of QEMU's threads" holder.out
is $(($(grep -c ';mtree_info;handle_hmp_command;' holder.out) > 0)) 1 "the monitor's command is in them" holder.out
"$HOSTRACE" blame -i trace.hrt -f folded >folded.out 2>&1
is $(($(grep -c '^KVM_EXIT_IO;global-mutex;held by .*;handle_hmp_command;mtree_info;.* [0-9]*$' folded.out) > 0)) 1 \
	"the folded stacks have it as well" folded.out
finish
