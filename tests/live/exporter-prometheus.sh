#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A Prometheus scrapes two exporters of this host, one of them with TLS and a password, while the same VMs are recorded: its counts are those of the
# recording, and histogram_quantile() is in the same bucket as the quantile that `exits` computes.
# FLEET_VMS: so many VMs (`make check-fleet`; default 1), which do FLEET_OUTB port accesses each.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl jq openssl
command -v prometheus >/dev/null || skip_all "prometheus is not installed"
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"
. "$ROOT/tests/live/prometheus-lib.inc"
vms=${FLEET_VMS:-1}
pids=
outb=${FLEET_OUTB:-1000}
name=prometheus$$
trap 'pkill -P $$; rm -rf "$scratch"' EXIT

# exporters_start: two, with two configurations
exporters_start() {
	exporter_start --listen 127.0.0.1:0
	first=$address first_pid=$exporter first_waiter=$exporter_waiter
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -keyout key.pem -out cert.pem \
		-subj /CN=test -addext subjectAltName=IP:127.0.0.1 >openssl.out 2>&1 || bail "openssl: $(cat openssl.out)"
	echo "prometheus:$(openssl passwd -6 secret)" >users
	exporter_start --listen 127.0.0.1:0 --vcpu-group 1 --tls-cert cert.pem --tls-key key.pem --password-file users
	second=$address
}

prometheus_start() {
	cp "$ROOT"/examples/prometheus/hostrace.rules.yml .
	cat >prometheus.yml <<-END
	global: { scrape_interval: 1s, evaluation_interval: 1s }
	rule_files: [hostrace.rules.yml]
	scrape_configs:
	  - { job_name: hostrace, static_configs: [{ targets: ["$first"] }] }
	  - job_name: hostrace-tls
	    scheme: https
	    tls_config: { ca_file: cert.pem }
	    basic_auth: { username: prometheus, password: secret }
	    static_configs: [{ targets: ["$second"] }]
	    relabel_configs: [{ target_label: job, replacement: hostrace }]
	END
	prometheus_run
}

plan 12
cp "$BUILD/minivmm" "$name"
for i in $(seq "$vms"); do
	mkfifo "vm$i.go" # both ends are open in the VM, so that it reads no end of file
	timeout 500 "./$name" outb="$outb" inb=0 mmio=0 hlt=0 slow=4 pause=4 wait linger <>"vm$i.go" >"vm$i.out" 2>&1 &
done
for i in $(seq "$vms"); do
	until_line '^ready' "vm$i.out" || bail "minivmm did not start"
	pids=${pids:+$pids,}$(sed -n 's/^ready //p' "vm$i.out")
done
exporters_start
prometheus_start
until_answer 'sum(up{job="hostrace"})' '.[0].value[1]' 2
is $? 0 "both exporters are scraped" answer
until_answer "count(hostrace_vm_info{vm=\"$name\"})" '.[0].value[1]' $((2 * vms))
is $? 0 "each has the VMs" answer
record_start --vm "$pids" --events kvm -o t.hrt # not --all: VMs of others may end while it starts
for i in $(seq "$vms"); do
	echo go >"vm$i.go"
done
port_out="hostrace_port_accesses_total{vm=\"$name\",direction=\"out\",port=\"0x2f0\"}"
until_answer "sum by (instance) ($port_out)" 'map(.value[1]) | sort' "[\"$((outb * vms))\",\"$((outb * vms))\"]"
is $? 0 "both count each port access once" answer
kill -s INT "$recorder"
wait "$recorder_waiter"
is $? 0 "a recording of the same time" record.err

"$HOSTRACE" exits -f json --by vm --vm "$name" -i t.hrt >exits.json 2>exits.err
row=$(jq -c '[.rows[] | select(.reason | test("IO"))] | max_by(.count)' exits.json)
reason=$(echo "$row" | jq -r .reason)
ask "{__name__=~\"hostrace_(userspace_)?exit_latency_seconds_count\",vm=\"$name\",reason=\"$reason\"}"
family=$(jq -r '.[0].metric.__name__ // "none" | sub("_count$"; "")' answer)
is "$(jq -r 'map(.value[1]) | unique | join(" ")' answer)" "$outb" "as many exits of that reason in each VM" answer
for q in 0.5:p50_ns 0.9:p90_ns 0.99:p99_ns; do
	ask "histogram_quantile(${q%:*}, sum by (le) (${family}_bucket{vm=\"$name\",reason=\"$reason\",instance=\"$first\"}))"
	have=$(jq -r '.[0].value[1] // 0' answer)
	"$HOSTRACE" exits -f json --vm "$name" --reason "$reason" -i t.hrt >all.json 2>exits.err
	want=$(jq -r "[.rows[].${q#*:}] | max" all.json)
	echo "# histogram_quantile(${q%:*}): $have s; exits: $want ns"
	is "$(within_bucket "$have" "$want")" 1 "histogram_quantile(${q%:*}) is in the bucket of what exits computes" all.json
done
ask "sum by (instance) (${family}_sum{vm=\"$name\",reason=\"$reason\"})"
is "$(jq -r --argjson want "$(jq '[.rows[].total_ns] | add' all.json)" \
	'map(.value[1] | tonumber * 1e9 / $want | . > 0.95 and . < 1.05) | join(" ")' answer)" "true true" "the same total time, within 5 %" answer
until_answer "count(hostrace:userspace_exit_latency_seconds:p99_rate5m{vm=\"$name\"} or hostrace:exit_latency_seconds:p99_rate5m{vm=\"$name\"})" \
	'.[0].value[1]' $((2 * vms))
is $? 0 "recording rules" answer

kill -s INT "$first_pid"
wait "$first_waiter"
until_answer "up{instance=\"$first\"}" '.[0].value[1]' 0
is $? 0 "an exporter that ended is noticed" answer
ask "count(hostrace_vm_info{vm=\"$name\"})"
is "$(jq -r '.[0].value[1]' answer)" "$vms" "... its series are stale at once, the other's stay" answer
finish
