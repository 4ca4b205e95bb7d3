# SPDX-License-Identifier: GPL-2.0-or-later
# bench.json as text, cells separated by tabs.
def n(d): if . == null then "-" elif d == 0 then (round | tostring) else (. * 10 | round / 10 | tostring) end;

(["RECORDING", "tool", "ns/cycle", "(from..to)", "added ns", "slowdown", "recorder ns", "bytes/cycle", "lost"] | join("\t")),
(.recording[] | [.mode, .tool, (.ns | n(0)), "(\(.ns_min | n(0))..\(.ns_max | n(0)))", (.added_ns | n(0)),
	(.slowdown | tostring), (.cpu_ns | n(0)), (.bytes | n(1)), (.lost | n(0))] | join("\t")),
"",
(["READING", "cycles", "vCPUs", "ns/cycle", "(from..to)", "wall ms", "CPU ms", "RSS MiB"] | join("\t")),
(.reading[] | [.tool, (.cycles | tostring), (.vcpus | tostring), (.ns | n(1)), "(\(.ns_min | n(1))..\(.ns_max | n(1)))",
	(.wall_ms | n(0)), (.cpu_ms | n(0)), (.rss_kib / 1024 | n(1))] | join("\t")),
"",
(["SIZE", "cycles", "vCPUs", "bytes/cycle"] | join("\t")),
(.sizes[] | [.tool, (.cycles | tostring), (.vcpus | tostring), (.bytes | n(1))] | join("\t"))
