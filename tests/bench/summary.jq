# SPDX-License-Identifier: GPL-2.0-or-later
# Runs in, medians and spread (least and largest of the runs) out; recordings also as slowdown over the bare loop.
def median: sort | if length == 0 then null else .[length / 2 | floor] end;
def round1: . * 10 | round / 10;
def rows(kind; key; values): map(select(.kind == kind)) | group_by(key)
	| map((.[0] | {mode, tool, cycles, vcpus} | with_entries(select(.value != null)))
	  + {runs: length, ns_min: (map(.ns) | min), ns_max: (map(.ns) | max)}
	  + (. as $r | values | map({(.): (. as $v | $r | map(.[$v]) | median)}) | add));

{ machine: {$cpu, $cpus, $kernel, load: $load},
  versions: {$hostrace, $perf, "trace-cmd": $trace_cmd, $bpftrace},
  recording: (rows("record"; [.mode, .tool]; ["ns", "cpu_ns", "bytes", "lost"])
	| . as $all | map(.mode as $m | ($all | map(select(.mode == $m and .tool == "none"))[0].ns) as $bare
	| . + {added_ns: (.ns - $bare | round1), slowdown: (.ns / $bare * 100 | round / 100)})),
  reading: rows("read"; [.vcpus != 8, .cycles, .vcpus, .tool]; ["ns", "wall_ms", "cpu_ms", "rss_kib"]),
  sizes: [.[] | select(.kind == "size") | del(.kind)] }
