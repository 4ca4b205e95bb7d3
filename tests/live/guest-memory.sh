#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest threads, virtio, leaks: read from the memory of our guest (osvguest/) through QEMU's gdb stub.
# Needs $HOSTRACE (the program) and $BUILD (the build directory); prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/osvguest/lib.inc"
osvguest_needs

# ask ACTION ARGS
ask() {
	timeout 200 "$HOSTRACE" guest "$@" -e "$BUILD/osvguest.elf" -r "$gdb" >out 2>err
}

plan 74
vm '' unix:gdb.sock

# The location's function, of the thread with this number, in out.
location() {
	sed -n "s/^ *$1 (0x[0-9a-f]*) .\{15\} cpu.* [0-9][0-9]* \(.*\) at .*[a-z]:[0-9]*\$/\1/p" out
}

ask threads
is "$? $(tail -n 1 out)" "0 Number of threads: 15" "threads of 20,928 bytes, complete in another file than where they are used" err
is "$(sed -n 's/^  11 (0x[0-9a-f]*) \(.*\) at .*threads.cc:[0-9]*$/\1/p' out | tr -s ' ')" \
	"a thread's name cpu2 waiting 0.25 2000000 waiter_main()" "one that waits: where it left the CPU, by its physical frames" out
is "$(sed -n 's/^  11 .*threads.cc:\([0-9]*\)$/\1/p' out)" \
	"$(grep -n 'wait_until(\[\] { return never' "$ROOT/tests/live/osvguest/threads.cc" | cut -d: -f 1)" \
	"at the call of what was inlined" out
is "$(grep -c '^  10 .* init  *cpu0 running ' out) $(location 10)" "1 init_main()" "one that runs: where its vCPU is" out
is "$(location 13)" "critical()" "one whose innermost function has no frame pointer" out
is "$(grep -c '^  12 .* new  *cpu? unstarted  *inf .* thread_main at ' out)" 1 "one that never ran" out
is "$(sed -n 's/^  1[4-9] .* cpu\|^  2[0-3] .* cpu//p' out | awk '{ printf "%s ", $2 }')" \
	"invalid prestarted unstarted waiting sending_lock running queued waking terminating terminated " "each status" out
is "$(grep -c 'the guest was stopped for' err)" 1 "for how long the guest stood still" err
mkdir -p kernel
cp "$BUILD/osvguest.elf" kernel/loader.elf
echo "/usr/lib/libtest.so: $BUILD/osvguest/lib/libtest.so" >kernel/usr.manifest
timeout 200 "$HOSTRACE" guest threads -e kernel/loader.elf -r "$gdb" -f json >out 2>err
is "$(jq -r '.rows[14] | .frames[], .location' out | tr '\n' ' ')" \
	"0x100000001008 $(printf '%#x' $((0x$(nm kernel/loader.elf | sed -n 's/ . thread_main$//p') + 7))) app_main at tests/live/osvguest/libtest.c:7 " \
	"one in an application, by that one's file" out
ask threads -f json
is "$(jq -c '[.rows[:4][] | [.id, .name, .cpu, .cpu_id, .status, .vruntime, .total_cpu_time_ns]]' out)" \
	"[[10,\"init\",0,0,\"running\",0.25,1000000],[11,\"a thread's name\",2,1,\"waiting\",0.25,2000000],[12,\"new\",null,null,\"unstarted\",null,3000000],[13,\"locker\",4,2,\"waiting\",0.25,4000000]]" \
	"the same as JSON" out
is "$(jq -c '[.rows[:4][] | .frames | length]' out)" "[3,5,1,6]" "with the frames, up to the thread's object" out
follows guest out
ask threads --no-location
is "$? $(sed -n 's/^  11 (0x[0-9a-f]*) //p' out | tr -s ' ')" "0 a thread's name cpu2 waiting 0.25 2000000" \
	"without their places" out
ask threads --no-location -f json
is "$(jq -c '.rows[1] | [.id, has("location"), has("frames")]' out)" "[11,false,false]" "the same as JSON" out
follows guest out
is "$(status)" running "the guest runs on"
live threads
is "$? $(location 11) $(grep -c '^  10 .* running .* ??$' out)" "0 waiter_main() 1" \
	"of the guest that runs: those that wait are known" err

ask virtio
is $? 0 "virtio" err
sed 's/0x4000[0-9a-f]*$/ADDRESS/' out >queues
cat >wanted <<'END'
virtio::net at ADDRESS
  queue 0 at ADDRESS
    avail g=0x100 h=0x0 (256)
    used   h=0x3 g=0x3 (0)
    used notifications: enabled
    at the device 253, completed but not collected 3, free descriptors 3 of 256
  queue 1 at ADDRESS
    avail g=0xc951 h=0xc900 (81)
    used   h=0xc951 g=0xc8fd (84)
    used notifications: disabled
    at the device 0, completed but not collected 3, free descriptors 256 of 256
virtio::blk at ADDRESS
  queue 0 at ADDRESS
    avail g=0x2 h=0x1 (1)
    used   h=0xffff g=0xfffe (1)
    used notifications: enabled
    at the device 3, completed but not collected 3, free descriptors 253 of 256
END
is "$(diff wanted queues && echo same)" same "queues of two drivers, indices that wrapped" queues
ask virtio -f json
is "$(jq -c '[.rows[] | [.driver, .queue, .at_device, .notifications]]' out)" \
	'[["virtio::net",0,253,true],["virtio::net",1,0,false],["virtio::blk",0,3,true]]' "the same as JSON" out
follows guest out

live virtio
is "$? $(sed 's/0x4000[0-9a-f]*$/ADDRESS/' out | cmp - wanted && echo same)" "0 same" "of the guest that runs" err

ask leaks
is "$? $(grep -c 'Merging 5 allocations by identical call chain... generated 3 records' out)" "0 1" "leaks" err
is "$(grep -A 3 '^Found 328 bytes in 3' out | sed 's/ (.*//' | tr -s '\t\n' ' ')" \
	"Found 328 bytes in 3 allocations [size 64/109.3/200, birth 5/8.7/12] from: worker_loop() vfs_read_file() " \
	"allocations of one chain are one record" out
is "$(grep '^Found' out | cut -d' ' -f 2,5 | tr '\n' ' ')" "1000 1 328 1 328 3 " \
	"most bytes first, then by the outermost address" out
ask leaks -f json
is "$(jq -c '[.rows[] | [.bytes, .count, .size_min, .birth_max, (.frames[0].name)]]' out)" \
	'[[1000,1,1000,77,"vfs_read_file()"],[328,1,328,80,"vfs_read_file()"],[328,3,64,12,"worker_loop()"]]' "the same as JSON" out
follows guest out
live leaks
is "$? $(grep -c 'generated 3 records' out)" "0 1" "of the guest that runs" err
live leaks off
is "$? $(grep -c 'cannot write to the memory of a running guest' err)" "1 1" "which is not written to" err
# The ELF file of another build: its constants are elsewhere; and of one whose constants are the same.
objcopy -O binary -j .rodata "$BUILD/osvguest.elf" rodata
cp rodata other.rodata
printf other | dd of=other.rodata conv=notrunc 2>/dev/null
objcopy --update-section .rodata=other.rodata "$BUILD/osvguest.elf" other.elf
for command in threads virtio leaks "leaks off" "extract -o other"; do
	timeout 200 "$HOSTRACE" guest $command -e other.elf -r "$gdb" >out 2>err
	is "$? $(status) $(cat out) $(grep -c 'other.elf is probably not the kernel .* constants .* --exe' err)" "1 running  1" \
		"the ELF file of another kernel: guest $command" err
done
ask leaks
is "$(grep -c 'tracking is off' err)" 0 "... which was not written to" err
# A build of the same kernel without the tracker.
objcopy --strip-symbol=_ZN6memory7trackerE --strip-symbol=_ZN6memory15tracker_enabledE "$BUILD/osvguest.elf" untracked.elf
for command in leaks "leaks on"; do
	timeout 200 "$HOSTRACE" guest $command -e untracked.elf -r "$gdb" >out 2>err
	is "$? $(status) $(grep -c 'built without the tracker of allocations' err)" "1 running 1" "no tracker: guest $command" err
done
# elsewhere ADDRESS: the list of threads is said to be there
elsewhere() {
	objcopy --strip-symbol=_ZN5sched10thread_mapE "$BUILD/osvguest.elf" step.elf
	objcopy --add-symbol _ZN5sched10thread_mapE="0x$1" step.elf elsewhere.elf
	timeout 200 "$HOSTRACE" guest threads -e elsewhere.elf -r "$gdb" >out 2>err
	echo "$? $(status) $(cat out) $(grep -c "no thread that can be read$2: elsewhere.elf is probably not the kernel .* --exe" err)"
}
is "$(elsewhere "$(nm "$BUILD/osvguest.elf" | sed -n 's/ b _ZL6stacks$//p')" "")" "1 running  1" "no thread: an error" err
is "$(elsewhere "$(nm "$BUILD/osvguest.elf" | sed -n 's/ T thread_main$//p')" ': .* after 0 of .*')" "1 running  1" \
	"a list that breaks off before its first thread: an error" err
is "$(status)" running "the guest runs on"

ask leaks off
is "$? $(cat out)" "0 the guest does not track its allocations" "leaks off" err
ask leaks
is "$(grep -c 'tracking is off' err)" 1 "it is off in the guest" err
ask leaks on && ask leaks
is "$(grep -c 'tracking is off' err)" 0 "leaks on" err
ask leaks away
is $? 2 "an action that there is not"
timeout 200 "$HOSTRACE" guest threads -e "$BUILD/osvguest.elf" --vm "$(cat pid)" >out 2>err
is "$? $(tail -n 1 out)" "0 Number of threads: 15" "without KVM and monitor: page tables by the guest's own variable" err
objcopy --strip-symbol=_ZN3mmuL15page_table_rootE "$BUILD/osvguest.elf" rootless.elf
timeout 200 "$HOSTRACE" guest threads -e rootless.elf --vm "$(cat pid)" >out 2>err
is "$? $(grep -c 'does not use KVM.*try: --qmp SOCKET' err)" "1 1" "without that variable, --vm needs --qmp" err
tables=$(cr3)
end_vm

# The guest's RAM in a VMM that is not QEMU and has no monitor: slots and page tables are KVM's.
if [ ! -c /dev/kvm ]; then
	why="kernel: no /dev/kvm"
elif [ "$(id -u)" != 0 ]; then
	why="recording needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"
else
	why=
	live_build "$BUILD/slotvmm"
	mkfifo in
	"$BUILD/slotvmm" ram=ram.img cr3="$tables" <in >vmm.out 2>vmm.err &
	qemu=$!
	exec 3>in
	until_line '^ready' vmm.out || bail "slotvmm did not start: $(cat vmm.err)"
	timeout 200 "$HOSTRACE" guest threads -e "$BUILD/osvguest.elf" --vm $qemu >out 2>err
	is "$? $(sed -n 's/^  1[01] (0x[0-9a-f]*) //p' out | tr -s ' ' | sed 's/\(.*waiter_main()\) at .*/\1/' | tr '\n' ';')" \
		"0 init cpu0 running 0.25 1000000 ??;a thread's name cpu2 waiting 0.25 2000000 waiter_main();" \
		"threads of a guest in several slots of another VMM, by KVM alone" err
	timeout 200 "$HOSTRACE" guest virtio -e "$BUILD/osvguest.elf" --vm $qemu >out 2>err
	is "$? $(sed 's/0x4000[0-9a-f]*$/ADDRESS/' out | cmp - wanted && echo same)" "0 same" "and its queues" err
	exec 3>&-
	end_vm
fi
for what in "threads of a guest in several slots of another VMM, by KVM alone" "and its queues"; do
	[ -z "$why" ] || echo "ok $((nr += 1)) - $what # SKIP $why"
done

# Its status says that it waits, but it is still on its vCPU, in an interrupt, whose stack is in the thread's object.
vm i unix:gdb.sock
ask threads
is "$? $(grep -c '^  10 .* init  *cpu0 waiting ' out) $(location 10)" "0 1 interrupt()" "one that a vCPU still runs: where that is" out
ask threads -f json
jq -r '.rows[0].frames[]' out | addr2line -f -e "$BUILD/osvguest.elf" | sed -n 'p;n' | c++filt >names
is "$(tr '\n' ' ' <names)" "interrupt() interrupt_entry interrupt_stack_enter init_main() thread_main_c thread_main " \
	"and its frames, out of the interrupt" names
end_vm

# Objects that cannot be read: the others are shown.
vm u unix:gdb.sock
spoilt() { # HOW ASK
	$2 threads
	is "$? $(tail -n 1 out) $(grep -c ' cpu? ?  *0' out)" "0 Number of threads: 14 2" "$1: threads that can be read" err
	is "$(grep -cE '1 thread cannot be read: 0x123456780000 |2 thread states cannot be read: 0x123456780000, 0x4000' err)" 2 \
		"$1: and how many cannot" err
	$2 virtio
	is "$? $(sed -n 's/ at 0x.*//p' out | tr -s '\n ' ' ')" "0 virtio::net queue 0 virtio::blk queue 0 " "$1: queues that can be read" err
	is "$(grep -cE '1 (driver|queue) cannot be read: 0x123456780000 ' err)" 2 "$1: and what cannot" err
	$2 leaks
	is "$? $(grep -c 'generated 3 records' out) $(grep -c 'breaks off after 21 of 4000000 elements' err)" "0 1 1" \
		"$1: allocations that there are, of 4 million" err
}
spoilt "stopped" ask
spoilt "running" live
for of in threads virtio leaks; do
	ask $of -f json
	is "$? $(jq -c '[.caveats[] | select(test("cannot be read|breaks off"))] | length' out)" \
		"0 $([ $of = leaks ] && echo 1 || echo 2)" "$of as JSON" out
	follows guest out
done
extract -o spoilt
is "$? $("$HOSTRACE" list -x spoilt | grep -c ' tick ') $(grep -cE '2 vCPUs cannot be read: 0x123456780000, 0x4000' err)" "0 281 1" \
	"extract: the trace buffers that can be read" err
is "$(status)" running "the guest runs on"
end_vm
vm U unix:gdb.sock
ask threads
is "$? $(tail -n 1 out) $(grep -c 'list of threads breaks off at 0x123456780000 after 3 of 15 threads' err)" \
	"0 Number of threads: 3 1" "a list that breaks off" err
ask virtio
is "$? $(grep -c '^virtio::blk' out) $(grep -cE '1 driver cannot be read: 0x4000.*there is no vtable at 0x123456780000' err)" "0 1 1" \
	"an object that is no driver" err
end_vm

# A guest with endless lists and invalid numbers.
vm t unix:gdb.sock
ask threads
is "$? $(tail -n 1 out) $(grep -c 'breaks off at 0x4000.* after 15 of 15 threads: it returns to that node' err)" \
	"0 Number of threads: 15 1" "threads in a circle" err
ask virtio
is "$? $(grep -c '^virtio::blk' out) $(grep -c 'queues; at most 64 are supported' err)" "0 1 1" "2^32 queues" err
ask leaks
is "$? $(grep -c 'allocations; at most' err)" "1 1" "2^50 allocations" err
is "$(status)" running "the guest runs on"
end_vm
finish
