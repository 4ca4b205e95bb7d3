#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Root with the capabilities of a container (Docker's and Podman's defaults, and none): reports and conversions work. The
# supervisor cannot read the memory of a process of another user then, so that the user stays. With CAP_SYS_PTRACE it
# changes. Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools setpriv
docker=+chown,+dac_override,+fowner,+fsetid,+kill,+setgid,+setuid,+setpcap,+net_bind_service,+net_raw,+sys_chroot
docker+=,+mknod,+audit_write,+setfcap
podman=+chown,+dac_override,+fowner,+fsetid,+kill,+net_bind_service,+setfcap,+setgid,+setpcap,+setuid,+sys_chroot
cp "$ROOT/tests/golden/v1-raw.hrt" trace.hrt
chmod 644 trace.hrt

contained() { # CAPABILITIES ARGS...
	local caps=$1
	shift
	setpriv --bounding-set "-all${caps:+,$caps}" --inh-caps=-all timeout -s KILL 200 "$HOSTRACE" "$@" 2>err
}

plan 8
"$HOSTRACE" exits trace.hrt >want 2>err
for caps in "$docker" "$podman" "" "$docker,+sys_ptrace"; do
	contained "$caps" exits trace.hrt >have
	is "$? $(cmp want have && echo same)" "0 same" "exits with ${caps:-no capabilities}" err
	rm -f out.csv
	contained "$caps" export csv trace.hrt -o out.csv
	is "$? $(test -s out.csv && echo written)" "0 written" "export" err
done
