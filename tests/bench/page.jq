# SPDX-License-Identifier: GPL-2.0-or-later
# bench.json as the tables of doc/performance.md.
def n(d): if . == null then "-" elif d == 0 then (round | tostring) else (. * 10 | round / 10 | tostring) end;
def table(heads; rows): "| \(heads | join(" | ")) |", "|\(heads | map("---") | join("|"))|", (rows | "| \(join(" | ")) |");

"`\(.machine.cpu)`, \(.machine.cpus) CPUs; Linux \(.machine.kernel); load \(.machine.load | split(" ")[0]); \(.machine.date)",
"(\([.versions[]] | join("; ")))\(if .machine.rig_kernel != "" then "; the rig: Linux \(.machine.rig_kernel)" else "" end).",
"", "### Recording", "",
table(["loop", "tool", "ns/cycle (from..to)", "added", "over empty", "recorder, ns/cycle", "bytes/cycle", "lost"];
	.recording[] | [.mode, .tool, "\(.ns | n(0)) (\(.ns_min | n(0))..\(.ns_max | n(0)))", (.added_ns | n(0)),
	(.over_empty_ns | n(0)), (.cpu_ns | n(0)), (.bytes | n(1)), (.lost | n(0))]),
"", "### The BPF programs alone", "",
table(["loop", "tool", "ns/cycle (from..to)", "over empty"];
	.programs[] | [.mode, .tool, "\(.ns | n(0)) (\(.ns_min | n(0))..\(.ns_max | n(0)))", (.over_empty_ns | n(0))]),
"", "### Now and then", "",
table(["what", "median", "goal"]; .live[] | [.what, "\(.value | n(1)) \(.unit)", "\(.goal | n(0)) \(.unit)"]),
"", "### A disk request", "",
table(["QEMU", "tool", "main loop, ns/request", "added", "events"];
	.requests[] | [.mode, .tool, (.cpu_ns | n(0)), (.added_ns | n(0)), (.events | n(1))]),
"", "### Analysis of the rig's recordings", "",
table(["what", "cycles", "ns/cycle (from..to)", "CPU ms", "largest resident set, MiB"];
	.analysis[] | [.tool, (.cycles | tostring), "\(.ns | n(1)) (\(.ns_min | n(1))..\(.ns_max | n(1)))", (.cpu_ms | n(0)),
	(.rss_kib / 1024 | n(1))]),
"", "### Left out", "",
table(["rows", "tool", "because"]; .absent[] | [.mode, .tool, .reason])
