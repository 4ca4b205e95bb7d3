#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `probes` counts every USDT probe of a build: also one that hostrace does not know, one of a module, one behind a
# semaphore; and in a stock QEMU the functions that stand in for them. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools jq qemu-system-x86_64
. "$ROOT/tests/live/vm.inc"

# probes_start OUT ARGUMENT...: $counter
probes_start() {
	local out=$1
	shift
	: >probes.err
	timeout -s KILL 100 "$HOSTRACE" probes -f json "$@" >"$out" 2>probes.err &
	counter=$!
	until_line counting probes.err || bail "probes did not start: $(cat probes.err)"
}

count() { # FILE PROBE
	jq -r ".rows[] | select(.probe == \"$2\") | .count" "$1"
}

plan 17
timeout 100 "$HOSTRACE" probes >out 2>err
is $? 2 "a VM has to be named" err

${CC:-gcc} -D_GNU_SOURCE -O2 -shared -fPIC -o usdt_module.so "$ROOT/tests/live/usdt_module.c" &&
	${CC:-gcc} -D_GNU_SOURCE -O2 -DMODULE -DVERSION='"10.1.0"' -DVQ_VDEV=96 -o qemu-system-new "$ROOT/tests/live/usdt_prog.c" \
		./usdt_module.so || bail "cannot build usdt_prog; scripts/deps.sh check installs sys/sdt.h"
mkfifo in
timeout 100 ./qemu-system-new 1000 990 <in >prog.out 2>prog.err &
program=$!
exec 3>in
until_line '^ready' prog.out || bail "usdt_prog did not start: $(cat prog.err)"
pid=$(sed -n 's/^ready //p' prog.out)
timeout 100 "$HOSTRACE" probes --vm "$pid" --probe 'no_such*' >out 2>err
is "$? $(grep -c "has no probe named no_such" err)" "1 1" "a name that nothing has" err
probes_start marks.json --vm "$pid" --all
echo go >&3
exec 3>&-
wait "$program"
is "$? $(sed -n 's/^sum //p' prog.out)" "0 $((999 * 1000 / 2 + 989 * 990 / 2))" "the program computed right" prog.err
wait "$counter"
is $? 0 "its end ends the count" probes.err
is "$(count marks.json virtqueue_pop)" 1000 "pops at two sites" marks.json
is "$(count marks.json virtqueue_fill)" 990 "fills"
is "$(count marks.json virtio_set_status)" 1 "what is behind a semaphore"
is "$(count marks.json unheard_of)" 3 "a USDT probe that hostrace does not know"
is "$(jq -r '.rows[] | select(.probe == "of_module") | "\(.count) \(.file) \(.event)"' marks.json)" "7 usdt_module.so null" \
	"one of a module"
is "$(count marks.json of_library)" "" "not those of other providers"
is "$(readelf -n qemu-system-new usdt_module.so | grep -A1 'Provider: qemu' | sed -n 's/.*Name: //p' | sort -u)" \
	"$(jq -r '.rows[] | select(.how == "usdt") | .probe' marks.json | sort)" "those that readelf prints, and no others"
is "$(jq -r '.rows[] | select(.event == "virtqueue_detach") | "\(.how) \(.count)"' marks.json)" "absent null" \
	"an event without a probe is absent, not 0"

vm_monitor
vm_launch probed$$ -m 16 -S
probes_start functions.json --vm "$vm" --all
for _ in 1 2 3 4 5; do
	echo cont >&4
	echo stop >&4
done
echo quit >&4
wait "$vm_job"
wait "$counter"
is $? 0 "QEMU's end ends the count" probes.err
is "$(count functions.json vm_state_notify)" 10 "5 starts and 5 stops of a stock QEMU" functions.json
holds() { # DESCRIPTION NUMBER AT-LEAST
	is "$(($2 >= $3))" 1 "$1 ($2)" functions.json
}
holds "functions for most of the known events" \
	"$(jq '[.rows[] | select(.how != "absent") | .event] | unique | length' functions.json)" 40
is "$(jq '[.rows[] | select((.count == null) != (.reason != null and .sites_counted == 0))] | length' functions.json)" 0 \
	"no count without a reason" functions.json
follows probes functions.json
finish
