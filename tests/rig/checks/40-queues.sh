# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Virtqueues of a stock QEMU (function probes: Debian's build has no USDT) compared with L2's Linux's own counters.
#
# /sys/block/vda/stat (Documentation/block/stat.rst): 1 reads, 5 writes, 12 discards, 16 flushes, all completed.
# virtio-blk sends one request for each read, write and discard. `dd conv=fsync` sends one flush: the kernel counts it
# twice, as the write of 0 sectors that carries it (RQF_FLUSH_SEQ) and as the flush that the disk executes; the device
# sees one request. Flushes are merged only when several wait at once, and here one dd follows the other. So
#
#	requests = reads + writes + discards        (flushes are among the writes)
#
# SeaBIOS reads the disk too, before Linux counts: only what follows the last DRIVER_OK of the device is compared.

# Fills per "DEVICE QUEUE IN OUT" since the driver's last DRIVER_OK (status 0xf), DEVICE being the QOM id.
fills_of_linux() { # TRACE
	events_text "$1" | awk '
	{
		for (i = 3; i <= NF; i++) {
			split($i, pair, "=")
			value[pair[1]] = pair[2]
		}
		vdev = value["vdev"]
	}
	$2 == "virtio_device" {
		split($0, part, "/")
		name[vdev] = part[4]
	}
	$2 == "virtio_set_status" && value["status"] == "0xf" && !up[vdev] {
		up[vdev] = 1
		for (key in fills)
			if (index(key, vdev " ") == 1)
				delete fills[key]
	}
	$2 == "virtio_set_status" && value["status"] == "0x0" { up[vdev] = 0 }
	$2 == "virtqueue_pop" { shape[value["vq"] value["head"]] = value["in_num"] " " value["out_num"] }
	$2 == "virtqueue_fill" { fills[vdev " " value["queue"] " " shape[value["vq"] value["head"]]]++ }
	END {
		for (key in fills) {
			split(key, part, " ")
			print name[part[1]], part[2], part[3], part[4], fills[key]
		}
	}' | sort
}

sum_fills() { # DEVICE [QUEUE [IN OUT]] of $work/fills
	awk -v device="$1" -v queue="${2:-}" -v in_num="${3:-}" -v out_num="${4:-}" '
		$1 == device && (queue == "" || queue == $2) &&
		(in_num == "" || (in_num == $3 && out_num == $4)) { n += $5 }
		END { print n + 0 }' "$work/fills"
}

fills_of_linux healthy.hrt >"$work/fills"
read -r -a stat <<<"$(l2_said healthy stat)"
read -r _ rx _ tx <<<"$(l2_said healthy net)"
equal "virtio-blk: requests filled = reads + writes + discards that L2 counted (flushes are among the writes)" \
	"$(sum_fills disk)" "$((stat[0] + stat[4] + stat[11]))"
equal "virtio-blk: elements of one segment each way = flushes that L2 counted" \
	"$(awk '$1 == "disk" && $3 == 1 && $4 == 1 {n += $5} END {print n + 0}' "$work/fills")" "${stat[15]}"
equal "the workload's three flushes were counted" "${stat[15]}" 3
holds "virtio-blk: both queues were used, one per vCPU" \
	"$(awk '$1 == "disk" {print $2}' "$work/fills" | sort -u | wc -l)" -eq 2
equal "virtio-net: receive queue filled as often as L2 received" "$(sum_fills net 0)" "$rx"
equal "virtio-net: transmit queue filled as often as L2 sent" "$(sum_fills net 1)" "$tx"
holds "virtio-net: five pings and an ARP at least" "$tx" -ge 6

events_text healthy.hrt | awk '$2 == "virtqueue_pop" || $2 == "virtqueue_fill" {
		match($0, / vq=0x[0-9a-f]+/)
		count[substr($0, RSTART + 4, RLENGTH - 4)] += $2 == "virtqueue_pop" ? 1 : -1
		n[substr($0, RSTART + 4, RLENGTH - 4)]++
	}
	END { for (vq in n) { queues++; bad += count[vq] != 0 }; print queues + 0, bad + 0 }' >"$work/balance"
equal "each of the five queues pops as often as it fills (queues, unbalanced)" "$(cat "$work/balance")" "5 0"
equal "leaks: none in a healthy VM" "$(report healthy.hrt leaks '.rows | length')" 0
equal "leaks: every element popped was returned" \
	"$(report healthy.hrt leaks '.totals // .result.totals | .popped - .returned, .leaked' | tr '\n' ' ')" "0 0 "
succeeds "leaks --check is content" timeout 300 "$program" leaks --check -i "$out/healthy.hrt"
