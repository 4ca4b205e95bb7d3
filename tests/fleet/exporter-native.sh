#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A Prometheus with native histograms scrapes an exporter, which then writes protobuf: its histograms are those of the text page, and its
# quantiles are within 10 % of those that `exits` computes from a recording of the same time.
# Needs $HOSTRACE and $BUILD; prints TAP.
set -u
. "$(dirname "$0")/../live/demo-lib.inc"
live_needs_kvm
live_needs_root
live_needs_tools curl jq python3
/usr/bin/python3 -c "import prometheus_client" 2>/dev/null || skip_all "python3-prometheus-client is not installed"
command -v prometheus >/dev/null || skip_all "prometheus is not installed"
prometheus --help 2>&1 | grep -q native-histograms || skip_all "this Prometheus has no native histograms"
. "$ROOT/tests/live/record-lib.inc"
. "$ROOT/tests/live/exporter-lib.inc"
. "$ROOT/tests/live/prometheus-lib.inc"
name=native$$
proto='application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited'
trap 'pkill -P $$; rm -rf "$scratch"' EXIT

# content_type ACCEPT
content_type() {
	curl -sS --max-time 60 -H "Accept: $1" -o out -w '%{content_type}' "http://$address/metrics"
}

plan 16
cp "$BUILD/minivmm" "$name"
# shellcheck disable=SC2034 # demo-lib.inc
vmm_options="inb=0 mmio=0 hlt=0 slow=4 pause=4"
vmm_start 2000 "./$name"
exporter_start --listen 127.0.0.1:0
record_start --vm "$vmm" --events kvm -o t.hrt
vmm_go
until_sample 1 hostrace_port_accesses_total "vm=\"$name\"" 'port="0xf4"' # its last access, in which it stays
is "$? $(sample hostrace_port_accesses_total "vm=\"$name\"" 'port="0x2f0"')" "0 2000" "the VM did its accesses" page
kill -s INT "$recorder"
wait "$recorder_waiter"
is $? 0 "a recording of the same time" record.err
"$HOSTRACE" exits -f json --vm "$name" -i t.hrt >exits.json 2>exits.err
reason=$(jq -r '[.rows[] | select(.reason | test("IO"))] | max_by(.count).reason' exits.json)
family=$(sed -n "s/^\(hostrace_[a-z]*_\{0,1\}exit_latency_seconds\)_count{.*reason=\"$reason\".*/\1/p" page | head -n 1)
series="$family{vm=\"$name\",reason=\"$reason\"}"

# ---- which format ----
is "$(content_type "$proto,text/plain;q=0.5")" \
	"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited" "the content type of protobuf"
is "$(content_type "$proto;q=0.4,text/plain;q=0.5")" "text/plain; version=0.0.4; charset=utf-8" "... of text, where that is preferred"
is "$(grep "^$family.*$name" out | cksum)" "$(grep "^$family.*$name" page | cksum)" "... which is that of a request without a header"
is "$(content_type "$(head -c 3000 /dev/zero | tr '\0' ,)$proto")" "text/plain; version=0.0.4; charset=utf-8" "... of a header that is too long"

is "$(content_type "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")" \
	"application/openmetrics-text; version=1.0.0; charset=utf-8" "the content type of OpenMetrics"
is "$(grep "^$family.*$name" out | cksum)" "$(grep "^$family.*$name" page | cksum)" "... the same samples"
/usr/bin/python3 -c 'import sys
from prometheus_client.openmetrics.parser import text_fd_to_metric_families
print(sum(len(f.samples) for f in text_fd_to_metric_families(sys.stdin)))' <out >samples 2>&1
is "$(cat samples)" "$(grep -vc '^#' out)" "... which another parser reads" samples

# ---- Prometheus ----
cp "$ROOT"/examples/prometheus/hostrace.rules.yml .
cat >prometheus.yml <<-END
	global: { scrape_interval: 1s, evaluation_interval: 1s }
	rule_files: [hostrace.rules.yml]
	scrape_configs:
	  - { job_name: hostrace, static_configs: [{ targets: ["$address"] }] }
END
prometheus_run --enable-feature=native-histograms
until_answer "histogram_count($series)" '.[0].value[1]' "$(sample "${family}_count" "vm=\"$name\"" "reason=\"$reason\"")"
is $? 0 "the count of a native histogram is that of the text" answer
ask "histogram_sum($series) * 1e6"
is "$(jq -r '.[0].value[1] | tonumber | round' answer)" \
	"$(sed -n "s/^${family}_sum{.*vm=\"$name\".*reason=\"$reason\".* //p" page | awk '{ printf "%.0f", $1 * 1e6 }')" "... and its sum" answer
for q in 0.5:p50_ns 0.9:p90_ns 0.99:p99_ns; do
	ask "histogram_quantile(${q%:*}, $series)"
	have=$(jq -r '.[0].value[1] // 0' answer)
	want=$(jq -r --arg reason "$reason" "[.rows[] | select(.reason == \$reason).${q#*:}] | max" exits.json)
	echo "# histogram_quantile(${q%:*}): $have s; exits: $want ns"
	is "$(within_bucket "$have" "$want" 1.1)" 1 "histogram_quantile(${q%:*}) is within 10 % of what exits computes" exits.json
done
until_answer "count({__name__=~\"hostrace:.*exit_latency_seconds:p99_rate5m\",vm=\"$name\"})" '.[0].value[1]' 1
is $? 0 "the recording rule computes it from native histograms" answer
ask 'sum(up{job="hostrace"})'
is "$(jq -r '.[0].value[1]' answer)" 1 "no scrape failed" answer
finish
