// SPDX-License-Identifier: GPL-2.0-or-later
// Timelines: of the whole recording as shares of columns of time, and slice by slice around the slowest exits.

// On paper, all rows of a timeline fit on one page.
function rowPx() {
	return document.documentElement.dataset.printing ? 14 : 18;
}

// As much of the text as is `px` wide; its middle is left out, since tracks differ at their ends.
function shortened(text, px, font) {
	const pen = document.createElement("canvas").getContext("2d");
	let cut = text;
	pen.font = font;
	for (let n = text.length - 1; n > 1 && pen.measureText(cut).width > px; n--)
		cut = text.slice(0, Math.ceil(n / 2)) + "\u2026" + text.slice(text.length - Math.floor(n / 2));
	return cut;
}

// A chart with a row for each track, the first on top. o: tracks, range [from, to] in s, xValue, paint(u, row => [y, height]),
// about(u, x, row): what is there; click(x).
function trackChart(holder, o) {
	let plot = null;
	const n = o.tracks.length, several = new Set(o.tracks.map((t) => t.group)).size > 1;
	const name = (t) => several ? `${t.group.replace(/^host: VM /, "")}/${t.name}` : t.name;
	const status = el("p", {class: "dim screen", "aria-live": "polite"}, "\u00a0");
	const draw = () => {
		if (plot)
			plot.destroy();
		plot = null;
		const width = holder.clientWidth, left = width < 640 ? 92 : 190;
		if (!width)
			return;
		const axis = {stroke: cssColor("--fg"), ticks: {stroke: cssColor("--line")}, font: "12px system-ui, sans-serif"};
		const cut = (text) => shortened(text, left - 18, axis.font);
		plot = new uPlot({
			width, height: n * rowPx() + 50, legend: {show: false}, padding: [4, 8, 0, 0],
			scales: {x: {time: false, range: (u, min, max) => min === null || min === max ? o.range : [min, max]}, y: {range: [0, n]}},
			axes: [{...axis, space: 80, size: 34, grid: {stroke: cssColor("--line"), width: 1}, values: (u, at) => at.map(o.xValue)},
				{...axis, size: left, grid: {show: false}, splits: () => o.tracks.map((t, i) => n - i - 0.5),
					filter: (u, splits) => splits, values: () => o.tracks.map((t) => cut(name(t)))}],
			series: [{}, {paths: () => null, points: {show: false}}],
			cursor: {drag: {x: true, y: false}, points: {show: false}, y: false},
			hooks: {
				draw: [(u) => {
					const h = u.bbox.height / n;
					u.ctx.save();
					u.ctx.beginPath();
					u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
					u.ctx.clip();
					o.paint(u, (row) => [u.bbox.top + row * h + 1, h - 2]);
					u.ctx.restore();
				}],
				setCursor: [(u) => {
					const row = Math.floor(u.cursor.top * n / u.over.clientHeight);
					if (u.cursor.left >= 0 && row >= 0 && row < n)
						status.textContent = `${name(o.tracks[row])}: ${o.about(u, u.posToVal(u.cursor.left, "x"), row)}`;
				}],
			},
		}, [o.range, [0, n]], holder);
		plot.over.addEventListener("click", () => plot.select.width < 2 && o.click && o.click(plot.posToVal(plot.cursor.left, "x")));
	};
	holder.addEventListener("keydown", (ev) => ev.key === "Escape" && plot && plot.setScale("x", {min: o.range[0], max: o.range[1]}));
	redraws.push(draw);
	return {draw, status};
}

// Each column of a track is filled by the shares that its kinds have of the time.
function bandsFigure() {
	const result = (dataOf("timeline") || {}).result;
	if (!result || !result.tracks.length)
		return null;
	const step = result.column_ns / 1e9, from = (result.t0_ns - start0()) / 1e9;
	const holder = el("div", {class: "chart", id: "timeline-bands", tabindex: 0, role: "application", "aria-label": "timeline of the recording"});
	const byColumn = result.tracks.map((t) => {
		const columns = Array.from({length: result.columns}, () => []);
		for (const [kind, list] of Object.entries(t.kinds))
			for (const [x, v] of list)
				columns[x].push([kind, v]);
		return columns;
	});
	const text = ([kind, v]) => kind === "instant" ? `${count(v)} points` : `${kind} ${percent(v / result.column_ns)}`;
	const chart = trackChart(holder, {
		tracks: result.tracks, range: [from, from + step * result.columns], xValue: (v) => +v.toFixed(6) + " s",
		about: (u, x, row) => `${x.toFixed(6)} s, ${(byColumn[row][Math.floor((x - from) / step)] || []).map(text).join(", ") || "nothing"}`,
		click: (x) => {
			const column = Math.floor((x - from) / step);
			location.hash = `#t=${result.t0_ns + column * result.column_ns}-${result.t0_ns + (column + 1) * result.column_ns}`;
		},
		paint: (u, rowAt) => byColumn.forEach((columns, row) => {
			const [top, height] = rowAt(row);
			columns.forEach((kinds, x) => {
				const [left, right] = [x, x + 1].map((at) => Math.round(u.valToPos(from + at * step, "x", true)));
				let filled = 0;
				for (const [kind, v] of kinds) {
					const part = kind === "instant" ? 1 : Math.min(1 - filled, v / result.column_ns);
					const h = Math.max(kind === "instant" ? height : part * height, 0.5);
					u.ctx.fillStyle = stateColor(kind);
					u.ctx.fillRect(left, top + height - filled * height - h, Math.max(0.5, right - left), h);
					filled += kind === "instant" ? 0 : part;
				}
			});
		}),
	});
	return el("figure", {}, stateLegend(new Set(result.tracks.flatMap((t) => Object.keys(t.kinds)))), holder, chart.status, el("figcaption", {},
		`Columns of ${duration(result.column_ns)}: the filled part of a row is the share of the time. Drag to zoom, double-click or Escape for all; `,
		"a click selects the time in the heat map.", result.tracks_not_shown ? ` ${result.tracks.length} of ${result.tracks.length + result.tracks_not_shown} ` +
		"tracks are drawn: those of the vCPUs, and the busiest." : ""));
}

function closeup(row, open) {
	const range = [row.since_ns - row.exit_ns, row.until_ns - row.exit_ns].map((v) => v / 1e9);
	const holder = el("div", {class: "chart", tabindex: 0, role: "application", "aria-label": "timeline around an exit"});
	const slices = row.slices.map((s) => ({track: s[0], from: (s[1] - row.exit_ns) / 1e9, to: (s[1] + s[2] - row.exit_ns) / 1e9, ns: s[2], kind: s[3], name: s[4]}));
	const chart = trackChart(holder, {
		tracks: row.tracks, range, xValue: (v) => duration(Math.round(v * 1e9)),
		about: (u, x, track) => {
			const near = (u.scales.x.max - u.scales.x.min) / 200;
			const hit = slices.filter((s) => s.track === track && s.from - (s.ns ? 0 : near) <= x && x <= s.to + (s.ns ? 0 : near)).pop();
			return hit ? `${hit.name} (${hit.kind}${hit.ns ? ", " + duration(hit.ns) : ""})` : "nothing";
		},
		paint: (u, rowAt) => slices.forEach((s) => {
			const [top, height] = rowAt(s.track);
			const left = u.valToPos(s.from, "x", true), width = u.valToPos(s.to, "x", true) - left;
			u.ctx.fillStyle = stateColor(s.kind);
			u.ctx.fillRect(left, top, Math.max(width, s.ns ? 0.5 : 1.5), height);
			if (width < 40)
				return;
			u.ctx.fillStyle = "#1b1f24";
			u.ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
			u.ctx.textBaseline = "middle";
			u.ctx.textAlign = "left";
			const from = Math.max(left, u.bbox.left), room = Math.min(left + width, u.bbox.left + u.bbox.width) - from - 6;
			if (u.ctx.measureText(s.name).width < room)
				u.ctx.fillText(s.name, from + 3, top + height / 2);
		}),
	});
	return el("details", {open, on: {toggle: chart.draw}}, el("summary", {}, `${sinceStart(row.exit_ns)}: ${row.reason} on ${vcpuName(row)}, `,
		el("b", {}, duration(row.latency_ns))), stateLegend(new Set(slices.map((s) => s.kind))), holder, chart.status,
	row.slices_not_shown ? el("p", {class: "note"}, `Shown: the ${count(slices.length)} longest of ${count(slices.length + row.slices_not_shown)} slices.`) : null);
}

function timelineSection() {
	const rows = rowsOf("closeups");
	return section("timeline", "Timeline", "vCPUs, virtqueues, threads and guest tasks on one clock.", [
		["The whole recording", "timeline", bandsFigure()],
		["Around the slowest exits", "closeups", rows.length ? el("div", {id: "closeups"}, rows.map((r, i) => closeup(r, i === 0)),
			el("p", {class: "dim"}, "Times count from the exit.")) : null]]);
}
