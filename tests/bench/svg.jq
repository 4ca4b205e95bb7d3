# SPDX-License-Identifier: GPL-2.0-or-later
# bench.json as a picture: what each tool adds to an exit cycle (bars), and time over the length of a recording (lines,
# both axes in powers of ten).
def esc: gsub("&"; "&amp;") | gsub("<"; "&lt;") | gsub(">"; "&gt;");
def r: . * 10 | round / 10;
def colour: {"hostrace": "#c33", "hostrace-zstd": "#d77", "stat": "#e90", "empty": "#999", "clock": "#bbb", "perf": "#36a",
	"perf-kvm-stat": "#69c", "ftrace": "#383", "trace-cmd": "#6a6", "bpftrace": "#859"}[.] // "#555";

def bars($mode; $x; $y): (.recording | map(select(.mode == $mode and .tool != "none" and .added_ns != null))) as $rows
	| ([$rows[].added_ns, 1] | max) as $most
	| "<text x=\"\($x)\" y=\"\($y)\" class=\"h\">loop \($mode): ns added per cycle</text>",
	($rows | to_entries[] | ($y + 14 + .key * 17) as $at | ([.value.added_ns, 0] | max | . / $most * 180) as $w
	| "<rect x=\"\($x + 100)\" y=\"\($at - 9)\" width=\"\($w | r)\" height=\"11\" fill=\"\(.value.tool | colour)\"/>",
	"<text x=\"\($x + 94)\" y=\"\($at)\" text-anchor=\"end\">\(.value.tool | esc)</text>",
	"<text x=\"\($x + 105 + $w | r)\" y=\"\($at)\">\(.value.added_ns | round)</text>");

def growth($x; $y; $w; $h): (.reading | map(select(.vcpus == 8 and .wall_ms > 0))) as $rows
	| if ($rows | length) == 0 then empty else
	([$rows[].cycles] | min | log10) as $x0 | ([[$rows[].cycles] | max | log10, $x0 + 1] | max) as $x1
	| ([$rows[].wall_ms] | min | log10 | floor) as $y0 | ([$rows[].wall_ms] | max | log10 | ceil) as $y1
	| def px: $x + (log10 - $x0) / ($x1 - $x0) * $w; def py: $y + $h - (log10 - $y0) / ([$y1 - $y0, 1] | max) * $h;
	"<text x=\"\($x)\" y=\"\($y - 8)\" class=\"h\">reading: milliseconds over exit cycles in the recording (8 vCPUs)</text>",
	"<rect x=\"\($x)\" y=\"\($y)\" width=\"\($w)\" height=\"\($h)\" fill=\"none\" stroke=\"#ccc\"/>",
	(range($x0 | ceil; $x1 + 0.01) | "<text x=\"\(pow(10; .) | px | r)\" y=\"\($y + $h + 13)\" text-anchor=\"middle\">1e\(.)</text>"),
	(range($y0; $y1 + 1) | "<text x=\"\($x - 5)\" y=\"\(pow(10; .) | py + 4 | r)\" text-anchor=\"end\">1e\(.)</text>"),
	($rows | group_by(.tool) | to_entries[] | .key as $k | .value | sort_by(.cycles)
	| (["#c33", "#36a", "#383", "#859", "#e90", "#555", "#0aa", "#a50", "#f6a", "#9b3", "#006", "#444"][$k % 12]) as $c
	| "<polyline fill=\"none\" stroke=\"\($c)\" points=\"\(map("\(.cycles | px | r),\(.wall_ms | py | r)") | join(" "))\"/>",
	"<text x=\"\($x + $w + 8)\" y=\"\($y + 10 + $k * 13)\" fill=\"\($c)\">\(.[-1].tool | esc)</text>") end;

([.recording[].mode] | unique) as $modes | ([$modes[] as $m | [.recording[] | select(.mode == $m)] | length] + [1] | max) as $most
| (($modes | length + 1) / 2 | floor * ($most * 17 + 30) + 40) as $top
| "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"760\" height=\"\($top + 300)\" font-family=\"sans-serif\" font-size=\"11\">",
"<style>.h{font-weight:bold;font-size:12px}</style><rect width=\"100%\" height=\"100%\" fill=\"white\"/>",
(. as $b | $modes | to_entries[] | .key as $k | .value as $m | $b
	| bars($m; 20 + ($k % 2) * 370; 24 + ($k / 2 | floor) * ($most * 17 + 30))),
growth(60; $top; 520; 250),
"</svg>"
