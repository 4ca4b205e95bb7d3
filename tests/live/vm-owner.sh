#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which process a VM's name selects: not one that only has the name of QEMU and of the VM, whoever's it is, and not a VM
# of another user. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools jq setpriv qemu-system-x86_64 curl
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"

name=web$$
shared=$(mktemp -d)
chmod 755 "$shared"
fakes=()
trap 'kill "${fakes[@]}" 2>/dev/null; rm -rf "$scratch" "$shared"' EXIT

cat >"$shared/idle.c" <<'END'
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
/* With "kvm" as the last word: has a VM and a vCPU, as root made them possible. */
int main(int argc, char **argv)
{
	if (!strcmp(argv[argc - 1], "kvm")) {
		int vm = ioctl(open("/dev/kvm", O_RDWR), KVM_CREATE_VM, 0);

		if (vm < 0 || ioctl(vm, KVM_CREATE_VCPU, 0) < 0)
			return 1;
		if (setuid(65534))
			return 1;
	}
	printf("ready %d\n", getpid());
	fflush(stdout);
	for (;;)
		pause();
}
END
${CC:-gcc} -o "$shared/qemu-system-x86_64" "$shared/idle.c" || bail "cannot build the fake"
chmod 755 "$shared/qemu-system-x86_64"
uuid=6ba7b810-9dad-11d1-80b4-00c04fd43$((RANDOM % 900 + 100))

# fake_start UID WORD: $fake is its pid; with "kvm" it has a VM of KVM, and UID must be 0 before it becomes 65534
fake_start() {
	rm -f fake.out
	setpriv --reuid "$1" --clear-groups -- "$shared/qemu-system-x86_64" -name "$name" -uuid "$uuid" -accel kvm "$2" >fake.out 2>fake.err &
	fakes+=($!)
	until_line '^ready' fake.out || bail "the fake did not start: $(cat fake.err)"
	fake=$(sed -n 's/^ready //p' fake.out)
}

# real_start: a VM of that name which uses KVM; its pid is $real
real_start() {
	rm -f real.pid
	timeout -s KILL 200 qemu-system-x86_64 -accel kvm -name "$name" -uuid "$uuid" -m 32 -nodefaults -display none -pidfile real.pid \
		>qemu.out 2>&1 </dev/null &
	fakes+=($!)
	until_line '^[0-9]' real.pid || bail "QEMU did not start: $(cat qemu.out)"
	real=$(cat real.pid)
	until_vcpus 1 "$real"
}

# refused WHAT REGEXP COMMAND...: status 1, with that message
refused() {
	local what=$1 says=$2
	shift 2
	timeout -s KILL 100 "$@" >refused.out 2>refused.err
	is "$? $(grep -c "$says" refused.err)" "1 1" "$what" refused.err
}

plan 46
fake_start 65534 none
plain=$fake
is "$("$HOSTRACE" ps -f json 2>ps.err | jq "[.rows[] | select(.pid == $plain)] | length")" 0 "ps: QEMU's name alone is no VM" ps.err
is "$(grep -c 'do not use KVM: [0-9]*; --tcg lists them' ps.err)" 1 "... it is counted" ps.err
is "$("$HOSTRACE" ps --tcg -f json | jq -r ".rows[] | select(.pid == $plain) | \"\(.uid) \(.user)\"")" "65534 nobody" \
	"ps --tcg lists it, with its owner"
refused "stat --vm NAME" "no VM of the name '$name' uses KVM, but $name (pid $plain, user nobody) has it" \
	"$HOSTRACE" stat --vm "$name" -d 100ms
refused "--vm UUID" "no VM of the name '$uuid' uses KVM, but" "$HOSTRACE" stat --vm "$uuid" -d 100ms
refused "a glob" "no VM of the name '${name}\*' uses KVM, but" "$HOSTRACE" record --vm "$name*" -d 100ms
refused "--tcg: still another user's" "no VM of root or of the caller matches '$name', but" "$HOSTRACE" doctor --tcg --vm "$name"
"$HOSTRACE" doctor --tcg --vm-user nobody --vm "$name" -f json >doctor.json 2>doctor.err
is "$(jq .result.vms[0].pid doctor.json)" "$plain" "--tcg --vm-user: it is selected" doctor.err
"$HOSTRACE" doctor --vm "$plain" -f json >doctor.json 2>doctor.err
is "$(jq .result.vms[0].pid doctor.json)" "$plain" "its PID selects it" doctor.err

# The recorder of a service
: >wait.err
timeout -s KILL 200 "$HOSTRACE" record --vm "$name" --wait -o wait.hrt --trigger vm-end --after 0s 2>wait.err &
waiter=$!
until_line "waiting for VM $name: no VM of the name '$name' uses KVM, but $name (pid $plain, user nobody) has it" wait.err
is $? 0 "record --wait does not take it, and says so" wait.err

fake_start 0 kvm
other=$fake
is "$("$HOSTRACE" ps -f json | jq -r ".rows[] | select(.pid == $other) | \"\(.user) \(.accelerator)\"")" "nobody kvm" \
	"a VM with KVM of another user: listed with its owner"
"$HOSTRACE" ps >ps.out 2>ps.err
is "$(grep -c "^ *$other $name *nobody " ps.out)" 1 "... in text" ps.out
refused "stat --vm NAME" "but $name (pid $other, user nobody) does; select it by its PID, or with --vm-user nobody" \
	"$HOSTRACE" stat --vm "$name" -d 100ms
refused "top" "with --vm-user nobody" "$HOSTRACE" top --batch --vm "$name" -d 100ms
refused "stuck" "with --vm-user nobody" "$HOSTRACE" stuck --vm "$name"
refused "doctor" "with --vm-user nobody" "$HOSTRACE" doctor --vm "$name"
refused "guest" "with --vm-user nobody" "$HOSTRACE" guest ps --vm "$name"
refused "virtio --state" "with --vm-user nobody" "$HOSTRACE" virtio --state --vm "$name"
refused "record" "with --vm-user nobody" "$HOSTRACE" record --vm "$name" -d 100ms
refused "record, of several" "with --vm-user nobody" "$HOSTRACE" record --vm "$name,$plain" -d 100ms
refused "record, a glob" "with --vm-user nobody" "$HOSTRACE" record --vm "$name*" -d 100ms
timeout 100 "$HOSTRACE" stat --vm-user nobody --vm "$name" -d 100ms >stat.out 2>stat.err
is "$? $(grep -c "watching $name (pid $other, user nobody)" stat.err)" "0 1" "--vm-user selects it" stat.err
timeout 100 "$HOSTRACE" stat --vm-user 65534 --vm "$name" -d 100ms >stat.out 2>stat.err
is $? 0 "... also by number" stat.err
for user in nobody daemon root; do
	timeout 100 "$HOSTRACE" stat --vm-user $user --vm "$other" -d 100ms >stat.out 2>stat.err
	is "$? $(grep -c -- '--vm-user has no effect: a PID selects its process anyway' stat.err)" "2 1" \
		"--vm-user $user with a PID is wrong usage" stat.err
done
timeout 100 "$HOSTRACE" stat --vm-user no-such-user --vm "$other" -d 100ms >stat.out 2>stat.err
is "$? $(grep -c "no user 'no-such-user'" stat.err)" "2 1" "an unknown user is wrong usage" stat.err
setpriv --reuid 65534 --clear-groups "$HOSTRACE" ps --vm-user root >ps.out 2>ps.err
is "$? $(grep -c -- '--vm-user requires root' ps.err)" "1 1" "it is for root" ps.err

# Where the only VM is another user's
cat >alone <<END
#!/bin/bash
"$shared/qemu-system-x86_64" -name alone kvm >alone.out 2>&1 &
until grep -q ready alone.out; do sleep .02; done
"\$@"
status=\$?
kill \$!
exit \$status
END
chmod +x alone
sed 's/ alone kvm / alone none /' alone >root-vm
chmod +x root-vm
for command in stat record; do
	refused "$command: the only VM is another user's" \
		'no VM of root or of the caller is running, but alone (pid [0-9]*, user nobody); select it with --vm PID, or with --vm-user nobody' \
		unshare --pid --fork --mount-proc -- ./alone "$HOSTRACE" $command -d 100ms
done

# Many of them, with many words
words=$(head -c 15000 /dev/zero | tr '\0' x)
many=()
for i in $(seq 300); do
	setpriv --reuid 65534 --clear-groups -- "$shared/qemu-system-x86_64" -accel tcg -append "$words" -name "many$i" >many.out 2>&1 &
	many+=($!)
done
fakes+=("${many[@]}")
for pid in "${many[@]}"; do
	until tr '\0' ' ' <"/proc/$pid/cmdline" | grep -q '^[^ ]*qemu'; do
		kill -0 "$pid" 2>/dev/null || bail "a process named QEMU ended: $(tail -n 2 many.out)"
		sleep .02
	done
done
"$HOSTRACE" ps --tcg -f json >many.json 2>many.err
is "$(jq '[.rows[] | select(.name | test("^many[0-9]+$"))] | length' many.json) $([ "$(wc -c <many.json)" -lt 4000000 ] && echo less)" "300 less" \
	"ps --tcg: 300 processes with long command lines are listed in less than 4 MB" many.err
is "$(grep -c 'without command line, devices and threads' many.err) $(jq ".rows[] | select(.pid == $other) | has(\"cmdline\")" many.json)" "1 true" \
	"... it says what is left out, and nothing of VMs that use KVM is" many.err
kill "${many[@]}"
wait "${many[@]}" 2>kill.err

# The real one, next to both
real_start
until_line "recording $name (pid $real)" wait.err
is $? 0 "record --wait takes the real one" wait.err
kill "$(pgrep -P "$waiter" | head -n 1)"
wait "$waiter"
timeout 100 "$HOSTRACE" stat --vm "$name" -d 100ms >stat.out 2>stat.err
is "$? $(grep -c "watching $name (pid $real)" stat.err)" "0 1" "a name is that of the real one" stat.err
is "$("$HOSTRACE" doctor --vm "$uuid" -f json | jq '[.result.vms[].pid] == ['"$real"']')" true "so is a UUID"
is "$("$HOSTRACE" doctor --tcg --vm "$name" -f json | jq '[.result.vms[].pid] == ['"$real"']')" true "KVM is preferred, with --tcg, too"

# Of another user: what cannot be seen is not called a VM without KVM
cp "$HOSTRACE" "$shared/hostrace"
chmod 755 "$shared/hostrace"
as_nobody="setpriv --reuid 65534 --clear-groups -- $shared/hostrace"
hidden="whether $name (pid [0-9]*, user [a-z]*) uses KVM cannot be seen without root or CAP_SYS_PTRACE; try: sudo"
$as_nobody ps >ps.out 2>ps.err
is "$? $(grep -c 'only root or CAP_SYS_PTRACE can see whether they use KVM: ' ps.err)" "0 1" "ps of another user: that it cannot see whether it uses KVM" ps.err
for command in doctor stuck "guest ps"; do
	refused "$command --vm NAME of another user: likewise" "$hidden" $as_nobody $command --vm "$name"
done
refused "guest extract --vm PID of another user: likewise" "$hidden" $as_nobody guest extract --vm "$real"
refused "... with a name that no VM has" "only those of other users, which cannot be looked at without root or CAP_SYS_PTRACE" \
	unshare --pid --fork --mount-proc -- ./root-vm $as_nobody doctor --vm no-such-vm
is "$($as_nobody ps --tcg -f json 2>ps.err | jq -r ".rows[] | select(.pid == $real) | .accelerator")" kvm \
	"ps --tcg: the accelerator is what its command line says" ps.err

exporter_start --listen 127.0.0.1:0
until_sample 1 hostrace_vm_info "pid=\"$real\"" 'user="root"'
is "$(sample hostrace_vm_info "pid=\"$other\"" 'user="nobody"')" 1 "exporter: the owner is a label" page
is "$(sample hostrace_vm_info "pid=\"$plain\"")" none "... what has only the name is none" page
exporter_end
exporter_start --listen 127.0.0.1:0 --vm-user daemon
until_sample 1 hostrace_vm_info "pid=\"$real\"" 'user="root"'
is "$(sample hostrace_vm_info "pid=\"$other\"")" none "exporter --vm-user: other users' VMs are left out" page
exporter_end
finish
