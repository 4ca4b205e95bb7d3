#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# record --for boot and boot: a stock Debian kernel with initcall_debug. Under TCG, as it does not boot on every KVM
# that tests run on. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/rig/boot.inc"
live_needs_root
live_needs_tools qemu-system-x86_64 busybox cpio jq
vmlinuz=$("$ROOT/tests/rig/rig.sh" guest guest.cpio "$ROOT/tests/live/linuxguest/poweroff.sh" 2>rig.err) ||
	skip_all "Debian's kernel is unavailable: $(tail -n 1 rig.err)"

for _ in $(seq "$BOOTS_MAX"); do
	rm -f console
	timeout -s KILL 400 "$HOSTRACE" record --for boot -o linux.hrt -- qemu-system-x86_64 -name linux,debug-threads=on -accel tcg \
		-cpu max -m 256 -nodefaults -display none -serial file:console -no-reboot -kernel "$vmlinuz" -initrd guest.cpio \
		-append "console=ttyS0 panic=-1 initcall_debug" >out 2>record.err
	grep -aq 'Power down' console && break
	echo "# the boot failed: $(tail -n 1 console)"
done
grep -aq 'Power down' console || bail "the guest does not boot: $(tail -n 3 console)"

plan 5
"$HOSTRACE" boot linux.hrt --marker 'console:guest: marker' -f json >boot.json 2>err
is "$(jq -r '[.rows[] | select(.begin_ns != null).phase] | join(" ")' boot.json)" "vmm firmware kernel init console:guest: marker total" \
	"phases in order of time" boot.json record.err
is "$(jq '[.rows[] | select(.phase != "total").duration_ns // 0] | add == ($all | .[0])' --argjson all \
	"$(jq '[.rows[] | select(.phase == "total").duration_ns]' boot.json)" boot.json)" true "they sum to the total" boot.json
is "$(jq '.rows[] | select(.phase == "total") | .unknown_ns * 20 < .duration_ns' boot.json)" true \
	"what at least 95 % of the time went into is known" boot.json

"$HOSTRACE" boot linux.hrt --by point -f json >points.json
jq -r '.rows[] | select(.point == "console").what' points.json >ours
tr -d '\r\000' <console | tr '\t' '?' | grep -av '^$' | cut -c1-199 >theirs
is "$(cmp ours theirs && wc -l <ours | awk '{ print ($1 > 200) }')" 1 "all lines of the console" ours theirs
# The guest's clock is set by then, and few lines wait for the console.
jq -r '.rows[] | select(.point == "console" and .guest_ns != null) | "\(.begin_ns - .guest_ns) \(.what)"' points.json |
	awk '/Run .init as init/ { on = 1; first = $1 } on { print $1 - first, $0 }' >off
is "$(awk '$1 > 1e6 || $1 < -1e6 { bad++ } END { print (NR > 2), bad + 0 }' off)" "1 0" \
	"lines from that of init on are within 1 ms of the guest's own times" off
finish
