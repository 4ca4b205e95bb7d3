# SPDX-License-Identifier: GPL-2.0-or-later
# The rules of tests/agree/run.sh. Input: an object of all reports of one trace, by "SET.REPORT[:ANALYZER]"; output: a line
# for each disagreement.
. as $all |
($all | keys | map(select(contains(".")) | split(".")[0]) | unique - ["info", "slow"]) as $sets |
def doc($set; $report): $all[$set + "." + $report];
def rows: if . == null then [] else .rows end;
def total(f): map(f) | add // 0;
def same($what; $a; $b): if $a == $b then empty else "\($what): \($a | tojson | .[:300]) and \($b | tojson | .[:300])" end;
def noted($text): [.caveats[] | select(contains($text)) | capture("(?<n>[0-9]+)$").n | tonumber] | add // 0;
# What is in a and not in b.
def missing($a; $b): (reduce $b[] as $x ({}; .[$x | tojson] = true)) as $have | [$a[] | select($have[tojson] | not)];
def analyzers($set): $all | keys | map(select(startswith($set + ".list-spans:")) | split(":")[1]);
# A summary's percentile: nearest rank; exact, or within 0.5 % in rows of more than 128.
def rank($q): sort | .[(($q * length) | ceil) - 1];
def near($a; $b): ($a - $b | fabs) <= 0.005 * $b + 1;
# The keys that rows are grouped by are the columns that a list of spans has and a span itself has not.
def group_keys: keys - ["count", "total_ns", "min_ns", "avg_ns", "max_ns", "stddev_ns", "p50_ns", "p90_ns", "p99_ns",
	"p999_ns", "userspace_count", "bytes", "name", "what"];
def part($keys): . as $row | reduce $keys[] as $k ({}; .[$k] = $row[$k]);

# Views of one analyzer.
def views($set; $a):
	"\($set) \($a)" as $at |
	(doc($set; "list-spans:" + $a) | rows) as $spans |
	doc($set; "summary:" + $a) as $summary |
	($summary | rows) as $sums |
	($sums[0] // {} | group_keys) as $keys |
	same("\($at): spans of list-spans and summary"; $spans | length; $sums | total(.count)),
	same("\($at): time of list-spans and summary"; $spans | total(.duration_ns); $sums | total(.total_ns)),
	same("\($at): spans of list-spans and histogram"; $spans | length; doc($set; "histogram:" + $a) | rows | total(.count)),
	(doc($set; "histogram:" + $a) | rows[] | . as $row | same("\($at): spans of \($row.lo_ns) ns"; $row.count;
		[$spans[] | select(.duration_ns >= $row.lo_ns and .duration_ns < $row.hi_ns)] | length)),
	same("\($at): spans of list-spans and heatmap"; $spans | length;
		doc($set; "heatmap:" + $a).result.cells // [] | total(add // 0)),
	($sums[] | . as $row | [$spans[] | select(part($keys) == ($row | part($keys))) | .duration_ns] | if length == 0 then
		"\($at): no spans of \($row | part($keys))" else
		same("\($at) \($row | part($keys)): count"; length; $row.count),
		same("\($at) \($row | part($keys)): total"; add; $row.total_ns),
		same("\($at) \($row | part($keys)): max"; max; $row.max_ns),
		same("\($at) \($row | part($keys)): min"; min; $row.min_ns),
		([["p50_ns", 0.5], ["p90_ns", 0.9], ["p99_ns", 0.99]][] as $p | rank($p[1]) as $exact |
			if near($row[$p[0]]; $exact) then empty else same("\($at) \($row | part($keys)): \($p[0])"; $exact; $row[$p[0]]) end)
		end),
	# Of analyzers whose events stand for several accesses, count counts accesses; the others' spans are counted.
	(doc($set; "count:" + $a) | rows) as $counts |
	(if ["pio", "mmio", "qemu-pio"] | index($a) then
		if ($counts | total(.count)) < ($spans | length) then "\($at): count is below the number of spans" else empty end
	else same("\($at): spans of list-spans and count"; $spans | length; $counts | total(.count)) end),
	if $set != "whole" then empty else
	same("\($at): count in text and JSON"; doc($set; "count-text:" + $a).text_count; $counts | total(.count)),
	same("\($at): count of summary in text and JSON"; doc($set; "summary-text:" + $a).text_count; $sums | total(.count)),
	same("\($at): summary in CSV and JSON"; [doc($set; "summary-csv:" + $a).csv[] | [.count, .total_ns, .p99_ns] | map(tonumber)];
		[$sums[] | [.count, .total_ns, .p99_ns]]),
	same("\($at): list-spans in CSV and JSON"; [doc($set; "list-spans-csv:" + $a).csv[] | [.time_ns, .duration_ns] | map(tonumber)];
		[$spans[] | [.time_ns, .duration_ns]]) end,
	# The timeline has those that are open at the end as well.
	(doc($set; "timeline:" + $a) | rows) as $slices |
	(if $set == "whole" then
		same("\($at): spans missing in the timeline"; missing([$spans[] | [.time_ns, .duration_ns]]; [$slices[] | [.start_ns, .duration_ns]]); []),
		(($slices | length) - ($spans | length)) as $more | ($summary | noted("still open at the end")) as $open |
		if $more < 0 or $more > $open then same("\($at): open spans in the timeline"; $more; $open) else empty end
	else empty end);

def exits($set):
	same("\($set): exits and summary exit-latency"; doc($set; "exits").rows; (doc($set; "summary:exit-latency") // doc($set; "exits")).rows
		| if length == 0 then doc($set; "exits").rows else . end),
	(doc($set; "causes") as $causes | doc($set; "exits") as $exits | if $causes == null or doc($set; "summary:exit-latency") == null then empty else
		same("\($set): latency of exits and profile --host --causes-exits"; $exits.rows | total(.total_ns);
			$causes.rows | total(.time_ns)),
		($causes.rows | total(.hits)) as $hits | ($exits.rows | total(.count)) as $n |
		if $hits < $n then "\($set): profile --host has \($hits) exits, exits has \($n)" else empty end end);

# Named reports and the views that they are.
def named($set):
	([["ports", "count:pio"], ["mmio", "count:mmio"], ["msrs", "count:msr"]][] as $pair |
		same("\($set): \($pair[0]) and \($pair[1])"; doc($set; $pair[0]) | rows; doc($set; $pair[1]) | rows)),
	if $set != "whole" then empty else same("\($set): leaks in CSV and JSON"; [doc($set; "leaks-csv").csv[] | [.head, .popped_ns, .age_ns] | map(tonumber)];
		[doc($set; "leaks") | rows[] | [.head, .popped_ns, .age_ns]]) end;

# Virtqueue elements: leaks, virtio, summary virtqueue and virtio-kick.
def elements($set):
	doc($set; "leaks") as $leaks | ($leaks.totals) as $t | (doc($set; "virtio") | rows) as $queues |
	($leaks.rows | length) as $left |
	same("\($set): elements in and out of leaks"; $t.in_flight_at_start + $t.popped;
		$t.returned + $t.detached + $t.unpopped + $t.reset + $t.replaced + $left ),
	same("\($set): rows and verdicts of leaks"; $left; $t.held + $t.leaked + $t.in_flight + $t.other),
	same("\($set): popped of leaks and virtio"; $t.popped; $queues | total(.count)),
	same("\($set): returned of leaks and virtio"; $t.returned; $queues | total(.returned)),
	same("\($set): otherwise returned of leaks and virtio"; $t.detached + $t.unpopped + $t.reset; $queues | total(.given_back_otherwise)),
	same("\($set): in flight at the end of leaks and virtio"; $left; $queues | total(.in_flight.end)),
	(["virtqueue", "pop-push"], ["virtio-kick", "kick-pop"] | . as [$a, $stage] | doc($set; "summary:" + $a) as $doc |
		if $doc == null then same("\($set): virtio \($stage) without \($a)"; [$queues[].stages[$stage] | values]; []) else
		same("\($set): virtio \($stage) and summary \($a)";
			[$queues[] | select(.stages[$stage]) | [.queue, (.stages[$stage] | .count, .p50_ns, .p99_ns, .max_ns)]] | sort;
			[$doc | rows[] | [.queue, .count, .p50_ns, .p99_ns, .max_ns]] | sort) end),
	(doc($set; "summary:virtqueue") // {"rows": [], "caveats": []} | if $set != "whole" or .caveats == [] then empty else
		same("\($set): returned of leaks and spans of virtqueue"; $t.returned;
		(.rows | total(.count)) + noted("unknown because") + noted("not counted because")) end
		| select($leaks.inputs[0].lost == 0)),
	if $set != "whole" then empty else same("\($set): virtio in CSV and JSON"; [doc($set; "virtio-csv").csv[] | [.queue, .count, .max_ns] | map(tonumber)] | sort;
		[$queues[] | .queue as $q | .stages[] | [$q, .count, .max_ns]] | sort) end;

# What info, list and the heads of all reports say of the file.
def events:
	doc("info"; "info") as $info | doc("whole"; "list") as $list |
	($list | rows | group_by(.event) | map({(.[0].event): length}) | add // {}) as $listed |
	same("events of info and list"; $info.result.events | with_entries(.key |= ltrimstr("osv:")); $listed),
	(doc("whole"; "samples") | rows | .[0] // empty |
		same("samples of summary and list"; .samples; $list | rows | length),
		same("tracepoints of summary and list"; .tracepoints | map({(.name): .count}) | add; $listed),
		# Those with a backtrace.
		(doc("whole"; "prof") | rows | total(.hits)) as $hits |
		if $hits > .samples then same("hits of prof and samples"; $hits; .samples) else empty end),
	same("sum of info's events and its head"; $info.result.events | add // 0; $info.inputs | total(.events)),
	($all | to_entries[] | select(.key | startswith("whole.")) | select(.value.inputs) |
		same("events in the head of \(.key)"; .value.inputs | map(.events); $info.inputs | map(.events)),
		same("lost events in the head of \(.key)"; .value.inputs | map(.lost); $info.inputs | map(.lost)));

# Three windows make up the whole.
def windows:
	["first", "middle", "last"] as $parts |
	if doc("middle"; "list") == null then empty else
	(analyzers("whole")[] as $a | (doc("whole"; "list-spans:" + $a) | rows | map(del(.vm))) as $whole |
		[$parts[] as $w | doc($w; "list-spans:" + $a) | rows[] | del(.vm)] as $sum | # only where there are several
		same("windows of list-spans \($a)"; $sum; $whole),
		same("windows of count \($a)"; [$parts[] as $w | doc($w; "count:" + $a) | rows[] | .count] | add // 0;
			doc("whole"; "count:" + $a) | rows | total(.count)),
		# The middle's timeline shows all that the whole's shows there; and what has no end that is known.
		($all.bounds) as [$since, $until] |
		([doc("whole"; "timeline:" + $a) | rows[] | [.start_ns, .start_ns + .duration_ns] | select(.[0] < $until and
			(.[1] > $since or (.[0] == .[1] and .[0] >= $since))) | [([.[0], $since] | max), ([.[1], $until] | min)]]) as $cut |
		same("\($a): spans missing in the window's timeline"; missing($cut; [doc("middle"; "timeline:" + $a) | rows[] |
			[.start_ns, .start_ns + .duration_ns]]); [])),
	(["popped", "returned", "detached", "unpopped", "replaced"][] as $k | same("windows of leaks: \($k)";
		[$parts[] as $w | doc($w; "leaks").totals[$k]] | add; doc("whole"; "leaks").totals[$k])),
	same("windows of leaks: in flight between them"; [doc("middle", "last"; "leaks").totals.in_flight_at_start];
		[doc("first", "middle"; "leaks") | .rows | length]),
	(["count", "returned", "kicks", "notifications"][] as $k | same("windows of virtio: \($k)";
		[$parts[] as $w | doc($w; "virtio") | rows[] | .[$k]] | add // 0; doc("whole"; "virtio") | rows | total(.[$k]))),
	same("windows of list"; [$parts[] as $w | doc($w; "list") | rows[]]; doc("whole"; "list") | rows)
	end;

# Which part of a vCPU's track is an exit, which is guest mode.
def tracks:
	(doc("whole"; "timeline") | rows | map(select(.track | test("^vCPU [0-9]+$")))) as $rows |
	doc("whole"; "exits") as $exits |
	# Without kvm_exit, exits shows userspace exits instead.
	if $exits.inputs[0].lost != 0 or $rows == [] or doc("whole"; "summary:exit-latency") == null or
		([$exits.caveats[] | select(contains("no kvm_exit"))] != []) then empty else
	(doc("whole"; "summary:exit-latency") | noted("begin events without") + noted("not counted because") + noted("unknown because")) as $odd |
	(doc("whole"; "summary:exit-latency") | noted("still open")) as $open |
	if $odd != 0 or $open != 0 then empty else
	same("time in exits of timeline and exits"; [$rows[] | select(.kind == "kernel" or .kind == "halted") | .duration_ns] | add // 0;
		doc("whole"; "exits").rows | total(.total_ns)) end end;

($sets[] as $set | (analyzers($set)[] as $a | views($set; $a)), exits($set), named($set), elements($set)),
events, windows, tracks,
same("exits on both paths"; doc("slow"; "exits") | rows; doc("whole"; "exits") | rows)
