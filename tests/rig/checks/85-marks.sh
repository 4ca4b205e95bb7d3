# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-or-later
#
# SystemTap and hostrace on QEMU's USDT probes, one after the other, with a known workload (../l1/marks.sh). Only
# `make check-usdt` builds that QEMU.

if [ -d "$out/marks" ]; then
	equal "marks: the guest did its work under SystemTap" "$(cat "$out/marks/stap.status")" 33
	equal "marks: the guest did its work under hostrace" "$(grep -c 'status 33' "$out/marks/record.out")" 1
	equal "marks: hostrace attached to them" "$(report marks.hrt info \
		'[.result.probes[] | select(.event == "virtqueue_pop" or .event == "virtqueue_fill") | .how] | unique | join(" ")')" usdt
	for event in virtqueue_pop virtqueue_fill virtqueue_flush; do
		equal "marks: $event by SystemTap" "$(awk -v event=$event '$2 == event {print $1}' "$out/marks/probecount.txt")" 500
		equal "marks: $event by hostrace" "$(report marks.hrt info ".result.events.$event")" 500
	done
	for event in virtio_set_status virtio_reset; do
		equal "marks: $event by SystemTap as by hostrace" \
			"$(awk -v event=$event '$2 == event {print $1}' "$out/marks/probecount.txt")" \
			"$(report marks.hrt info ".result.events.$event")"
	done
	equal "marks: no leak by SystemTap, none by hostrace" \
		"$(grep -c -E 'leaking|leaked' "$out/marks/virtqueueleaks.txt") $(report marks.hrt leaks '.rows | length')" "0 0"
fi
