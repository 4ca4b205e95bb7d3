#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# exporter --otlp: what a receiver of OpenTelemetry's protocol gets is what a scraper gets; a receiver that fails, rejects
# samples or does not answer is reported and counted, and does not delay scrapes.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl python3
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"
name=otlp$$
trap 'pkill -P $$; rm -rf "$scratch"' EXIT

# sent_sample NAME LABEL...: as `sample` does of a scrape
sent_sample() {
	cp sent page
	sample "$@"
}

# until_requests RESULT N: there were so many at least
until_requests() {
	for _ in $(seq 1200); do
		scrape
		[ "$(sample hostrace_otlp_requests_total "result=\"$1\"")" -ge "$2" ] && return
		sleep .1
	done
	return 1
}

plan 18
echo ok >mode
/usr/bin/python3 "$ROOT/tests/live/otlp_receiver.py" mode >port 2>receiver.err &
until_line '^[0-9]' port || bail "the receiver did not start: $(cat receiver.err)"
url="http://127.0.0.1:$(cat port)"
printf 'Authorization: Bearer secret\nX-Scope: 7\n' >headers
cp "$BUILD/minivmm" "$name"
# shellcheck disable=SC2034 # demo-lib.inc
vmm_options="inb=0 mmio=0 hlt=0 slow=4 pause=4"
vmm_start 2000 "./$name"
exporter_start --listen 127.0.0.1:0 --otlp "$url" --otlp-interval 1s --otlp-headers headers
vmm_go
until_sample 1 hostrace_port_accesses_total "vm=\"$name\"" 'port="0xf4"' # its last access, in which it stays
is $? 0 "the VM did its accesses" page
sed '/^hostrace_\(otlp\|vcpu_open\)/d; /^#/d; /^process/d' page >scraped
until_requests accepted $(($(sample hostrace_otlp_requests_total 'result="accepted"') + 2)) # begun after the scrape
is $? 0 "requests are accepted" page

# ---- what is sent ----
is "$(sent_sample hostrace_port_accesses_total "vm=\"$name\"" 'port="0x2f0"')" 2000 "the accesses of a port" sent
for suffix in count sum; do
	metric=$(sed -n "s/^\(hostrace_[a-z_]*exit_latency_seconds_$suffix\){.*/\1/p" scraped | head -n 1)
	cp scraped page
	want=$(sample "$metric" "vm=\"$name\"" | cut -c1-6)
	is "$(sent_sample "$metric" "vm=\"$name\"" | cut -c1-6)" "$want" "the $suffix of all exits" sent
done
sed 's/{.*//; s/ .*//' scraped | grep -v '_bucket$' | sort -u >names
sed '/^#/d; /^hostrace_\(otlp\|vcpu_open\)/d; /^process/d; s/{.*//; s/ .*//' sent | sort -u >sent.names
is "$(cat sent.names)" "$(cat names)" "the names are those of a scrape"
grep -q '^POST /v1/metrics ' sent.head && grep -qi '^content-type: application/x-protobuf' sent.head
is $? 0 "path and content type are those of the protocol" sent.head
grep -q '^Authorization: Bearer secret' sent.head && grep -q '^X-Scope: 7' sent.head
is $? 0 "the headers are sent" sent.head
grep -q "^# {service.name=\"hostrace\",.*host.name=\"$(uname -n)\"}" sent
is $? 0 "the sender is named" sent

# ---- the process that sends ----
sender=$(pgrep -P "$exporter" -x hostrace-http)
is "$(awk '/^CapEff|^CapPrm|^CapBnd/ { caps = caps $2 } /^Uid/ { uid = $3 } END { print (uid != 0), caps ~ /^0+$/ }' "/proc/$sender/status")" \
		"1 1" "it has another user and no capabilities" exporter.err

# ---- receivers that fail ----
echo fail >mode
until_requests failed 2
is "$? $(grep -c 'the server replied with status 503' exporter.err)" "0 1" "a failure is counted each time and reported once" exporter.err
echo partial >mode
until_requests partial 1
is "$? $(grep -c '7 samples were rejected: too old' exporter.err)" "0 1" "rejected samples are reported" exporter.err
echo page >mode
until_line 'the answer is none of OpenTelemetry' exporter.err
is $? 0 "so is an answer of something else" exporter.err
echo ok >mode
until_line 'accepts the figures again' exporter.err
is $? 0 "so is that it accepts again" exporter.err
echo hang >mode
answered=0 # scrapes that were answered while a request waited for its answer
for _ in $(seq 600); do
	waits=$(find . -name 'hung.[0-9]*' ! -name '*.tmp' | head -n 1)
	if [ -n "$waits" ]; then
		scrape
		[ -e "$waits" ] && answered=1 && break
	fi
	sleep .1
done
is "$answered $(sample hostrace_vm_info "vm=\"$name\"")" "1 1" "a receiver that does not answer does not delay scrapes" exporter.err
before=$(sample hostrace_otlp_requests_total 'result="failed"')
echo ok >mode
until_requests failed $((before + 1))
is "$? $(grep -c "$url/v1/metrics: .*\(timed out\|too slow\)" exporter.err)" "0 1" "it is abandoned" exporter.err

exporter_end
is $? 0 "the exporter ends" exporter.err
exporter_start --listen 127.0.0.1:0 --otlp "https://127.0.0.1:1" --otlp-interval 1s --otlp-cacert not-there.pem
until_requests failed 1
is "$? $(sample hostrace_otlp_requests_total 'result="accepted"') $(grep -c 'not-there.pem' exporter.err)" "0 0 1" \
	"a certificate that cannot be read is reported, and no request counts as accepted" exporter.err
exporter_end
finish
