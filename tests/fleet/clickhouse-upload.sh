#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The timer's script uploads finished dumps to a real server, each once; a dump whose upload fails is tried again.
# Needs $HOSTRACE; prints TAP.
# shellcheck disable=SC2154 # is(), plan(), bail(): demo-lib.inc
set -u
. "$ROOT/tests/live/demo-lib.inc"
command -v clickhouse-server >/dev/null || skip_all "clickhouse-server is not installed"
live_needs_tools curl
. "$ROOT/tests/fleet/clickhouse-lib.inc"
trap 'kill -KILL $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT
upload=$ROOT/examples/clickhouse/hostrace-upload

# counts: traces, events, different events
counts() {
	{
		echo "SELECT count() FROM traces" | ask "$one" hostrace
		echo "SELECT count(), uniqExact(trace, row) FROM events" | ask "$one" hostrace
	} | tr '\t\n' ' ' | sed 's/ $//'
}

# dump NAME HOST: a dump as a flight recorder leaves it, with its report
dump() {
	sed "s/\"host\":\"red\"/\"host\":\"$2\"/" "$ROOT/tests/cases/export/trace.txt" >"text.$2"
	"$HOSTRACE" import "text.$2" -o "dumps/$1.hrt" || bail "import"
	echo report >"dumps/$1.txt"
}

plan 8
mkdir dumps
dump web1-exit-latency-20261122T231500.123Z red
dump web2-request-age-20261122T231501.456Z blue
dump web1 green # a recording that has not ended
echo partial >dumps/web1-exit-latency-20261122T231502.000Z.hrt.77.tmp
servers_start

sh "$upload" dumps >out 2>err
is "$?, $(grep -c 'UPLOAD: set it' err)" "2, 1" "without a command it says so" err
UPLOAD=false sh "$upload" dumps >out 2>err
is "$?, $(grep -c 'the next run tries it again' err), $(ls dumps/*Z.hrt | wc -l)" "1, 2, 2" "dumps stay if the upload fails" err
export UPLOAD="$HOSTRACE export clickhouse --url $one"
sh "$upload" dumps >out 2>err
is "$?, $(grep -c 'create the tables' err)" "1, 2" "and if there are no tables" err
"$HOSTRACE" export clickhouse "text.red" --url "$one" --database other --create-tables >out 2>err
UPLOAD="$UPLOAD --create-tables" sh "$upload" dumps >out 2>err
is "$?, $(counts)" "0, 2 28 28" "finished dumps are uploaded" err
is "$(cd dumps && echo *)" "uploaded web1-exit-latency-20261122T231502.000Z.hrt.77.tmp web1.hrt web1.txt" "and moved away, with their reports; others stay"
is "$(ls dumps/uploaded | wc -l)" 4 "they are kept for a while"
mv dumps/uploaded/web1* dumps
sh "$upload" dumps >out 2>err
is "$?, $(counts)" "0, 2 28 28" "a dump that comes again adds nothing" err
touch -d '30 days ago' dumps/uploaded/web2*
KEEP_DAYS=20 sh "$upload" dumps
is "$(cd dumps/uploaded && echo *)" "web1-exit-latency-20261122T231500.123Z.hrt web1-exit-latency-20261122T231500.123Z.txt" "old ones are deleted"
