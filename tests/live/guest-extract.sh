#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest extract: our guest with OSv's data structures (osvguest/), through QEMU's gdb stub: finds known counts, and the
# guest continues to run afterwards in every case. TCG: neither KVM nor root is needed.
# Needs $HOSTRACE (the program) and $BUILD (the build directory); prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/osvguest/lib.inc"
osvguest_needs

plan 53
vm '' unix:gdb.sock
is "$(status)" running "the guest runs"
extract -o t1 --symbols
is $? 0 "extract" err
is "$(status)" running "the guest runs on"
is "$(stat -c %a t1)" 600 "the tracefile is its owner's"
"$HOSTRACE" list -x t1 >list.out
is "$(grep -c ' tick ' list.out)" 281 "vCPU 0: what a ring of four pages keeps of 500 ticks"
is "$(awk '$5 == "tick" { print $6 }' list.out | sed -n '1p;$p' | tr '\n' ' ')" "n=220 n=500 " "the newest ones" list.out
is "$(awk '$5 == "tick" { n++; if ($6 != "n=" 219 + n || $4 != sprintf("%.9f", (219 + n) / 1e6)) print }' list.out)" "" \
	"each with its time" list.out
is "$(grep -c 'vfs_open  .*"/etc/host" 0x241$' list.out)" 66 "vCPU 1: texts" list.out
is "$(grep -c ' 3 .*vfs_open_ret' list.out)" 6 "vCPU 3: up to the sample that was being written" list.out
is "$(grep -c 'odd?\[31m' list.out)" 1 "a hostile name is defused" list.out
is "$(grep -c 'vCPUs that were writing a sample: ' err)" 1 "and it says so" err
is "$("$HOSTRACE" list-timed t1 | grep -c '  0.002 vfs_open  ')" 66 "pairs of 2 us"
is "$("$HOSTRACE" list -b -L -S t1 | grep -c '\[worker_loop():[0-9]*, vfs_read_file():[0-9]*, app_main:7, ')" 66 \
	"backtraces, by the .symbols file" t1.symbols
is "$(wc -l <t1.symbols) $(stat -c %a t1.symbols)" "4 600" "a line for each address" t1.symbols
is "$(grep -c '^0x100000001007 .*libtest.c 7 app_main$' t1.symbols)" 1 "a module, where the guest loaded it" t1.symbols
is "$(grep -c '^0x200000001007 None <?> No symbol matches' t1.symbols)" 1 "one that is not here" t1.symbols

# host LINES: the line that a symbols file has for code of the module /not/here.so, with these in usr.manifest
mkdir -p kernel elsewhere/not
cp "$BUILD/osvguest.elf" kernel/loader.elf
cp "$BUILD/osvguest/lib/libtest.so" elsewhere/app.so
cp elsewhere/app.so elsewhere/not/here.so
host() {
	printf '%b' "[manifest]\n# a comment: with a colon\n$1" >kernel/usr.manifest
	exe=kernel/loader.elf extract -o t11 --symbols
	sed -n 's/^0x200000001007 .* //p' t11.symbols
}
is "$(host "/other.so: /dev/null\n/not/here.so: $PWD/elsewhere/app.so\n")" app_main "a module by the image's manifest" t11.symbols
is "$(host "/not/here.so: /dev/null\n/not/here.so: ../elsewhere/app.so\n")" app_main "the last line, relative" t11.symbols
is "$(host "/not/here.so: ->/a.so\n/a.so: ->/b.so\n/b.so: ../elsewhere/app.so\n")" app_main "symbolic links" t11.symbols
is "$(host "/not/here.so: ->/a.so\n/a.so: ->/not/here.so\n")" 0x200000001007. "a circle of them" t11.symbols
is "$(host "/&/not/here.so: $PWD/elsewhere/&\n")" app_main "a path repeated" t11.symbols
is "$(host "/not/**: ../elsewhere/not/**\n")" app_main "a folder" t11.symbols

"$HOSTRACE" prof -e "$BUILD/osvguest.elf" t1 >prof.out 2>&1
is "$(grep -c 'worker_loop' prof.out)" 1 "and by the ELF file" prof.out
extract -o t2 -f json
is "$(jq -c '.result | [.samples, .vcpus, .vcpus_without_ring]' out)" "[420,4,1]" "figures as JSON" out
is "$(jq '.result.stopped_ns > 0' out) $(cmp t1 t2 && echo same)" "true same" "again, the same" out
is "$(status)" running "the guest runs on"
timeout 200 "$HOSTRACE" extract -e "$BUILD/osvguest.elf" -r "$gdb" t9 >out 2>err
is "$? $(cmp t1 t9 && cmp t1.symbols t9.symbols && cat out)" "0 " "as OSv's own tool: silent" out
stops=$(happened STOP)
live extract -o t10 --symbols
is "$? $(cmp t1 t10 && cmp t1.symbols t10.symbols && echo same)" "0 same" "of the guest that runs: the same" err
is "$(happened STOP)" "$stops" "and it was not stopped" qmp.log
extract --raw -o raw
"$HOSTRACE" list -b -x raw >raw.out
"$HOSTRACE" list -b -x t1 >t1.out
is "$? $(cmp raw.out t1.out && echo same) $(stat -c %a raw raw.ring0.bin | tr '\n' ' ')" "0 same 600 600 " "the rings as they are" err
is "$(jq -c '[.cpus[] | .size]' raw) $(stat -c %s raw.ring*.bin | tr '\n' ' ')" "[16384,16384,16384] 16384 16384 16384 " \
	"whole, of each vCPU that has one" raw
exe=$HOSTRACE extract -o t3
is "$? $(grep -c 'has no symbol _ZN5sched4cpusE' err)" "1 1" "another ELF file" err
objcopy --strip-debug "$BUILD/osvguest.elf" stripped.elf
exe=stripped.elf extract -o t3
is "$? $(grep -cE 'DWARF' err)" "1 1" "an ELF file without DWARF" err
is "$(ls t3* 2>/dev/null)" "" "a failure leaves no file"
end_vm

# Over TCP; the kernel chooses a free port.
vm '' tcp
extract -o t4
is "$? $(cmp t1 t4 && echo same) $(status)" "0 same running" "over TCP" err
end_vm

vm n unix:gdb.sock
extract -o t5
is "$? $(cmp t1 t5 && grep -c '1 trace buffer cannot be read: 0x123456789000 ' err) $(status)" "0 1 running" "a ring where nothing is" err
live extract -o t5
is "$? $(cmp t1 t5 && grep -c '1 trace buffer cannot be read: 0x123456789000 ' err)" "0 1" "by the process, too" err
end_vm
vm h unix:gdb.sock
live extract -o t5
is "$? $(cmp t1 t5 && grep -c '1 vCPU cannot be read: .*invalid trace buffer size' err)" "0 1" "a ring of 4 EiB, by the process" err
extract -o t5
is "$? $(cmp t1 t5 && grep -c '1 vCPU cannot be read: .*invalid trace buffer size' err) $(status)" "0 1 running" "a ring of 4 EiB" err
end_vm
rm -f t5*
vm o unix:gdb.sock
extract -o t5
is "$? $(grep -c 'no vCPU of the guest has a trace buffer: tracing was never enabled' err) $(ls t5* 2>/dev/null) $(status)" \
	"1 1  running" "a guest in which nothing was traced" err
end_vm
vm m unix:gdb.sock
extract -o t5 -f json --symbols
is "$? $(jq -c '.result | [.modules, .modules_unreadable, .samples]' out) $(status)" "0 [4,2,420] running" "modules that cannot be read" err
is "$(grep -cE '2 of 4 modules cannot be read, .*: elf::object at 0x123456780000, 0x6000[0-9a-f]*"' out)" 1 "are named" out
is "$(grep -c '^0x100000001007 .*libtest.c 7 app_main$' t5.symbols)" 1 "and the others have their names" t5.symbols
rm -f t5*
end_vm
vm M unix:gdb.sock
extract -o t5
is "$? $(grep -c 'the module list cannot be read' err) $(status)" "0 1 running" "2^40 modules" err
end_vm
vm v unix:gdb.sock
extract -o t5
is "$? $(grep -c 'no valid std::vector' err) $(status)" "1 1 running" "2^40 vCPUs" err
end_vm

# Read while the guest writes: no gap, no partial record, and the newest record is recent.
vm w unix:gdb.sock
for i in 1 2 3 4 5; do
	newest=$(tail -n 1 ticks 2>/dev/null)
	for _ in $(seq 100); do # the guest may have got no CPU meanwhile
		live extract -o w$i && "$HOSTRACE" list -t tick w$i | sed 's/.*n=//' >ticks
		status=$?
		[ $status = 0 ] && [ "$(tail -n 1 ticks)" = "$newest" ] || break
	done
	echo "$status $(awk 'NR > 1 && $1 != last + 1 { gaps++ } { last = $1 } END { print gaps + 0, (NR > 100) }' ticks)" >>whole
	tail -n 1 ticks >>newest
done
is "$(sort -u whole)" "0 0 1" "of a guest that writes: no gap, five times" whole
is "$(awk 'NR > 1 && $1 <= last { print } { last = $1 }' newest)" "" "each time newer" newest
end_vm

# Killed while the guest is stopped.
killed() { # SIGNAL NAME
	local stops resumes code
	for _ in 1 2 3 4 5 6 7 8 9; do # it may be done before the signal
		stops=$(happened STOP)
		resumes=$(happened RESUME)
		"$HOSTRACE" guest extract -e "$BUILD/osvguest.elf" -r "$gdb" -o t6 >out 2>err &
		job=$!
		until_happened STOP $((stops + 1))
		code=$?
		kill "-$1" $job
		wait $job
		[ $? = 0 ] || break
	done 2>/dev/null
	is $code 0 "$2: the guest stands still while its ring is read" qmp.log
	until_happened RESUME $((resumes + 1))
	is "$? $(status)" "0 running" "$2: it runs on" qmp.log
}
vm b unix:gdb.sock
killed KILL "SIGKILL"
killed TERM "SIGTERM"
is "$(qemu_alive)" yes "QEMU is alive"
extract -o t7
is "$? $(status)" "0 running" "a ring of 32 MiB" err
end_vm
finish
