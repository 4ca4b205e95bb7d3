# SPDX-License-Identifier: GPL-2.0-or-later
#
# Three writes at once to the disk whose throttle lets one pass.
for block in 0 1 2; do
	dd if=/dev/zero of=/dev/vda bs=64k count=1 seek=$block oflag=direct 2>/dev/null &
done
sleep 1
echo "l2: stat $(cat /sys/block/vda/stat)"
echo "l2: inflight $(tr -s ' ' </sys/block/vda/inflight | sed 's/^ //')"
sleep 60
