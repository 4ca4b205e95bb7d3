#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# hostrace sql: queries and the reports that answer the same question give the same figures; the queries of doc/sql.md
# run; what is wrong with a query is said.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tests=$(dirname "$here")
top=$(dirname "$tests")
hostrace=$(realpath "${HOSTRACE:-$top/build/hostrace}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C.UTF-8
cd "$tests/cases" || exit 1
. ../tap.inc

h() { "$hostrace" "$@" 2>"$work/err"; }

# same NAME QUERY COMMAND: lines of CSV without the heading, in any order. $f is the file.
same() {
	h sql $f "$2" -f csv | tail -n +2 | tr -d \" | sort >"$work/sql"
	eval "$3" | tr -d \" | sort >"$work/report"
	if [ ! -s "$work/report" ]; then
		right "$1" "the report is empty: $(cat "$work/err")"
	else
		diff "$work/sql" "$work/report" >"$work/diff"
		result "$1" $? "$work/diff"
	fi
}

rows() { tail -n +2; }

f=exits/trace.txt
same "exits by reason" "SELECT reason, count(*), sum(duration_ns), max(duration_ns), quantile(duration_ns, .5),
	quantile(duration_ns, .99) FROM exits GROUP BY reason" 'h exits $f -f csv | rows | cut -d, -f1-3,6,8,10'
same "an event's rows are those of list" "SELECT time_ns, cpu, tid, reason FROM kvm_exit" \
	'h list $f --event kvm_exit --columns time_ns,cpu,tid,reason -f csv | rows'
same "events by type" "SELECT event, count(*) FROM events GROUP BY event" \
	'h info $f -f json | jq -r ".result.events | to_entries[] | \"\(.key),\(.value)\""'
same "fields of all events as JSON" "SELECT event, json_extract(fields, '\$.reason') FROM events WHERE event = 'kvm_exit'" \
	'h list $f --event kvm_exit --columns event,reason -f csv | rows'
same "a time window" "SELECT count(*) FROM events WHERE time_ns BETWEEN 1001000000 AND 1003000000" \
	'h list $f -f json | jq "[.rows[] | select(.time_ns >= 1001000000 and .time_ns <= 1003000000)] | length"'
same "the options' window and filters hold" "SELECT count(*) FROM events" 'h list $f -f json | jq ".rows | length"'
same "a distribution" "SELECT key, value FROM json_each((SELECT hist(duration_ns) FROM exits))" \
	'h histogram exit-latency $f -f json | jq -r ".rows[] | select(.count > 0) | \"\(.lo_ns),\(.count)\""'
same "list-spans" "SELECT time_ns, duration_ns, tid, reason FROM exits" \
	'h list-spans exit-latency $f -f json | jq -r ".rows[] | \"\(.time_ns),\(.duration_ns),\(.tid),\(.reason)\""'
same "all analyzers in one table" "SELECT analyzer, count(*) FROM spans WHERE analyzer = 'exit-latency' GROUP BY 1" \
	'echo "exit-latency,$(h list-spans exit-latency $f -f json | jq ".rows | length")"'

f=ports/trace.txt
same "ports" "SELECT dir, port, size, sum(count) FROM pio GROUP BY 1, 2, 3" \
	'h ports $f -f json | jq -r ".rows[] | \"\(.dir),\(.port),\(.size),\(.count)\""'

f=blame-causes/trace.txt
same "causes" "SELECT cause, what, time_ns, exits FROM causes" \
	'h blame $f -f json | jq -r ".causes[] | [.cause, .what, .time_ns, .exits] | @csv"'
same "threads" "SELECT thread, tid, run_ns, ready_ns, halted_ns FROM thread_states" \
	'h sched --by tid $f -f json | jq -r ".rows[] | [.thread, .tid, .run_ns, .ready_ns, .halted_ns] | @csv"'

f=sched/trace.txt
same "who ran instead" "SELECT thread, task, time_ns FROM ran_instead" \
	'h sched --by task,tid $f -f json | jq -r ".rows[] | [.thread, .task, .time_ns] | @csv"'
same "event loops" "SELECT thread, busy, wakeups FROM event_loops" \
	'h sched --loops $f -f json | jq -r ".rows[] | [.thread, .busy, .wakeups] | @csv"'

f=interrupts/trace.txt
same "interrupts" "SELECT vcpu, vector, accepted, eois FROM interrupts" \
	'h interrupts $f -f json | jq -r ".rows[] | [.vcpu, .vector, .accepted, .eois] | @csv"'
same "timers" "SELECT vcpu, vector, count FROM timers" \
	'h interrupts --timers $f -f json | jq -r ".rows[] | [.vcpu, .vector, .count] | @csv"'

f=virtio-stages/trace.txt
same "queues" "SELECT device, queue, count, returned FROM queues" \
	'h virtio $f -f json | jq -r ".rows[] | [.device, .queue, .count, .returned] | @csv"'
same "a nested value" "SELECT queue, json_extract(stages, '\$.pop-push.count') FROM queues" \
	'h virtio $f -f json | jq -r ".rows[] | [.queue, .stages[\"pop-push\"].count] | @csv"'

f=leak-two-vms/trace.txt
same "leaks" "SELECT vm, device, elem, verdict FROM leaks" \
	'h leaks $f -f json | jq -r ".rows[] | [.vm, .device, .elem, .verdict] | @csv"'
f=exits-lost/trace.txt
same "VMs" "SELECT pid, name FROM vms" 'h info $f -f json | jq -r ".result.vms[] | [.pid, .name] | @csv"'

f="-i requests/host.txt --guest requests/guest.trace"
same "requests" "SELECT issue_ns, disk, total_ns FROM requests" \
	'h requests $f -f json | jq -r ".rows[] | [.issue_ns, .disk, .total_ns] | @csv"'
same "a guest's events, joined with the host's exits" \
	"SELECT count(*) FROM \"guest:block_rq_issue\" g JOIN exits x ON g.time_ns BETWEEN x.time_ns AND x.time_ns + x.duration_ns" \
	'echo 0'
same "the clock" "SELECT source, vcpu, method, verdict FROM clock" \
	'h sync $f -f json | jq -r ".rows[] | [.source, .vcpu, .method, .verdict] | @csv"'

f=exits-lost/trace.txt
same "losses" "SELECT count, lost_event FROM losses" \
	'h list $f --event lost --columns count,lost_event -f csv | rows'
notes=$(h sql $f 'SELECT count(*) FROM exits' -f json | jq -r '.caveats[]')
[[ $notes == *lost* ]]
result "an answer over a loss has the note" $? /dev/fd/3 3<<<"$notes"

f=exits-fallback/trace.txt
notes=$(h sql $f 'SELECT count(*) FROM exits' -f json | jq -r '.caveats[]')
[[ $notes == *"no kvm_exit in this trace: "* ]]
result "a fallback is noted" $? /dev/fd/3 3<<<"$notes"

f=exits/trace.txt
same "a row that both sides of OR select is one" \
	"SELECT count(*) FROM events WHERE time_ns IN (1000000000, 1050000000) OR time_ns < 1060000000" \
	"echo \$(h sql $f 'SELECT count(*) FROM events WHERE +time_ns < 1060000000' -f csv | rows)"
same "rows of each side of OR" "SELECT count(*) FROM events WHERE time_ns = 1000000000 OR (time_ns >= 2040000000 AND tid > 0)" 'echo 3'

# ---- several files ----

sed 's/\([pt]id=\)/\12/g' exits/trace.txt >"$work/other.txt" # threads of other ids
f="exits/trace.txt $work/other.txt"
same "exits by file" "SELECT file, count(*), sum(duration_ns) FROM exits GROUP BY file" \
	'for one in $f; do echo "$one,$(h exits $one -f json | jq -r "\"\([.rows[].count] | add),\([.rows[].total_ns] | add)\"")"; done'
same "events by file" "SELECT file, count(*) FROM events GROUP BY file" \
	'for one in $f; do echo "$one,$(h list $one -f json | jq ".rows | length")"; done'
same "events of a type by file" "SELECT file, count(*) FROM kvm_exit GROUP BY file" \
	'for one in $f; do echo "$one,$(h list $one --event kvm_exit -f json | jq ".rows | length")"; done'
same "spans of one file" "SELECT analyzer, count(*) FROM spans WHERE file LIKE 'exits/%' AND analyzer = 'exit-latency' GROUP BY 1" \
	'echo "exit-latency,$(h list-spans exit-latency exits/trace.txt -f json | jq ".rows | length")"'
f="-i requests/host.txt --guest requests/guest.trace"
same "the file of a guest's events" "SELECT source, file FROM events GROUP BY 1, 2" \
	'echo host,requests/host.txt; echo guest,requests/guest.trace'

# ---- types of events that have the names of tables ----

{
	echo '# hostrace text 1'
	for name in exits Exits events event:events json_each causes KVM_EXIT; do
		echo "# type {\"name\":\"$name\",\"size\":40,\"doc\":\"\",\"fields\":[{\"name\":\"id\",\"kind\":\"uint\",\"offset\":32,\"size\":8,\"fmt\":\"dec\",\"doc\":\"\"}]}"
		echo "1.000000000 $name tid=11 id=7"
	done
	echo '2.000000000 kvm_exit pid=10 tid=11 vcpu=0 reason=10'
	echo '2.000001000 kvm_entry pid=10 tid=11 vcpu=0'
} >"$work/names.txt"
f=$work/names.txt
for table in event:exits event:event:Exits event:event:events event:events event:json_each event:causes event:KVM_EXIT; do
	same "the type whose table is $table" "SELECT id FROM \"$table\"" 'echo 7'
done
same "spans keep the name of their table" "SELECT duration_ns FROM exits" 'echo 1000'
same "all events keep theirs" "SELECT count(*) FROM events" 'echo 9'
same "SQLite's function keeps its name" "SELECT value FROM json_each('[3]')" 'echo 3'
same "types differ by capital letters" "SELECT count(*) FROM kvm_exit" 'echo 1'
notes=$(h sql $f 'SELECT 1' -f json | jq -r '.caveats[]')
[[ $notes == *'name of another table: 6; '* ]]
result "types of such names are noted" $? /dev/fd/3 3<<<"$notes"

# ---- formats ----

f=exits/trace.txt
h sql $f "SELECT 1 a, 'x,y' b, NULL c, 1.5 d, x'00ff' e" -f jsonl | head -n 1 >"$work/out"
[ "$(cat "$work/out")" = '{"a":1,"b":"x,y","c":null,"d":1.5,"e":"00ff"}' ]
result "values of all kinds as JSON" $? "$work/out"
h sql $f "SELECT 1 a, 'x,y' b, NULL c, 1.5 d" -f csv >"$work/out"
[ "$(cat "$work/out")" = $'a,b,c,d\n1,"x,y",,1.5' ]
result "values of all kinds as CSV" $? "$work/out"
h sql $f "SELECT 1 a, 2 a" -f jsonl | head -n 1 >"$work/out"
[ "$(cat "$work/out")" = '{"a":1,"a:2":2}' ]
result "columns of one name are told apart" $? "$work/out"
h sql $f --schema >"$work/out"
grep -q '^exits(time_ns, duration_ns, file, vm' "$work/out" && grep -q '^kvm_exit(' "$work/out" && grep -q '^causes(' "$work/out"
result "--schema lists tables and columns" $? "$work/out"

# ---- several queries ----

f=exits/trace.txt
printf 'SELECT 1 a; -- a note;\n;SELECT ";" b\nFROM (SELECT 2 ";");\n\n' >"$work/script"
h sql $f "$(cat "$work/script")" -f csv >"$work/out"
[ $? = 0 ] && [ "$(cat "$work/out")" = $'a\n1\n\nb\n2' ]
result "two queries of one argument" $? "$work/out"
h sql $f -f csv <"$work/script" | cmp -s - "$work/out"
result "the same on standard input" $? "$work/err"
h sql $f -f jsonl <"$work/script" | jq -c 'del(.inputs, .clock, .caveats, .hostrace.version)' >"$work/out"
[ "$(cat "$work/out")" = $'{"a":1}\n{"hostrace":{"command":"sql"}}\n{"b":2}\n{"hostrace":{"command":"sql"}}' ]
result "each answer of JSON lines has its head" $? "$work/out"

script_wrong() { # OPTIONS SCRIPT STATUS MESSAGE ANSWERED
	printf "$2" | h sql $1 >"$work/out"
	local status=$?
	[ $status = "$3" ] && grep -qF -- "$4" "$work/err" && [ "$(head -n 2 "$work/out")" = "$5" ]
	result "wrong script: $2 $1" $? "$work/err"
}

script_wrong "$f -f csv" 'SELECT 1 a;\n\nSELECT foo\nFROM exits;' 2 'no such column: foo, at line 3, character 8: foo;' $'a\n1'
script_wrong "$f -f csv" 'SELECT 1 a;\n SELECT quantile(tid, 2) FROM exits' 2 'is 0 to 1, in the query at line 2, character 2' $'a\n1'
script_wrong "$f -f csv" 'SELECT 1 a;\nSELECT * FROM exit' 2 "no such table: exit, in the query at line 2, character 1; did you mean 'exits'?" $'a\n1'
script_wrong "$f -f json" 'SELECT 1;\nSELECT 2' 2 'one query at a time; a second one begins at line 2, character 1: SELECT 2' ''
script_wrong "$f" '' 2 'no query; for the tables' ''
script_wrong "$f" ' -- nothing\n;' 2 'the query is empty' ''
script_wrong "$f" 'SELECT 1\0' 2 'standard input is not a text' ''
script_wrong "missing.hrt" 'SELECT 1' 1 'missing.hrt: No such file' ''
script_wrong "-i -" 'SELECT 1' 2 'standard input is a trace;' ''
yes 'SELECT 1;' | h sql $f >"$work/out"
[ $? = 2 ] && grep -qF 'the queries have more than 1048575 bytes' "$work/err"
result "a script without end is an error" $? "$work/err"

# ---- wrong queries ----

wrong() { # QUERY MESSAGE
	h sql $f "$1" >"$work/out"
	local status=$?
	[ $status = 2 ] && grep -qF -- "$2" "$work/err" && [ ! -s "$work/out" ]
	result "wrong: $1" $? "$work/err"
}

wrong "SELECT foo FROM exits" "no such column: foo, at character 8 of the query: foo FROM"
wrong "SELECT * FROM exit" "no such table: exit; did you mean 'exits'?"
wrong "SELECT * FROM nothing_alike" "hostrace sql --schema"
wrong "SELECT * FRM exits" "syntax error, at character 10"
wrong $'SELECT 1 AS a,\n  foo\nFROM exits' "no such column: foo, at line 2, character 3: foo"
wrong " -- nothing" "the query is empty"
wrong 'SELECT "misspelt" FROM exits' "no such column: misspelt"
wrong "SELECT quantile(duration_ns, 2) FROM exits" "the fraction is 0 to 1"
for query in "INSERT INTO exits VALUES(1)" "CREATE TABLE t(a)" "ATTACH 'x' AS y" "PRAGMA database_list" "VACUUM INTO 'x'" \
	"SELECT load_extension('x')" "DROP TABLE exits"; do
	h sql $f "$query" >"$work/out"
	[ $? = 2 ] && [ ! -e x ]
	result "not possible: $query" $? "$work/err"
done
h sql --memory 16M $f "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 3000000)
	SELECT hex(randomblob(20)) FROM n ORDER BY 1" >"$work/out"
[ $? = 1 ] && grep -q "more than 16 MiB of memory" "$work/err"
result "memory is bounded" $? "$work/err"
h sql missing.txt "SELECT 1" >"$work/out"
[ $? = 1 ] && grep -q "missing.txt" "$work/err"
result "a missing input is an error" $? "$work/err"

# ---- export sqlite (all rows of all tables: differ.py) ----

export_fails() { # NAME STATUS MESSAGE ARGUMENT...
	local name=$1 status=$2 message=$3
	shift 3
	h export sqlite exits/trace.txt "$@" >"$work/out"
	[ $? = "$status" ] && grep -qF -- "$message" "$work/err" && [ -z "$(ls "$work/db")" ]
	result "export sqlite: $name" $? "$work/err"
}

read_db() { # FILE QUERY
	python3 -c 'import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]): print(*row, sep=",")' "$1" "$2"
}

mkdir "$work/db"
export_fails "a file is needed" 2 "name it with -o FILE"
export_fails "no device" 1 "/dev/full exists and is not a regular file" -o /dev/full
export_fails "no selection of events only" 2 "--where has no effect on format 'sqlite'" --where 'cpu == 0' -o "$work/db/x"
export_fails "an input is not overwritten" 1 "exits/trace.txt" -o exits/trace.txt
(ulimit -f 64 && h export sqlite exits/trace.txt -o "$work/db/x")
[ $? = 1 ] && grep -q "db/x: File too large" "$work/err" && [ -z "$(ls "$work/db")" ]
result "export sqlite: a write that fails leaves no file" $? "$work/err"
ln -s target "$work/db/link"
h export sqlite exits-lost/trace.txt -o "$work/db/link"
[ "$(stat -c %a "$work/db/target")" = 600 ] && [ -L "$work/db/link" ] && [ "$(ls "$work/db")" = $'link\ntarget' ]
result "export sqlite: the link stays, its target has mode 0600, and there is no journal" $? "$work/err"
read_db "$work/db/target" "PRAGMA integrity_check" >"$work/out"
read_db "$work/db/target" "SELECT count, lost_event FROM losses" >>"$work/out"
(echo ok && h list exits-lost/trace.txt --event lost --columns count,lost_event -f csv | rows) | diff - "$work/out" >"$work/diff"
result "export sqlite: losses are a table of a sound database" $? "$work/diff"
read_db "$work/db/target" "SELECT note FROM notes WHERE about IS NULL" | grep lost >/dev/null
result "export sqlite: what the inputs lost is a note" $? "$work/err"
h export sqlite exits-fallback/trace.txt -o "$work/db/target"
[ "$(read_db "$work/db/target" "SELECT about FROM notes WHERE note LIKE 'no kvm_exit in this trace%' LIMIT 2")" = $'exit_latency\nexits' ]
result "export sqlite: each table has its notes" $? "$work/err"
h export sqlite "$work/names.txt" -o "$work/db/target"
read_db "$work/db/target" 'SELECT count(*), (SELECT count(*) FROM "event:exits") FROM events' | grep -qx '9,1'
result "export sqlite: types that have the name of a table" $? "$work/err"
printf '%s\n' '# hostrace text 1' '1.000000 kvm_exit pid=10 tid=11 vcpu=0 reason=12 isa=1' '1.000001 kvm_entry pid=10 tid=11 vcpu=0' \
	'1.000002 kvm_exit pid=20 tid=21 vcpu=0 reason=12 isa=1' '1.000003 kvm_entry pid=20 tid=21 vcpu=0' >"$work/vms.txt"
h export sqlite "$work/vms.txt" -o "$work/db/target"
[ $? = 0 ] && read_db "$work/db/target" "SELECT note FROM notes WHERE about = 'clock'" | grep -q "no such table: .*several VMs"
result "export sqlite: of several VMs, without a guest's trace" $? "$work/err"
{
	echo "# hostrace text 1"
	for ((i = 0; i < 1002; i++)); do
		printf '# type {"name":"t:type%d","size":32,"doc":"","fields":[{"name":"value","kind":"uint","offset":24,"size":8}]}\n' $i
		printf '1.%06d t:type%d pid=10 tid=11 cpu=0 value=%d\n' $i $i $i
	done
} >"$work/types.txt"
h export sqlite "$work/types.txt" -o "$work/db/target"
read_db "$work/db/target" "SELECT count(*) FROM sqlite_schema WHERE name LIKE 't:type%' UNION ALL SELECT count(*) FROM events
	UNION ALL SELECT value FROM \"t:type999\" UNION ALL SELECT note FROM notes WHERE note LIKE 'types%' AND about IS NULL" >"$work/out"
[ "$(cat "$work/out")" = $'1000\n1002\n999\ntypes of events without a table of their own, as there are more than 1000: 2; their events are in the table events' ]
result "export sqlite: of more types than have tables" $? "$work/out"
h export sqlite exits/trace.txt --since 50ms --until 1s -o "$work/db/target"
read_db "$work/db/target" "SELECT min(time_ns), max(time_ns) FROM events" | grep -qx '1050000000,1090100000'
result "export sqlite: of a time window" $? "$work/err"

dots=$(printf '%.0s.' {1..62})
h sql $f "SELECT cast(x'ff41' AS text) || char(55296) AS broken, '$dots€$dots' AS whole" -f json -q >"$work/out"
is "$(python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["rows"][0].values())' "$work/out")" \
	"?A??? $dots€$dots" "JSON is UTF-8, whatever a query makes"

{
	echo "# hostrace text 1"
	for ((i = 0; i < 66000; i++)); do
		printf '1.%06d virtqueue_pop pid=10 tid=13 cpu=0 vdev=4096 vq=%d head=%d elem=%d queue=0\n' $i $((8192 + i / 32768)) $((i % 32768)) $((65536 + 64 * (i % 32768)))
	done
} >"$work/open.txt"
h export sqlite "$work/open.txt" -o "$work/db/target"
read_db "$work/db/target" "SELECT note FROM notes WHERE about = 'virtqueue'" >"$work/exported"
h sql "$work/open.txt" "SELECT count(*) FROM virtqueue" -f json >"$work/out"
grep -q "spans dropped because too many were open" "$work/exported" && grep -qF -- "$(cat "$work/exported")" "$work/out"
result "spans that were never ended: what was dropped is a note" $? "$work/out"

# ---- doc/sql.md ----

awk '/^```sql/ { on = 1; next } /^```/ { if (on) print ";;"; on = 0 } on' "$top/doc/sql.md" >"$work/queries"
nr_queries=0
while IFS= read -r -d '' query; do
	[ -n "${query//[[:space:]]/}" ] || continue
	nr_queries=$((nr_queries + 1))
	h sql "$top/doc/tutorial/slow.hrt" "$query" >"$work/out"
	result "doc/sql.md:$query" $? "$work/err"
done < <(sed 's/^;;$/\x00/' "$work/queries" | tr '\n' ' ' | sed 's/$/\x00/')
[ $nr_queries -ge 20 ]
result "doc/sql.md has 20 queries" $? /dev/null
results_end
