# SPDX-License-Identifier: GPL-2.0-or-later
#
# Three writes at once to the disk whose throttle lets one pass; not adjacent, so that none are merged.
for block in 0 20 40; do
	dd if=/dev/zero of=/dev/vda bs=64k count=1 seek=$block oflag=direct 2>/dev/null &
done

in_flight() { # reads, writes
	tr -s ' ' </sys/block/vda/inflight | sed 's/^ //'
}

written() {
	awk '{print $5}' /sys/block/vda/stat
}

tries=500
while [ "$(in_flight), $(written)" != "0 2, 1" ] && [ $tries -gt 0 ]; do
	tries=$((tries - 1))
	sleep 0.2
done
echo "l2: stat $(cat /sys/block/vda/stat)"
echo "l2: inflight $(in_flight)"
sleep 1000
