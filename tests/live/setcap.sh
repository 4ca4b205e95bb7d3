#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace with file capabilities, as its error message for ordinary users proposes, run by an ordinary user: it records,
# but opens no file that this user may not. Setuid it does not run at all.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools setcap setpriv
. "$ROOT/tests/live/record-lib.inc"
umask 022
chmod 755 . ..
mkdir -m 777 shared
cp "$HOSTRACE" capable
cp "$HOSTRACE" setuid
chmod 4755 setuid
cp "$ROOT/tests/golden/v1-raw.hrt" readable.hrt
cp readable.hrt secret.hrt
cp "$BUILD/minivmm" secret.elf
chmod 600 secret.*
mkdir -m 700 closed
echo "root's own" >closed/file

# as_user PROGRAM ARGS...
as_user() {
	(cd shared && exec setpriv --reuid 65534 --regid 65534 --clear-groups timeout -s KILL 200 "$@") >out 2>err
}

# denied NAME ARGS...: fails, and says why
denied() {
	name=$1
	shift
	as_user ../capable "$@"
	is "$? $(grep -c 'Permission denied' err)" "1 1" "$name" err
}

plan 12
vmm_start 23
as_user ../capable record --vm "$vmm" -o none.hrt
caps=$(sed -n 's/.*setcap \([^ ]*\) .*/\1/p' err)
is "${caps:+proposed}" proposed "without capabilities, the error message proposes them" err
setcap "$caps" capable || skip_all "kernel: no file capabilities here"

as_user ../capable list ../readable.hrt
is $? 0 "a report on a file that the user may read" err
denied "a report on a file that only root may read" list ../secret.hrt
denied "record --guest file: of root's file" record --vm "$vmm" -d 200ms -o a.hrt --guest "file:$PWD/secret.hrt"
is "$(find shared -name 'a*' -size +0 | wc -l)" 0 "... nothing of it is copied" err
denied "record --guest file: in root's directory" record --vm "$vmm" -d 200ms -o a.hrt --guest "file:$PWD/closed/file"
denied "record --guest shm: of root's file" record --vm "$vmm" -d 200ms -o a.hrt --guest "shm:$PWD/secret.hrt"
denied "record --guest mem: with root's ELF file" \
	record --vm "$vmm" -d 200ms -o a.hrt --guest "mem:main,elf=$PWD/secret.elf"
denied "a recording into root's directory" record --vm "$vmm" -d 200ms -o ../closed/x.hrt

: >err
(cd shared && exec setpriv --reuid 65534 --regid 65534 --clear-groups \
	timeout -s KILL 200 ../capable record --vm "$vmm" -o good.hrt) 2>err &
recorder_waiter=$!
until_line recording err || bail "record did not start: $(cat err)"
vmm_go
vmm_end
wait "$recorder_waiter"
is "$? $(events kvm_pio shared/good.hrt)" "0 24" "an ordinary user records root's VM" err
is "$(stat -c '%u %a' shared/good.hrt)" "65534 600" "the recording is the user's" err

as_user ../setuid list ../readable.hrt
is "$? $(grep -c 'must not be setuid' err)" "1 1" "setuid, it does not run" err
finish
