# SPDX-License-Identifier: GPL-2.0-or-later
#
# Disk reads until the host writes "stop" into the first sector, since a recorder attaches slowly on a loaded machine.
echo "l2: working"
end=$(($(cut -d . -f 1 /proc/uptime) + 400))
until dd if=/dev/vda bs=512 count=1 iflag=direct 2>/dev/null | grep -q stop ||
	[ "$(cut -d . -f 1 /proc/uptime)" -ge "$end" ]; do
	dd if=/dev/vda of=/dev/null bs=4k count=100 iflag=direct 2>/dev/null
done
