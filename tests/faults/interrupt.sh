#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands that a signal interrupts at a random moment: the file that they write is there completely or not at all, an
# older one is replaced completely or not at all, and no temporary file remains. Prints TAP, one result per command.
#
# Then the same at known moments: the command is stopped when its temporary file exists, or has content, and gets the
# signal there. A command that was complete before it could be stopped is run again.
#
#   tests/faults/interrupt.sh     N: how often per command (10), SEED
set -u
BUILD=$(realpath "${BUILD:-build}")
hostrace=$BUILD/hostrace
N=${N:-10}
SEED=${SEED:-$(date +%s)}
RANDOM=$SEED
SIGNALS=(INT INT TERM HUP)
export TZ=UTC LC_ALL=C TERM=dumb
unset NO_COLOR COLUMNS LINES HOSTRACE_DEBUG PAGER

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

# A second of exits; the commands take some tenths of a second.
awk 'BEGIN {
	print "# hostrace text 1"
	for (i = 0; i < 60000; i++) {
		t = 1 + i / 60000
		printf "%.9f kvm_exit pid=1 tid=148 cpu=0 vcpu=0 rip=0x%x info1=0x0 info2=0x0 reason=%d isa=2\n", t, 4096 + i % 64, i % 3 ? 12 : 48
		printf "%.9f kvm_entry pid=1 tid=148 cpu=0 vcpu=0 rip=0x1000\n", t + 5e-6
	}
}' >big.txt
"$hostrace" import -q big.txt -o big.hrt || { echo "Bail out! import failed"; exit 1; }
head -n 100 big.txt >old.txt
"$hostrace" import -q old.txt -o old.hrt || { echo "Bail out! import failed"; exit 1; }

# us: microseconds since some moment
us() {
	echo "${EPOCHREALTIME/./}"
}

# same FILE OTHER: the header of a trace has its random identifier
same() {
	case $1 in
	*.hrt) cmp -s <("$hostrace" export text "$1" | tail -n +3) <("$hostrace" export text "$2" | tail -n +3) ;;
	*) cmp -s "$1" "$2" ;;
	esac
}

nr=0
bad=0
ended=0
# job FILE COMMAND...: writes FILE
job() {
	local file=$1 wrong="" begin duration status i after signal old whole=0 none=0
	shift
	rm -f "$file"
	begin=$(us)
	timeout 200 "$hostrace" "$@" -o "$file" 2>stderr || wrong="status $?: $(cat stderr)"$'\n'
	duration=$(($(us) - begin))
	mv "$file" "want.$file"
	for i in $(seq "$N"); do
		rm -f "$file"
		old=
		if [ $((i % 2)) = 0 ]; then
			old=old.${file##*.}
			cp "$old" "$file"
		fi
		after=$((RANDOM * 32768 + RANDOM))
		after=$((after % (duration * 11 / 10)))
		signal=${SIGNALS[$((RANDOM % ${#SIGNALS[@]}))]}
		timeout --foreground --preserve-status -s "$signal" "$((after / 1000000)).$(printf %06d $((after % 1000000)))" \
			"$hostrace" "$@" -o "$file" >stdout 2>stderr
		status=$?
		[ $status = 0 ] || ended=$((ended + 1))
		if [ $status = 0 ] || ! { [ ! -e "$file" ] || { [ -n "$old" ] && cmp -s "$old" "$file"; }; }; then
			whole=$((whole + 1))
			same "$file" "want.$file" || wrong+="$signal after $after us, status $status: another file"$'\n'
		else
			none=$((none + 1))
			[ -z "$old" ] || [ -e "$file" ] || wrong+="$signal after $after us: the old file is gone"$'\n'
		fi
		[ $status -lt 128 ] || [ $status = $((128 + $(kill -l "$signal"))) ] || wrong+="$signal: status $status"$'\n'
		[ $status = 0 ] || [ $status -gt 128 ] || wrong+="$signal: status $status: $(cat stderr)"$'\n'
		for left in "$file".*; do
			[ ! -e "$left" ] || wrong+="$signal after $after us, status $status: $left remains"$'\n'
			rm -f "$left"
		done
	done
	nr=$((nr + 1))
	if [ -z "$wrong" ]; then
		echo "ok $nr - $1: interrupted ($N times: $whole complete, $none not replaced)"
	else
		bad=$((bad + 1))
		echo "not ok $nr - $1: interrupted"
		sed 's/^/# /' <<<"$wrong"
	fi
}

echo "# SEED=$SEED"
echo "an older report" | tee old.txt old.csv old.svg >old.json
job out.hrt import big.txt
job zstd.hrt import --zstd big.hrt
job out.csv export csv big.hrt
job out.txt export text big.hrt
job exits.txt exits big.txt
job list.json list -f json big.txt
job map.svg heatmap exit-latency big.txt -f svg
# temporary FILE: prints the name of its temporary file
temporary() {
	local each
	for each in "$1".*; do
		[ ! -e "$each" ] || echo "$each"
	done
}

# state PID: sets `state` as /proc has it; Z if there is none
state() {
	read -r state 2>/dev/null <"/proc/$1/stat" || state=") Z"
	state=${state##*) }
	state=${state%% *}
}

# stopped MOMENT FILE PID: stops the process in the moment. False: it was complete before.
stopped() {
	local found
	while state "$3" && [ "$state" != Z ]; do
		found=$(temporary "$2")
		[ -n "$found" ] && { [ "$1" = exists ] || [ -s "$found" ]; } && break
	done
	kill -STOP "$3" 2>/dev/null
	until state "$3" && [[ $state == [TZ] ]]; do :; done
	[ -n "$(temporary "$2")" ]
}

# held MOMENT SIGNAL FILE COMMAND...: there is an older FILE, which has to stay
held() {
	local moment=$1 signal=$2 file=$3 wrong="" pid status try
	shift 3
	for try in $(seq 20); do
		cp "old.${file##*.}" "$file"
		set -m # without job control a background process ignores SIGINT
		"$hostrace" "$@" -o "$file" >stdout 2>stderr &
		pid=$!
		set +m
		stopped "$moment" "$file" "$pid" && break
		kill -KILL "$pid" 2>/dev/null
		wait "$pid" 2>/dev/null
		pid=
	done
	if [ -n "$pid" ]; then
		kill -"$signal" "$pid"
		kill -CONT "$pid"
		wait "$pid" 2>/dev/null
		status=$?
		[ $status = $((128 + $(kill -l "$signal"))) ] || wrong+="status $status: $(cat stderr)"$'\n'
		cmp -s "$file" "old.${file##*.}" || wrong+="the old file is replaced"$'\n'
		[ -z "$(temporary "$file")" ] || wrong+="$(temporary "$file") remains"$'\n'
	else
		wrong="too fast to be stopped, $try times"
	fi
	nr=$((nr + 1))
	if [ -z "$wrong" ]; then
		echo "ok $nr - $1: $signal when its temporary file $moment"
	else
		bad=$((bad + 1))
		echo "not ok $nr - $1: $signal when its temporary file $moment"
		sed 's/^/# /' <<<"$wrong"
	fi
}

nr=$((nr + 1))
if [ "$ended" -gt 0 ]; then
	echo "ok $nr - the signal ended some of them ($ended)"
else
	echo "not ok $nr - the signal ended some of them"
	bad=$((bad + 1))
fi

# Long enough to be stopped
awk 'BEGIN {
	print "# hostrace text 1"
	for (i = 0; i < 300000; i++)
		printf "%.6f kvm_exit pid=1 tid=148 cpu=0 vcpu=0 rip=0x1000 reason=%d isa=2\n%.6f kvm_entry pid=1 tid=148 cpu=0 vcpu=0\n", 1 + i / 1e5, i % 3 ? 12 : 48, 1 + i / 1e5 + 5e-6
}' >long.txt
"$hostrace" import -q long.txt -o long.hrt || { echo "Bail out! import failed"; exit 1; }
echo "an older page" >old.html
held exists INT out.hrt import long.txt
held "has content" INT out.hrt import --zstd long.txt
held exists TERM out.csv export csv long.hrt
held "has content" INT out.txt export text long.hrt
held exists INT out.html report long.txt
held exists INT out.txt exits long.txt
held exists HUP out.json exits long.txt -f json

# A directory that was made for a trace's files does not stay, either.
set -m
"$hostrace" export ctf long.hrt -o new.ctf 2>stderr &
pid=$!
set +m
while state $pid && [ "$state" != Z ] && [ -z "$(ls new.ctf 2>/dev/null)" ]; do :; done
kill -STOP $pid 2>/dev/null
until state $pid && [[ $state == [TZ] ]]; do :; done
kill -TERM $pid
kill -CONT $pid
wait $pid
status=$?
nr=$((nr + 1))
if [ $status = 143 ] && [ ! -e new.ctf ]; then
	echo "ok $nr - export ctf: TERM leaves no directory"
else
	echo "not ok $nr - export ctf: TERM leaves no directory"
	echo "# status $status: $(ls new.ctf 2>&1) $(cat stderr)"
	bad=$((bad + 1))
fi
echo "1..$nr"
[ $bad = 0 ]
