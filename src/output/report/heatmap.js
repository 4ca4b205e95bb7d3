// SPDX-License-Identifier: GPL-2.0-or-later
// Heat maps: latency over time, as the command's JSON has them. Dragging, a click or the arrow keys select a region.

function mix(a, b, part) {
	const rgb = (c) => [1, 3, 5].map((i) => parseInt(c.slice(i, i + 2), 16));
	const x = rgb(a), y = rgb(b);
	return `rgb(${x.map((v, i) => Math.round(v + (y[i] - v) * part)).join(",")})`;
}

// Draws cells[y][x] into a uPlot chart; columns are of column_ns from x0_ns (since the recording's start). Of a selection
// selected(x0, x1, y0, y1) is told, inclusive; x0 is null if there is none. What the first column has of the time before the
// recording began is not drawn.
function cellChart(holder, o) {
	let plot = null, cursor = null;
	const rows = o.cells.length, columns = o.cells[0].length;
	const left = o.x0_ns / 1e9, step = o.column_ns / 1e9, range = [Math.max(0, left), left + columns * step];
	const columnLeft = (u, x, onCanvas) => u.valToPos(Math.max(range[0], left + x * step), "x", onCanvas);
	const max = o.cells.reduce((m, row) => row.reduce((n, v) => Math.max(n, v), m), 1);
	const columnAt = (u, px) => clamp((u.posToVal(px, "x") - left) / step, columns);
	const rowAt = (u, px) => clamp(u.posToVal(px, "y"), rows);
	const paint = (u) => {
		const few = cssColor("--cell0"), many = cssColor("--cell1");
		const h = u.bbox.height / rows;
		for (let y = 0; y < rows; y++)
			for (let x = 0; x < columns; x++) {
				const n = o.cells[y][x];
				if (!n)
					continue;
				u.ctx.fillStyle = mix(few, many, max > 1 ? Math.log(n) / Math.log(max) : 1);
				const from = columnLeft(u, x, true);
				u.ctx.fillRect(from, u.bbox.top + u.bbox.height - (y + 1) * h, Math.max(columnLeft(u, x + 1, true) - from, 1) + 0.5,
					Math.max(h, 1) + 0.5);
			}
	};
	const clamp = (v, n) => Math.max(0, Math.min(n - 1, Math.floor(v)));
	const mark = (x0, x1, y0, y1) => {
		const from = columnLeft(plot, x0), h = plot.over.clientHeight / rows;
		plot.setSelect({left: from, width: columnLeft(plot, x1 + 1) - from, top: (rows - 1 - y1) * h, height: (y1 - y0 + 1) * h}, false);
	};
	const select = (x0, x1, y0, y1) => {
		cursor = [x0, x1, y0, y1];
		mark(x0, x1, y0, y1);
		o.selected(x0, x1, y0, y1);
	};
	const clear = () => {
		cursor = null;
		plot.setSelect({left: 0, width: 0, top: 0, height: 0}, false);
		o.selected(null);
	};
	const label = (u) => {
		const x = columnAt(u, u.cursor.left), y = rowAt(u, u.cursor.top);
		u.over.title = u.cursor.left < 0 ? "" : `${o.describe(x, y)}: ${count(o.cells[y][x])}`;
	};
	const draw = () => {
		if (plot)
			plot.destroy();
		const axis = {stroke: cssColor("--fg"), grid: {show: false}, ticks: {stroke: cssColor("--line")}};
		plot = new uPlot({
			width: holder.clientWidth || 600, height: o.height, legend: {show: false},
			scales: {x: {time: false, range}, y: {range: [0, rows]}},
			axes: [{...axis, space: 70, size: 34, values: (u, at) => at.map((v) => +v.toFixed(6) + " s")},
				{...axis, size: 64, incrs: [1, 2, 4, 5, 8, 10, 16, 32], values: (u, at) => at.map(o.yValue)}],
			series: [{}, {paths: () => null, points: {show: false}}],
			cursor: {drag: {x: true, y: true, uni: 5, setScale: false}, points: {show: false}},
			hooks: {draw: [paint], setCursor: [label], setSelect: [(u) => {
				const s = u.select;
				if (s.width < 2 || s.height < 2)
					return;
				select(columnAt(u, s.left), columnAt(u, s.left + s.width - 0.01), rowAt(u, s.top + s.height - 0.01), rowAt(u, s.top));
			}]},
		}, [range, [0, rows]], holder);
		holder.dataset.from = range[0];
		plot.over.addEventListener("click", () => {
			const x = columnAt(plot, plot.cursor.left), y = rowAt(plot, plot.cursor.top);
			if (plot.select.width < 2)
				select(x, x, y, y);
		});
		if (cursor)
			mark(...cursor);
	};
	const keys = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]};
	holder.addEventListener("keydown", (ev) => {
		const by = keys[ev.key];
		if (ev.key === "Escape" && cursor)
			clear();
		if (!by)
			return;
		ev.preventDefault();
		let [x0, x1, y0, y1] = cursor || [0, 0, 0, 0];
		if (ev.shiftKey) {
			x1 = Math.max(x0, clamp(x1 + by[0], columns));
			y1 = Math.max(y0, clamp(y1 + by[1], rows));
		} else if (cursor) {
			x0 = x1 = clamp(x0 + by[0], columns);
			y0 = y1 = clamp(y0 + by[1], rows);
		}
		select(x0, x1, y0, y1);
	});
	redraws.push(draw);
	return {select, clear, columns, rows};
}

// The time of spans that this cell has, of a heat map's rows.
function bounds(map, y0, y1) {
	return `${duration(map.rows[y0].lo_ns)} to ${duration(map.rows[y1].hi_ns)}`;
}

let exitsChart = null; // for links to a time window

function mapFigure(key, id, selected) {
	const map = dataOf(key) && dataOf(key).result;
	if (!map || !map.cells.length || !map.cells[0].length)
		return null;
	const holder = el("div", {class: "chart", id, tabindex: 0, role: "application",
		"aria-label": "heat map; arrow keys select a cell, with Shift a region, Escape none"});
	const at = (x) => map.t0_ns + x * map.column_ns;
	const chart = cellChart(holder, {
		cells: map.cells, x0_ns: map.t0_ns - start0(), column_ns: map.column_ns, height: Math.max(170, Math.min(420, 60 + map.rows.length * 12)),
		yValue: (y) => y < map.rows.length ? duration(map.rows[y].lo_ns) : "",
		describe: (x, y) => `${sinceStart(at(x))}, ${bounds(map, y, y)}`,
		selected: (x0, x1, y0, y1) => selected(map, x0, x1, y0, y1),
	});
	chart.map = map;
	return {figure: el("figure", {}, holder, el("figcaption", {}, `${map.analyzer}: columns of ${duration(map.column_ns)}, a darker `,
		"(in dark colours: lighter) cell has more spans, on a logarithmic scale. Drag over a region, click a cell, or use the arrow keys.")), chart};
}

function sumCells(map, x0, x1, y0, y1) {
	let n = 0;
	for (let y = y0; y <= y1; y++)
		for (let x = x0; x <= x1; x++)
			n += map.cells[y][x];
	return n;
}

function regionText(map, x0, x1, y0, y1) {
	return el("p", {class: "region", "data-v": sumCells(map, x0, x1, y0, y1)}, el("b", {}, count(sumCells(map, x0, x1, y0, y1)), " spans"),
		` that ended from ${sinceStart(map.t0_ns + x0 * map.column_ns)} to ${sinceStart(map.t0_ns + (x1 + 1) * map.column_ns)}, `,
		`of ${bounds(map, y0, y1)}.`);
}

// What the exits of a region went into, and the longest of them.
function regionCauses(x0, x1, y0, y1) {
	const moments = dataOf("moments");
	if (!moments)
		return null;
	const cells = moments.cells.filter((c) => c[0] >= x0 && c[0] <= x1 && c[1] >= y0 && c[1] <= y1);
	const sums = new Map();
	for (const [cause, ns] of cells.flatMap((c) => c[3]))
		sums.set(cause, (sums.get(cause) || 0) + ns);
	const all = [...sums.values()].reduce((a, b) => a + b, 0) || 1;
	const causes = [...sums].sort((a, b) => b[1] - a[1]).map(([i, ns]) => ({cause: moments.causes[i], ns, part: ns / all}));
	const spans = cells.flatMap((c) => c[4]).sort((a, b) => b[1] - a[1]).slice(0, 25).map((s) => ({time: s[0], ns: s[1], vcpu: s[2],
		reason: s[3], cause: moments.causes[s[4]], what: s[5], vm: s[6]}));
	const exits = cells.reduce((n, c) => n + c[2], 0);
	if (!exits)
		return null;
	return [el("h3", {}, `What these ${count(exits)} exits went into`), el("div", {id: "region-causes"}, bars(causes.map((c) =>
		[el("span", {"data-v": c.ns}, `${c.cause}: ${duration(c.ns)}, ${percent(c.part)}`), [[c.part, stateColor(c.cause), c.cause]]]))),
	spans.length ? [el("h3", {}, "The longest of them, with the longest part of each"), table(present([["time", "began at", sinceStart], ["vm", "VM", null],
		["vcpu", "vCPU", String], ["reason", "reason", null], ["ns", "latency", duration], ["cause", "cause", null], ["what", "what or who", null]],
	spans), spans, {id: "t-region"}), el("p", {class: "dim"}, `The ${moments.spans_per_cell} longest exits of each cell are on this page.`)] : null];
}

// Rows are offsets within a second: what happens every 20 ms is a row, what happens at another period a slanted line.
function offsetsFigure() {
	const offsets = (dataOf("moments") || {}).offsets;
	if (!offsets || !offsets.cells[0].length)
		return null;
	const holder = el("div", {class: "chart", id: "offsets", tabindex: 0, role: "application", "aria-label": "exits by offset within a second; arrow keys select"});
	const out = el("div", {id: "offset-region", "aria-live": "polite"});
	const ms = (y) => y * offsets.row_ns / 1e6 + " ms", map = {cells: offsets.cells};
	cellChart(holder, {cells: offsets.cells, x0_ns: offsets.t0_ns - start0(), column_ns: offsets.column_ns, height: 300, yValue: ms,
		describe: (x, y) => `${duration(x * offsets.column_ns) || "0"} + ${ms(y)}`,
		selected: (x0, x1, y0, y1) => out.replaceChildren(...x0 === null ? [] : [el("p", {class: "region", "data-v": sumCells(map, x0, x1, y0, y1)},
			el("b", {}, count(sumCells(map, x0, x1, y0, y1)), " exits"), ` began ${ms(y0)} to ${ms(y1 + 1)} after a full second of the host's clock.`)])});
	return el("figure", {}, holder, el("figcaption", {}, `Exits by the offset within a second at which they began: columns of ${duration(offsets.column_ns)}, `,
		`rows of ${duration(offsets.row_ns)}. Periodic work shows as lines.`), out);
}

function heatmapSection() {
	const details = el("div", {id: "region", "aria-live": "polite"}), queues = el("div", {id: "queue-region", "aria-live": "polite"});
	const show = (to, more) => (map, x0, x1, y0, y1) => {
		to.replaceChildren();
		if (x0 !== null)
			add(to, [regionText(map, x0, x1, y0, y1), more ? more(x0, x1, y0, y1) : null]);
	};
	const exits = mapFigure("heatmap", "heatmap-exits", show(details, regionCauses));
	const requests = mapFigure("queue_heatmap", "heatmap-queues", show(queues, null));
	exitsChart = exits && exits.chart;
	return section("heatmap", "Latency over time", null, [["Exits", "heatmap", exits && [exits.figure, details]],
		["Exits within a second", "moments", offsetsFigure()],
		["Virtqueue requests, from pop to fill", "queue_heatmap", requests && [requests.figure, queues]]]);
}

// "#t=SINCE-UNTIL", in ns of the trace's clock: selects these columns, as links from pictures do.
function windowOfHash() {
	const m = /^#t=(\d+)-(\d+)$/.exec(location.hash);
	if (!m || !exitsChart)
		return;
	const map = exitsChart.map, column = (ns) => Math.max(0, Math.min(exitsChart.columns - 1, Math.floor((ns - map.t0_ns) / map.column_ns)));
	exitsChart.select(column(Number(m[1])), column(Number(m[2]) - 1), 0, exitsChart.rows - 1);
	document.getElementById("heatmap").scrollIntoView();
}
