#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# stat and top into a pipe that nobody reads: the first ^C is for the report, which is completed if it is read, and the
# third one ends the command: timeout(1) sends its signal twice.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools python3
. "$ROOT/tests/live/record-lib.inc"

cat >pipe.py <<'END'
import fcntl, os, signal, subprocess, sys, time
what, command = sys.argv[1], sys.argv[2:]
r, w = os.pipe()
fcntl.fcntl(w, fcntl.F_SETPIPE_SZ, 4096)
p = subprocess.Popen(command, stdout=w, stdin=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
os.close(w)
while p.poll() is None and "pipe_w" not in open(f"/proc/{p.pid}/wchan").read():
    time.sleep(.05)
p.send_signal(signal.SIGINT)
time.sleep(1)
if what == "read":
    while os.read(r, 1 << 16):
        pass
else:
    p.send_signal(signal.SIGINT)
    time.sleep(1)
    print(p.poll(), end=" ")
    p.send_signal(signal.SIGINT)
try:
    print(p.wait(60))
except subprocess.TimeoutExpired:
    print("hangs")
    p.kill()
END

plan 5
vmm_start 100
for command in "stat --interval 2ms" "top --batch --interval 50ms"; do
	# shellcheck disable=SC2086 # several
	is "$(timeout 200 python3 pipe.py unread "$HOSTRACE" $command --vm "$vmm" 2>err)" "None -2" "${command%% *}: the third ^C ends it" err
	# shellcheck disable=SC2086 # several
	is "$(timeout 200 python3 pipe.py read "$HOSTRACE" $command --vm "$vmm" 2>err)" 0 "${command%% *}: the first one, if it is read" err
done
vmm_go
vmm_end
is $? 0 "the VM did its work"
finish
