// SPDX-License-Identifier: GPL-2.0-or-later
// What the time of exits and requests went into.

function stateColor(name) {
	return stateColors[name] || stateColors.unknown;
}

// In the order of the table; those that it does not have come last.
function inOrder(names) {
	const given = new Set(names);
	return [...Object.keys(stateColors).filter((n) => given.has(n)), ...[...given].filter((n) => !(n in stateColors))];
}

function stateLegend(names) {
	return el("div", {class: "legend"}, inOrder(names).map((n) => el("span", {}, el("i", {style: {background: stateColor(n)}}), n)));
}

// Rows of [label, [[part, color, title], ...]]: parts of 1.
function bars(rows) {
	return el("div", {class: "bars"}, rows.map(([label, parts]) => {
		let at = 0;
		return [el("div", {}, label), el("div", {class: "bar"}, parts.map(([part, color, title, from]) => {
			const left = from === undefined ? at : from;
			at = left + part;
			return el("i", {title, style: {left: 100 * left + "%", width: 100 * part + "%", background: color}});
		}))];
	}));
}

function causesOf(o) {
	return inOrder(Object.keys(o).filter((c) => o[c])).map((c) => [c, o[c]]);
}

function vcpuName(row) {
	return `${row.vm ? row.vm + " " : ""}${row.vcpu === null || row.vcpu === undefined ? "no vCPU" : "vCPU " + row.vcpu}`;
}

// A bar with all parts one after the other; unfolded, a line for each part: [start_ns, duration_ns, color, name, who].
function waterfall(label, start_ns, whole_ns, parts, more) {
	const whole = whole_ns || 1;
	const bar = ([start, ns, color, name, who]) => [ns / whole, color, `${name}: ${duration(ns)} ${who}`, (start - start_ns) / whole];
	return el("details", {class: "exit"}, el("summary", {}, bars([[[`${sinceStart(start_ns)}, ${label}, `,
		el("b", {"data-v": whole_ns}, duration(whole_ns))], parts.map(bar)]])),
	bars(parts.map((p) => [el("span", {}, `${p[3]} ${duration(p[1])}`, p[4] ? el("span", {class: "dim"}, " ", p[4]) : null), [bar(p)]])), more);
}

function exitWaterfall(row) {
	return waterfall(`${row.reason}, ${vcpuName(row)}`, row.time_ns, row.latency_ns,
		row.parts.map((p) => [p.start_ns, p.duration_ns, stateColor(p.cause), p.cause, p.what]), row.holder ? el("p", {class: "dim"},
			`Held by ${row.holder.comm} (${row.holder.tid})`, row.holder.stack ? ": " + row.holder.stack.join(" < ") : "") : null);
}

function blameSection() {
	const blame = dataOf("blame") || {}, groups = (dataOf("blame_by_vcpu") || {}).groups || [], rows = blame.rows || [];
	const used = [...groups, ...rows].flatMap((r) => Object.keys(r.causes).filter((c) => r.causes[c]));
	const longest = Math.max(1, ...groups.map((g) => g.time_ns));
	const overview = groups.length ? [stateLegend(used), bars(groups.map((g) => [`${vcpuName(g)}: ${duration(g.time_ns)} in ${count(g.exits)} exits`,
		causesOf(g.causes).map(([c, ns]) => [ns / longest, stateColor(c), `${c}: ${duration(ns)}`])]))] : null;
	const causes = (blame.causes || []).length ? table([["cause", "cause", null], ["what", "what or who", null], ["time_ns", "time", duration],
		["exits", "exits", count]], blame.causes, {id: "t-causes"}) : null;
	return section("blame", "What exits waited for", "The time of each exit, split by what it went into. Causes add up to the exits' time.", [
		["By vCPU", "blame_by_vcpu", overview],
		["By cause", "blame", causes],
		["The slowest exits", "blame", rows.length ? el("div", {id: "slowest"}, stateLegend(used), rows.map(exitWaterfall)) : null]]);
}
