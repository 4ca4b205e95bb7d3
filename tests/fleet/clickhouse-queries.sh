#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The queries of examples/clickhouse on a real server give what hostrace's own reports give.
# Needs $HOSTRACE; prints TAP.
# shellcheck disable=SC2154 # is(), plan(), bail(): demo-lib.inc
set -u
. "$ROOT/tests/live/demo-lib.inc"
command -v clickhouse-server >/dev/null || skip_all "clickhouse-server is not installed"
live_needs_tools curl jq
. "$ROOT/tests/fleet/clickhouse-lib.inc"
cases=$ROOT/tests/cases
trap 'kill -KILL $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT

# database NAME FILE...: uploads the traces
database() {
	local name=$1 trace

	shift
	for trace; do
		timeout 300 "$HOSTRACE" export clickhouse "$trace" --url "$one" --database "$name" --create-tables >upload.out 2>upload.err ||
			bail "upload of $trace: $(cat upload.err)"
	done
}

# query FILE DATABASE COLUMNS: the answer, sorted
query() {
	ask "$one" "$2" <"$ROOT/examples/clickhouse/$1.sql" | cut -f "$3" | LC_ALL=C sort
}

# report FILTER ARGS...: rows of a report by jq, sorted
report() {
	local filter=$1

	shift
	"$HOSTRACE" "$@" -f json | jq -r "$filter | @tsv" | LC_ALL=C sort
}

plan 14
servers_start
queries=0
failed_queries=
database all "$cases"/{export,exits-guest-task,exits-lost,blame-preempted,leak-lost-request}/*.txt
for file in "$ROOT"/examples/clickhouse/*.sql; do
	queries=$((queries + 1))
	ask "$one" all <"$file" >answer
	grep -q 'DB::Exception' answer && failed_queries="$failed_queries $(basename "$file"): $(head -c 300 answer)"
done
is "$queries,$failed_queries" "11," "all queries run"

exits='.rows[] | [.reason, .count, .total_ns, .min_ns, .avg_ns, .max_ns, .userspace_count]'
for name in exits-lost exits-guest-task exits-moved; do
	database "$name" "$cases/$name"/*.txt
	report "$exits" exits "$cases/$name"/*.txt >listed
	query exits "$name" 1-7 >sql
	is "$(wc -l <listed | grep -c '^0'), $(cmp listed sql 2>&1)" "0, " "exits of $name" sql
done
report '.rows[] | [.["guest-task"], .count, .total_ns]' exits --by =guest-task "$cases/exits-guest-task/trace.txt" >listed
query guest-tasks exits-guest-task 3-5 >sql
is "$(cmp listed sql 2>&1)" "" "exits by guest task" sql

database ports "$cases/export/trace.txt"
is "$(query accesses ports 1-6)" "$(printf 'pio\tout\t0x3f8\t1\t1\t1')" "accesses"
is "$(query trust ports 1,3,4,5)" "$(printf 'red\tcomplete\t12\t14')" "a trace with losses"
echo "INSERT INTO chunk_rows (day, host, trace, chunk, upload, rows) VALUES ('2020-01-01', 'red', 'cut', 0, 1, 5)" | ask "$one" ports
is "$(query trust ports 2,3 | grep cut)" "$(printf 'cut\tincomplete')" "an upload that has not ended"
is "$(query requests ports 3-8)" "$(printf '/machine/peripheral-anon/device[0]/virtio-backend\t0\t1\t99000\t99000\t99000')" "requests"
is "$(query upgrade ports 1-3)" "$(printf 'IO_INSTRUCTION\t6.18.0\t1')" "exits by kernel"
is "$(query exits-heatmap ports 2,3)" "$(printf '2048\t1')" "heat map"
is "$(query around-slowest ports 3,8 | tr '\t\n' ' ;')" "0 thread;1 thread;2 vcpu_tsc;3 clock_pair;4 kvm_exit;5 kvm_pio;6 kvm_entry;" "events around the slowest exit"

database leak "$cases/leak-lost-request/trace.txt"
is "$(query lost-requests leak 5)" "$(report '.totals | [.leaked + .in_flight + .held]' leaks "$cases/leak-lost-request/trace.txt")" "requests that do not come back"
database blame "$cases/blame-preempted/trace.txt"
is "$(query slow-exits blame 3-7)" "$(printf 'EXTERNAL_INTERRUPT\t1\t5002000\t5000000\t0')" "slow exits and what held them"
