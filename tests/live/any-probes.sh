#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# record -e uprobe:, uretprobe:, usdt:: as many events, with the same values, as the program made and ftrace counts
# meanwhile; what may not be probed. Functions of the kernel are in tests/rig/checks/46-probes.sh.
# Needs $HOSTRACE and $BUILD; prints TAP. Takes 5 s, 13 s on a machine with a load of 15.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools jq
tracing=/sys/kernel/tracing
[ -e $tracing/uprobe_events ] || skip_all "kernel: no uprobe_events"

plan 22

${CC:-gcc} -O2 -o prog "$ROOT/tests/live/any_prog.c" || bail "cannot build any_prog; scripts/deps.sh check installs sys/sdt.h"
prog=$scratch/prog
libc=$(ldd "$BUILD/minivmm" | sed -n 's/.*libc.so.6 => \([^ ]*\).*/\1/p')
group=hostrace$$
ftrace=$tracing/instances/$group
mkdir "$ftrace" || bail "no instance of tracefs"
trap 'for e in ioctl work; do echo 0 >"$ftrace/events/$group/$e/enable"; done; rmdir "$ftrace"; echo "-:$group/ioctl" >>$tracing/uprobe_events; echo "-:$group/work" >>$tracing/uprobe_events; rm -rf "$scratch"' EXIT

# offset FILE FUNCTION: where it is in the file
offset() {
	address=$(nm -D "$1" 2>/dev/null | awk -v name="$2" '{ sub(/@.*/, "", $3) } $3 == name { print $1; exit }')
	[ -n "$address" ] || address=$(nm "$1" | awk -v name="$2" '$3 == name { print $1; exit }')
	readelf -W -l "$1" | awk '$1 == "LOAD" { print $2, $3, $5 }' | while read -r at from bytes; do
		at=$((at)) from=$((from)) bytes=$((bytes)) a=$((0x$address))
		[ $a -lt $from ] || [ $a -ge $((from + bytes)) ] || echo $((a - from + at))
	done
}
# values EVENT FILTER: how many, how many that differ, the least, the greatest
values() {
	"$HOSTRACE" list -i any.hrt --event "$1" --limit 0 -f json | jq -c "
		def number: if type == \"number\" then . else
			ltrimstr(\"0x\") | explode | reduce .[] as \$c (0; . * 16 + \$c - if \$c > 96 then 87 else 48 end) end;
		[.rows[].fields | $2 | number] | [length, (unique | length), min, max]"
}

{
	printf 'p:%s/ioctl %s:0x%x request=%%si:x32\n' "$group" "$libc" "$(offset "$libc" ioctl)"
	printf 'p:%s/work %s:0x%x a=%%di:s32\n' "$group" "$prog" "$(offset "$prog" work)"
} >>$tracing/uprobe_events || bail "cannot add to uprobe_events"
vmm_start 500
echo "common_pid == $vmm" >"$ftrace/events/$group/ioctl/filter"
echo 1 >"$ftrace/events/$group/ioctl/enable"
record_start --vm "$vmm" -o any.hrt -e "uprobe:$libc:ioctl request=arg1"
"$prog" 1 </dev/null >/dev/null
vmm_go
vmm_end
is $? 0 "the VM did all its work" vmm.err
wait "$recorder_waiter"
is $? 0 "a function of a library is recorded in the VM" record.err
grep 'ioctl:' "$ftrace/trace" | sed 's/.*request=//' | sort | uniq -c | awk '{ print $2, $1 }' >ftrace.out
"$HOSTRACE" count "uprobe:$libc:ioctl" --by =request -i any.hrt -f json | jq -r '.rows[] | "\(.request) \(.count)"' | sort >ours.out
is "$(cat ours.out)" "$(sort ftrace.out)" "... as often as ftrace records it, by an argument" ftrace.out
is "$(grep -c '^0xae80 501$' ours.out)" 1 "... KVM_RUN for each exit of the guest" ours.out
is "$("$HOSTRACE" list -i any.hrt --event "uprobe:*" --limit 0 -f json | jq -c '[.rows[].tid] | unique')" "[$vmm]" "... in its threads only"

vmm_start 1
mkfifo in
"$prog" 300 <in >prog.out &
prog_waiter=$!
exec 4>in
until_line '^ready' prog.out || bail "any_prog did not start"
echo 1 >"$ftrace/events/$group/work/enable"
# + 3: lea (%rdi,%rsi,1),%eax has three bytes.
size=$(objdump -d --no-show-raw-insn "$prog" | awk '/<work>:$/ { on = 1; next } on && /ret/ { print $1; exit }' | tr -d :)
start=$(nm "$prog" | awk '$3 == "work" { print $1 }')
off=$((0x$size - 0x$start))
record_start --vm "$vmm" --host -o any.hrt -e "uprobe:$prog:work a=arg0 arg1,uprobe:$prog:work+$off,uretprobe:$prog:work,usdt:$prog:shop:sold"
echo >&4
exec 4>&-
wait "$prog_waiter"
is $? 0 "a program that is probed does its work"
kill -INT "$recorder"
wait "$recorder_waiter"
is $? 0 "functions and USDT probes of any program are recorded with --host" record.err
is "$(grep -c 'work:' "$ftrace/trace")" "$(values "uprobe:$prog:work" .a | jq '.[0]')" "... as often as ftrace records them"
is "$(values "uprobe:$prog:work" .a)" '[300,300,0,299]' "... arguments are in registers"
is "$(values "uprobe:$prog:work" .arg1)" '[300,1,7,7]' "... also the second one"
is "$(values "uprobe:$prog:work+$off" 1)" '[300,1,1,1]' "... within a function"
is "$(values "uretprobe:$prog:work" .ret)" '[300,300,7,306]' "... what it returns"
is "$(values "usdt:$prog:shop:sold" .arg1)" '[300,300,-299,0]' "... arguments of a USDT probe, with their sign"
is "$("$HOSTRACE" summary "pair:uprobe:$prog:work,uretprobe:$prog:work,tid" -i any.hrt -f json | jq '[.. | .count? // empty] | max')" 300 "... from a call to its return"

mkfifo in2
"$prog" 300 <in2 >prog.out &
prog_waiter=$!
exec 4>in2
until_line '^ready' prog.out || bail "any_prog did not start"
record_start --vm "$vmm" --host -o any.hrt -e "uprobe:$prog:work a=arg0,usdt:$prog:shop:sold,sched:sched_process_exit" \
	--filter "event ~ 'uprobe:*' && a >= 290 || event ~ 'usdt:*' && arg1 <= -200 && arg1 != -299 || event ~ 'sched:*' && comm == 'prog'"
echo >&4
exec 4>&-
wait "$prog_waiter"
kill -INT "$recorder"
wait "$recorder_waiter"
is "$(values "uprobe:$prog:work" .a)" '[10,10,290,299]' "--filter: of a program's function" record.err
is "$(values "usdt:$prog:shop:sold" .arg1)" '[99,99,-298,-200]' "... of a USDT probe, by a sign"
is "$("$HOSTRACE" info -i any.hrt -f json | jq -c '.result | [.lost, .events["sched:sched_process_exit"]]')" '[{},1]' "... of a tracepoint, by a text" record.err

# wrong EVENT TEXT: the error message has it, the status is 2, and no file is written
wrong() {
	timeout 100 "$HOSTRACE" record --vm "$vmm" -o wrong.hrt -e "$1" 2>wrong.err
	[ "$? $(ls wrong.hrt 2>/dev/null)" = "2 " ] && grep -q "$2" wrong.err || echo "$1"
}
{
	wrong "uprobe:$prog:wrok" "no function 'wrok'"
	wrong "uprobe:$prog:data" "this is a variable"
	wrong "uprobe:$prog:work+x" "record: uprobe:$prog:work+x: invalid offset 'x'"
	wrong "uprobe:$prog:work arg6" "no argument 'arg6': work: arg0 to arg5"
	wrong "usdt:$prog:shop:slod" "no USDT probe 'shop:slod'.*; the nearest: 'shop:sold'"
	wrong "kprobe:vfs_raed" "no function 'vfs_raed'; the nearest: .*'vfs_read'"
	wrong "fentry:vfs_read gpa" "no argument 'gpa': ssize_t vfs_read(struct file \*file, "
} >wrong.out
is "$(cat wrong.out)" "" "what does not exist is named" wrong.err
is "$(wrong "uprobe:$prog:padded+1" 'a 5-byte NOP within a function'; wrong "uprobe:$prog:padded+2" 'no instruction begins')" "" "unsafe sites are refused" wrong.err
is "$(wrong "uretprobe:$libc:read" 'a library is also in programs'; wrong "uretprobe:$(command -v qemu-system-x86_64):main" 'QEMU')" "" "... and unsafe returns" wrong.err
is "$(wrong "uprobe:$prog:work a=arg0 a=arg1" "two values are named 'a'"; wrong "uprobe:$prog:work,uprobe:$prog:work" 'named twice')" "" "... and names that are not unique" wrong.err
vmm_go
vmm_end
is $? 0 "the VM goes on" vmm.err
finish
