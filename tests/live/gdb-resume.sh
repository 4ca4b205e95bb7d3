#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What uses QEMU's gdb stub leaves the VM as it was: each command, after a failure and after each way to end hostrace, with
# and without a gdb that was connected before, which makes QEMU expect the process's number in a detach request from then
# on. QEMU is asked for its state by its monitor. TCG: neither KVM nor root is needed. QEMU=PROGRAM: another QEMU.
# Needs $HOSTRACE (the program) and $BUILD (the build directory); prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
. "$ROOT/tests/live/osvguest/lib.inc"
osvguest_needs
live_needs_tools gdb python3 objcopy

elf=$BUILD/osvguest.elf
"${QEMU:-qemu-system-x86_64}" --version >version
major=$(sed -n 's/^QEMU emulator version \([0-9]*\)\..*/\1/p' version)

real_gdb() { # COMMAND...
	timeout 100 gdb -nx -batch -ex "target remote ${gdb#unix:}" "${@/#/-ex=}" -ex detach >gdb.out 2>&1
}

# ask COMMAND ARGS; $exe: another ELF file
ask() {
	timeout 200 "$HOSTRACE" guest -e "${exe:-$elf}" -r "$gdb" "$@" >out 2>err
}

# commands WHEN: each leaves the VM running
commands() {
	local command
	for command in threads virtio leaks "leaks on" "leaks off" "extract -o t" "extract --raw -o raw"; do
		ask $command
		is "$? $(status)" "0 running" "$1: guest $command" err
	done
	timeout 200 "$HOSTRACE" extract -e "$elf" -r "$gdb" t >out 2>err
	is "$? $(status)" "0 running" "$1: extract" err
}

# ended WHEN SIGNAL TARGET: hostrace is ended while it holds the VM. TARGET: the process or its group.
ended() {
	local stops resumes job code
	for _ in 1 2 3 4 5 6 7 8 9; do # it may be done before the signal
		stops=$(happened STOP)
		resumes=$(happened RESUME)
		setsid env --default-signal=INT,QUIT "$HOSTRACE" guest extract -e "$elf" -r "$gdb" -o t6 >out 2>err &
		job=$!
		until_happened STOP $((stops + 1)) || bail "the VM was not stopped"
		case $3 in
		process) kill "-$2" $job ;;
		group) kill "-$2" -- -$job ;;
		esac
		wait $job
		code=$?
		[ $code = 0 ] || break
	done 2>/dev/null
	is $code $((128 + $(kill -l "$2"))) "$1: ended by SIG$2" err
	until_happened RESUME $((resumes + 1))
	is "$? $(status) $(qemu_alive)" "0 running yes" "$1: ... the VM runs on" qmp.log
}

endings() { # WHEN
	local signal
	for signal in INT TERM HUP QUIT SEGV ABRT KILL; do
		ended "$1" $signal process
	done
	ended "$1: the process group" KILL group
}

# is_queued: hostrace's connection to the stub is established
is_queued() {
	local inode
	inode=$(readlink /proc/$job/fd/* | sed -n 's/^socket:\[\(.*\)\]$/\1/p' | paste -sd ' ')
	awk -v want="$inode" 'BEGIN { nr = split(want, w, " "); for (i in w) is[w[i]] } $7 in is { n += $6 == "03" } END { exit !(n > 1 && n == nr) }' \
		/proc/net/unix
}

# ended_queued WHEN SIGNAL: hostrace and its guard are gone before QEMU accepts the connection
ended_queued() {
	local resumes job guard
	mkfifo hold
	python3 holder.py <hold >holder.out 2>&1 &
	holder=$!
	exec 5>hold
	until_line ready holder.out || bail "no other debugger: $(cat holder.out)"
	resumes=$(happened RESUME)
	env --default-signal "$HOSTRACE" guest threads --timeout 3s -e "$elf" -r "$gdb" >out 2>err &
	job=$!
	until is_queued 2>/dev/null; do
		kill -0 $job 2>/dev/null || bail "hostrace did not connect: $(cat err)"
		sleep .02
	done
	guard=$(cat /proc/$job/task/$job/children)
	kill "-$2" $job
	wait $job 2>/dev/null
	while kill -0 $guard 2>/dev/null; do
		sleep .05
	done
	exec 5>&-
	wait $holder
	until_happened RESUME $((resumes + 2))
	is "$? $(status) $(qemu_alive)" "0 running yes" "$1: SIG$2 while another debugger is attached" qmp.log
	rm hold
	echo '{"execute":"cont"}' >&4
}

# hostrace is stopped while it holds the VM: the VM runs on before hostrace does, and nothing that hostrace does when it
# continues stops the VM again.
stopped() { # WHEN
	local stops resumes resumed code
	for _ in 1 2 3 4 5 6 7 8 9; do
		stops=$(happened STOP)
		resumes=$(happened RESUME)
		"$HOSTRACE" guest extract -e "$elf" -r "$gdb" -o t10 >out 2>err &
		job=$!
		until_happened STOP $((stops + 1)) || bail "the VM was not stopped"
		kill -STOP $job
		until_happened RESUME $((resumes + 1))
		resumed="$? $(status)"
		kill -CONT $job
		wait $job
		code=$?
		[ $code = 0 ] || break
	done
	is "$resumed $code $(grep -c 'the VM was resumed' err)" "0 running 1 1" "$1: hostrace is stopped: the VM is resumed" err
	is "$(status) $(qemu_alive)" "running yes" "$1: ... and runs on when hostrace continues" qmp.log
}

# QEMU itself stands still until hostrace has given up.
ended_stopped() { # WHEN
	local stops code
	for _ in 1 2 3 4 5 6 7 8 9; do
		stops=$(happened STOP)
		"$HOSTRACE" guest extract --timeout 2s -e "$elf" -r "$gdb" -o t8 >out 2>err &
		job=$!
		until_happened STOP $((stops + 1)) || bail "the VM was not stopped"
		kill -STOP "$(cat pid)"
		wait $job
		code=$?
		kill -CONT "$(cat pid)"
		[ $code = 0 ] || break
	done
	is "$code $(grep -c "may still be paused.*'cont' in QEMU's monitor" err)" "1 1" "$1: QEMU stands still" err
	is "$(status) $(qemu_alive)" "running yes" "$1: ... and continues later: the VM runs on" qmp.log
	echo '{"execute":"cont"}' >&4
}

# by_terminal WHEN HOW: hostrace writes to a terminal that takes nothing (^S), or that stops it (tostop, in the background)
by_terminal() {
	local resumes
	mkfifo hold
	resumes=$(happened RESUME)
	python3 terminal.py "$2" "$HOSTRACE" guest extract -e "$elf" -r "$gdb" -o t9 <hold >terminal.out 2>&1 &
	job=$!
	exec 5>hold
	until_happened RESUME $((resumes + 1))
	is "$? $(status) $(qemu_alive)" "0 running yes" "$1: the VM runs on" terminal.out
	exec 5>&-
	wait $job
	rm hold
}

plan 117

# ---- each command ----
vm '' unix:gdb.sock
commands "plain session"
real_gdb
is "$? $(status)" "0 running" "gdb connects and detaches" gdb.out
commands "after gdb"
real_gdb
is "$? $(status)" "0 running" "gdb can connect again" gdb.out
real_gdb "maint packet Qqemu.PhyMemMode:1"
is "$? $(status) $(grep -c 'received: "OK"' gdb.out)" "0 running 1" "gdb has physical addresses read" gdb.out
commands "after gdb read physical memory"
real_gdb "maint packet qqemu.PhyMemMode" "maint packet Qqemu.PhyMemMode:0"
is "$? $(grep -c 'received: "1"' gdb.out)" "0 1" "... which it finds as it was" gdb.out

# ---- the stub's socket for the monitor's ----
refused() { # COMMAND...: a connection to the stub would stop the VM
	timeout 100 "$HOSTRACE" "$@" >out 2>err
	is "$? $(grep -c 'this is the gdb stub of process' err) $(status)" "1 1 running" "--qmp with the stub's socket: $1" err
}
refused guest threads -e "$elf" -r "$gdb" --qmp gdb.sock
refused virtio --state --vm "$(cat pid)" --qmp "$PWD/gdb.sock"
refused record --vm "$(cat pid)" -d 100ms -o refused.hrt --qmp gdb.sock

# ---- a small stack ----
for command in virtio "threads --no-location" "extract -o t" threads leaks "extract --symbols -o t"; do
	(
		ulimit -s 64
		ask $command
	)
	is "$? $(status)" "0 running" "a stack of 64 KiB: guest $command" err
done

# ---- a VM that was paused before ----
echo '{"execute":"stop"}' >&4
is "$(status)" paused "stopped by its monitor"
for command in threads virtio leaks "extract -o t"; do
	ask $command --qmp "$PWD/qmp2.sock"
	is "$? $(status) $(cat out err | grep -c 'was paused before')" "0 paused 1" "paused before: guest $command" err
done
ask extract -o t -f json --qmp "$PWD/qmp2.sock"
is "$(jq -c '[.result.stopped_ns, [.caveats[] | select(contains("paused before"))] != []]' out)" "[0,true]" "... as JSON" out
ask threads
code=$?
if [ "$major" -lt 8 ]; then
	is "$code $(status) $(grep -c 'was paused before' err)" "0 paused 1" "paused before, without a monitor: QEMU up to 8.0 shows it" err
else
	is "$code $(status) $(grep -c 'if it was paused before' err)" "0 running 1" "without a monitor: it is not known, and the note says so" err
fi
# note_of STATUS COMMAND: on a VM that was paused before, whose monitor is not asked
note_of() {
	local code state wanted
	echo '{"execute":"stop"}' >&4
	until_said '"event": "STOP"' 1
	ask $2
	code=$?
	state=$(status)
	[ "$major" -lt 8 ] && wanted="paused 0" || wanted="running 1"
	is "$code $state $(cat out err | grep -c 'if it was paused before')" "$1 $wanted" "... guest $2" err
}
note_of 0 "threads -f json"
note_of 0 "leaks on"
note_of 0 "leaks on -f json"
note_of 1 "extract -o /not/here/t"
objcopy -O binary -j .rodata "$elf" rodata
printf other | dd of=rodata conv=notrunc 2>/dev/null
objcopy --update-section .rodata=rodata "$elf" other.elf
exe=other.elf note_of 1 threads
# Killed before the stub has answered: a proxy holds hostrace's questions back until it and its guard are gone.
cat >slow.py <<'PYTHON'
import socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind("slow.sock")
listener.listen()
print("ready", flush=True)
client = listener.accept()[0]
print("asked", client.recv(1, socket.MSG_PEEK), flush=True)
sys.stdin.read()
stub = socket.socket(socket.AF_UNIX)
stub.connect("gdb.sock")
while data := client.recv(65536):
	stub.sendall(data)
stub.shutdown(socket.SHUT_WR)
while stub.recv(65536):
	pass
PYTHON
echo '{"execute":"stop"}' >&4
is "$(status)" paused "stopped by its monitor again"
mkfifo hold
python3 slow.py <hold >slow.out 2>&1 &
slow=$!
exec 5>hold
until_line ready slow.out || bail "no proxy: $(cat slow.out)"
"$HOSTRACE" guest threads --timeout 3s -e "$elf" -r "unix:$PWD/slow.sock" --qmp "$PWD/qmp2.sock" >out 2>err 5>&- &
job=$!
until_line asked slow.out || bail "hostrace did not connect: $(cat err)"
guard=$(cat /proc/$job/task/$job/children)
kill -KILL $job
wait $job 2>/dev/null
while kill -0 $guard 2>/dev/null; do
	sleep .05
done
exec 5>&-
wait $slow
is "$(status)" paused "paused before: killed before the stub has answered" slow.out
rm hold
echo '{"execute":"cont"}' >&4
is "$(status)" running "it was continued by its monitor"
ask threads --qmp "$PWD/qmp2.sock"
is "$? $(status) $(grep -c 'stopped for .* ms$' err)" "0 running 1" "a running VM, with its monitor" err

# ---- a stub that does not detach ----
cat >deaf.py <<'PYTHON'
# A proxy in front of the stub that answers detach requests with an error, and never forwards them.
import re, select, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind("deaf.sock")
listener.listen()
print("ready", flush=True)
while True:
	client = listener.accept()[0]
	stub = socket.socket(socket.AF_UNIX)
	stub.connect("gdb.sock")
	while True:
		ready = select.select([client, stub], [], [])[0]
		data = client.recv(65536) if client in ready else b""
		if client in ready and not data:
			break
		detaches = len(re.findall(rb"\$D(?:;1)?#..", data))
		stub.sendall(re.sub(rb"\$D(;1)?#..", b"", data)) if data else None
		client.sendall(b"$E22#a9" * detaches)
		if stub in ready:
			client.sendall(stub.recv(65536))
	stub.close()
	client.close()
PYTHON
python3 deaf.py >deaf.out 2>deaf.err &
deaf=$!
until_line ready deaf.out || bail "no proxy: $(cat deaf.err)"
gdb=unix:$PWD/deaf.sock
ask threads
is "$? $(status) $(grep -c 'may still be paused' err)" "1 paused 1" "the stub does not detach: an error" err
echo '{"execute":"cont"}' >&4
is "$(status)" running "it was continued by its monitor"
ask threads --qmp "$PWD/qmp2.sock"
is "$? $(status) $(grep -c "^Number of threads" out)" "0 running 1" "the stub does not detach: the monitor continues the VM" err
kill $deaf
wait $deaf 2>/dev/null
end_vm

# ---- a VM that was never started ----
qemu_start '' unix:gdb.sock,server=on,wait=off -S
gdb=unix:$PWD/gdb.sock
until [ -S gdb.sock ] && [ -S qmp2.sock ] && [ -s pid ]; do
	kill -0 $qemu || bail "QEMU did not start: $(cat qemu.err)"
	sleep .05
done
qmp_start
is "$(status)" prelaunch "started with -S"
for command in threads virtio leaks "leaks on" "extract -o t"; do
	ask $command
	is "$? $(status) $(grep -c 'the guest has not started yet' err)" "1 prelaunch 1" "never started: guest $command" err
done
end_vm

# ---- terminals ----
cat >terminal.py <<'PYTHON'
# Runs a program on a terminal until standard input ends. HOW: held (by ^S), background
import os, pty, signal, sys, termios
ready = os.pipe()
pid, terminal = pty.fork()
if pid == 0:
	mode = termios.tcgetattr(0)
	mode[3] |= termios.TOSTOP
	termios.tcsetattr(0, termios.TCSANOW, mode)
	job = os.fork()
	if job == 0:
		os.setpgid(0, 0)
		if sys.argv[1] == "held":
			signal.signal(signal.SIGTTOU, signal.SIG_IGN)
			os.tcsetpgrp(0, os.getpid())
			signal.signal(signal.SIGTTOU, signal.SIG_DFL)
			termios.tcflow(0, termios.TCOOFF)
		os.execvp(sys.argv[2], sys.argv[2:])
	os.write(ready[1], b"%d\n" % job)
	signal.pause()
job = int(os.read(ready[0], 20))
sys.stdin.read()
os.kill(job, signal.SIGKILL)
os.kill(pid, signal.SIGKILL)
PYTHON
vm b unix:gdb.sock
by_terminal "^S on its terminal" held
by_terminal "in the background of a terminal with tostop" background
end_vm

# ---- failures ----
vm v unix:gdb.sock
ask extract -o t5
is "$? $(status)" "1 running" "plain session: a failure" err
real_gdb
ask extract -o t5
is "$? $(grep -c 'no valid std::vector' err) $(status)" "1 1 running" "after gdb: a failure" err
end_vm

# ---- signals ----
vm b unix:gdb.sock
cat >holder.py <<'PYTHON'
# A debugger that is attached until its standard input ends.
import socket, sys
stub = socket.socket(socket.AF_UNIX)
stub.connect("gdb.sock")
def ask(packet, reply):
	stub.sendall(packet)
	answer = b""
	while reply not in answer:
		answer += stub.recv(4096)
ask(b"+$?#3f", b"$T05")
print("ready", flush=True)
sys.stdin.read()
ask(b"+$D;1#b0", b"$OK#9a")
PYTHON
endings "plain session"
stopped "plain session"
ended_stopped "plain session"
ended_queued "plain session" TERM
real_gdb
endings "after gdb"
stopped "after gdb"
ended_stopped "after gdb"
ended_queued "after gdb" KILL

# ---- the guard, which would continue the VM, is killed or stopped first ----
cat >delay.py <<'PYTHON'
# A proxy in front of the stub: 50 ms before each request.
import select, socket, time
listener = socket.socket(socket.AF_UNIX)
listener.bind("delay.sock")
listener.listen()
print("ready", flush=True)
while True:
	client = listener.accept()[0]
	stub = socket.socket(socket.AF_UNIX)
	stub.connect("gdb.sock")
	sides = [client, stub]
	while stub in sides:
		for side in select.select(sides, [], [])[0]:
			data = side.recv(65536)
			if not data:
				sides.remove(side)
				stub.shutdown(socket.SHUT_WR)
			elif side is client:
				time.sleep(.05)
				stub.sendall(data)
			else:
				try:
					client.sendall(data)
				except OSError:
					pass
	stub.close()
	client.close()
PYTHON
python3 delay.py >delay.out 2>delay.err &
delay=$!
until_line ready delay.out || bail "no proxy: $(cat delay.err)"

# guard_lost SIGNAL [SIGNAL-TO-HOSTRACE]: the guard gets it, and then hostrace; its status is in $code
guard_lost() {
	local stops resumes guard
	stops=$(happened STOP)
	resumes=$(happened RESUME)
	env --default-signal "$HOSTRACE" guest threads -e "$elf" -r "unix:$PWD/delay.sock" >out 2>err &
	job=$!
	until_happened STOP $((stops + 1)) || bail "the VM was not stopped"
	guard=$(cat /proc/$job/task/$job/children)
	kill "-$1" $guard
	[ -z "${2:-}" ] || kill "-$2" $job
	wait $job 2>wait.err
	code=$?
	until_happened RESUME $((resumes + 1))
	state="$? $(status) $(qemu_alive)"
	kill -CONT $guard 2>kill.err
	[ "$(status)" = running ] || echo '{"execute":"cont"}' >&4
}
for signal in KILL SEGV; do
	guard_lost $signal
	is "$code $state $(grep -c 'the process that continues the VM was killed' err)" "1 0 running yes 1" \
		"the guard ends by SIG$signal: hostrace detaches" err
done
for signal in TERM INT HUP; do
	guard_lost KILL $signal
	is "$state" "0 running yes" "... and hostrace by SIG$signal" err
	guard_lost STOP $signal
	is "$code $state" "$((128 + $(kill -l $signal))) 0 running yes" "the guard is stopped, and hostrace ended by SIG$signal" err
done
guard_lost STOP
is "$code $state" "0 0 running yes" "the guard is stopped: hostrace continues it" err
kill $delay
end_vm
finish
