#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `top --guest-tasks` on a terminal (tmux) and as JSON: a guest with three tasks that take turns in accessing a port, and a VM
# without Linux. record-tasks.sh has the same guest recorded. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools qemu-system-x86_64 tmux jq socat
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/tmux.inc"
live_build "$BUILD/taskguest.elf"

timeout -s KILL 580 qemu-system-x86_64 -name "tasks-$$" -accel kvm -m 64 -nodefaults -display none -serial none \
	-qmp unix:qmp,server=on,wait=off -pidfile qemu.pid -kernel "$BUILD/taskguest.elf" >qemu.out 2>&1 &
until_line '^[0-9]' qemu.pid || bail "QEMU did not start: $(cat qemu.out)"
vm=$(cat qemu.pid)
json=
end() {
	[ -z "$json" ] || kill -KILL "$json" 2>/dev/null
	kill -KILL "$vm" 2>/dev/null
	tm kill-server 2>/dev/null
	rm -rf "$scratch"
}
trap end EXIT

# The sum of all lines so far: "name count", and "all" for the exits of the VM.
sums() {
	jq -rs '[.[].vms[] | (.tasks[] | [.task, .count]), ["all", .count]] | group_by(.[0])[] | "\(.[0][0]) \(map(.[1]) | add)"' all.jsonl
}

# until_sums CONDITION, a program for awk that exits with 0.
until_sums() {
	for _ in $(seq 240); do
		sums >got 2>jq.err
		! awk "$1" got || return 0
		sleep .5
	done
	bail "the tasks did not come: $(cat got json.err)"
}

plan 10
timeout -s KILL 580 "$HOSTRACE" top -f json --vm "$vm" --guest-tasks --interval 100ms >all.jsonl 2>json.err &
json=$!
until_line vms all.jsonl || bail "top -f json did not start: $(cat json.err)"

terminal_start
keys "'$HOSTRACE' top --vm $vm --guest-tasks --interval 100ms" Enter
shows "^$vm tasks-$$ " "the VM"
keys Tab Tab Tab Tab Tab
shows "^$vm tasks-$$: guest tasks" "Tab: its tasks"
keys c
shows '^first-70 +[0-9]{3,} +[0-9.]+' "a task with its exits"
shows '^a thread-71 +[0-9]{3,} ' "... another"
shows '^fifteen letters-72 +[0-9]{3,} ' "... the third"
keys q
until_screen '^prompt>'

until_sums '$NF >= 100 && /-7[0-2] / {n++} END {exit n < 3}'
printf '%s\n' '{"execute":"qmp_capabilities"}' '{"execute":"stop"}' | timeout 200 socat -t 5 - UNIX-CONNECT:qmp >qmp.out
is "$(grep -c '"event": "STOP"' qmp.out)" 1 "the VM is paused" qmp.out
lines=$(wc -l <all.jsonl)
for _ in $(seq 1200); do # the last exits are read
	[ "$(wc -l <all.jsonl)" -lt $((lines + 3)) ] || break
	sleep .1
done
kill -TERM "$(pgrep -P "$json" | head -n 1)" # timeout runs it
wait "$json"
sums >got
is "$(sed 's/ [0-9]*$//' got | sort | xargs)" "(unknown) a thread-71 all fifteen letters-72 first-70" "JSON: no other task" got
# The first exit of a thread has no task.
is "$(awk '$1 == "all" {all = $2; next} {sum += $NF} END {print (all - sum >= 0 && all - sum <= 2)}' got)" 1 \
	"the exits of tasks are those of the VM" got

idle=idle$$
cp "$BUILD/minivmm" "$idle"
mkfifo idle.go
timeout 500 "./$idle" wait linger <idle.go >idle.out 2>&1 &
exec 4>idle.go
until_line '^ready' idle.out || bail "minivmm did not start"
idle_pid=$(sed -n 's/^ready //p' idle.out)
keys "clear; '$HOSTRACE' top --vm $idle_pid --guest-tasks --interval 100ms" Enter
shows "^$idle_pid $idle " "a VM without Linux"
keys Tab Tab Tab Tab Tab
shows "^no guest tasks: .*[a-z]" "... has no tasks, and the reason is shown"
keys q
until_screen '^prompt>'
finish
