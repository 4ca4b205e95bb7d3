#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The systemd unit of `exporter`: its exposure, and that it permits the system calls that the exporter makes, which
# strace lists.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl strace systemd-analyze qemu-system-x86_64
. "$ROOT/tests/live/exporter-lib.inc"
unit=$ROOT/scripts/hostrace-exporter.service

# members SET...: the system calls of these sets of systemd; what is no set is a call
members() {
	for word; do
		case $word in
		@*) systemd-analyze syscall-filter "$word" | sed -n 's/^ \{4\}\([@a-z0-9_-]*\)$/\1/p' >"set.$word"
			mapfile -t inner <"set.$word"
			members "${inner[@]}" ;;
		*) echo "$word" ;;
		esac
	done
}

# permitted: the calls that the lines SystemCallFilter= of the unit permit, in their order
permitted() {
	: >calls.permitted
	while read -r line; do
		read -ra words <<<"${line#\~}"
		members "${words[@]}" | sort -u >calls.line
		if [ "${line#\~}" = "$line" ]; then
			sort -u calls.line calls.permitted
		else
			comm -23 calls.permitted calls.line
		fi >calls.new
		mv calls.new calls.permitted
	done < <(sed -n 's/^SystemCallFilter=//p' "$unit")
	cat calls.permitted
}

plan 3
systemd-analyze security --offline=yes --threshold=35 "$unit" >security.out 2>&1
is $? 0 "systemd-analyze security: an exposure of at most 3.5" security.out

: >exporter.err
mkfifo monitor.in # that of a VM, so that probes are attached to QEMU
timeout -s KILL 200 qemu-system-x86_64 -S -name "unit$$" -accel kvm -machine pc -m 32 -nodefaults -display none -pidfile pid \
	-monitor stdio <monitor.in >qemu.out 2>&1 &
exec 4>monitor.in
until_line '^[0-9]' pid || bail "QEMU did not start: $(cat qemu.out)"
until_vcpus 1 "$(cat pid)"
timeout -s KILL 200 strace -f -qq -o calls.strace "$HOSTRACE" exporter --queues --listen 127.0.0.1:0 2>exporter.err &
waiter=$!
until_line '^hostrace: listening on ' exporter.err || bail "exporter did not start: $(cat exporter.err)"
address=$(sed -n 's/^hostrace: listening on \([^;]*\);.*/\1/p' exporter.err)
until_sample 1 hostrace_vm_devices_watched "vm=\"unit$$\""
is "$(grep -c '^hostrace_build_info' page)" 1 "a page under strace" exporter.err
tracer=$(pgrep -P "$waiter" strace | head -n 1)
kill -s INT "$(pgrep -P "${tracer:-$waiter}" hostrace | head -n 1)"
wait "$waiter"
echo quit >&4
exec 4>&-
LC_ALL=C permitted >permitted
sed -n 's/^[0-9]* *\([a-z0-9_]*\)(.*/\1/p' calls.strace | sort -u >made
is "$(comm -23 made permitted | tr '\n' ' ')" "" "the unit permits all system calls that it makes" made
finish
