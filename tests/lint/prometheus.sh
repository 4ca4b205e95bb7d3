#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rules and alerts of examples/prometheus pass their tests, and they and the dashboard use only metrics that the
# exporter has; the manual lists all of these.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/lint/rule.inc
dir=examples/prometheus
pages="src/exporter/page.c src/exporter/devices.c src/exporter/downtime.c"
command -v promtool >/dev/null || {
	echo "1..0 # SKIP no promtool (Debian: prometheus)"
	exit
}

# The exporter's metrics, with the series of histograms.
metrics() {
	grep -ohE '"(hostrace|process)_[a-z_]+"' $pages | tr -d '"'
	grep -ohE '"hostrace_[a-z_]+", "histogram"' $pages | tr -d '",' | while read -r name _; do
		printf '%s\n' "${name}_bucket" "${name}_sum" "${name}_count"
	done
}

# exist NAMES...: what is neither a metric nor a recording rule
exist() {
	grep -vxF -f <(metrics; sed -n 's/.*- record: //p' $dir/hostrace.rules.yml) <<<"$1"
}

rule "promtool check rules" "$(promtool check rules $dir/hostrace.rules.yml >/dev/null 2>&1 || echo failed)"
rule "promtool test rules" "$(promtool test rules $dir/hostrace.rules.test.yml 2>&1 | grep -v SUCCESS | grep -v '^$' | grep -v '^Unit Testing')"
rule "promtool check config" "$(promtool check config $dir/prometheus.yml 2>&1 | grep -iE 'fail|error')"
names='\b(hostrace|process)[:_][a-z0-9_:]+'
used=$(sed 's/#.*//; /record:/d; /summary:\|action:/d' $dir/hostrace.rules.yml | grep -oE "$names" | sort -u)
rule "rules use metrics that exist" "$([ "$(wc -l <<<"$used")" -ge 8 ] || echo "only: $used"; exist "$used")"
shown=$(jq -r '.. | strings' $dir/grafana-dashboard.json | grep -oE "$names" | sort -u)
rule "the dashboard shows metrics that exist" "$([ "$(wc -l <<<"$shown")" -ge 15 ] || echo "only: $shown"; exist "$shown")"
tested=$(sed -n 's/^ *- alertname: //p' $dir/hostrace.rules.test.yml)
rule "each alert has a test" "$(sed -n 's/^ *- alert: //p' $dir/hostrace.rules.yml | grep -vxF "$tested")"
rule "the manual lists all metrics" "$(metrics | grep -vE '_(bucket|sum|count)$' | while read -r name; do
	grep -qF "*$name*" doc/man/hostrace-exporter.1.scd || echo "$name"
done)"
echo "1..$n"
exit $failed
