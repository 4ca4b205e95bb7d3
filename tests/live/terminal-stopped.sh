#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A terminal whose output is stopped (^S): signals end `top`, and `record` drains its buffers. tmux sends the keys, and its
# screen is compared.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools tmux
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/tmux.inc"

# command_pid WORD: of hostrace in the terminal
command_pid() {
	pgrep -P "$(tm display -p '#{pane_pid}')" -f "hostrace $1"
}

# until_ended PID: waits up to 20 s
until_ended() {
	for _ in $(seq 400); do
		[ -d "/proc/$1" ] || return 0
		sleep .05
	done
	return 1
}

# until_larger FILE: waits up to 20 s
until_larger() {
	before=$(stat -c %s "$1")
	for _ in $(seq 400); do
		[ "$(stat -c %s "$1")" -gt "$before" ] && return
		sleep .05
	done
	return 1
}

plan 8
vmm_seconds=200
vmm_start 1000000000
vmm_go
terminal_start
for signal in TERM INT; do
	keys clear Enter "'$HOSTRACE' top --interval 100ms" Enter
	shows '^name .*exits/s' "top"
	top=$(command_pid top)
	keys C-s
	sleep .5 # also while it would draw
	kill -s "$signal" "$top"
	until_ended "$top"
	is $? 0 "... on a stopped terminal: SIG$signal ends it" screen
	kill -s KILL "$top" 2>kill.err
	keys C-q
	until_screen '^prompt>' || bail "no shell"
done
keys clear Enter "stty -g >stty.after" Enter
until_line . stty.after
is "$(cat stty.after)" "$(cat stty.before)" "... and the terminal is as before" screen

keys clear Enter "'$HOSTRACE' record --vm $vmm -o t.hrt" Enter
shows ' KiB' "record shows its progress"
recorder=$(command_pid record)
keys C-s
{ until_larger t.hrt && until_larger t.hrt; }
is $? 0 "... on a stopped terminal: the file grows" screen
kill -s INT "$recorder"
keys C-q
until_ended "$recorder"
is "$(ended t.hrt)" signal "... and SIGINT ends it as always" screen
kill "$vmm"
wait "$vmm_waiter"
results_end
