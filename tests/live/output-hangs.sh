#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A file system that stops to answer while a command writes to it: ^C ends the command with a message, as long as the
# kernel lets a signal end the wait; later, the message is there. That no temporary file remains elsewhere is tested by
# tests/faults/interrupt.sh.
# Needs $HOSTRACE and $BUILD; prints TAP. Takes 9 s.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools python3
[ -c /dev/fuse ] || skip_all "kernel: no /dev/fuse"

mkdir disk
mkfifo commands
python3 "$ROOT/tests/live/holdfuse.py" disk <commands >fuse.out 2>fuse.err &
server=$!
exec 4>commands
trap 'kill $server 2>/dev/null; umount -l disk 2>/dev/null; rm -rf "$scratch"' EXIT
until_line '^ready' fuse.out || skip_all "kernel: cannot mount: $(cat fuse.err)"
cp "$ROOT/tests/golden/v1.4-columns.hrt" t.hrt

# fuse ANSWER COMMAND...: waits for the next line that is ANSWER
fuse() {
	local answer=$1 before
	shift
	before=$(grep -c "^$answer" fuse.out)
	echo "$*" >&4
	until [ "$(grep -c "^$answer" fuse.out)" -gt "$before" ]; do sleep .02; done
}

# interrupted SIGNAL REQUEST COMMAND...: gets the signal when the file system has answered REQUEST and reads no more
interrupted() {
	local signal=$1 before
	before=$(grep -c '^left' fuse.out)
	fuse holding leave "$2"
	shift 2
	env --default-signal=INT,TERM timeout -s KILL 60 "$HOSTRACE" "$@" 2>err &
	waiter=$!
	until [ "$(grep -c '^left' fuse.out)" -gt "$before" ]; do sleep .02; done
	command=$(pgrep -P "$waiter" | head -n 1)
	until grep -qs 'request_wait_answer\|seccomp_do_user' "/proc/$command/wchan"; do sleep .02; done
	kill -s "$signal" "$command"
}

messages() {
	grep -c 'interrupted: the file system of [^ ]*disk/out[^ ]* does not answer' err
}

plan 6
interrupted INT create report -i t.hrt -o disk/out.html
wait "$waiter"
is "$? $(messages)" "130 1" "report: ^C while its file is opened, before it is confined" err
fuse released release
interrupted TERM create import t.hrt -o disk/out.hrt
wait "$waiter"
is "$? $(messages)" "143 1" "import: SIGTERM while its supervisor opens its file" err
fuse released release
interrupted INT write import t.hrt -o disk/out.hrt
until_line 'does not answer' err
is "$? $(messages)" "0 1" "import: ^C while it writes" err
fuse released release
wait "$waiter"
is $? 130 "... ends it, at the latest when the file system answers" err

# The reader of a pipe takes ^C as the end of its input.
mkfifo pipe
"$HOSTRACE" export text t.hrt >t.txt 2>err
env --default-signal=INT timeout -s KILL 60 "$HOSTRACE" export text - -o piped.txt <pipe 2>err &
waiter=$!
exec 5>pipe
cat t.txt >&5
command=$(pgrep -P "$waiter" | head -n 1)
until grep -qs 'poll' "/proc/$command/wchan"; do sleep .02; done
kill -s INT "$command"
wait "$waiter"
is $? 0 "^C while a pipe is read: what was read is written" err
exec 5>&-
is "$(grep -vc '^#' piped.txt)" "$(grep -vc '^#' t.txt)" "... all of it" err
results_end
