#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# `exporter`: a guest does a known number of port accesses; curl reads the page, promtool checks it.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl promtool
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"

user=$(awk -F: '$1 == "hostrace" { print $3; found = 1 } $1 == "nobody" { nobody = $3 }
	END { if (!found) print nobody }' /etc/passwd)

# status PID FIELD: its value in /proc/PID/status
status() {
	sed -n "s/^$2:[[:blank:]]*//p" "/proc/$1/status" | tr '\t' ' '
}

plan 56

# ---- options ----
timeout 200 "$HOSTRACE" exporter x 2>err
is $? 2 "no arguments" err
timeout 200 "$HOSTRACE" exporter --vcpu-group 0 2>err
is $? 2 "a group of no vCPUs" err
timeout 200 "$HOSTRACE" exporter --max-pages 1000 2>err
is $? 2 "more pages than are counted" err
for at in localhost:0 ::1:80 127.0.0.1 127.0.0.1:http unix: 127.0.0.1:99999; do
	timeout 200 "$HOSTRACE" exporter --listen "$at" 2>err
	is "$? $(grep -c 'exporter: invalid' err)" "1 1" "--listen $at" err
done
timeout 200 "$HOSTRACE" exporter --insecure --listen 192.0.2.1:0 2>err
is "$? $(grep -c 'cannot listen on 192.0.2.1:0' err)" "1 1" "--listen: an address of another host" err

# ---- confinement ----
name=exporter$$
cp "$BUILD/minivmm" "$name"
vmm_options="mmio=40"
vmm_start 3000 "./$name"
exporter_start --listen 127.0.0.1:0
for p in "$exporter 0000000000080004 hostrace" "$httpd 0000000000000000 hostrace-httpd"; do
	# shellcheck disable=SC2086
	set -- $p
	is "$(status "$1" Uid)" "$user $user $user $user" "$3: the user"
	is "$(status "$1" CapEff) $(status "$1" CapPrm)" "$2 $2" "$3: effective capabilities"
	is "$(status "$1" CapBnd) $(status "$1" NoNewPrivs) $(status "$1" Seccomp)" "0000000000000000 1 2" \
		"$3: the bounding set, no_new_privs, a filter of system calls"
done
is "$(find "/proc/$httpd/fd" -lname 'anon_inode:bpf*' | wc -l)" 0 "hostrace-httpd: no map and no program of BPF"

# ---- a page ----
scrape
promtool check metrics <page >promtool.out 2>&1
is $? 0 "promtool check metrics" promtool.out
vm="vm=\"$name\" pid=\"$vmm\""
is "$(sample hostrace_vm_info "$vm" 'accelerator="kvm"')" 1 "the VM is there" page
is "$(sample hostrace_vm_info "$vm" "cgroup=\"$(sed -n 's/^0:://p' "/proc/$vmm/cgroup")\"")" 1 "... with its cgroup" page
is "$(sample hostrace_vm_vcpus "$vm")" 1 "... and its vCPU" page
is "$(sample hostrace_vcpu_userspace_exits_total "$vm" 'vcpu="0"')" 0 "... which did nothing yet" page
vmm_go
until_sample 3000 hostrace_port_accesses_total "$vm" 'direction="out"' 'port="0x2f0"'
is $? 0 "each outb is counted once" page
until_sample 40 hostrace_mmio_accesses_total "$vm" 'direction="write"' 'page="0xd0000"'
is $? 0 "... and each write of MMIO" page
until_sample 3040 hostrace_vcpu_userspace_exits_total "$vm" 'vcpu="0"'
is $? 0 "... exits to the VMM" page
is "$(sample hostrace_port_accesses_total "$vm" 'port="0xf4"')" 1 "... another port" page
is "$(sample hostrace_port_accesses_total "$vm" 'port="other"')" 0 "... none in the rest" page
port_io=$(sed -n "s/^\(hostrace_[a-z]*_\{0,1\}exit_latency_seconds\)_count{.*pid=\"$vmm\".*\(reason=\"\(KVM_EXIT_IO\|IO_INSTRUCTION\|io\)\"\).*/\1 \2/p" page | head -n 1)
io=${port_io% *} reason=${port_io#* }
is "$(sample "${io}_count" "$vm" 'vcpus="0"' "$reason")" 3000 "a histogram of the latency" page
is "$(sample "${io}_bucket" "$vm" "$reason" 'le="+Inf"')" 3000 "... whose last bucket has all" page
is "$(grep "^${io}_bucket.*pid=\"$vmm\".*$reason" page | awk '$NF < last { bad = 1 } { last = $NF } END { print NR, bad + 0 }')" \
	"22 0" "... its buckets are cumulative" page
is "$(awk -v a="$(sample "${io}_sum" "$vm")" -v b="$(sample hostrace_vcpu_exit_cause_seconds_total "$vm" 'vcpu="0"')" \
	'BEGIN { print (a > 0 && b > 0 && b <= a * 1.01 + 0.001) }')" 1 "causes add up to not more than the latencies" page
is "$(awk -v run="$(sample hostrace_vcpu_run_seconds_total "$vm")" 'BEGIN { print (run > 0) }')" 1 "CPU time of its vCPU" page
is "$(sample hostrace_vcpu_ready_seconds_total "$vm" | grep -c '^[0-9]')" 1 "... and the time it waited for one" page
is "$(sample hostrace_probe_attached | awk '{ print ($1 >= 3) }') $(grep -c '^hostrace_probe_attached.* 0$' page)" "1 0" "all probes are attached" page
is "$(awk '/^process_cpu_seconds_total/ { c = $2 > 0 } /^process_resident_memory_bytes/ { m = $2 > 1000000 } END { print c m }' page)" \
	11 "own cost" page
promtool check metrics <page >promtool.out 2>&1
is $? 0 "promtool check metrics, with all of it" promtool.out

# ---- HTTP ----
is "$(curl -s -o out -w '%{http_code} %{content_type}' "http://$address/metrics")" \
	"200 text/plain; version=0.0.4; charset=utf-8" "the content type" out
is "$(curl -s -o out -w '%{http_code}' "http://$address/passwd") $(curl -s -o out -w '%{http_code}' -d x "http://$address/metrics")" \
	"404 405" "another path, another method" out
is "$(curl -sI -o out -w '%{http_code}' "http://$address/metrics") $(curl -s -o out -w '%{http_code}' "http://$address/")" \
	"200 200" "HEAD; the page for a person" out
is "$(grep -c 'href="/metrics"' out) $(grep -c '<tr><td>hostrace_vm_vcpus<td> vCPUs that are counted' out)" "1 1" "... with a link and what is scraped" out
is "$(grep -c 'No problem: all probes are attached' out) $(grep -c '^<tr><td>hostrace_probe_attached{probe=&#34;[a-z_]*&#34;}<td>1$' out)" \
	"1 $(grep -c '^hostrace_probe_attached' page)" "... and whether all is well" out
head -c 100000 /dev/urandom | timeout 200 socat -t 5 - "TCP:$address" >out 2>&1
scrape
is "$(sample hostrace_vm_vcpus "$vm")" 1 "it answers after a request of random bytes" page

# ---- VMs that come and go ----
vmm_end
until_sample none hostrace_vm_info "pid=\"$vmm\""
is $? 0 "a VM that ended is gone" page
evil="evil\"} 1
fake_total 7 $$"
cp "$BUILD/minivmm" "$evil"
vmm_start 100 "./$evil"
vmm_go
until_sample 1 hostrace_vm_info "pid=\"$vmm\""
is "$(grep -c "^hostrace_vm_info{vm=\"evil.*pid=\"$vmm\"" page) $(grep -c '^fake' page)" "1 0" "a hostile name is one label" page
promtool check metrics <page >promtool.out 2>&1
is $? 0 "... promtool check metrics" promtool.out
exporter_end
is $? 0 "^C: status 0" exporter.err
for _ in $(seq 600); do # what is left of it then waits for its parent
	[ -n "$(status "$httpd" State 2>/dev/null | grep -v '^Z')" ] || break
	sleep .1
done
is "$(status "$httpd" State 2>/dev/null | grep -v '^Z')" "" "... hostrace-httpd ended, too"

# ---- limits; a Unix socket ----
exporter_start --listen "unix:$PWD/metrics.sock" --max-series 1 --max-ports 0
curl -sS --max-time 60 --unix-socket metrics.sock http://localhost/metrics >page
is "$(sample hostrace_vms 'state="exported"') $(sample hostrace_vms 'state="over-series-limit"' | awk '{ print ($1 > 0) }') $(sample hostrace_vm_info)" \
	"0 1 none" "--max-series: VMs that do not fit are counted" page
is "$(stat -c %a metrics.sock)" 660 "the socket is for its owner and group"
vmm_end
exporter_end
is "$(find . -name metrics.sock)" "" "the socket file is gone when the exporter has ended"
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("metrics.sock")' # as one that was killed leaves it
exporter_start --listen "unix:$PWD/metrics.sock" --dumps .
is "$(curl -sS --max-time 60 --unix-socket metrics.sock http://localhost/metrics | grep -c '^hostrace_build_info')" 1 \
	"a socket file that was left is replaced"
rm metrics.sock
touch metrics.sock
exporter_end
is "$? $(stat -c %F metrics.sock)" "0 regular empty file" "a file of somebody else at its place is left there"

# ---- a socket where another user has the directory, a link on the way, or a socket ----
chmod 755 .
mkdir -m 755 theirs ours
mkdir -m 3775 team
chown 65534 theirs
chgrp 65534 team
ln -s ours team/link
chown -h 65534 team/link
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("team/socket")'
chown 65534 team/socket
for at in theirs/socket team/link/socket team/socket; do
	timeout -s KILL 60 "$HOSTRACE" exporter --listen "unix:$at" 2>err
	is "$? $(grep -c 'belongs to user 65534' err)" "1 1" "--listen unix:$at, of another user" err
done
is "$(find theirs ours team -type s)" team/socket "... is neither made nor removed"
finish
