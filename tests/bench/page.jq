# SPDX-License-Identifier: GPL-2.0-or-later
# bench.json as the tables of doc/performance.md.
def n(d): if . == null then "-" elif d == 0 then (round | tostring) else (. * 10 | round / 10 | tostring) end;
def spread(d): "\(.ns | n(d)) (\(.ns_min | n(d))..\(.ns_max | n(d)))";
def mib: .rss_kib / 1024 | n(1);
# A hundredth of what OSv's own tool took for a sample, on an AMD EPYC.
def osv_goals: {"osv summary": 107, "osv summary --timed": 139, "osv list": 130, "osv list -b -x": 173, "osv list-timed": 126,
	"osv prof -x": 166, "osv prof-wait -x": 131, "osv memory-analyzer -x": 170};
def table(heads; rows): "| \(heads | join(" | ")) |", "|\(heads | map("---") | join("|"))|", (rows | "| \(join(" | ")) |");

"`\(.machine.cpu)`, \(.machine.cpus) CPUs; Linux \(.machine.kernel); load \(.machine.load | split(" ")[0]); \(.machine.date)",
"(\([.versions[]] | join("; ")))\(if .machine.rig_kernel != "" then "; the rig: Linux \(.machine.rig_kernel)" else "" end).",
"", "### Recording", "",
table(["loop", "tool", "ns/cycle (from..to)", "added", "over empty", "recorder, ns/cycle", "bytes/cycle", "lost"];
	.recording[] | [.mode, .tool, spread(0), (.added_ns | n(0)),
	(.over_empty_ns | n(0)), (.cpu_ns | n(0)), (.bytes | n(1)), (.lost | n(0))]),
"", "### The BPF programs alone", "",
table(["loop", "tool", "ns/cycle (from..to)", "over empty"];
	.programs[] | [.mode, .tool, spread(0), (.over_empty_ns | n(0))]),
"", "### Now and then", "",
table(["what", "median", "goal"]; .live[] | [.what, "\(.value | n(1)) \(.unit)", "\(.goal | n(0)) \(.unit)"]),
"", "### A disk request", "",
table(["QEMU", "tool", "main loop, ns/request", "added", "events"];
	.requests[] | [.mode, .tool, (.cpu_ns | n(0)), (.added_ns | n(0)), (.events | n(1))]),
"", "### Analysis of the rig's recordings", "",
table(["what", "cycles", "ns/cycle (from..to)", "CPU ms", "largest resident set, MiB"];
	.analysis[] | [.tool, (.cycles | tostring), spread(1), (.cpu_ms | n(0)),
	mib]),
"", "### Reading", "",
table(["what", "cycles", "vCPUs", "ns/cycle (from..to)", "CPU, ns/cycle", "largest resident set, MiB"];
	.reading[] | select(.tool | test("osv|OSv") | not)
	| [.tool, (.cycles | tostring), (.vcpus | tostring), spread(1), (.cpu_ms * 1e6 / .cycles | n(1)), mib]),
"", "### Pictures and the report page", "",
table(["what", "cycles", "bytes", "at most", "CPU, s", "largest resident set, MiB"];
	.pictures[] | ["`\(.tool)`", (.cycles | tostring), (.bytes | n(0)), (.goal | n(0)), (.cpu_ms / 1000 | n(1)), mib]),
"", "### Other tools on the same file", "",
table(["what", "times faster", "goal"]; .ratios[] | [.what, "\(.value | n(1)) ×", "\(.goal | n(0)) ×"]),
"", "### Guest profiles", "",
table(["report", "ns/sample (from..to)", "goal", "largest resident set, MiB"];
	.reading[] | select(.tool | test("osv|OSv")) | [.tool, spread(0), (osv_goals[.tool] | n(0)), mib]),
"", "### Left out", "",
table(["rows", "tool", "because"]; .absent[] | [.mode, .tool, .reason])
