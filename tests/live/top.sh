#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `top` on a terminal: tmux sends the keys, and its screen is compared. The guest does a known number of port accesses.
# confine.sh has its confinement.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools tmux jq script
. "$ROOT/tests/live/record-lib.inc"

. "$ROOT/tests/live/tmux.inc"

plan 48

# ---- without a terminal ----
timeout 200 "$HOSTRACE" top </dev/null >out 2>err
is "$? $(grep -c -- --batch err)" "2 1" "no terminal: the message names --batch" err
timeout 200 "$HOSTRACE" top --interval 1ms >out 2>err
is $? 2 "an interval that is too short" err
timeout 200 "$HOSTRACE" top --batch --vm 1 >out 2>err
is $? 1 "process 1 is not a VM" err
TERM=dumb timeout 200 script -qec "'$HOSTRACE' top" /dev/null </dev/null >out 2>&1
is "$(grep -c "terminal type 'dumb'" out)" 1 "a terminal that cannot move the cursor" out
timeout 200 "$HOSTRACE" top --batch --interval 1h -d 100ms >out 2>err
is "$? $(grep -c '^hostrace top' out)" "0 1" "the last interval is printed, also if it is shorter" err

# Names that no other VM of this host has.
busy=busy$$
idle=idle$$
cp "$BUILD/minivmm" "$busy"
cp "$BUILD/minivmm" "$idle"
mkfifo idle.go
timeout 700 "./$idle" wait linger <idle.go >idle.out 2>&1 &
idle_waiter=$!
exec 4>idle.go
until_line '^ready' idle.out || bail "minivmm did not start"
idle_pid=$(sed -n 's/^ready //p' idle.out)
vmm_seconds=700
vmm_start 5000 "./$busy"

timeout 700 "$HOSTRACE" top -f json --vm "$vmm" --interval 50ms >all.jsonl 2>json.err &
json_waiter=$!
until_line vms all.jsonl || bail "top -f json did not start: $(cat json.err)"

mkdir -m 700 snap
terminal_start
keys "'$HOSTRACE' top --interval 100ms --snapshot snap/top.txt" Enter
shows '^name .*exits/s .*\*time%.* p50' "the screen has a heading"

# ---- filter, idle ----
keys / "$idle" Enter
shows "^all: VMs  filter: $idle\$" "a filter"
shows "^$idle_pid $idle +0 +0 +0.0 +0 +0 +0 " "an idle VM shows zeros"
sleep .5
until_screen "^$idle_pid $idle +0 +0 +0.0 +0 +0 +0 +_{3}"
is $? 0 "... in its sparkline, too" screen
keys / "$busy" Enter
shows "^$vmm $busy +0 +0 +0.0 +0 +0 +0 " "so does the other before it runs"
is "$(grep -c "$idle" screen)" 0 "... alone" screen

# ---- known work ----
keys c
until_screen '^name +exits +user ' || bail "no totals"
vmm_go
shows "^$vmm $busy +[0-9]+ +5000 " "each outb is counted once: 5000 exits to the VMM"
keys Enter
shows "^$vmm $busy: vCPUs" "Enter: its vCPUs"
shows "^vCPU 0 +[0-9]+ +5000 " "... with the same count"
keys Enter
shows "^$vmm $busy > vCPU 0: exit reasons" "Enter: the reasons"
shows "^[A-Z_]*IO[A-Z_]* +[0-9]+ +5000 " "... an exit reason"
keys Enter
shows "^$vmm $busy > vCPU 0 > [A-Z_]*IO[A-Z_]*: what the time went into" "Enter: the causes"
shows '^in the VMM +[0-9.]+' "... time in the VMM"
keys BSpace BSpace
shows "^$vmm $busy: vCPUs" "Backspace twice: back to the vCPUs"
keys Tab
shows "^$vmm $busy > all vCPUs: exit reasons" "Tab: the reasons of all vCPUs"
keys Tab
shows "^out 0x2f0 +5000 " "Tab: the ports, with the count"
shows "^out 0xf4 +1 " "... the other port"
keys Tab
shows '^start with --queues' "Tab: no virtqueues without --queues"
keys Tab
shows '^start with --guest-tasks' "Tab: no guest tasks without --guest-tasks"
keys Tab c
shows '^name +exits/s ' "c: figures of the interval again"
shows '^vCPU 0 +0 +0 ' "... zeros: the guest is at its end"

# ---- order, pause, help ----
keys s
shows ' \*p50' "s: the next column orders the rows"
keys S S
shows ' \*user/s' "S: the one before"
keys p
shows '^hostrace top .*\[paused\]' "p: paused"
title=$(head -n 1 screen)
sleep .5
tm capture-pane -p >screen
is "$(head -n 1 screen | sed 's/top [0-9:]* /top /')" "$(echo "$title" | sed 's/top [0-9:]* /top /')" "... nothing changes" screen
keys p '?'
shows '^q +quit' "?: help"
keys x
shows '^vCPU 0 ' "... until the next key"

# ---- snapshots ----
echo precious >victim
ln -s ../victim snap/top-1.txt
keys w
shows '^written to snap/top-2.txt' "w: a snapshot, not through a link"
is "$(cat victim) $(stat -c '%a %u' snap/top-2.txt)" "precious 600 0" "... for root only"
is "$(grep -c '^vCPU 0 ' snap/top-2.txt)" 1 "... has the rows" snap/top-2.txt

# ---- size of the screen ----
tm resize-window -x 50 -y 8
until_screen '^hostrace top' && until_screen '^vCPU 0 '
is "$(awk 'length > 50' screen; wc -l <screen)" 8 "a smaller screen" screen
tm resize-window -x 132 -y 40
shows '^name.* p50 .* exits/s' "a larger screen has all columns"

# ---- stop and continue ----
# Often, as one that came while the screen was drawn was lost.
for _ in $(seq 30); do
	keys C-z
	until_screen 'Stopped' || break
	keys "clear; fg" Enter
	until_screen '^hostrace top' || break
done
keys C-z
shows 'Stopped' "^Z: stopped, the shell has the terminal"
keys fg Enter
shows '^hostrace top' "fg: the screen is there again"

# ---- VMs that come and go ----
vmm_end
shows "the VM of process $vmm has ended" "a VM that ends is left"
wait "$json_waiter"
is "$? $(jq -s 'map(.vms[].userspace_count) | add' -c all.jsonl) $(jq -s 'map(.vms[].ports[] | select(.port == "out 0x2f0").count) | add' all.jsonl)" \
	"0 5000 5000" "JSON lines: they end with the VM, and add up to its work" json.err
evil=$(printf 'evil\033[2J\007%s' $$)
cp "$BUILD/minivmm" "$evil"
vmm_start 100 "./$evil"
vmm_go
keys / "$$" Enter
shows "^$vmm evil[^[:cntrl:]]{5}$$ " "a VM that starts appears; control characters of its name do not"
vmm_end

keys C-c
until_screen '^prompt>'
keys "echo status \$?; stty -g >stty.after; echo done" Enter
shows '^status 0' "^C: status 0"
until_screen '^done'
is "$(cmp stty.before stty.after && echo same)" same "the terminal's modes are as before" screen
keys clear Enter
until_screen '^prompt>'
keys "'$HOSTRACE' top --vm $idle_pid --interval 100ms; echo status \$?" Enter
shows "^$idle_pid $idle +0 +0 +0.0 +0 +0 +0 " "--vm: only this VM"
is "$(grep -c '^[0-9]' screen)" 1 "... is a row" screen
keys w
shows '^written to hostrace-top-1.txt' "... a snapshot all the same"
keys q
shows '^status 0' "q: status 0"
printf 'go\nend\n' >&4
wait "$idle_waiter" 2>/dev/null
finish
