#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two VMs are recorded, one ends, and another process gets its pid: that process is not recorded.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
[ -w /proc/sys/kernel/ns_last_pid ] || skip_all "kernel: no CONFIG_CHECKPOINT_RESTORE"

# What gets the pid, if it is $1; sleeps, so that it is scheduled often.
cat >stranger <<'END'
#!/bin/bash
[ $$ = "$1" ] || exit
for _ in $(seq 100); do read -r -t .01 <>fifo; done
END
chmod +x stranger
mkfifo fifo

# stranger_start PID: other processes may take the pid first, then again. The wrong one ends by itself: bash's new child
# would run the trap of this script, which removes its directory, if it were killed before it runs the program.
stranger_start() {
	for _ in $(seq 200); do
		echo $(($1 - 1)) >/proc/sys/kernel/ns_last_pid
		./stranger "$1" &
		[ $! != "$1" ] || return 0
		wait $!
	done
	return 1
}

plan 5
vmm_start 100
first=$vmm
first_waiter=$vmm_waiter
exec 4>&3
vmm_start 200
record_start --vm "$first" --vm "$vmm" -o pid.hrt
echo go >&4
echo end >&4
exec 4>&-
wait "$first_waiter"
is $? 0 "the first VM did all its work"
sleep 2
stranger_start "$first"
is $? 0 "another process gets its pid"
wait $!
vmm_go
vmm_end
wait "$recorder_waiter"
is $? 0 "the recording ends with the second VM" record.err
is "$("$HOSTRACE" list --wide -i pid.hrt 2>list.err | grep -c stranger)" 0 "nothing of the other process is recorded" list.err
is "$("$HOSTRACE" list --wide -i pid.hrt --event kvm_pio 2>list.err | grep -c kvm_pio)" 302 "all of the VMs is"
finish
