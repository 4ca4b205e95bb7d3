# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# To be sourced by workloads that begin when the host writes "go" to the second disk.
go_wait() {
	cp /bin/busybox /tmp/busybox-console
	echo on >/proc/sys/kernel/printk_devkmsg # no limit of lines
	echo "l2: working"
	until [ "$(dd if=/dev/vdb bs=512 count=1 iflag=direct 2>/dev/null | head -c 2)" = go ]; do
		sleep 0.1
	done
}

# A task called "busybox-console" has the kernel print lines: one exit for each character, in this task.
console_write() { # LINES
	# shellcheck disable=SC2016
	/tmp/busybox-console sh -c 'for i in $(seq '"$1"'); do
		echo "<0>written by a task: 0123456789012345678901234567890123456789" >/dev/kmsg; done'
}
