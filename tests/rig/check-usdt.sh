#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The same guests under three builds of QEMU: `make check-usdt`. TAP; needs root; slow without /dev/kvm (TCG).
#
#   check-usdt.sh HOSTRACE [DIR]    the program; DIR keeps the output of the runs
#
#   functions   the distribution's QEMU without USDT probes: hostrace attaches to exported functions
#   backports   the newer one of Debian's backports (qemu-backports.sh): functions again, some under other names
#   marks       the same version as `functions` built with the dtrace backend (qemu-usdt.sh): hostrace attaches to USDT
#
# All write their own log of the same events too (-trace, backend "log"), which is the reference of each run. First the
# demo's guest, whose requests are all known: virtqueues and notifications. Then, for all events of
# probes/inside.def, the same guest and a boot sector on virtio-blk by threads, on virtio-scsi by Linux AIO, on
# virtio-blk with an iothread by io_uring, each recorded from QEMU's first instruction to its end.
#
# Last, SystemTap and then hostrace on the USDT probes, in the rig (checks/85-marks.sh).
#
# DIR/counts.md holds the tables of doc/catalogue.md.
set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$(realpath "${1:?usage: check-usdt.sh HOSTRACE [DIR]}")
work=${2:-$(mktemp -d "${TMPDIR:-/tmp}/hostrace-usdt.XXXXXX")}
[ $# -gt 1 ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
events="virtqueue_pop virtqueue_fill virtqueue_flush virtio_queue_notify virtio_notify virtio_set_status"
n=0
failed=0

equal() { # DESCRIPTION GOT WANTED; nothing at all is never right
	n=$((n + 1))
	if [ -n "$2" ] && [ "$2" = "$3" ]; then
		echo "ok $n - $1 ($2)"
	else
		echo "not ok $n - $1"
		echo "# got $2, wanted $3"
		failed=1
	fi
}

run() { # NAME QEMU
	local dir=$work/$1
	mkdir -p "$dir"
	{
		echo "#!/bin/sh"
		printf 'exec %s "$@" -D %s' "$2" "$dir/qemu-trace.log"
		printf " -trace '%s'" $events virtio_notify_irqfd
		echo
	} >"$dir/qemu"
	chmod +x "$dir/qemu"
	timeout 120 "$program" demo --qemu "$dir/qemu" "$dir" >"$dir/demo.out" 2>&1
	equal "$1: the demo agrees with its known workload" $? 0
	timeout 60 "$program" info -f json -i "$dir/demo.hrt" >"$dir/info.json"
}

how() { # NAME EVENT
	jq -r --arg event "$2" '.result.probes[] | select(.event == $event) | .how' "$work/$1/info.json"
}

count() { # NAME EVENT
	jq -r --arg event "$2" '.result.events[$event] // 0' "$work/$1/info.json"
}

# QEMU's own log. Notifications by irqfd have a USDT probe of their own; hostrace has one event for both.
logged() { # NAME EVENT
	grep -c -E "^([0-9]+@[0-9.]+:)?$2(_irqfd)? " "$work/$1/qemu-trace.log"
}

marked=$("$here/qemu-usdt.sh" 2>"$work/build.log") || {
	echo "not ok 1 - QEMU is built with USDT probes"
	tail -n 5 "$work/build.log" | sed 's/^/# /'
	exit 1
}
newer=$("$here/qemu-backports.sh" 2>"$work/fetch.log") || {
	echo "not ok 1 - the backports' QEMU is available"
	tail -n 5 "$work/fetch.log" | sed 's/^/# /'
	exit 1
}
run functions "$(type -P qemu-system-x86_64)"
run backports "$newer"
run marks "$marked"

for event in $events; do
	equal "$event by the distribution's build" "$(how functions $event)" function
	equal "$event by the backports' build" "$(how backports $event)" function
	equal "$event by the build with marks" "$(how marks $event)" usdt
done
equal "virtqueue_detach, which has no mark, by function on all" \
	"$(how functions virtqueue_detach) $(how backports virtqueue_detach) $(how marks virtqueue_detach)" \
	"function function function"
for event in virtqueue_pop virtqueue_fill virtqueue_flush; do
	equal "$event: functions = marks" "$(count functions $event)" "$(count marks $event)"
	for name in functions backports marks; do
		equal "$event: $name = QEMU's own log" "$(count $name $event)" "$(logged $name $event)"
	done
done
# From 9.x on QEMU completes throttled requests before it ends: 1507 fills there.
equal "virtqueue_pop: backports = marks" "$(count backports virtqueue_pop)" "$(count marks virtqueue_pop)"
for event in virtio_queue_notify virtio_notify; do
	equal "$event: marks = QEMU's own log" "$(count marks $event)" "$(logged marks $event)"
done
{
	echo "| event | 7.2 functions | its log | 10.0 functions | its log | 7.2 marks | its log |"
	echo "|---|---|---|---|---|---|---|"
	for event in $events; do
		echo "| $event | $(count functions $event) | $(logged functions $event) | $(count backports $event) |" \
			"$(logged backports $event) | $(count marks $event) | $(logged marks $event) |"
	done
} >"$work/counts.md"

# ---- QEMU internals ----

. "$here/check-inside.inc"
for work_name in threads scsi uring; do
	for name in functions backports marks; do
		inside_run $name $work_name
	done
done
inside_compare
semaphores

# ---- SystemTap on the same USDT probes: in the rig, where modules can be loaded ----

HOSTRACE_USDT=$marked RIG_PARTS=marks RIG_CHECKS=85-marks "$here/check.sh" "$program" "$work/rig" >"$work/rig.tap" 2>&1
equal "in the rig SystemTap and hostrace see the same through marks" $? 0
sed 's/^/# /' "$work/rig.tap"
cat "$work/counts.md" | sed 's/^/# /'
echo "1..$n"
exit $failed
