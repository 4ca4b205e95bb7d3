#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Commands that a signal interrupts at a random moment: the file that they write is there completely or not at all, an
# older one is replaced completely or not at all, and no temporary file remains. Prints TAP, one result per command.
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
	timeout 60 "$hostrace" "$@" -o "$file" 2>stderr || wrong="status $?: $(cat stderr)"$'\n'
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
		echo "ok $nr - $1: interrupted $N times: $whole complete, $none not replaced"
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
nr=$((nr + 1))
if [ "$ended" -gt 0 ]; then
	echo "ok $nr - $ended of them ended by the signal"
else
	echo "not ok $nr - none was ended by the signal"
	bad=$((bad + 1))
fi
echo "1..$nr"
[ $bad = 0 ]
