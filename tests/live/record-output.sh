#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# The recording's file: two recorders of one name, a file that is deleted or truncated meanwhile, what was there before,
# and names that another user prepared in a shared directory.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"

# recorder_end: ends the recorder; $? is its exit status
recorder_end() {
	kill -s INT "$recorder" 2>/dev/null
	wait "$recorder_waiter"
}

# refused REGEXP NAME ARGS...
refused() {
	regexp=$1
	name=$2
	shift 2
	timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -d 200ms "$@" 2>refused.err
	is $? 1 "$name: status 1" refused.err
	is "$(grep -cE "$regexp" refused.err)" 1 "$name: the error message" refused.err
}

plan 42
vmm_start 500

echo part >two.guest.kallsyms.4194999.tmp # no process has this pid
record_start --vm "$vmm" -o two.hrt
is "$(ls ./*.tmp 2>/dev/null)" "" "what a killed recorder has left is removed"
refused 'two.hrt is being written by another process' "two recorders of one name" -o two.hrt
recorder_end
is $? 0 "... and the first one is undisturbed" record.err

record_start --vm "$vmm" -o deleted.hrt
rm deleted.hrt
recorder_end
is $? 1 "a recording that was deleted meanwhile is a failure" record.err
is "$(grep -c 'deleted.hrt was deleted or replaced' record.err)" 1 "... and is said" record.err

record_start --vm "$vmm" -o truncated.hrt
until [ -s truncated.hrt ]; do sleep .1; done
: >truncated.hrt
recorder_end
is $? 1 "a recording that was truncated meanwhile is a failure" record.err
is "$(grep -c 'truncated.hrt was truncated' record.err)" 1 "... and is said" record.err

cp two.hrt old.hrt
refused 'agent' "a recording that fails at its start" -o old.hrt --guest "serial:$PWD/no-agent"
is "$(cmp old.hrt two.hrt && echo same)" same "... keeps the old file"
(
	ulimit -f 1 # not enough for the first events
	timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -d 500ms -o old.hrt 2>record.err
)
is $? 1 "a recording without room is a failure" record.err
is "$(cmp old.hrt two.hrt && echo same)" same "... and keeps the old file"
is "$(ls ./*.tmp 2>/dev/null | wc -l)" 0 "... without a temporary file"

# what another user prepared
chmod 1777 .
mkfifo planted.guest
chmod 666 planted.guest
refused 'planted.guest exists and is not a regular file' "a guest's trace into a FIFO" \
	-o planted.hrt --guest "file:$PWD/nothing"
rm planted.guest
echo precious >planted.guest
chown 65534 planted.guest
refused 'planted.guest exists and belongs to user 65534' "a guest's trace into another user's file" \
	-o planted.hrt --guest "file:$PWD/nothing"
is "$(cat planted.guest)" precious "... which is not touched"
"$HOSTRACE" info -i two.hrt -o planted.guest 2>report.err
is $? 1 "a report into another user's file" report.err
is "$(cat planted.guest)" precious "... which is not touched"

for target in made tree/old; do # a link of one's own, to nothing and to a file
	mkdir -p tree
	ln -s $target to-target
	"$HOSTRACE" info -i two.hrt -o to-target 2>report.err
	is "$? $(stat -c %a $target) $(stat -c %F to-target)" "0 600 symbolic link" "a report through a link, $target" \
		report.err
	timeout -s KILL 200 "$HOSTRACE" stat --vm "$vmm" -d 100ms -f json -o to-target 2>report.err
	is "$? $(grep -c "\"command\":\"stat\"" $target)" "0 1" "... and of a VM, $target" report.err
	rm to-target
done
is "$(ls ./*.tmp tree/*.tmp 2>/dev/null)" "" "... without a temporary file"
rm -r tree made

# another user's directory, and that user's link to one of root's
mkdir theirs ours
chown 65534 theirs
ln -s ours link
chown -h 65534 link
# writes_not NAME ARGS...: neither into the one nor through the other
writes_not() {
	name=$1
	shift
	for place in theirs link; do
		timeout -s KILL 200 "$HOSTRACE" "$@" -o $place/x 2>report.err
		is "$? $(grep -c "$place belongs to user 65534" report.err)" "1 1" "$name, $place of another user" report.err
	done
}
writes_not "a recording" record --vm "$vmm" -d 200ms
writes_not "a trace in CTF" export ctf -i two.hrt
writes_not "a converted trace" import two.hrt
writes_not "a report" timeline -f svg -i two.hrt
is "$(find theirs ours -type f | wc -l)" 0 "... and nothing is there"
mkdir -m 755 tree
umask 0
for words in "export ctf" "export text" "timeline -f svg" "import"; do
	"$HOSTRACE" $words -o "tree/${words##* }" $([ "$words" = import ] || echo -i) two.hrt 2>report.err
done
umask 022
is "$(find tree -mindepth 1 -printf '%M\n' | sort | uniq -c | tr -s ' ' | tr '\n' ,)" " 5 -rw-------, 1 drwx------," \
	"what is written is its owner's only: files 0600, directories 0700" report.err
chmod 700 .
"$HOSTRACE" record --vm "$vmm" -d 1ms -o short.hrt 2>record.err
is "$("$HOSTRACE" list -f csv -i short.hrt --event clock_pair 2>>record.err | grep -c ,clock_pair,)" 2 \
	"the shortest recording relates TSC and time twice" record.err
cp "$ROOT/tests/cases/guest-stream/small.guest" own.guest
refused "own.guest is the guest's trace and would be replaced" "a guest's trace that is also the output" \
	-o own.hrt --guest "file:$PWD/own.guest"
is "$(cmp own.guest "$ROOT/tests/cases/guest-stream/small.guest" && ls own.hrt 2>&1)" \
	"ls: cannot access 'own.hrt': No such file or directory" "... is not touched"
"$HOSTRACE" record --vm "$vmm" -d 200ms -o much.hrt --guest "file:$ROOT/tests/cases/guest-stream/small.guest" \
	--guest-size 1000 2>record.err
is "$(grep -c 'the guest sent more than 1000 bytes (--guest-size); the rest was discarded' record.err)" 1 \
	"a guest's trace is limited to --guest-size" record.err
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err
finish
