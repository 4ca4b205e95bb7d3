#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest runqueue, percpu, callouts, memory, heap, mmap, pagetable, zfs, syms, dmesg: of our guest (osvguest/), through the
# gdb stub, of its process while it runs, and in a dump. Needs $HOSTRACE (the program) and $BUILD (the build directory).
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/osvguest/lib.inc"
osvguest_needs

# ask ARGS
ask() {
	timeout 200 "$HOSTRACE" guest "$@" -e "$BUILD/osvguest.elf" -r "$gdb" >out 2>err
}

# rows FILTER: of the answer in out, one a line
rows() {
	jq -c ".rows[] | $1" out | tr '\n' ' '
}

actions=("runqueue" "callouts" "memory" "heap" "mmap" "pagetable 0x100000000010" "percpu stats::of_cpu" "syms" "dmesg"
	"zfs --module $BUILD/osvguest/lib/libsolaris.so")

plan 47
vm z unix:gdb.sock
for action in "${actions[@]}"; do
	ask $action -f json
	cp out "${action%% *}.json"
done
follows guest *.json
cp runqueue.json out
is "$(rows '[.cpu, .id, .vruntime, .name]')" '[0,20,0.25,"idle"] [0,21,0.25,"idle"] [0,12,null,"new"] ' "runqueue: in order" out
cp callouts.json out
is "$(rows '[.time_ns, .flags, .name, .function, .argument]')" \
	'[27638174650,"AP","first_callout","timer_handler(void*)","0x1234"] [28000000000,"AC","second_callout","timer_handler(void*)","0x1234"] [29000000000,"none",null,"timer_handler(void*)","0x1234"] ' \
	"callouts: in order, with names where there are any" out
cp memory.json out
is "$(jq -c '[.result | .physical_bytes, .total_bytes, .free_bytes, .mapped_bytes, .mappings, .waiters[0].id, .waiters[0].bytes]' out)" \
	'[536333312,60000000,509394944,2453504,5,11,4096]' "memory" out
cp heap.json out
is "$(rows '[.list, .bytes]') $(jq '[.rows[].bytes] | add' out)" '[null,509337600] [0,4096] [0,4096] [3,49152]  509394944' \
	"heap: all ranges of each list, together what is free" out
cp mmap.json out
is "$(rows '[.start, .bytes, .flags, .perm, .offset, .path]')" \
	'["0x0",0,"none","none",null,null] ["0x10000003f000",352256,"fmF","rx","0x3f000","/usr/lib/libhttpserver-api.so"] ["0x200000000000",4096,"p","none",null,null] ["0x200000400000",2097152,"fpsujmb","rwx",null,null] ["0x400000000000",0,"none","none",null,null] ' \
	"mmap" out
cp pagetable.json out
is "$(jq -c '.result | [(.levels | length), .page_bytes, .writable, .executable, .levels[3].entry[0:3]]' out)" '[4,4096,false,false,"0x8"]' \
	"pagetable: a page of 4 KiB, read-only, not to be executed" out
cp percpu.json out
is "$(rows '[.cpu, .value.calls, .value.delta, .value.how, .value.on, .value.text, .value.name, .value.low, .value.high, .value.halves]')" \
	'[0,100,0,"slow",false,"0x0","abc",5,6,[7,8]] [2,101,-1,"fast",false,"0x0","abc",5,6,[7,8]] [4,102,-2,"slow",true,"0x0","abc",5,6,[7,8]] [6,103,-3,"fast",false,"0x0","abc",5,6,[7,8]] ' \
	"percpu: by the type" out
cp syms.json out
is "$(rows '[.base, .path, (.file // "" | sub(".*/"; ""))]')" \
	'["0x100000000000","/usr/lib/libtest.so","libtest.so"] ["0x200000000000","/not/here.so",""] ["0x300000000000","/usr/lib/libsolaris.so","libsolaris.so"] ' \
	"syms: found below the folder of the kernel's file, or not" out
cp dmesg.json out
is "$(rows .text)" '"OSv v0.57.0" "eth0: ?[31m192.168.122.15" ' "dmesg: without what controls a terminal" out
cp zfs.json out
is "$(jq -r '.rows[] | .group + " " + .name' out | tr '\n' ';')$(grep -c 9223372036854775807 out)" \
	"arc_stats arcstat_hits;arc_stats arcstat_misses;arc_stats arcstat_c;1" "zfs: by the guest's own names" out

ask pagetable 0x40201000
is "$? $(tail -n 1 out)" "0 0x40201000 is at physical 0x201000, in a page of 2097152 bytes: rwx" "pagetable: a page of 2 MiB" out
ask pagetable 0x123456789000
is "$? $(tail -n 1 out)" "0 0x123456789000 is not mapped" "pagetable: none" out
ask mmap 0x200000400010
is "$? $(grep -c 0x out) $(grep -c ' fpsujmb  rwx ' out)" "0 1 1" "mmap ADDRESS: the one that has it" out
ask mmap 0x10
is "$? $(cat out)" "0 none" "... if there is one" out
ask percpu stats::of_cpu how
is "$? $(tr '\n' ' ' <out)" '0 CPU 0: "slow" CPU 2: "fast" CPU 4: "slow" CPU 6: "fast" ' "percpu: a member" out
ask percpu stats::ticks
is "$? $(tr '\n' ' ' <out)" "0 CPU 0: 40 CPU 2: 41 CPU 4: 42 CPU 6: 43 " "percpu: a dynamic one" out
ask percpu tick
is "$? $(grep -c 'tick is no variable of each vCPU' err)" "1 1" "percpu: another variable" err
ask percpu stats::of_cpu what
is "$? $(grep -c 'no member what' err)" "1 1" "percpu: no such member" err
ask memory
is "$? $(tr '\n' ';' <out)" \
	"0 Total Memory: 536333312 Bytes;Mmap Memory:  2453504 Bytes (0.46%);Free Memory:  509394944 Bytes (94.98%);waiters:;Thread 11 waits for 4096 Bytes;" \
	"memory as OSv prints it" out
ask zfs
is "$? $(grep -c 'libsolaris.so is not known.*--module' err)" "1 1" "zfs: without the module's file" err
for usage in "pagetable" "pagetable x" "percpu" "percpu a b c" "heap x" "mmap x"; do
	ask $usage
	is $? 2 "guest $usage: wrong usage"
done
is "$(status)" running "the guest runs on"

# The same while it runs, and in a dump.
for action in "${actions[@]}"; do
	live $action -f json
	is "$? $(jq -c '.rows // .result' out | cmp - <(jq -c '.rows // .result' "${action%% *}.json") && echo same)" "0 same" \
		"guest ${action%% *} of the guest that runs" err
done
echo "{\"execute\":\"dump-guest-memory\",\"arguments\":{\"paging\":false,\"protocol\":\"file:$PWD/dump.elf\"}}" >&4
until_said '"return"' $(($(said '"return"') + 1)) || bail "no dump: $(cat qmp.log)"
end_vm
for action in "${actions[@]}"; do
	timeout 200 "$HOSTRACE" guest $action -e "$BUILD/osvguest.elf" --dump dump.elf -f json >out 2>err
	cmp out "${action%% *}.json" >cmp.out || break
done
is "$(cat cmp.out)" "" "all of them in a dump: the same, byte for byte" cmp.out

vm l unix:gdb.sock
ask dmesg
is "$? $(sed -n 2,9p out | sort -u) $(grep -c 'has wrapped: its first line may be cut' err)" "0 a line that is repeated three times 1" \
	"dmesg: a log that has wrapped, in order" err
ask zfs
is "$? $(grep -c 'the guest has no ZFS' err)" "1 1" "zfs: not loaded" err
end_vm

vm d unix:gdb.sock
damaged() { # ACTION ROWS NOTE
	ask $1 -f json
	is "$? $(jq '.rows // [.result] | length' out) $(jq -c '[.caveats[] | select(test("'"$3"'"))] | length' out)" "0 $2 1" \
		"$1: what there is, of what is damaged" out
}
damaged runqueue 3 "the run queue breaks off at 0x.* it returns to that node"
damaged callouts 2 "the set of callouts breaks off at 0x123456780000"
damaged heap 4 "the list of free ranges breaks off at 0x123456780000"
damaged mmap 4 "1 mapping's file cannot be read"
damaged memory 1 "1 waiter cannot be read"
damaged "percpu pcpu" 3 "1 vCPU cannot be read"
end_vm
finish
