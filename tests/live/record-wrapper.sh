#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A command that starts the VM instead of being it: the VM is recorded completely, virtqueues included, or it is said
# what is missing.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools qemu-system-x86_64

READS=40
boot_sector_make $READS
all=$((READS + 1)) # SeaBIOS itself reads the boot sector
qemu="qemu-system-x86_64 -accel kvm -m 64 -nodefaults -display none -serial none -monitor none"
qemu="$qemu -drive file=$scratch/boot.img,if=none,id=d,format=raw,file.locking=off"
qemu="$qemu -device virtio-blk-pci,drive=d,id=disk0 -device isa-debug-exit,iobase=0xf4,iosize=1"
vmm="$BUILD/minivmm inb=0 mmio=0 hlt=0"

# wrapped TRACE COMMAND...
wrapped() {
	trace=$1
	shift
	timeout -s KILL 200 "$HOSTRACE" record -o "$trace" "$@" >wrapper.out 2>record.err
}

# leaks_of TRACE: popped, returned and leaked elements
leaks_of() {
	"$HOSTRACE" leaks -f json -i "$1" | tr -d ' \n"' |
		sed 's/.*totals:{popped:\([0-9]*\),returned:\([0-9]*\).*leaked:\([0-9]*\).*/\1 \2 \3/'
}

# is_complete TRACE TEST: every element, or it is said that the first ones may be missing: the probes came after the
# guest began, as on a machine that does other work
is_complete() {
	if grep -q 'earlier virtqueue events are missing' record.err; then
		is "$(leaks_of "$1" | awk -v all=$all '{ print $1 <= all, $3 }')" "1 0" "$2" record.err
	else
		is "$(leaks_of "$1")" "$all $all 0" "$2" record.err
	fi
}

plan 31

# QEMU in place of a shell, and as its child; the second with a trap, so that no shell executes it in place
wrapped exec.hrt -- sh -c "exec $qemu"
is_complete exec.hrt "a shell that executes QEMU: every virtqueue element"
is "$(grep -c warning: record.err)" "$(grep -c qemu-system record.err)" "... in time" record.err
wrapped fork.hrt -- sh -c "trap : INT; $qemu -name web1 & wait \$!; echo \$?"
is "$(cat wrapper.out)" 33 "a script that forks QEMU: the guest did all its reads" record.err
is_complete fork.hrt "... and every virtqueue element is recorded"
is "$(grep -c 'also recording web1 (pid [0-9]*), started by the command' record.err)" 1 "... the VM is named" \
	record.err
is "$("$HOSTRACE" info -i fork.hrt | grep -c 'not a QEMU executable')" 0 "... the script is no VM"
is "$("$HOSTRACE" ports -i fork.hrt -f csv | tr -d '"' | awk -F, '$2 == 244 { print $1, $4 }')" "out 1" \
	"... with its last port access"
wrapped tcg.hrt -- timeout 180 $(echo "$qemu" | sed 's/accel kvm/accel tcg/')
is_complete tcg.hrt "timeout with a QEMU without KVM: every virtqueue element"

# a recorder that is stopped until the guest runs
boot_sector_make 60000
cat >late.sh <<'EOF'
recorder=$PPID
(
	until [ "$(ls /proc/$$/task | wc -l)" -ge 3 ]; do sleep .1; done
	sleep 1
	kill -CONT $recorder
	until grep -q "$1" record.err; do sleep .1; done
	sleep 1
	kill $$
) &
kill -STOP $recorder
shift
exec "$@"
EOF
wrapped late.hrt -- sh late.sh 'started by the command' $(echo "$qemu" | sed 's/accel kvm/accel tcg/')
is "$(grep -c 'attached [0-9.]* ms after it started.*: earlier virtqueue events are missing' record.err)" 1 \
	"probes that come when a guest without KVM runs: said" record.err
boot_sector_make $READS

# a daemon: the command ends, the VM runs
wrapped daemon.hrt -- $qemu -daemonize -pidfile pid -name web2
is $? 0 "a QEMU that becomes a daemon" record.err
is_complete daemon.hrt "... is recorded until it ends"
is "$(grep -c 'the command ended; recording until its VMs end' record.err)" 1 "... which is said" record.err
is "$(grep -c 'also recording web2' record.err)" 1 "... the daemon is named" record.err

# other VMMs
wrapped timeout.hrt -- timeout 180 $vmm outb=1000
is "$(count_port out 0x2f0 timeout.hrt)" 1000 "timeout: every port access" record.err
is "$(ended timeout.hrt)" "command ended" "... until the command ended"
wrapped session.hrt -- setsid -f $vmm outb=700
is "$(count_port out 0x2f0 session.hrt)" 700 "a command that leaves the VM behind: every port access" record.err
wrapped user.hrt -- setpriv --no-new-privs $vmm outb=300
is "$(count_port out 0x2f0 user.hrt)" 300 "setpriv: every port access" record.err

# several VMs
wrapped two.hrt -- sh -c "$vmm outb=500 & $vmm outb=200; wait"
is "$(count_port out 0x2f0 two.hrt)" 700 "two VMs of one script: every port access of both" record.err
is "$(grep -c 'also recording minivmm' record.err)" 2 "... both are named" record.err
is "$("$HOSTRACE" info -i two.hrt | grep -c 'pid [0-9]*.*minivmm\|minivmm.*pid [0-9]*')" 2 "... both are described"
pid=$(sed -n 's/.*also recording minivmm (pid \([0-9]*\)).*/\1/p' record.err | head -n 1)
"$HOSTRACE" ports -f csv -i two.hrt --vm "$pid" >rows.csv
is "$(csv_sum dir=out port=$((0x2f0)) <rows.csv | grep -cx '500\|200')" 1 "... and told apart" rows.csv
wrapped serial.hrt -- sh -c "$vmm outb=50; $vmm outb=60; true"
is "$(count_port out 0x2f0 serial.hrt)" 110 "two VMs one after the other" record.err

# no VM
wrapped none.hrt -- sh -c 'sleep .2; exit 3'
is $? 1 "a command that starts no VM fails" record.err
is "$(grep -c "'sh' started no VM" record.err)" 1 "... with an error message" record.err
is "$(grep -c 'status 3' record.err)" 1 "... and the command's status" record.err

# a VM of a daemon, as libvirt's
cp "$BUILD/minivmm" db7
mkfifo request go
cat >virsh <<'EOF'
#!/bin/sh
echo "$2" >request
until grep -q 'also recording' record.err; do sleep .1; done
EOF
chmod +x virsh
cat >daemon <<'EOF'
#!/bin/sh
read name <request
exec ./$name outb=400 inb=0 mmio=0 hlt=0 wait <go >/dev/null
EOF
sh daemon &
(
	exec 3>go
	until_line 'also recording db7' record.err
	sleep .2
	echo go >&3
) &
wrapped virsh.hrt -- ./virsh start db7
is $? 0 "a VM that a daemon starts for the command" record.err
is "$(count_port out 0x2f0 virsh.hrt)" 400 "... is recorded by its name" record.err
is "$(grep -c "'virsh' asks a daemon.*virsh start --paused VM; hostrace record --vm VM; virsh resume VM" record.err)" \
	1 "... with a warning at the start" record.err
is "$(grep -c 'also recording db7.*its first events are missing' record.err)" 1 "... and when it is found" record.err
wait
mkfifo stay
exec 4<>stay
: >record.err
: >other.out
(until_line 'recording' record.err && exec $vmm outb=1 wait <stay >other.out) &
wrapped other.hrt -- sh -c 'until grep -q "^ready" other.out; do sleep .1; done'
is $? 1 "a VM that others start meanwhile is not the command's" record.err
is "$(grep -c 'VM minivmm (pid [0-9]*) was started meanwhile.*hostrace record --vm' record.err)" 1 "... it is named" \
	record.err
echo go >&4
wait
finish
