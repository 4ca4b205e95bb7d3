#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Recorders killed by SIGKILL at random moments: what they leave is readable, has no gaps, and misses only the end. The
# guest counts; what it had counted is known without the trace. `make check-crash N=100` for more of them.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

N=${N:-20}
AT_ONCE=5
LIFE_MS=6000 # of a recorder, at most
LATE_MS=3000 # before the kill: the file has it. A record waits for one second if rounds end in time
SEED=${SEED:-$(date +%s)}

counted() {
	od -An -tu4 count | tr -d ' '
}

now_ms() {
	echo $(($(date +%s%N) / 1000000))
}

# sleep_until MS
sleep_until() {
	left=$(($1 - $(now_ms)))
	[ $left -le 0 ] || sleep "$(printf '%d.%03d' $((left / 1000)) $((left % 1000)))"
}

# one I MS ARGS...: leaves iI with "MS status COUNTED-WHEN-STARTED COUNTED-LATE COUNTED-AT-KILL"
one() {
	file=k$1.hrt
	err=k$1.err
	end=$(($(now_ms) + $2))
	late=-1
	[ $(($1 % 2)) = 1 ] || cp old.hrt "$file"
	: >"$err"
	"$HOSTRACE" record --vm "$vmm" -o "$file" $3 2>"$err" &
	while [ "$(now_ms)" -lt $((end - LATE_MS)) ] && ! grep -q recording "$err"; do
		sleep .05
	done
	begun=-1
	! grep -q recording "$err" || begun=$(counted)
	if [ $begun -ge 0 ] && [ "$(now_ms)" -lt $((end - LATE_MS)) ]; then
		sleep_until $((end - LATE_MS))
		late=$(counted)
	fi
	sleep_until $end
	at=$(counted)
	kill -s KILL $!
	wait $! 2>/dev/null
	echo "$2 $? $begun $late $at" >"i$1"
}

# left FILE: "events first last gaps ns" of the guest's numbers
left() {
	"$HOSTRACE" list -i "$1" --event kvm_pio -f csv >rows.csv 2>rows.err || return
	awk -F, '
		NR > 1 {
			if (n++ && $10 != last + 1) gaps++
			if (n == 1) { first = $10; begin = $1 }
			last = $10
			end = $1
		}
		END { printf "%d %d %d %d %d\n", n, first, last, gaps, end - begin }' rows.csv
}

# judge I: a line of TAP
judge() {
	read -r ms status begun late at <"i$1"
	file=k$1.hrt
	events=0
	what="nothing yet"
	bad=
	[ "$status" = 137 ] || bad="status $status"
	if [ -s "$file" ] && ! cmp -s "$file" old.hrt; then
		text=$(left "$file") && [ -n "$text" ] || bad="not readable: $(cat rows.err)"
		read -r events first last gaps ns <<-END
			${text:-0 0 0 1 0}
		END
		what="$events events"
		[ "$gaps" = 0 ] || bad="$gaps gaps"
	elif [ -s "$file" ]; then
		what="the old file"
	elif [ $(($1 % 2)) = 0 ]; then
		bad="the old file is gone"
	fi
	if [ "$late" -ge 0 ] && { [ "$events" = 0 ] || [ "$last" -lt "$late" ]; }; then
		bad="$bad; $late had been counted $LATE_MS ms before the kill"
	fi
	if [ "$events" -gt 1 ]; then
		lost=$(((at - last) * (ns / (events - 1)) / 1000000))
		echo "$lost" >>lost
		what="$what, the last $lost ms are missing"
		# The guest may have been between an access, which came before the recording, and its count.
		[ "$begun" -lt 0 ] || [ "$first" -le $((begun + 2)) ] || bad="$bad; begins at $first, not $begun"
	fi
	is "${bad:-fine}" fine "recorder $1 is killed (after $ms ms: $what)" "k$1.err"
}

plan $((N + 1))
"$BUILD/minivmm" count=count >vmm.out 2>vmm.err &
vmm=$!
trap 'kill $vmm; rm -rf "$scratch"' EXIT
until_line '^ready' vmm.out || bail "minivmm did not start"
timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -d 300ms -o old.hrt 2>record.err ||
	bail "record failed: $(cat record.err)"

echo "# SEED=$SEED"
awk -v n="$N" -v seed="$SEED" -v life=$LIFE_MS 'BEGIN {
	srand(seed)
	for (i = 1; i <= n; i++) {
		few = rand() < .5 ? "--events=kvm_pio " : ""
		zstd = rand() < .3 ? "-z " : ""
		print i, int(rand() * life), few zstd (rand() < .3 ? "--sync=200ms" : "--sync=end")
	}
}' >plan
while read -r i ms args; do
	one "$i" "$ms" "$args" &
	waiters="${waiters:-} $!"
	[ $((i % AT_ONCE)) != 0 ] || { wait $waiters; waiters=; }
done <plan
[ -z "${waiters:-}" ] || wait $waiters
for i in $(seq "$N"); do
	judge "$i"
done
echo "# lost: $(sort -n lost | awk '{ v[NR] = $1 } END { print "median", v[int((NR + 1) / 2)], "ms, at most", v[NR], "ms" }')"
kill -0 "$vmm"
is $? 0 "the VM runs as before" vmm.err
finish
