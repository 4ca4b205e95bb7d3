#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest threads --stacks, --timers, --thread, --module: read from our guest (osvguest/) through the gdb stub, and in dumps
# of its memory, which have the same. Needs $HOSTRACE (the program) and $BUILD (the build directory); prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/osvguest/lib.inc"
osvguest_needs

# ask ARGS: guest threads ARGS
ask() {
	timeout 200 "$HOSTRACE" guest threads -e "$BUILD/osvguest.elf" "$@" >out 2>err
}

# stack ID: the functions of this thread's backtrace, in out (JSON)
stack() {
	jq -r ".rows[] | select(.id == $1) | .stack | ([.frames[] | .name + if .inlined then \"*\" else \"\" end] | join(\" \")) + \" \" + .state" out
}

# dump PAGING FILE: QEMU's command; the guest runs on
dump() {
	echo "{\"execute\":\"dump-guest-memory\",\"arguments\":{\"paging\":$1,\"protocol\":\"file:$PWD/$2\"}}" >&4
	until_said '"return"' $(($(said '"return"') + 1)) || bail "no dump: $(cat qmp.log)"
}

# process_core FILE: what gcore writes, with only two mappings: one that is not the RAM, and the RAM, which is in two parts
process_core() {
	python3 - "$1" <<'END'
import struct, sys
ram = open('ram.img', 'rb').read()
base, half = 0x7f0000200000, len(ram) // 2
parts = [(0x550000000000, bytes(8 << 20)), (base, ram[:half]), (base + half, ram[half:])]
with open(sys.argv[1], 'wb') as out:
    out.write(b'\x7fELF\2\1\1' + bytes(9) + struct.pack('<HHIQQQIHHHHHH', 4, 62, 1, 0, 64, 0, 0, 64, 56, len(parts), 0, 0, 0))
    at = 4096
    for address, data in parts:
        out.write(struct.pack('<IIQQQQQQ', 1, 6, at, address, 0, len(data), len(data), 4096))
        at += len(data)
    out.seek(4096)
    for _, data in parts:
        out.write(data)
END
}

plan 27
vm '' unix:gdb.sock

waiter='sched::thread::switch_to() sched::thread::wait() void sched::wait_until<waiter_main()::$_0>(waiter_main()::$_0)* waiter_main() thread_main_c thread_main complete'
ask -r "$gdb" --stacks -f json
cp out stopped.json
is "$? $(stack 11)" "0 $waiter" "one that waits: to its begin, with what is inlined" err
is "$(stack 10)" "init_main() thread_main_c thread_main complete" "one that runs: by the registers of its vCPU" out
is "$(stack 13 | sed 's/ void .*mutex_lock(/ mutex_lock(/')" \
	"sched::thread::switch_to() sched::thread::wait() mutex_lock(unsigned long volatile*) critical() thread_main_c thread_main complete" \
	"out of a function without frame pointer" out
is "$(stack 24)" "app_main incomplete" "in code whose .eh_frame is not at hand" out
is "$(jq -c '[.rows[] | .vcpu | select(. != null)]' out)" "[0]" "which vCPU runs it" out
follows guest out
ask -r "$gdb" --stacks --module "/usr/lib/libtest.so=$BUILD/osvguest/lib/libtest.so" --thread 24 -f json
is "$? $(stack 24)" "0 app_main thread_main complete" "a module's file by --module PATH=FILE" err
ask -r "$gdb" --module "$BUILD/osvguest/lib/libtest.so" --stacks --thread "$(jq -r '.rows[14].address' stopped.json)"
is "$? $(sed -n 's/^     \([a-z_]*\) at .*/\1/p' out | tr '\n' ' ')$(tail -n 1 out)" "0 app_main thread_main Number of threads: 1" \
	"by its base name; the thread by its address" err
ask -r "$gdb" --thread 99
is "$? $(status) $(grep -c 'no thread 99' err)" "1 running 1" "a thread that there is not" err
ask -r "$gdb" --thread x
is "$?" 2 "no number" err
ask -r "$gdb" --timers --no-location
is "$? $(grep -A 1 '^  11 ' out | sed -n 2p)" "0     timers: 15.033114200 9223372036.854776382 2.500000000*" "timers" out
ask -r "$gdb" --timers --stacks -f json
is "$(jq -c '[.rows[1].timers[] | [if .time_ns < 9e18 then .time_ns else false end, .expired]]' out)" \
	"[[15033114200,false],[false,false],[2500000000,true]]" "the same as JSON" out
follows guest out

# The same in files.
dump false dump.elf
dump true paging.elf
is "$(status)" running "the guest runs on"
end_vm
process_core process.elf
for file in dump paging; do
	ask --dump $file.elf --stacks -f json
	jq '.rows' out >rows
	is "$? $(jq '.rows' stopped.json | cmp - rows && echo same)" "0 same" "a dump of the guest's memory ($file): the same" err
	is "$(jq -c '.caveats' out)" "[]" "and nothing to note" out
done
ask --dump process.elf --stacks -f json
is "$? $(stack 11)" "0 $waiter" "a core dump of its process: the page tables by the guest's own variable" err
is "$(stack 10)" " running" "which has no registers of its vCPUs" out
for action in virtio "leaks show"; do
	timeout 200 "$HOSTRACE" guest $action -e "$BUILD/osvguest.elf" --dump dump.elf >out 2>err
	is "$? $(wc -l <err) $(grep -cE 'virtio::blk|generated 3 records' out)" "0 0 1" "guest $action in a dump" err
done
timeout 200 "$HOSTRACE" guest extract -e "$BUILD/osvguest.elf" --dump dump.elf -o extracted >out 2>err
is "$? $(cat out) $("$HOSTRACE" list -x extracted | grep -c ' tick ')" "0 extracted: 420 samples of 3 vCPUs 281" "guest extract" err
timeout 200 "$HOSTRACE" guest leaks on -e "$BUILD/osvguest.elf" --dump dump.elf >out 2>err
is "$? $(grep -c 'cannot write to a dump' err)" "1 1" "which is not written to" err
objcopy -O binary -j .rodata "$BUILD/osvguest.elf" rodata
printf other | dd of=rodata conv=notrunc 2>/dev/null
objcopy --update-section .rodata=rodata "$BUILD/osvguest.elf" other.elf
timeout 200 "$HOSTRACE" guest threads -e other.elf --dump dump.elf >out 2>err
is "$? $(grep -c 'does not match the memory in dump.elf$' err)" "1 1" "the ELF file of another kernel" err
for left in 3145728 1048576; do # the first part has what 'threads' reads, the second one has not
	cp dump.elf cut.elf
	chmod u+w cut.elf
	truncate -s $left cut.elf
	timeout 200 "$HOSTRACE" guest threads -e "$BUILD/osvguest.elf" --dump cut.elf >out 2>err
	echo "$? $(sed "s|: [0-9]* bytes|: N bytes|" err)"
done >cut.out
is "$(cat cut.out)" "0 hostrace: the dump is truncated: N bytes are missing
1 hostrace: guest: the guest's ELF file does not match the memory in cut.elf, a part of which is missing: the file is truncated" \
	"a dump that is truncated: it says so"

# abort() halts the vCPU that calls it.
vm a unix:gdb.sock
ask -r "$gdb" --stacks
is "$? $(sed 's/:[0-9]*$//' out | tail -n 1)" "0 vCPU 0 has aborted in thread 10 (init), called by assert_fail() at tests/live/osvguest/guest.cc" \
	"which vCPU aborted, and where" out
end_vm
finish
