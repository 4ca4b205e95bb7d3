# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=dash
#
# Works until the host writes "stop" into the first sector; before and then, what the guest knows: steal (in 1/100 s, the
# eighth number) and its timer's interrupts.
echo "l2: before $(grep '^cpu0' /proc/stat)"
echo "l2: working"
end=$(($(cut -d . -f 1 /proc/uptime) + 400))
until dd if=/dev/vda bs=512 count=1 iflag=direct 2>/dev/null | grep -q stop ||
	[ "$(cut -d . -f 1 /proc/uptime)" -ge "$end" ]; do
	i=0
	while [ $i -lt 20000 ]; do
		i=$((i + 1))
	done
done
echo "l2: steal $(grep '^cpu0' /proc/stat)"
echo "l2: timer $(grep LOC: /proc/interrupts)"
