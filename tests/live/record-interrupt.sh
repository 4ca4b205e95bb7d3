#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recorders that SIGINT or SIGTERM ends at random moments: they leave a complete recording, or what was there before.
# And the line that a terminal shows meanwhile. `N=100 tests/run-live.sh tests/live/record-interrupt.sh` for more.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools script

N=${N:-10}
LIFE_MS=4000
SEED=${SEED:-$(date +%s)}
RANDOM=$SEED

# judge STATUS: of the run that wrote out.hrt; nothing, or what is wrong
judge() {
	case $1 in
	0)
		"$HOSTRACE" info -i out.hrt >info.out 2>&1 || echo "not readable: $(cat info.out)"
		grep -q 'ended by signal' info.out || echo "it does not say how it ended"
		grep -q 'truncated\|corrupt' info.out && echo "not complete"
		;;
	130 | 143)
		! grep -q recording record.err || echo "status $1 after it had begun"
		if [ -e old.hrt ]; then
			cmp -s old.hrt out.hrt || echo "status $1, and the old recording changed"
		elif [ -e out.hrt ]; then
			echo "status $1, and a file"
		fi
		;;
	*) echo "status $1: $(tail -n 1 record.err)" ;;
	esac
	! ls out.hrt.* 2>/dev/null || echo "a temporary file remains"
}

plan $((N + 6))
echo "# SEED=$SEED"
"$BUILD/minivmm" count=count >vmm.out 2>vmm.err &
vmm=$!
trap 'kill $vmm; rm -rf "$scratch"' EXIT
until_line '^ready' vmm.out || bail "minivmm did not start"
timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -d 300ms -o first.hrt 2>record.err ||
	bail "record failed: $(cat record.err)"
for i in $(seq "$N"); do
	rm -f out.hrt old.hrt
	[ $((i % 2)) = 1 ] || cp first.hrt old.hrt
	[ $((i % 2)) = 1 ] || cp first.hrt out.hrt
	ms=$((1 + RANDOM % LIFE_MS)) # 0: timeout would send no signal
	signal=$([ $((RANDOM % 3)) = 0 ] && echo TERM || echo INT)
	timeout --foreground --preserve-status -k 50 -s "$signal" "$((ms / 1000)).$(printf %03d $((ms % 1000)))" \
		"$HOSTRACE" record --vm "$vmm" -o out.hrt 2>record.err
	status=$?
	is "$(judge $status)" "" "recorder $i is ended by a signal (SIG$signal after $ms ms: status $status)" record.err
done

# ^C ends both sides of `record 2>&1 | tee log`.
mkfifo messages
cat messages >tee.out &
reader=$!
rm -f out.hrt
env --default-signal=INT,PIPE timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -o out.hrt 2>messages 7</etc/passwd &
recorder=$!
until_line recording tee.out
ls -l /proc/$(pgrep -P $recorder)/fd >fds
is "$(grep -c /etc/passwd fds)" 0 "it closes descriptors that it inherited" fds
kill $reader
wait $reader 2>/dev/null
pkill -INT -P $recorder
wait $recorder
is "$? $(judge 0)" "0 " "nobody reads its messages any more: a complete recording" tee.out
timeout -s KILL 200 "$HOSTRACE" record -o command.hrt -- sh -c 'read -r line <&7; echo "$line" >inherited' 2>record.err 7<<-END
	passed on
END
is "$(cat inherited)" "passed on" "... which its command has" record.err

mkfifo keyboard
# Without exec a shell that waits (dash) would itself be ended by ^C, and its status be 130.
timeout -s KILL 200 script -qec "exec $HOSTRACE record --vm $vmm -d 500s -o tty.hrt" /dev/null <keyboard >tty.out 2>&1 &
terminal=$!
exec 5>keyboard
until_line ' [1-9][0-9]* s  [0-9]* events  [1-9][0-9]*/s  [0-9]* lost  [0-9]* KiB  4[0-9][0-9] s left' tty.out
is $? 0 "on a terminal it shows events, their rate, losses, size and the time left" tty.out
printf '\003' >&5
wait $terminal
is "$? $(ended tty.hrt)" "0 signal" "^C ends it" tty.out
kill -0 "$vmm"
is $? 0 "the VM runs as before" vmm.err
finish
