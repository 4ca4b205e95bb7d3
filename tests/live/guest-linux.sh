#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# guest symbols, ps, modules, dmesg, interrupts, virtio: a stock Debian kernel under KASLR, read from outside, against what the guest itself printed
# (linuxguest/init.sh). Under TCG, as a stock kernel does not boot on every KVM that tests run on. Needs $HOSTRACE and
# $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/rig/boot.inc"
live_needs_tools qemu-system-x86_64 busybox cpio jq
vmlinuz=$("$ROOT/tests/rig/rig.sh" guest guest.cpio "$ROOT/tests/live/linuxguest/init.sh" \
	virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci virtio_blk failover net_failover \
	virtio_net 2>rig.err) || skip_all "Debian's kernel is unavailable: $(tail -n 1 rig.err)"
vm=
trap '[ -z "$vm" ] || kill -KILL $vm 2>/dev/null; rm -rf "$scratch"' EXIT

# guest_boot RAM-MIB [QEMU-OPTION...]: what the guest knows is in guest/ then
guest_boot() {
	local mib=$1 try
	shift
	for try in $(seq "$BOOTS_MAX"); do
		truncate -s 0 facts.img console
		truncate -s 48M facts.img
		qemu-system-x86_64 -name linux-guest -accel tcg -cpu max -smp 2 -m "$mib" -nodefaults -display none \
			-serial file:console -no-reboot -kernel "$vmlinuz" -initrd guest.cpio \
			-append "console=ttyS0 quiet panic=-1" -drive file=facts.img,if=virtio,format=raw \
			-netdev user,id=n0,restrict=on -device virtio-net-pci,netdev=n0,romfile=,packed=on \
			-chardev socket,id=time,path=time,server=on,wait=off -serial chardev:time \
			-qmp unix:qmp,server=on,wait=off "$@" >qemu.log 2>&1 </dev/null &
		vm=$!
		until grep -aq 'guest: ready' console 2>/dev/null; do
			kill -0 $vm 2>/dev/null || break
			boot_failure console >failure && break
			[ $SECONDS -lt "${WAIT_LIMIT_S:-600}" ] || bail "the guest does not boot: $(tail -n 3 console)"
			sleep .2
		done
		if grep -aq 'guest: ready' console; then
			mkdir -p guest
			tar xf facts.img -C guest || bail "the guest wrote no facts"
			return 0
		fi
		echo "# boot $try failed: $(cat failure qemu.log 2>/dev/null | head -n 3)"
		guest_end
	done
	bail "the guest does not boot"
}

guest_end() {
	kill -KILL $vm 2>/dev/null
	wait $vm 2>/dev/null
	vm=
}

# ask ACTION ARGS
ask() {
	timeout 200 "$HOSTRACE" guest "$@" >out 2>err
}

# BPF programs and trampolines are not in the tables.
listed() {
	grep -vE '\[(bpf|__builtin__[a-z]*)\]$' guest/kallsyms
}

plan 35
guest_boot 256 -object memory-backend-file,id=ram,size=256M,mem-path=ram.img,share=on -machine memory-backend=ram
ask symbols --vm $vm
is "$? $(listed | cmp - out && echo equal)" "0 equal" "every symbol, as the guest lists it" err
is "$(grep -c '\[virtio_net\]' out | sed 's/.\{2,\}/many/')" many "those of modules, too" out
is "$(grep -c 'found by the beginning of .rodata' err)" 1 "how it was found" err
ask symbols --vm $vm --qmp qmp -f json
is "$? $(jq '[.rows[] | select(.module == null)] | length' out) $(grep -c 'CR3' err)" \
	"0 $(grep -vc '\[' guest/kallsyms) 1" "by the page tables of a vCPU, as JSON" err
ask symbols --vm $vm -o sym
is "$? $(cmp sym <(ask symbols --vm $vm && cat out) && echo equal)" "0 equal" "into a file" err
is "$(sed -n 's/^State:.\([TtZ]\).*/stopped/p' /proc/$vm/status)" "" "the guest runs on"
# kworkers come and go; init has executed sleep since
ask ps --vm $vm -f json
jq -r '.rows[] | "\(.tid) \(.ppid) \(.comm)"' out | grep -vE 'kworker|^1 ' | sort >mine
grep -a -vE 'kworker|^1 ' guest/tasks | awk '{print $1, $3, substr($9, 1, 15)}' | sort >theirs
is "$(wc -l <mine | sed 's/[0-9]\{2,\}/many/') $(diff mine theirs | head -n 5)" "many " "tasks" err
is "$(jq -c '.rows[] | select(.comm == "a-long-program-") | [.state, .kernel, .pid == .tid]' out)" '["S",false,true]' \
	"state of one, its name cut" out
is "$(jq -c '.rows[] | select(.tid == 2) | [.comm, .state, .kernel]' out)" '["kthreadd","S",true]' "a kernel thread" out
follows guest out
sort guest/stacks >theirs
for _ in 1 2 3 4 5 6 7 8; do # one of them may just run
	ask ps --vm $vm --stacks -f json
	jq -r '.rows[] | .tid as $tid | .stack.frames[] | "\($tid) \(.)"' out | sort >mine
	[ -n "$(comm -23 theirs mine)" ] || break
done
is "$(cut -d' ' -f 1 theirs | sort -u | wc -l | sed 's/[0-9]\{2,\}/many/') $(comm -23 theirs mine | head -n 5)" "many " \
	"kernel stacks of tasks that sleep, as the guest has them" out
is "$(jq -r '.rows[] | select(.comm == "cat") | [.stack.state, (.stack.frames | length > 5)] | join(" ")' out)" "complete true" \
	"complete" out
follows guest out
ask modules --vm $vm
awk 'NR > 1 {print $1, $2, $3, $4, $5}' out >mine
awk '{print $1, $2, $3, $5, $6}' guest/modules >theirs
is "$(diff mine theirs && echo equal)" equal "modules" out
ask dmesg --vm $vm
head -n "$(wc -l <guest/dmesg)" out >mine
is "$(diff mine guest/dmesg | head -n 5)$(grep -c 'marker 4711' mine)" 1 "the kernel's log, line by line" out
ask interrupts --vm $vm
# what does not come later, or did not: "LABEL CHIP HWIRQ NAME"; then what was counted, of which nothing is lost
rows='NR == 1 {cpus = NF; next} {at = $1 ~ /^(ERR|MIS):$/ ? 2 : cpus + 2; for (i = 2; i < at; i++) $i = ""; $1 = $1; print}'
is "$(diff <(awk "$rows" guest/interrupts | tr -s ' ') <(awk "$rows" out | tr -s ' ') && echo equal)" equal "rows of interrupts" out
# that of the CPU of this row of theirs is at most ours; counts have 32 bits
is "$(awk 'NR == FNR {for (i = 2; i <= NF; i++) theirs[FNR, i] = $i; next}
	{for (i = 2; i <= 3; i++) if ($i ~ /^[0-9]+$/ && ($i < theirs[FNR, i] || $i > 1e9)) print FNR ": " $0}' guest/interrupts out)" \
	"" "nothing was counted less" out
is "$(grep -E ' (rtc0|virtio[01]-config)$' out | tr -s ' ')" \
	"$(grep -E ' (rtc0|virtio[01]-config)$' guest/interrupts | tr -s ' ')" "those that come no more, exactly" out
ask interrupts --vm $vm -f json
is "$(jq -r '.rows[] | select(.actions == "rtc0") | "\(.label) \(.total) \(.counts | add)"' out)" \
	"$(awk '/ rtc0$/ {print $1 + 0, $2 + $3, $2 + $3}' guest/interrupts)" "as JSON" out
follows guest out
# a queue's interrupt has the names of device and queue
ask virtio --vm $vm -f json
grep -oE 'virtio[0-9]+-[a-z]+[.][0-9]+' guest/interrupts | sort >theirs
jq -r '.rows[] | "\(.device)-\(.name)"' out | sort >mine
is "$(wc -l <theirs | sed 's/^[1-9][0-9]*$/some/') $(comm -13 mine theirs)" "some " "virtqueues, as the guest names them" out
is "$(jq -c '[.rows[] | [.driver, .ring, .broken, .changing, .qemu.queue == .queue, .qemu.elsewhere]] | unique | .[]' out | xargs)" \
	'[virtio_blk,split,false,false,true,false] [virtio_net,packed,false,false,true,false]' "split and packed ones, each with QEMU's" out
is "$(jq '[.rows[] | select(.driver == "virtio_blk") | .qemu.used_idx == .used_idx and .qemu.avail_idx == .avail_idx and
	.driver_seen_idx == .used_idx and .free == .size] | all' out)" true "the disk's driver, ring and QEMU agree" out
follows guest out

# the guest's own time, asked for before and after
times() {
	python3 - "$@" <<-'END'
		import socket, time
		s = socket.socket(socket.AF_UNIX)
		s.connect("time")
		answer = s.makefile("r")
		for _ in range(10):
		    before = time.time_ns()
		    s.sendall(b"\n")
		    seconds, us = answer.readline().split()
		    guest = int(seconds) * 10**9 + int(us) * 1000
		    print(guest - time.time_ns(), guest - before)
	END
}
times >asked
ask clock --vm $vm -f json
status=$?
times >>asked
is "$(awk -v ahead="$(jq .result.ahead_ns out)" -v bound="$(jq .result.bound_ns out)" '
	ahead - bound > $2 + 1000 || ahead + bound < $1 - 1000 {print $0, ahead, bound}' asked)" "" \
	"its clock, as far from the host's as it says itself" out
is "$(jq -r '.result | "\(.clocksource) \(.method) \(.bound_ns > 0 and .bound_ns < 20000000)"' out)" \
	"$(cat guest/clocksource) updates true" "by its updates: TCG's relation of the TSCs is not known" out
is "$status" "$(jq '.result | if (.ahead_ns | fabs) - .bound_ns >= 1e9 then 3 else 0 end' out)" \
	"exit status 3 if it is off by a second" out
follows guest out
kill -STOP $vm
ask clock --vm $vm -f json
is "$? $(jq -c '.result | [.method, .ahead_ns, .bound_ns, .last_update_realtime_ns > 1e18]' out)" "0 [null,null,null,true]" \
	"of a guest that stands still, only when that was" out err
kill -CONT $vm

if [ "$(id -u)" = 0 ] && command -v strace >/dev/null; then
	strace -f -o trace "$HOSTRACE" guest symbols --vm $vm >out 2>err
	is "$(awk '/setresuid|setuid|seccomp\(/ {confined = 1} /\/mem"/ && confined {late = 1} END {print confined + 0, late + 0}' trace)" \
		"1 0" "privileges are given up" trace
else
	echo "ok $((nr += 1)) - privileges are given up # SKIP needs root and strace"
fi
if [ "$(id -u)" = 0 ]; then
	for _ in 1 2 3 4 5 6; do # it gives up after some seconds, which a busy host needs for other work
		timeout 200 "$HOSTRACE" record --vm $vm --guest-symbols --duration 1s -o rec.hrt 2>err
		status=$?
		grep -q 'could not be read in time\|was found in the memory of process [0-9]* in time' err || break
	done
	is "$status $(listed | cmp - rec.guest.kallsyms && echo equal) $(grep -c 'guest symbols: .*rec.guest.kallsyms' err)" "0 equal 1" \
		"record saves them with the recording" err
	timeout 200 "$HOSTRACE" record --vm $vm --no-guest-symbols --duration 1s -o rec.hrt 2>err
	is "$? $(ls rec.guest.kallsyms 2>/dev/null)" "0 " "--no-guest-symbols: those of the recording before are removed" err
else
	for what in "record saves them with the recording" "--no-guest-symbols"; do
		echo "ok $((nr += 1)) - $what # SKIP recording needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"
	done
fi
guest_end

# the same RAM in a VMM that is not QEMU, in five slots of KVM: where, only KVM knows
why="kernel: no /dev/kvm"
[ ! -c /dev/kvm ] || why=
[ "$(id -u)" = 0 ] || why="recording needs root, or CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"
if [ -z "$why" ]; then
	live_build "$BUILD/slotvmm"
	mkfifo in
	"$BUILD/slotvmm" ram=ram.img <in >vmm.out 2>vmm.err &
	vm=$!
	exec 3>in
	until_line '^ready' vmm.out || bail "slotvmm did not start: $(cat vmm.err)"
	ask symbols --vm $vm
	is "$? $(listed | cmp - out && echo equal)" "0 equal" "symbols of a guest in several slots of another VMM" err
	ask ps --vm $vm
	is "$? $(grep -c ' a-long-program-$' out)" "0 1" "and its tasks" err
	exec 3>&-
	guest_end
else
	for what in "symbols of a guest in several slots of another VMM" "and its tasks"; do
		echo "ok $((nr += 1)) - $what # SKIP $why"
	done
fi

qemu-system-x86_64 -S -name not-linux -accel tcg -m 64 -nodefaults -display none >qemu.log 2>&1 </dev/null &
vm=$!
for _ in $(seq 300); do # it has its memory a little later
	ask symbols --vm $vm
	! grep -q 'no Linux kernel with symbols' err || break
	sleep .2
done
ask symbols --vm $vm
is "$? $(grep -c 'no Linux kernel with symbols' err)" "1 1" "a VM without Linux" err
guest_end
finish
