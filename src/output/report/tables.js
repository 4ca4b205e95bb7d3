// SPDX-License-Identifier: GPL-2.0-or-later
// Tables: a heading sorts by its column. Each cell has its exact value in data-v.

// Columns: [key, heading, format, options]; format: duration, count, ... or null for text; options.of(row): the value.
function table(columns, rows, options) {
	const o = options || {};
	const body = el("tbody");
	const heads = [];
	let sorted = null, down = true;
	const value = (c, row) => c[3] && c[3].of ? c[3].of(row) : row[c[0]];
	const fill = () => {
		const order = sorted === null ? rows : rows.slice().sort((a, b) => {
			const x = value(columns[sorted], a), y = value(columns[sorted], b);
			const less = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
			return down ? -less : less;
		});
		body.replaceChildren(...order.map((row) => el("tr", {}, columns.map((c) => {
			const v = value(c, row);
			return el("td", {class: c[2] ? "n" : "text", "data-v": v === undefined || v === null ? "" : v},
				v === null || v === undefined ? "" : c[2] ? c[2](v) : v);
		}))));
		heads.forEach((h, i) => h.setAttribute("aria-sort", i !== sorted ? "none" : down ? "descending" : "ascending"));
	};
	const head = el("tr", {}, columns.map((c, i) => {
		const h = el("th", {class: c[2] ? "n" : null, scope: "col"}, el("button", {type: "button", on: {click: () => {
			down = sorted === i ? !down : !!c[2];
			sorted = i;
			fill();
		}}}, c[1]));
		heads.push(h);
		return h;
	}));
	fill();
	return el("div", {class: columns.length > 14 ? "scroll wide" : "scroll", tabindex: 0, role: "region", "aria-label": o.label || "table"},
		el("table", {id: o.id}, el("thead", {}, head), body));
}

// Only columns that have a value in a row.
function present(columns, rows) {
	return columns.filter((c) => rows.some((r) => {
		const v = c[3] && c[3].of ? c[3].of(r) : r[c[0]];
		return v !== undefined && v !== null && v !== "";
	}));
}

function tableOf(key, columns, options) {
	const rows = rowsOf(key);
	return rows.length ? table(present(columns, rows), rows, {id: "t-" + key, ...options}) : null;
}

function hex(v) {
	return typeof v === "number" ? "0x" + v.toString(16) : String(v);
}

const figures = [["count", "count", count], ["total_ns", "total", duration], ["avg_ns", "mean", duration], ["p50_ns", "p50", duration],
	["p90_ns", "p90", duration], ["p99_ns", "p99", duration], ["p999_ns", "p99.9", duration], ["max_ns", "max", duration],
	["userspace_count", "to user space", count]];

function exitsSection() {
	const share = (rows) => {
		const all = rows.reduce((sum, r) => sum + r.total_ns, 0);
		return ["share", "time", percent, {of: (r) => all ? r.total_ns / all : 0}];
	};
	const of = (key, head) => tableOf(key, [["vm", "VM", null], head, ["count", "count", count], share(rowsOf(key)), ...figures.slice(1)]);
	return section("exits", "Exits", "Why the guest stopped, how often, and for how long until it ran again.", [
		["By reason", "exits", of("exits", ["reason", "reason", null])],
		["By vCPU", "exits_by_vcpu", of("exits_by_vcpu", ["vcpu", "vCPU", String])]]);
}

function portsSection() {
	const access = [["vm", "VM", null], ["dir", "direction", null], ["port", "port", hex], ["addr", "address", hex], ["msr", "MSR", hex],
		["what", "what", null], ["size", "bytes each", count], ["count", "count", count], ["bytes", "bytes", count]];
	return section("ports", "Ports, MMIO and MSRs", "What the guest accessed that the host emulates.", [
		["I/O ports", "ports", tableOf("ports", access)], ["MMIO, by 4 KiB page", "mmio", tableOf("mmio", access)],
		["MSRs", "msrs", tableOf("msrs", access)]]);
}

function threadsSection() {
	const part = (key) => [key, key.replace(/_ns$/, ""), duration];
	return section(
		"sched", "Threads and interrupts",
		"What QEMU's threads did with their time, and how interrupts reached the vCPUs.", [
			[
				"Threads", "sched",
				tableOf("sched",
					[
						[ "vm", "VM", null ], [ "thread", "thread", null ],
						[ "tid", "tid", String ], [ "kind", "kind", null ],
						[ "vcpu", "vCPU", String ], part("time_ns"),
						part("run_ns"),
						[ "ready_ns", "ready, no CPU", duration ],
						part("poll_ns"), part("mutex_ns"), part("lock_ns"),
						part("syscall_ns"), part("halted_ns"),
						part("fault_ns"), part("sleep_ns"),
						part("unknown_ns"),
						[ "max_ns", "longest wait for a CPU", duration ],
						[ "ran_instead", "ran instead", null ]
					])
			],
			[
				"Interrupts", "interrupts",
				tableOf("interrupts", plainColumns("interrupts"))
			]
		]);
}

// Columns as the command has them.
function plainColumns(key) {
	const rows = rowsOf(key), kind = (k) => typeof (rows.find((r) => r[k] !== null) || {})[k];
	return Object.keys(rows[0] || {}).filter((k) => kind(k) !== "object").map((k) => [k, k.replace(/_ns$/, "").replace(/_/g, " "),
		kind(k) !== "number" ? null : /_ns$/.test(k) ? duration : count]);
}

// What differs from earlier runs: report --baseline.
function baselineSection() {
	const c = dataOf("baseline") && dataOf("baseline").comparison;
	const unit = (key) => (r) => r.figure === "latency" ? duration(r[key]) : `${Number(r[key].toPrecision(3))}${r.figure === "rate" ? "/s" : " %"}`;
	const signed = (v) => `${v > 0 ? "+" : ""}${v.toFixed(1)} %`;
	return c ? section("baseline", "Compared with the baseline", `${c.changed} of ${c.tested} figures changed by more than ${c.margin} %.`, [
		[null, "baseline", tableOf("baseline", [["by", "by", null], ["key", "key", null], ["figure", "figure", null],
			["a", "baseline", null, {of: unit("a")}], ["b", "now", null, {of: unit("b")}], ["change", "change", signed], ["verdict", "verdict", null],
			["change_low", "95 % from", signed], ["change_high", "to", signed], ["p_adjusted", "p", (v) => v.toPrecision(2)]])]]) : null;
}

function clockSection() {
	const lost = dataOf("info") && dataOf("info").result && dataOf("info").result.lost;
	const names = Object.entries(lost || {}).map(([event, n]) => ({event, n}));
	const all = (dataOf("info").inputs || []).reduce((sum, i) => sum + (i.lost || 0), 0);
	return section("clock", "Clock and losses", "How guest timestamps were placed on the host's clock, and which events are missing.", [
		["Clock", "sync", tableOf("sync", [["vm", "VM", null], ["source", "source", null], ["vcpu", "vCPU", String], ["method", "method", null],
			["offset_ns", "offset", duration], ["drift_ppb", "drift (ppb)", String], ["error_ns", "error", duration],
			["checked", "checked", count], ["violations", "violations", count], ["worst_ns", "worst", duration], ["verdict", "verdict", null]])],
		["Lost events", "info", names.length ? table([["event", "event", null], ["n", "lost", count]], names, {id: "t-lost"}) :
			el("p", {id: "losses", "data-v": all}, all ? `${count(all)} events were lost; the recording does not name them.` : "No events were lost.")]]);
}

// Members of `info` that are not shown as they are.
const facts = {span_ns: ["length", duration], start_realtime_ns: ["recorded", (v) => new Date(v / 1e6).toISOString()],
	memory_bytes: ["memory", (v) => `${count(v / 1048576)} MiB`], isa: ["isa", (v) => ({1: "vmx", 2: "svm", 0xaa64: "arm64"}[v] || v)]};

function recordingSection() {
	const result = dataOf("info") && dataOf("info").result || {};
	const pairs = (o) => el("dl", {}, Object.entries(o).filter(([, v]) => v !== null && v !== "" && typeof v !== "object").map(([k, v]) =>
		[el("dt", {}, (facts[k] || [k])[0]), el("dd", {"data-v": v}, (facts[k] || [k, String])[1](v))]));
	const events = Object.entries(result.events || {}).map(([event, n]) => ({event, n})).sort((a, b) => b.n - a.n);
	const inputs = dataOf("info") && dataOf("info").inputs || [];
	return section("recording", "How it was recorded", null, [
		["Files", "info", [table([["file", "file", null], ["kind", "kind", null], ["events", "events", count], ["lost", "lost", count]], inputs,
			{id: "t-inputs"}), pairs(result), (result.vms || []).map((vm) => [el("h3", {}, "VM ", vm.name || "", ` (${vm.pid})`), pairs(vm)]),
			el("h3", {}, "Events"), table([["event", "event", null], ["n", "count", count]], events, {id: "t-events"})]]]);
}
