# SPDX-License-Identifier: GPL-2.0-or-later
#
# Disk and network, from both CPUs, and at the end the guest's own counters.

# Reads and writes that bypass the page cache, so that one dd block is one request.
dd if=/dev/vda of=/dev/null bs=64k count=32 iflag=direct 2>/dev/null
dd if=/dev/zero of=/dev/vda bs=4k count=64 oflag=direct 2>/dev/null
taskset 1 dd if=/dev/vda of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null &
taskset 2 dd if=/dev/vda of=/dev/null bs=4k count=50 iflag=direct 2>/dev/null
wait

# Writes followed by a flush.
for block in 1 2 3; do
	dd if=/dev/zero of=/dev/vda bs=4k count=1 seek=$block oflag=direct conv=fsync 2>/dev/null
done

ip link set eth0 up
ip addr add 10.0.2.15/24 dev eth0
ping -c 5 -i 0.2 10.0.2.2 >/dev/null && echo "l2: ping answered"

echo "l2: stat $(cat /sys/block/vda/stat)"
echo "l2: net rx $(cat /sys/class/net/eth0/statistics/rx_packets)" \
	"tx $(cat /sys/class/net/eth0/statistics/tx_packets)"
