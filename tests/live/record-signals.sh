#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Signals while a recording is written to a file system that does not answer: one or two let it be finished, whatever it
# waits for at that moment, the third ends the recorder at once. The file system holds its answers back until the test
# has sent the signals, and the recorder has read them.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools python3
[ -c /dev/fuse ] || skip_all "kernel: no /dev/fuse"

mkdir disk
mkfifo commands
python3 "$ROOT/tests/live/holdfuse.py" disk <commands >fuse.out 2>fuse.err &
server=$!
exec 4>commands
trap 'kill $server 2>/dev/null; umount -l disk 2>/dev/null; rm -rf "$scratch"' EXIT
until_line '^ready' fuse.out || skip_all "kernel: cannot mount: $(cat fuse.err)"

# fuse WORD ANSWER COMMAND...: waits for the next line that begins with ANSWER
fuse() {
	local answer=$1 before
	shift
	before=$(grep -c "^$answer" fuse.out)
	echo "$*" >&4
	until [ "$(grep -c "^$answer" fuse.out)" -gt "$before" ]; do sleep .02; done
}

# held_at NAME...: a request of one of these names is held from now on; waits until the VM's end has caused one
held_at() {
	local before
	before=$(grep -c '^held' fuse.out)
	fuse holding hold "$@"
	vmm_end
	until [ "$(grep -c '^held' fuse.out)" -gt "$before" ]; do sleep .02; done
}

# pending SHD|SIG BIT: has the recorder's process, or its first thread, this signal to take?
pending() {
	bits=$(sed -n "s/^$1Pnd:[[:space:]]*//p" "/proc/$recorder/status" 2>/dev/null)
	[ $((0x${bits:-0} & 1 << $2)) != 0 ]
}

# signals N: each is sent when the one before it has been read
signals() {
	for _ in $(seq "$1"); do
		kill -s INT "$recorder"
		while pending Shd 1 && ! pending Sig 8; do sleep .02; done # SIGINT is read, or kills it
	done
}

recording() {
	vmm_start 2000
	record_start --vm "$vmm" -o "disk/$1"
	vmm_go
	until_line '^outb ' vmm.out
}

# whole FILE: it has its index, and all that the VM did
whole() {
	"$HOSTRACE" info -i "$1" >info.out 2>&1 && ! grep -q 'truncated\|corrupt' info.out &&
		[ "$(events kvm_pio "$1")" = 2001 ] && index "$1"
}

index() {
	tail -c 32 "$1" | grep -qa HRTINDEX && echo index
}

plan 26
for at in write fsync flush; do
	for n in 1 2; do
		recording $at$n.hrt
		held_at $at
		signals $n
		fuse released release
		wait "$recorder_waiter"
		is $? 0 "$n x SIGINT while it waits for $at: status 0" record.err
		cp disk/$at$n.hrt . 2>/dev/null
		is "$(whole $at$n.hrt)" index "... and the file is complete" record.err
	done
done

# in the middle of the recording: the file system takes nothing
recording first.hrt
before=$(grep -c '^held' fuse.out)
fuse holding hold write
kill -s INT "$recorder"
until [ "$(grep -c '^held' fuse.out)" -gt "$before" ]; do sleep .02; done
until_line 'not complete yet: the recorder waits for its file system' record.err
is $? 0 "a recorder that cannot write says so after ^C" record.err
fuse released release
wait "$recorder_waiter"
is $? 0 "... and completes the file when it can" record.err
cp disk/first.hrt .
is "$(whole first.hrt)" index "... with all that the VM did"
vmm_end
is $? 0 "... and the VM did all its work" vmm.err

# links: the programs of BPF that the recorder has attached
links() {
	find "/proc/$recorder/fd" -lname '*bpf*link*' 2>/dev/null | wc -l
}

# A kernel does not end a process whose request FUSE's server has read: here, not before the answer.
recording third.hrt
is "$([ "$(links)" -gt 0 ] && echo attached)" attached "programs are attached while it records"
held_at write
signals 2
kill -s INT "$recorder"
until_line 'third signal: removing the probes and ending' record.err
is $? 0 "the third SIGINT ends it" record.err
while [ "$(links)" -gt 0 ]; do sleep .02; done
until pending Sig 8; do sleep .02; done # it is being killed
kill -0 "$recorder"
is $? 0 "... which detaches its programs also if the file system does not answer" record.err
fuse released release
wait "$recorder_waiter" 2>/dev/null
is $? 130 "... with the signal's status" record.err
cp disk/third.hrt .
"$HOSTRACE" info -i third.hrt >info.out 2>&1
is $? 0 "... and the file can be read" info.out
is "$(index third.hrt)" "" "... without an index" info.out
is "$(grep -c 'third.hrt can be read as far as it was written, but may have no index' record.err)" 1 "... as it says" record.err

# The file is complete, and nobody reads what the recorder prints: it waits in the summary.
vmm_start 2000
mkfifo words
exec 5<>words
env --default-signal=INT timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -o complete.hrt 2>words &
recorder_waiter=$!
while read -r line <&5; do
	echo "$line" >>record.words
	case $line in *recording*) break ;; esac
done
recorder=$(pgrep -P "$recorder_waiter" | head -n 1)
dd if=/dev/zero of=words oflag=nonblock bs=1 count=2M 2>/dev/null
vmm_go
vmm_end
until [ "$(index complete.hrt)" ]; do sleep .02; done
until grep -q pipe_write "/proc/$recorder/stack" 2>/dev/null; do sleep .02; done
signals 2
kill -s INT "$recorder"
while pending Shd 1 && [ -e "/proc/$recorder" ]; do sleep .02; done
cat <&5 >words.out &
reader=$!
wait "$recorder_waiter"
is $? 130 "the third SIGINT after the file is complete ends the recorder" words.out
tr -d '\0' <words.out >words.text
is "$(grep -c 'third signal: removing the probes and ending; complete.hrt is complete' words.text)" 1 "... with this message" words.text
is "$(whole complete.hrt)" index "... which is true" info.out
kill "$reader"
exec 5>&-
finish
