#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Resets with requests in flight: by the monitor, by the guest's reboot, by a driver that is unbound (status 0); with and
# without ioeventfd. In each case the requests in flight belong to the driver again.
set -u
. "$(dirname "$0")/lib.inc"

boots() { # NAME TIMES: has the guest come up so often?
	[ "$(grep -c '^guest: up' "$work/$1/console")" -ge "$2" ]
}

resets() { # NAME TIMES
	[ "$(grep -c '"event": "RESET"' "$work/$1/qmp.log")" -ge "$2" ]
}

rebooted() { # NAME TIMES; the disk must be fast again, since the firmware reads it
	until_true resets "$1" $(($2 - 1)) || bail "$1 is not reset"
	unthrottle "$1" d
	until_true boots "$1" "$2" || bail "$1 does not boot again: $(tail -n 5 "$work/$1/console") $(tail -n 4 "$work/$1/qmp.log")"
	echo 0 >"$work/$1/sent" # the guest counts from 1 again
}

for eventfd in on off; do
	name=$eventfd
	# shellcheck disable=SC2046
	vm_start $name $(disk d ioeventfd=$eventfd) -device virtio-balloon-pci,id=bal0
	vm_up $name
	hold $name d vda 7
	until_true inuse_is $name "1 bal0 2, 6 d0 0"
	qmp $name system_reset >/dev/null
	rebooted $name 2
	until_true inuse_is $name "1 bal0 2"
	is "$(inuse $name)" "1 bal0 2" "$name: after system_reset nothing is out but the balloon's"
	hold $name d vda 5
	until_true inuse_is $name "1 bal0 2, 4 d0 0"
	order $name "reboot -f"
	rebooted $name 3
	guest $name 'cd /sys/bus/virtio/drivers/virtio_balloon; echo virtio? >unbind' >/dev/null
	guest $name 'for d in virtio*; do [ ! -e $d ] || echo $d >unbind; done; cd /' >/dev/null
	until_true inuse_is $name ""
	is "$(inuse $name)" "" "$name: the balloon's driver let go: the element is back"
	vm_kill $name
	is "$(leaks $name --min-age 0)" "" "$name: no reset leaves a leak"
	is "$(total $name leaked held in_flight replaced)" "0 0 0 0" "$name: ... nor anything else"
	is "$(jq '.totals | .popped == .returned + .detached + .unpopped + .reset' "$work/$name/leaks.json")" true \
		"$name: every element is accounted for" "$work/$name/leaks.json"
	is "$(jq '.totals.unpopped + .totals.reset >= 3' "$work/$name/leaks.json")" true \
		"$name: the balloon's was put back three times" "$work/$name/leaks.json"
done
finish
