#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# exporter --downtime, when /proc cannot be read, as there is no free descriptor: a warning once until it can be read
# again, and the page is there all the time.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_root
live_needs_tools curl
[ -d /sys/kernel/tracing/events/kvm ] || skip_all "kernel: no tracepoints of kvm"
. "$ROOT/tests/live/exporter-lib.inc"
trap 'pkill -P $$; rm -rf "$scratch"' EXIT

warnings() {
	grep -c '^hostrace: warning: VMs that have not run are not found: cannot read /proc: Too many open files' exporter.err
}

plan 5
cat >faulty <<END
#!/bin/sh
LD_PRELOAD=$BUILD/faults.so FAULT_PROC=27 exec "$HOSTRACE" "\$@"
END
chmod +x faulty
HOSTRACE=$PWD/faulty
exporter_start --downtime --listen 127.0.0.1:0
until_line 'VMs that have not run' exporter.err
scrape
is "$(warnings) $(grep -q '^hostrace_' page && echo page)" "1 page" "it cannot be read: a warning, and the page" exporter.err
sleep 7
scrape
is "$(warnings) $(grep -q '^hostrace_' page && echo page)" "1 page" "... one warning for two times" exporter.err
for _ in $(seq 300); do
	[ "$(warnings)" = 2 ] && break
	sleep .1
done
is "$(warnings)" 2 "... and another one when it fails again" exporter.err
scrape
is "$(grep -q '^hostrace_' page && echo page)" page "... the page is there" curl.err
exporter_end
is $? 0 "it ends as without" exporter.err
finish
