#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# profile --live: a guest and a VMM with known profiles, while they run.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 jq
live_build "$BUILD/sampleguest.elf"
live_build "$BUILD/minivmm"
guest=$BUILD/sampleguest.elf

timeout -s KILL 700 qemu-system-x86_64 -accel kvm -m 64 -nodefaults -display none -serial none \
	-pidfile qemu.pid -kernel "$guest" >qemu.out 2>&1 &
until_line '^[0-9]' qemu.pid || bail "QEMU did not start: $(cat qemu.out)"
vm=$(cat qemu.pid)
trap 'kill "$vm" $vmm 2>/dev/null' EXIT
vmm=

live() { timeout -s KILL 200 "$HOSTRACE" profile --live "$@" 2>live.err; }
# hits NAME FILE: the samples of a symbol, in all pages
hits() { jq --arg name "$1" '[.rows[] | .hits as $all | (.children[], (select(.tail[0] == $name) | {name: $name, hits: $all})) | select(.name == $name).hits] | add // 0' "$2" | awk '{ n += $1 } END { print n + 0 }'; }

plan 11
# After SeaBIOS, and until there are enough samples of a busy machine.
hot=0 warm=0
for _ in $(seq 40); do
	live --vm "$vm" --symbols "$guest" --interval 1s --duration 3s -f json >pages
	status=$?
	hot=$((hot + $(hits spin_hot pages))) warm=$((warm + $(hits spin_warm pages)))
	[ $((hot + warm)) -lt 300 ] || break
done
is $status 0 "a running VM is profiled" live.err
all=$((hot + warm))
echo "# spin_hot $hot, spin_warm $warm"
is "$([ "$all" -ge 100 ] && echo yes)" yes "there are 100 samples at least" live.err
is "$(awk -v h="$hot" -v n="$all" 'BEGIN {
	s = n ? h / n : 0; d = n ? 5 * sqrt(.7 * .3 / n) + .01 : 0
	print (s > .7 - d && s < .7 + d) ? "70 %" : s }')" "70 %" "spin_hot has its share"
is "$(jq -s 'all(.interval_ns <= 1000000000) and length >= 2' pages)" true "a page for each interval" pages
cp pages pages.jsonl
follows profile-live pages.jsonl
live --vm "$vm" --symbols "$guest" --interval 1s --count 2 >text
is "$? $(grep -c '^[0-9.]* s: [0-9]* samples in 1.000 s, [0-9.]*% of them in the guest' text)" "0 2" "--count ends it" text

# ^C reaches both programs of a terminal's group.
setsid env --default-signal=INT "$HOSTRACE" profile --live --vm "$vm" --symbols "$guest" --interval 1s >interrupted 2>live.err &
shell=$!
until_line '^[0-9.]* s: .*samples' interrupted || echo "# no page: $(cat live.err)"
kill -INT -- "-$shell" 2>/dev/null
wait "$shell"
is "$? $(grep -c 'was killed' interrupted)" "0 0" "^C ends it with the last page" live.err interrupted
for _ in $(seq 100); do
	pgrep -g "$shell" >/dev/null || break
	sleep 0.1
done
is "$(pgrep -ag "$shell")" "" "... and the recorder"

# Through a pipe, as by ssh; what is recorded is what the report of the recording has.
timeout 60 "$HOSTRACE" record -q --vm "$vm" -d 2s --sample 997 -o - 2>record.err | tee copy.hrt | live -i - --symbols "$guest" --interval 1h -f json >pages
"$HOSTRACE" profile --host copy.hrt --sort symbol --symbols "$guest" -f json 2>/dev/null | jq -c '.rows' >report
jq -c .rows pages | diff - report >different
is $? 0 "its page is what profile --host prints" different

live --vm no-such-vm >text
is "$? $(wc -l <live.err)" "1 1" "a VM that is not there: one message" live.err

# The VMM's own code.
mkdir -p "root$BUILD"
cp "$BUILD/minivmm" "root$BUILD/"
timeout -s KILL 300 "$BUILD/minivmm" count=count spin >out 2>err &
until_line '^ready' out || bail "the VMM did not start: $(cat err)"
vmm=$(sed -n 's/^ready //p' out)
live --vm "$vmm" --symfs "$PWD/root" --sort dso,symbol --interval 2s --count 2 >text
is "$(grep -c '^ *[0-9.]*% *[0-9]*  minivmm  spin_hot$' text)" 2 "the VMM's code is named" text
finish
