#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# VMMs that are not QEMU (slotvmm.c): vCPU threads whose names mislead, memory in slots anywhere, two VMs at once, closed
# descriptors, memory that cannot be read. What KVM knows must be enough. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools jq
live_build "$BUILD/slotvmm"
tag=$$

# slotvmm NAME ARGS...: starts one, called NAME-PID; $NAME is its pid, NAME.out has its vCPUs, NAME.in its commands
slotvmm() {
	local name=$1
	shift
	cp "$BUILD/slotvmm" "$name-$tag"
	mkfifo "$name.in"
	timeout -s KILL 600 "./$name-$tag" "$@" <"$name.in" >"$name.out" 2>"$name.err" &
	eval "exec {${name}_fd}>$name.in"
	until [ -s "$name.err" ] || grep -q '^ready' "$name.out" 2>/dev/null; do sleep .05; done
	grep -q '^ready' "$name.out" || return
	eval "$name=$(sed -n 's/^ready //p' "$name.out")"
}

# tell NAME...: lets it go on
tell() {
	for name; do
		local fd=${name}_fd
		echo go >&"${!fd}"
	done
}

# threads NAME: what the VMM says of its vCPUs
threads() {
	sed -n 's/^vcpu //p' "$1.out" | sort -n | tr '\n' ';'
}

# seen PID FILTER: of the row that ps has
seen() {
	"$HOSTRACE" ps -f json 2>ps.err | jq -r ".rows[] | select(.pid == $1) | $2"
}

seen_threads() {
	seen "$1" '.vcpu_threads | sort_by(.index)[] | "\(.index) \(.tid)"' | tr '\n' ';'
}

# outs NAME [--by ...]: bytes that its guest wrote to the port, as the recording has them
outs() {
	"$HOSTRACE" ports --vm "$1-$tag" --by vcpu -i t.hrt -f json >ports.json 2>ports.err
	jq -r '.rows | sort_by(.vcpu)[] | select(.port == 752) | "\(.vcpu) \(.count)"' ports.json | tr '\n' ';'
}

doctor() {
	"$HOSTRACE" doctor --vm "$1-$tag" >"doctor-$1" 2>doctor.err
	# lines are wrapped
	tr -s ' \n' ' ' <"doctor-$1" >"doctor-$1.line"
}

plan 17
slotvmm one vcpus=3 outb=23 || bail "slotvmm did not start: $(cat one.err)"
slotvmm two vcpus=2 outb=11 close strange || bail "slotvmm did not start: $(cat two.err)"
is "$(seen "$one" .vcpus) $(seen_threads "$one")" "3 0 0;1 0;2 0;" \
	"vCPUs that no thread has run: the names of threads do not count" ps.err
is "$(seen "$two" '"\(.vcpus) \(.accelerator) \(.memory_bytes)"')" "2 kvm $((64 * 5 * 1024 + 4096 + 65536))" \
	"a VM whose own descriptor is closed: vCPUs, and the memory of its slots" ps.err
doctor one
is "$(grep -c "^VM $one one-$tag: not QEMU, kvm, 3 vCPUs$" doctor-one)" 1 "doctor: not QEMU" doctor-one
is "$(grep -c 'guest memory: 64 KiB in 1 slot ' doctor-one.line)" 1 "its memory, from KVM" doctor-one
is "$(grep -c 'recorded of QEMU only; exits, ports, MMIO' doctor-one.line) $(grep -c '^  absent: virtqueue' doctor-one)" "1 0" \
	"what needs QEMU, in one line" doctor-one
is "$("$HOSTRACE" doctor --vm "$one" -f json | jq -r '.result.vms[0].memory')" "64 KiB in 1 slot" "the same as JSON"
setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin "$HOSTRACE" doctor --vm "one-$tag" 2>doctor.err |
	tr -s ' \n' ' ' >doctor-less
is "$(grep -c 'KVM state ok vCPU threads and guest memory are read from KVM' doctor-one.line) \
$(grep -c 'KVM state note reading KVM.s memory slots requires CAP_BPF' doctor-less)" "1 1" \
	"doctor says whether KVM's state can be read" doctor-less

timeout 200 "$HOSTRACE" record -q --vm "one-$tag,two-$tag" -o t.hrt -- bash -c "
	echo go >&$one_fd
	echo go >&$two_fd
	until grep -q ^outb one.out && grep -q ^outb two.out; do sleep .05; done" 2>record.err
is $? 0 "record of both" record.err
is "$(grep -h ^outb one.out two.out | tr '\n' ' ')" "outb 69 outb 22 " "the guests did their work" record.err
is "$(outs one) $(outs two)" "0 23;1 23;2 23; 0 11;1 11;" "each byte of each vCPU of each VM" ports.json
is "$("$HOSTRACE" info -i t.hrt -f json | jq -r ".result.vms[] | select(.pid == $one) | .vcpu_threads | sort_by(.index)[] |
	\"\(.index) \(.tid)\"" | tr '\n' ';')" "$(threads one)" "the recording has the threads of vCPUs" one.out
"$HOSTRACE" info -i t.hrt >info.txt
is "$(grep -c 'events  *absent' info.txt) $(grep -c '^  *[0-9]* events  *absent  *not a QEMU executable' info.txt) \
$(grep -c ' virtqueue_pop' info.txt)" "1 1 1" \
	"info lists the events of QEMU once, with one reason" info.txt
is "$(seen_threads "$one") $(seen_threads "$two")" "$(threads one) $(threads two)" "and ps, once they have run" ps.err
timeout 200 "$HOSTRACE" stuck --vm "$one" --interval 100ms -f json >stuck.json 2>stuck.err
is "$? $(jq -r '.vcpus[] | "\(.vcpu) \(.tid)"' stuck.json | tr '\n' ';')" \
	"0 $(threads one)" "stuck knows which thread is which vCPU" stuck.json
timeout 200 "$HOSTRACE" record --vm "$one" -e virtqueue_pop,sched_switch -d 100ms -o absent.hrt 2>absent.err
is "$? $(grep -c "warning: virtqueue_pop is not recorded.*: not a QEMU executable" absent.err) $(grep -c warning absent.err)" "0 1 1" \
	"an event that is asked for by its name, and absent, is reported" absent.err
doctor two
is "$(grep -c '; 64 KiB are not mapped in the VMM' doctor-two.line)" 1 "memory that is not mapped" doctor-two
if slotvmm three secret 2>/dev/null; then
	doctor three
	is "$(grep -c 'guest memory: 128 KiB in 2 slots; 64 KiB are in memfd_secret, which only the VMM can read' doctor-three.line)" 1 \
		"memory in memfd_secret" doctor-three
	tell three three
else
	echo "ok $((nr += 1)) - memory in memfd_secret # SKIP kernel: no memfd_secret"
fi
tell one two
wait
finish
