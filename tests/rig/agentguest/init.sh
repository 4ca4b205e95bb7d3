#!/bin/busybox sh
# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash disable=SC2013
# A Linux guest that sends its trace by each transport in turn; the lines that the test waits for begin with "guest: ".
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t debugfs debugfs /sys/kernel/debug
for module in $(cat /modules/order); do
	insmod "/modules/$module.ko" || echo "guest: insmod $module failed"
done

# The recorder of the session before may have the port open while it finishes its file.
port_is_in_use() {
	grep -qs 'host_connected: 1' /sys/kernel/debug/virtio-ports/*
}

# session NAME TRANSPORT: the agent waits for the host, then a known number of one system call, until the host stops it.
# mkfifo is run by its path so that it is executed; by its name the shell would run it itself, under its own comm.
session() {
	rm -f /tmp/log # the previous agent's messages
	while port_is_in_use; do
		sleep 0.1
	done
	/hostrace-guest -t "$2" -e 'sched,syscalls:sys_enter_mknodat' 2>/tmp/log &
	agent=$!
	echo "guest: waits $1"
	until grep -q 'tracing [0-9]* CPUs' /tmp/log 2>/dev/null; do
		kill -0 $agent 2>/dev/null || break
		sleep 0.1
	done
	i=0
	while [ $i -lt 23 ]; do
		i=$((i + 1))
		/bin/mkfifo -m 617 /tmp/fifo$i
	done
	rm -f /tmp/fifo*
	echo "guest: worked $1"
	wait $agent
	echo "guest: ended $1 status $? instances $(ls /sys/kernel/tracing/instances | grep -c hostrace)"
	cat /tmp/log
}

# A process of this guest, which is not the host.
/hostrace-guest -t vsock:9999 -e sched 2>/tmp/log &
agent=$!
/vsock_local 9999
kill $agent
wait $agent

# Random data instead of a stream; the write returns when the host has read nearly all of it.
echo "guest: waits noise"
port=$(grep -lx hostrace /sys/class/virtio-ports/*/name)
port=${port%/name}
head -c 2000000 /dev/urandom >"/dev/${port##*/}"
echo "guest: worked noise"
session shm shm
session serial serial:hostrace
session gone serial:hostrace
poweroff -f
