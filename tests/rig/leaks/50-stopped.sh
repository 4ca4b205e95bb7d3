#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A VM that is paused: stop and cont, an error that stops it (werror=stop), migration to a file, and another VM
# that continues from it.
set -u
. "$(dirname "$0")/lib.inc"

stopped() { # NAME
	[[ $(qmp "$1" query-status) == *'"running": false'* ]]
}

running() {
	[[ $(qmp "$1" query-status) == *'"running": true'* ]]
}

migrated() {
	[[ $(qmp "$1" query-migrate) == *'"completed"'* ]]
}

devices() {
	disk d
	echo "-drive driver=blkdebug,image.driver=null-co,image.size=64M,image.read-zeroes=on,if=none,id=e,werror=stop$1
		-device virtio-blk-pci,drive=e,id=e0 -device virtio-balloon-pci,id=bal0"
}

# The error occurs once, at the first write.
# shellcheck disable=SC2046
vm_start a $(devices ,inject-error.0.event=pwritev,inject-error.0.once=on,inject-error.0.errno=5)
vm_up a
hold a d vda 7
until_true inuse_is a "1 bal0 2, 6 d0 0"
qmp a stop >/dev/null
until_true inuse_is a "1 bal0 2"
is "$(inuse a)" "1 bal0 2" "stop: QEMU finishes what its throttle holds"
qmp a cont >/dev/null
unthrottle a d
order a "write vdb 1"
until_true qmp_event a BLOCK_IO_ERROR
until_true stopped a
is "$(inuse a)" "1 bal0 2, 1 e0 0" "an error stopped the VM: QEMU keeps the request"
sleep 4 # the VM is paused at least this long; the test is that the request does not age
record_end a
is "$(leaks a --min-age 3s)" "1 bal0 2 held, 1 e0 0 in-flight" "it does not age while the VM is paused"
is "$(jq '.rows[] | select(.verdict == "in-flight") | .age_ns < 3000000000' "$work/a/leaks.json")" true "... according to its age"

record_begin a
qmp a cont >/dev/null
until_true inuse_is a "1 bal0 2"
is "$(inuse a)" "1 bal0 2" "cont: the request is tried again and returns"
hold a d vda 4
qmp a migrate "{\"uri\": \"exec:cat >$work/stream\"}" >/dev/null
until_true migrated a || bail "no migration: $(qmp a query-migrate)"
is "$(inuse a)" "1 bal0 2" "migrated: QEMU finished the throttle's first"
record_end a
is "$(leaks a --min-age 0)" "" "the source leaks nothing"
is "$(total a returned_popped_before leaked)" "1 0" "... the earlier request returned in it"
vm_kill a

# shellcheck disable=SC2046
vm_start b $(devices "") -incoming "exec:cat $work/stream"
until_true running b || bail "b does not go on: $(qmp b query-status)"
until_true inuse_is b "1 bal0 2"
is "$(inuse b)" "1 bal0 2" "the target: the balloon's element was migrated"
echo 'write vda 5; wait; echo "guest: wrote"' >"$work/b/guest.in"
until_true grep -q '^guest: wrote' "$work/b/console" || bail "b does not work: $(tail -n 3 "$work/b/console")"
vm_kill b
is "$(leaks b --min-age 0)" "1 bal0 2 held" "... popped again after a rewind: held, and nothing else"
is "$(total b leaked)" 0 "the target leaks nothing"
is "$([ "$(seen b virtqueue_rewind)" -ge 1 ] && echo seen)" seen "the rewind was recorded"
finish
