#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# Finding VMs: two QEMUs, our own VMM, ambiguous and hostile names, and processes that are not VMs.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_tools qemu-system-x86_64 jq

pids=
trap 'kill $pids 2>/dev/null; rm -rf "$scratch"' EXIT
tag=hr$$

# vm NAME ARGS...: starts an idle QEMU; its pid is in NAME.pid
vm() {
	pidfile=$1.pid
	shift
	timeout -s KILL 200 qemu-system-x86_64 -display none -S -pidfile "$pidfile" "$@" 2>qemu.err &
	pids="$pids $!"
	for _ in $(seq 1200); do
		[ -s "$pidfile" ] && return
		sleep .05
	done
	bail "QEMU did not start: $(cat qemu.err)"
}

# row PID FILTER: a value of that VM's row
row() {
	"$HOSTRACE" ps --tcg -f json | jq -r ".rows[] | select(.pid == $1) | $2"
}

esc=$(printf '\033[31m')
vm one -accel tcg -name "guest=$tag-a,debug-threads=on" -m size=48M -smp 3 -machine q35 \
	-device virtio-blk-pci,drive=d -drive if=none,id=d,driver=null-co,size=1M -nic none
vm two -accel tcg -name "$tag-b" -m 0.0625G -nic user,model=virtio-net-pci
vm three -accel tcg -name "$tag-b" -m 33 -nic none
vm four -accel tcg -name "$tag-${esc}x" -m 33 -nic none -device virtio-rng-pci,id=rng0 \
	-device virtio-balloon-pci,bus=pci.0,addr=0x7 -device virtio-serial-pci

plan 30
one=$(cat one.pid) two=$(cat two.pid) three=$(cat three.pid) four=$(cat four.pid)
for _ in $(seq 1200); do # its vCPUs start after the file with its pid is written
	! grep -qs '^CPU 2/TCG' /proc/"$one"/task/*/comm || break
	sleep .05
done
"$HOSTRACE" ps --tcg -f json >ps.json
follows ps ps.json
is "$(row "$one" .name)" "$tag-a" "name"
is "$(row "$one" .vcpus)" 3 "vCPUs"
is "$(row "$one" .memory_bytes)" $((48 << 20)) "memory"
is "$(row "$one" .machine)" q35 "machine"
is "$(row "$one" .accelerator)" tcg "accelerator"
is "$(row "$one" '.devices | join(" ")')" "virtio-blk-pci,drive=d" "devices"
version=$(qemu-system-x86_64 --version | sed -n 's/^QEMU emulator version \([0-9.]*\).*/\1/p')
is "$(row "$one" .version)" "$version" "version, without running it"
is "$(row "$two" .memory_bytes)" $((64 << 20)) "memory as a fraction"
is "$(row "$two" '.devices[0]')" "virtio-net-pci,type=user" "device of -nic"
"$HOSTRACE" ps --tcg -f json | jq -r ".rows[] | select(.pid == $one) | .vcpu_threads[].tid" | sort >tids
for t in /proc/"$one"/task/*; do
	grep -q '^CPU [0-9]*/TCG' "$t/comm" && basename "$t"
done | sort >threads
is "$(cat tids)" "$(cat threads)" "vCPU threads"
is "$(row "$four" .name)" "$tag-?[31mx" "a hostile name is defused"
"$HOSTRACE" ps --tcg >text
is "$(grep -cF "$esc" text)" 0 "also in the table"
is "$(grep -c " $tag-a .* 3 *48M tcg *q35 " text)" 1 "the table says the same" text
is "$(awk 'length > 80' text)" "" "it fits 80 columns" text
is "$(awk -v p="$four" '$1 == p' text | sed 's/.* -  *//')" "3 (--wide)" "devices that do not fit are counted" text
"$HOSTRACE" ps --tcg --wide >wide
is "$(awk -v p="$four" '$1 == p' wide | sed 's/.* -  *//')" \
	"virtio-rng-pci:rng0 virtio-balloon-pci@pci.0:0x7 virtio-serial-pci" "--wide: all, with id or address" wide

fails() {
	"$HOSTRACE" doctor --tcg --vm "$1" >out 2>err
	echo $?
}

is "$(fails "$tag-b")" 1 "a name that fits two VMs is an error"
is "$(grep -c "matches 2 VMs.*pid $two\|matches 2 VMs.*pid $three" err)" 1 "which names both" err
is "$(fails "$tag-none")" 1 "an unknown name is an error"
is "$(fails $$)" 1 "a process that is no VM is an error"
is "$(grep -c 'is not a virtual machine' err)" 1 "and it says so" err
is "$(fails 4194999)" 1 "an unknown pid is an error"
is "$(grep -c 'no process 4194999' err)" 1 "and it says so" err

if [ -c /dev/kvm ]; then
	mkfifo go
	"$BUILD/minivmm" outb=1 inb=0 mmio=0 hlt=0 wait <go >vmm.out &
	pids="$pids $!"
	exec 3>go
	until_line '^ready' vmm.out || bail "minivmm did not start"
	mini=$(sed -n 's/^ready //p' vmm.out)
	is "$(row "$mini" '"\(.name) \(.vcpus) \(.accelerator)"')" "minivmm 1 kvm" "a VMM that is no QEMU"
	echo go >&3
	exec 3>&-
	vm five -accel kvm -name "$tag-k" -m 32 -smp 2 -nic none
	until_vcpus 2 "$(cat five.pid)"
	is "$(row "$(cat five.pid)" '"\(.vcpus) \(.accelerator)"')" "2 kvm" "vCPUs by their descriptors"
	is "$(row "$(cat five.pid)" '.vcpu_threads | length')" 2 "threads without names"
else
	for i in 22 23 24; do
		nr=$((nr + 1))
		echo "ok $nr # SKIP kernel: no /dev/kvm"
	done
fi

# Any user may start large programs with QEMU's name: another user's is not searched for the version.
others=$(mktemp -d)
trap 'kill $pids 2>/dev/null; rm -rf "$scratch" "$others"' EXIT
chmod 755 "$others"
cp "$(command -v qemu-system-x86_64)" "$others/"
chown 65534 "$others/qemu-system-x86_64"
modules=$(find /usr/lib* -name accel-tcg-x86_64.so 2>/dev/null | head -n 1)
QEMU_MODULE_DIR=${modules%/*} setpriv --reuid 65534 --clear-groups "$others/qemu-system-x86_64" -accel tcg -M none -display none -S \
	-name "$tag-o" 2>qemu.err &
pids="$pids $!" other=$!
until [ "$(row $other .name)" = "$tag-o" ] && grep -q qemu "/proc/$other/comm"; do
	kill -0 $other || bail "QEMU of another user did not start: $(cat qemu.err)"
	sleep .1
done
is "$(row $other .version)" "" "another user's program is not searched for the version of a QEMU"
is "$(row $other '.build_id | length > 0')" true "its build id is read"
chown 0 "$others/qemu-system-x86_64"
is "$(row $other .version)" "$version" "root's program is searched"
finish
