#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `hostrace export clickhouse` on two real servers on loopback: the rows are the trace's, each once, whatever is killed
# in the middle; SQL gives what `exits` gives; both shards answer behind a Distributed table.
# Needs $HOSTRACE and $BUILD; prints TAP.
# shellcheck disable=SC2154 # is(), plan(), bail(): demo-lib.inc
set -u
. "$ROOT/tests/live/demo-lib.inc"
command -v clickhouse-server >/dev/null || skip_all "clickhouse-server is not installed"
live_needs_tools curl jq python3
. "$ROOT/tests/fleet/clickhouse-lib.inc"
cycles=${FLEET_CYCLES:-30000}
trap 'kill -KILL $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$scratch"' EXIT

upload() {
	timeout 300 "$HOSTRACE" export clickhouse "$@" >upload.out 2>upload.err
}

# count URL DATABASE: events, different events, spans, different spans
count() {
	{
		echo "SELECT count(), uniqExact(trace, row) FROM events" | ask "$1" "$2"
		echo "SELECT count(), uniqExact(trace, span) FROM spans" | ask "$1" "$2"
	} | tr '\t\n' ' ' | sed 's/ $//'
}

# exits_listed FILE, exits_sql URL DATABASE: count, total, min, avg, max by reason
exits_listed() {
	"$HOSTRACE" exits -i "$1" -f json | jq -r '.rows[] | [.reason, .count, .total_ns, .min_ns, .avg_ns, .max_ns] | @tsv' | sort
}

exits_sql() {
	ask "$1" "$2" <"$ROOT/examples/clickhouse/exits.sql" | cut -f 1-6 | sort
}

# until_chunks NUMBER DATABASE PID: 1: the process ended before
until_chunks() {
	while kill -0 "$3" 2>/dev/null; do
		[ "$(echo "SELECT count() >= $1 FROM chunk_rows" | ask "$one" "$2")" = 1 ] && return
		sleep .02
	done
	return 1
}

# upload_begin DATABASE: in the background, chunk by chunk; $uploader
upload_begin() {
	"$HOSTRACE" export clickhouse big.hrt --url "$one" --database "$1" --create-tables --chunk-rows 1000 >upload.out 2>upload.err &
	uploader=$!
}

# Each in a database of its own, so that an attempt that was too late can be made again.
killed_server() {
	for try in 1 2 3 4 5; do
		upload_begin "server$try"
		if until_chunks 3 "server$try" "$uploader"; then
			kill -KILL "$one_pid"
			wait "$one_pid" 2>/dev/null
			wait "$uploader" && bail "the upload succeeded without a server"
			server_start one "$one_port" || bail "clickhouse-server did not start again: $(tail -n 3 one/out one/errors)"
			one_pid=$server
			[ "$(echo "SELECT count() FROM trace_rows" | ask "$one" "server$try")" = 0 ] && return
		fi
		wait "$uploader" 2>/dev/null
	done
	bail "the upload always ended before the server was killed"
}

killed_uploader() {
	for try in 1 2 3 4 5; do
		upload_begin "program$try"
		if until_chunks 3 "program$try" "$uploader"; then
			kill -KILL "$uploader" 2>/dev/null
			wait "$uploader" 2>/dev/null || return
		fi
		wait "$uploader" 2>/dev/null
	done
	bail "the upload always ended before it was killed"
}

plan 23
cat >small.txt <<'END'
# hostrace text 1
# meta {"host":"red","kernel":"6.18.0","start_monotonic_ns":100000000000,"start_realtime_ns":1700000000123456789,"vms":[{"pid":10,"name":"de'mo \\","isa":1}]}
END
grep -v '^# meta\|^# hostrace' "$ROOT/tests/cases/export/trace.txt" >>small.txt
"$BUILD/tests/bench/gen" big.hrt "$cycles" 4 || bail "gen failed"
big=$((2 * cycles))
all="$big $big $cycles $cycles"
servers_start

# ---- the tables and the rows
upload small.txt --url "$one"
is "$?, $(grep -c 'create the tables with --create-tables' upload.err)" "1, 1" "without tables it says what to do" upload.err
upload small.txt --url "$one" --create-tables
is "$?" 0 "it creates the tables" upload.err
echo "SELECT * FROM events ORDER BY row FORMAT JSONEachRow" | ask "$one" hostrace >rows
"$HOSTRACE" list small.txt -f jsonl >list
is "$(python3 "$ROOT/tests/fleet/same_rows.py" list rows 2>&1)" "$(($(wc -l <list) - 1))" "rows are those of list" rows
is "$(jq -r '[.day, .vm] | @tsv' rows | sort -u | grep -v '	$')" "$(printf '2023-11-14\t%s' "de'mo \\\\")" "they have their day and VM"
is "$(echo "SELECT min(wall_ns) FROM events" | ask "$one" hostrace)" 1700000000123456789 "and the time of day"
is "$(echo "SELECT rows, chunks, lost FROM traces" | ask "$one" hostrace | tr '\t' ' ')" "14 2 12" "the trace's losses are there"
upload small.txt --url "$one"
is "$?, $(grep -c 'all rows are there already' upload.out)" "0, 1" "a second upload says that they are there" upload.err
is "$(count "$one" hostrace)" "14 14 3 3" "and adds nothing"

# ---- another user; a name that needs quotes
CLICKHOUSE_PASSWORD='a b&c' upload small.txt --url "$one" --user loader --database "it's" --create-tables
is "$?, $(count "$one" "it's")" "0, 14 14 3 3" "a user with a password" upload.err
CLICKHOUSE_PASSWORD=wrong upload small.txt --url "$one" --user loader
is "$?, $(grep -ci 'wrong password' upload.err)" "1, 1" "a wrong password is reported" upload.err

# ---- exits by SQL
upload big.hrt --url "$two" --create-tables --chunk-rows 9000
is "$?, $(count "$two" hostrace)" "0, $all" "a trace of many chunks" upload.err
exits_listed big.hrt >listed
exits_sql "$two" hostrace >sql
is "$(cmp listed sql 2>&1)" "" "exits by SQL are those of hostrace exits" sql

# ---- killed in the middle
killed_server
upload big.hrt --url "$one" --database "server$try"
is "$?, $(count "$one" "server$try")" "0, $all" "server killed: nothing is lost, nothing is there twice" upload.err
is "$(exits_sql "$one" "server$try" | cmp listed - 2>&1)" "" "and exits are the same"
killed_uploader
upload big.hrt --url "$one" --database "program$try"
is "$?, $(count "$one" "program$try")" "0, $all" "hostrace killed: the same" upload.err

# ---- an attempt whose answer was lost: its rows are there, but it is not recorded
upload small.txt --url "$one" --database doubt --create-tables
upload big.hrt --url "$two" --database doubt --create-tables --chunk-rows 9000
for t in event_rows span_rows; do
	echo "INSERT INTO $t SELECT * FROM hostrace.$t" | ask "$two" doubt
done
is "$(echo "SELECT count() FROM event_rows" | ask "$two" doubt), $(count "$two" doubt)" "$((2 * big)), $all" \
	"rows of an attempt that is not recorded are not seen"
echo "INSERT INTO chunk_rows SELECT * FROM hostrace.chunk_rows" | ask "$two" doubt
is "$(count "$two" doubt)" "$all" "a chunk that is recorded twice is seen once"
echo "CREATE TABLE doubt.kept AS doubt.chunk_rows" | ask "$two" doubt
echo "INSERT INTO kept SELECT * FROM chunk_rows" | ask "$two" doubt
echo "TRUNCATE TABLE chunk_rows" | ask "$two" doubt
echo "INSERT INTO chunk_rows SELECT * FROM kept WHERE chunk != 2 AND chunk < 5" | ask "$two" doubt
echo "TRUNCATE TABLE trace_rows" | ask "$two" doubt
upload big.hrt --url "$two" --database doubt # which begins with other chunks: those of the first time are kept
is "$?, $(count "$two" doubt), $(grep -c 'in 11 chunks, 4 of them were there' upload.out)" "0, $all, 1" \
	"chunks that are missing are inserted again" upload.out

# ---- two at once
upload big.hrt --url "$one" --database race --create-tables --chunk-rows 5000
echo "TRUNCATE TABLE chunk_rows" | ask "$one" race
echo "TRUNCATE TABLE trace_rows" | ask "$one" race
"$HOSTRACE" export clickhouse big.hrt --url "$one" --database race --chunk-rows 5000 >race.out 2>&1 &
other=$!
upload big.hrt --url "$one" --database race --chunk-rows 5000
status=$?
wait "$other"
is "$status, $?, $(count "$one" race)" "0, 0, $all" "two uploads at once: each row once" race.out

# ---- two shards
sed 's/"host":"red"/"host":"blue"/' small.txt >blue.txt
upload blue.txt --url "$two"
for t in events spans traces chunk_rows; do
	echo "CREATE DATABASE IF NOT EXISTS fleet" | ask "$one" default
	echo "CREATE TABLE $t AS hostrace.$t ENGINE = Distributed(fleet, hostrace, $t)" | ask "$one" fleet
done
is "$(count "$one" fleet)" "$((big + 28)) $((big + 28)) $((cycles + 6)) $((cycles + 6))" "two shards: all rows behind a Distributed table"
is "$(echo "SELECT host, rows FROM traces ORDER BY host" | ask "$one" fleet | tr '\t\n' ' ;')" " $big;blue 14;red 14;" "and all traces"
exits_sql "$one" fleet | grep -v 'IO_INSTRUCTION\|HLT' >sql
is "$(cmp listed sql 2>&1)" "" "exits over both shards" sql
wrong=
for file in "$ROOT"/examples/clickhouse/*.sql; do
	ask "$one" "fleet&distributed_product_mode=global" <"$file" >answer
	grep -q 'DB::Exception' answer && wrong="$wrong $(basename "$file"): $(head -c 300 answer)"
done
is "$wrong" "" "all queries over both shards"
