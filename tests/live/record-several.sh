#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Two VMs in one recording, selected by names, by a glob and a pid, or all: reports tell them apart by name.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

# A recorder in the background, its messages in NAME.err, its trace in NAME.hrt; adds its process to $waiters.
record_as() {
	name=$1
	shift
	timeout -s KILL 600 "$HOSTRACE" record "$@" -d 590s -o "$name.hrt" 2>"$name.err" &
	waiters="$waiters $!"
	until_line 'recording' "$name.err" || bail "record did not start: $(cat "$name.err")"
}

# tally TRACE: how many accesses to the port that minivmm writes each VM did: "blue 40 red 23"
tally() {
	"$HOSTRACE" ports -i "$1" --by vm -f csv | awk -F, '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$at["port"] == 752 { n[$at["vm"]] += $at["count"] }
		END { for (vm in n) print vm, n[vm] }' | sort | tr '\n' ' '
}

plan 17
vmm_seconds=600 # four recorders begin one after another
# The same test may run beside this one: names of its own.
Red=red$$
Blue=blue$$
cp "$BUILD/minivmm" "$Red"
cp "$BUILD/minivmm" "$Blue"
mkdir -p other
cp "$BUILD/minivmm" "other/$Blue"
vmm_start 23 "./$Red"
red=$vmm
red_waiter=$vmm_waiter
exec 4>&3
vmm_start 40 "./$Blue"
blue=$vmm
blue_waiter=$vmm_waiter

# VMs that start and end while a recording of all begins, beside two that live; when the machine is busy, the recorder
# comes first.
cp "$BUILD/minivmm" brief
: >churn
churners=
for _ in 1 2 3; do
	while [ -e churn ]; do nice -n 10 ./brief outb=1; done >brief.out 2>&1 &
	churners="$churners $!"
done
failures=0
for _ in 1 2 3 4 5 6 7 8; do
	timeout -s KILL 200 "$HOSTRACE" record -q --all -d 100ms -o churn.hrt 2>churn.err || failures=$((failures + 1))
done
rm churn
wait $churners
is $failures 0 "a recording of all begins while VMs end" churn.err

timeout 200 "$HOSTRACE" record --vm 'green*' 2>none.err
is "$? $(grep -c "no VM matches 'green\*'.*$Red (pid $red).*$Blue (pid $blue)" none.err)" "1 1" \
	"a glob that matches none: the VMs are listed" none.err
timeout 200 "$HOSTRACE" record --vm "$Red,green" 2>none.err
is "$? $(grep -c "no VM named 'green'.*$Red (pid $red)" none.err)" "1 1" "a name of a list that nobody has" none.err

waiters=
record_as names --vm "$Red,$Blue"
record_as mixed --vm "r?d$$" --vm "$blue"
record_as one --vm "$Red"
timeout -s KILL 600 "$HOSTRACE" record --all -d 590s -o all.hrt 2>all.err &
all_waiter=$!
until_line 'recording' all.err || bail "record --all did not start: $(cat all.err)"
is "$(sed -n "s/.*recording 2 VMs to names.hrt: $Red (pid $red), $Blue (pid $blue);.*/both/p" names.err)" both \
	"what is recorded is reported" names.err
echo go >&4
vmm_go
echo end >&4
exec 4>&-
wait "$red_waiter"
is $? 0 "the first VM did all its work"
vmm_end
is $? 0 "the second VM did all its work"
for waiter in $waiters; do
	wait "$waiter"
	is $? 0 "a recording ends with its last VM"
done
# Other VMs of this machine would prolong it.
kill -s INT "$(pgrep -P "$all_waiter" | head -n 1)" 2>/dev/null
wait "$all_waiter"

for name in names mixed all; do
	is "$(tally "$name.hrt" | grep -o "$Blue 40 ")$(tally "$name.hrt" | grep -o "$Red 23 ")" "$Blue 40 $Red 23 " \
		"$name: the accesses of each VM"
done
is "$(tally one.hrt)" "$Red 23 " "one: only the one"
is "$("$HOSTRACE" exits -i names.hrt --by =vcpu -f csv | awk -F, 'NR > 1 { print $1 }' | sort | tr '\n' ' ')" \
	"$Blue $Red " "a row for vCPU 0 of each VM"
is "$("$HOSTRACE" list --wide -i names.hrt --vm "$Red" --event kvm_pio 2>list.err | grep -c kvm_pio)" 24 "--vm selects one by name" \
	list.err

# two VMs of one name
vmm_start 5 "./$Blue"
exec 4>&3
first=$vmm
vmm_start 7 "./other/$Blue"
timeout 200 "$HOSTRACE" record --vm "$Blue" 2>two.err
is "$? $(grep -c "'$Blue' matches 2 VMs.*pid $first.*pid $vmm\|'$Blue' matches 2 VMs.*pid $vmm.*pid $first" two.err)" "1 1" \
	"a name that two have: both are listed" two.err
record_start --vm "bl*$$" -o two.hrt
echo go >&4
vmm_go
echo end >&4
exec 4>&-
vmm_end
wait "$recorder_waiter"
is "$(tally two.hrt)" "$(printf '%s\n' "$Blue ($first) 5" "$Blue ($vmm) 7" | sort | tr '\n' ' ')" \
	"VMs of one name are shown with their pids"
finish
