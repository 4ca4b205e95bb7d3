#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# After every kind of end, the recording can be read and the VM is undisturbed.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
. "$ROOT/tests/live/record-lib.inc"
live_needs_tools prlimit

plan 35

# by its duration, while the VM continues
vmm_start 1000
vmm_go
timeout 200 "$HOSTRACE" record -q --vm "$vmm" -d 300ms -o duration.hrt 2>record.err
is $? 0 "the duration ends it" record.err
is "$(ended duration.hrt)" duration "... and the file says so"
vmm_end
is $? 0 "... and the VM did all its work" vmm.err

# by its duration, while what looks at the VM does not answer
vmm_start 1000
timeout 200 "$HOSTRACE" record -q --vm "$vmm" -d 100ms -o held.hrt 2>record.err &
recorder_waiter=$!
until pkill -STOP -f "stuck --vm $vmm -q" || ! kill -0 "$recorder_waiter" 2>/dev/null; do sleep .01; done
wait "$recorder_waiter"
is $? 0 "... also if the look at what stands still does not end" record.err
is "$("$HOSTRACE" info held.hrt -f json | jq -r .result.stuck.error)" "hostrace stuck did not answer within 20 s" "... which the file says"
pkill -KILL -f "stuck --vm $vmm -q"
vmm_go
vmm_end
is $? 0 "... and the VM did all its work" vmm.err

# by signals
for signal in INT TERM HUP; do
	vmm_start 2000
	record_start --vm "$vmm" -o "$signal.hrt"
	vmm_go
	until_line '^outb ' vmm.out
	kill -s "$signal" "$recorder"
	wait "$recorder_waiter"
	is $? 0 "SIG$signal ends it" record.err
	is "$(events kvm_pio "$signal.hrt")" 2001 "... with every access in the file"
	vmm_end
	is $? 0 "... and the VM did all its work" vmm.err
done

# by the VM's end
vmm_start 500
record_start --vm "$vmm" -o vm.hrt
vmm_go
vmm_end
wait "$recorder_waiter"
is $? 0 "the VM's end ends it" record.err
is "$(ended vm.hrt)" "VM ended" "... and the file says so"
is "$(events kvm_pio vm.hrt)" 501 "... with every access in the file"

# by the command's end, whose status is reported
vmm_start 100
timeout 200 "$HOSTRACE" record --vm "$vmm" -o command.hrt -- sh -c 'sleep .2; exit 7' 2>record.err
is $? 0 "the command's end ends it" record.err
is "$(grep -c 'status 7' record.err)" 1 "... and its status is reported" record.err
vmm_go
vmm_end

# by the end of a VM that ended before the recorder, which is stopped meanwhile, looked at its process
cat >soon.sh <<'EOF'
recorder=$PPID
(
	until grep -q '^State:.Z' /proc/$$/status; do sleep .05; done
	kill -CONT $recorder
) &
kill -STOP $recorder
exec "$@"
EOF
timeout -s KILL 200 "$HOSTRACE" record -o soon.hrt -- sh soon.sh "$BUILD/minivmm" outb=23 inb=0 mmio=0 hlt=0 >vmm.out 2>record.err
is $? 0 "a VM that ends before it is looked at is recorded" record.err
is "$(events kvm_pio soon.hrt)" 24 "... with every access in the file" record.err
is "$(grep -c 'no VM' record.err)" 0 "... which is not denied" record.err
is "$(grep -c 'warning: .*ended before its process was read' record.err)" 1 "... it is said what is missing" record.err
is "$("$HOSTRACE" info -i soon.hrt | grep -cE '^vm .*, 1 vCPU')" 1 "... the file has the VM" record.err

# by SIGKILL: without a message, but the file is readable
vmm_start 60000
record_start --vm "$vmm" -o killed.hrt
vmm_go
for _ in $(seq 600); do # until a chunk is in the file
	[ "$(events kvm_pio killed.hrt)" -le 1000 ] || break
	sleep .1
done
kill -s KILL "$recorder"
wait "$recorder_waiter" 2>/dev/null
timeout 200 "$HOSTRACE" info -i killed.hrt >info.out 2>&1
is $? 0 "a killed recording can be read" info.out
is "$([ "$(events kvm_pio killed.hrt)" -gt 1000 ] && echo many)" many "... up to its last chunk" info.out
timeout 200 "$HOSTRACE" list -i killed.hrt >list.out 2>list.err
is $? 0 "... and listed" list.err
vmm_end
is $? 0 "... and the VM did all its work" vmm.err

# by a limit (ulimit -f), whose signal would end the process
vmm_start 60000
: >record.err
(
	ulimit -f 256 # blocks of 512 or 1024 bytes: small in any case
	exec timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -o full.hrt 2>record.err
) &
recorder_waiter=$!
until_line 'recording' record.err
vmm_go
wait "$recorder_waiter"
is $? 1 "a limit of the file's size ends it as failed" record.err
is "$(grep -c 'full.hrt: File too large' record.err)" 1 "... with a message, not by SIGXFSZ" record.err
timeout 200 "$HOSTRACE" info -i full.hrt >info.out 2>&1
is $? 0 "... with a file that can be read" info.out
vmm_end
is $? 0 "... and the VM did all its work" vmm.err

# ... also where only the last chunk exceeds it, and no event is in the file
vmm_start 2000
record_start --vm "$vmm" -o head.hrt
head=$(stat -c %s head.hrt) # without records
kill "$recorder"
wait "$recorder_waiter"
: >record.err
prlimit --fsize=$((head + 256)) timeout -s KILL 200 "$HOSTRACE" record --vm "$vmm" -o none.hrt 2>record.err &
recorder_waiter=$!
until_line 'recording' record.err
vmm_go
vmm_end
wait "$recorder_waiter"
is "$? $(ls none.hrt* 2>/dev/null)" "1 none.hrt" "a limit that the first chunk exceeds: a failure, with a file" record.err
is "$(grep -c ' 0 events in .* lost, .* in none.hrt; ended by' record.err) $(grep -c 'the file counts them as lost' record.err)" "1 1" \
	"... that counts what was lost" record.err
finish
