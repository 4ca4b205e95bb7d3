// SPDX-License-Identifier: GPL-2.0-or-later
// Virtqueues and block requests.

const lineColors = ["#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#b07aa1", "#76b7b2", "#edc948", "#9c755f"];

// Lines of [name, values] over columns of column_ns.
function lineChart(id, lines, column_ns, values) {
	const holder = el("div", {class: "chart", id});
	const n = Math.max(...lines.map((l) => l[1].length));
	const xs = Array.from({length: n}, (_, i) => i * column_ns / 1e9);
	let plot = null;
	redraws.push(() => {
		if (plot)
			plot.destroy();
		const axis = {stroke: cssColor("--fg"), grid: {stroke: cssColor("--line"), width: 1}, ticks: {stroke: cssColor("--line")}};
		plot = new uPlot({width: holder.clientWidth || 600, height: 190, scales: {x: {time: false}, y: {range: (u, lo, hi) => [0, Math.max(1, hi)]}},
			axes: [{...axis, values: (u, at) => at.map((v) => v + " s")}, {...axis, size: 56, values: (u, at) => at.map(values)}],
			series: [{label: "time", value: (u, v) => v === null ? "" : v.toFixed(3) + " s"}, ...lines.map((l, i) => ({label: l[0],
				stroke: lineColors[i % lineColors.length], width: 1.5, paths: uPlot.paths.stepped({align: 1}), points: {show: false}}))],
		}, [xs, ...lines.map((l) => Array.from({length: n}, (_, i) => i < l[1].length ? l[1][i] : null))], holder);
	});
	return holder;
}

function queueLabel(row) {
	return row.queue_name || (row.queue === null ? null : String(row.queue));
}

function queueName(row) {
	return `${row.vm ? row.vm + " " : ""}${deviceName(row)} queue ${queueLabel(row)}`;
}

function stageRows() {
	return rowsOf("virtio").flatMap((row) => Object.entries(row.stages || {}).map(([stage, s]) => ({queue: queueName(row), stage, ...s})));
}

function inFlight() {
	const rows = rowsOf("virtio").filter((r) => r.in_flight && r.in_flight.columns && r.in_flight.columns.length).slice(0, lineColors.length);
	return rows.length ? el("figure", {}, lineChart("chart-flight", rows.map((r) => [queueName(r), r.in_flight.columns]), rows[0].in_flight.column_ns, count),
		el("figcaption", {}, `Requests in flight, the largest number of each ${duration(rows[0].in_flight.column_ns)}`,
			rowsOf("virtio").length > rows.length ? `; ${rows.length} of ${rowsOf("virtio").length} queues are drawn.` : ".")) : null;
}

function queuesSection() {
	const leaks = dataOf("leaks"), totals = leaks && leaks.totals;
	const stages = stageRows();
	return section("virtio", "Queues and requests", "Virtqueue requests by stage, block requests of the guest, and elements that were not returned.", [
		["Queues", "virtio", [tableOf("virtio", [["vm", "VM", null], ["device", "device", null, {of: (r) => deviceName(r)}], ["queue", "queue", null, {of: queueLabel}],
			["count", "requests", count], ["returned", "returned", count], ["kicks", "kicks", count], ["notifications", "notifications", count],
			["in_flight", "in flight: mean", (v) => v.toFixed(2), {of: (r) => r.in_flight && r.in_flight.avg}],
			["max", "max", count, {of: (r) => r.in_flight && r.in_flight.max}], ["end", "at the end", count, {of: (r) => r.in_flight && r.in_flight.end}]]),
		inFlight(), stages.length ? table([["queue", "queue", null], ["stage", "stage", null], ["count", "count", count], ["p50_ns", "p50", duration],
			["p99_ns", "p99", duration], ["max_ns", "max", duration]], stages, {id: "t-virtio-stages"}) : null]],
		["Not returned", "leaks", el("div", {id: "leaks"}, totals ? el("p", {}, `${count(totals.popped)} popped, ${count(totals.returned)} returned, `,
			`${count(totals.leaked)} leaked, ${count(totals.in_flight)} in flight, ${count(totals.held)} held by design.`) : null,
		tableOf("leaks", [["vm", "VM", null], ["device", "device", null, {of: (r) => deviceName(r)}], ["queue", "queue", null, {of: queueLabel}], ["head", "head", String],
			["elem", "element", null], ["popped_ns", "popped at", sinceStart], ["age_ns", "age", duration], ["verdict", "verdict", null]]))],
		["Block requests of the guest", "requests", tableOf("requests", plainColumns("requests"))],
		["Stages of requests, through QEMU's threads", "stages", stagesTable()],
		["The slowest requests", "stages", slowestRequests()]]);
}

function stagesTable() {
	const rows = (dataOf("stages") || {}).stages || [];
	return rows.length ? table(present([["vm", "VM", null], ["device", "device", null, {of: (r) => deviceName(r)}], ["stage", "stage", null],
		["thread", "thread", null], ["state", "state", null], ["requests", "requests", count], ["time_ns", "time", duration], ["p50_ns", "p50", duration],
		["p99_ns", "p99", duration], ["max_ns", "max", duration]], rows), rows, {id: "t-stages"}) : null;
}

// The slowest requests: what the thread that had them did, stage by stage.
function slowestRequests() {
	const rows = rowsOf("stages").filter((r) => r.parts);
	const who = (p) => `${p.thread || ""}${p.tid ? ` ${p.tid}` : ""}${p.other ? `; CPU ${p.cpu}: ${p.other} (${p.other_tid}) runs` : ""}`;
	return rows.length ? el("div", {id: "slowest-requests"}, stateLegend(rows.flatMap((r) => r.parts.map((p) => p.state))),
		rows.map((r) => waterfall(`${queueName(r)}, head ${r.head}`, r.start_ns, r.total_ns,
		r.parts.map((p) => [p.start_ns, p.duration_ns, stateColor(p.state), `${p.stage}, ${p.state}`, who(p)]), null))) : null;
}
