# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in, medians and spread (least and largest of the runs) out; recordings also as slowdown over the bare loop.
def median: sort | if length == 0 then null else .[length / 2 | floor] end;
def round1: . * 10 | round / 10;
def rows(kind; key; values): map(select(.kind == kind)) | group_by(key)
	| map((.[0] | {mode, tool, what, cycles, vcpus, unit, goal} | with_entries(select(.value != null)))
	  + {runs: length}
	  + (if .[0].ns then {ns_min: (map(.ns) | min), ns_max: (map(.ns) | max)} else {} end)
	  + (. as $r | values | map({(.): (. as $v | $r | map(.[$v]) | median)}) | add));
# Beside the bare loop, and beside an empty program: what is added, in ns and as a factor.
def beside(by): . as $all | map(.mode as $m | ($all | map(select(.mode == $m))) as $same
	| ($same | map(select(.tool == "none"))[0]) as $bare | ($same | map(select(.tool == "empty"))[0]) as $empty
	| . + {added_ns: (if $bare then (by - ($bare | by) | round1) else null end)}
	+ (if $bare and ($bare | by) > 0 then {slowdown: (by / ($bare | by) * 100 | round / 100)} else {} end)
	+ (if $empty then {over_empty_ns: (by - ($empty | by) | round1)} else {} end));

# What the guest's tasks add to each exit that is recorded.
def task_cost: map(select(.kind == "program" and .mode == "tasks")) | group_by(.tool)
	| (map({(.[0].tool): (map(.ns) | median)}) | add // {})
	| if .hostrace and .["hostrace-tasks"]
	  then [{what: "record --guest-tasks, added to each exit", value: (.["hostrace-tasks"] - .hostrace), unit: "ns", goal: 100}]
	  else [] end;

{ machine: {$cpu, $cpus, $kernel, $date, load: $load, rig_kernel: $rig},
  versions: {$hostrace, $perf, "trace-cmd": $trace_cmd, $bpftrace},
  recording: (rows("record"; [.mode, .tool]; ["ns", "cpu_ns", "bytes", "lost"]) | beside(.ns)),
  programs: (rows("program"; [.mode, .tool]; ["ns"]) | beside(.ns)),
  live: (rows("live"; [.what]; ["value"]) + task_cost),
  requests: (rows("request"; [.mode, .tool]; ["ns", "cpu_ns", "events"]) | beside(.cpu_ns)),
  analysis: rows("analysis"; [.cycles, .tool]; ["ns", "wall_ms", "cpu_ms", "rss_kib"]),
  reading: rows("read"; [.vcpus != 8, .cycles, .vcpus, .tool]; ["ns", "wall_ms", "cpu_ms", "rss_kib"]),
  pictures: rows("picture"; [.cycles, .tool]; ["wall_ms", "cpu_ms", "rss_kib", "bytes"]),
  ratios: rows("ratio"; [.what]; ["value"]),
  sizes: [.[] | select(.kind == "size") | del(.kind)],
  absent: [.[] | select(.kind == "absent") | del(.kind)] }
