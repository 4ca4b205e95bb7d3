// SPDX-License-Identifier: GPL-2.0-or-later
// hostrace view: the canvas. A slice is a bar, a band a part of its column's height, a point a mark; losses are hatched.
const ROW = 20, BAR = 14, GROUP = 24, AXIS = 24, NAME_MIN = 34, CANVAS_MAX = 16000;

const plotLeft = () => Math.round(Math.min(210, byId('plot').clientWidth * 0.3));
const plotWidth = () => Math.max(50, Math.floor(byId('plot').clientWidth - plotLeft()));
const xOf = ns => plotLeft() + (ns - view[0]) / (view[1] - view[0]) * plotWidth();
const nsAt = x => view[0] + (x - plotLeft()) / plotWidth() * (view[1] - view[0]);
const color = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

function canvasSize(canvas, height) {
	const width = byId('plot').clientWidth;
	const scale = Math.min(window.devicePixelRatio || 1, CANVAS_MAX / Math.max(height, width));
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	canvas.style.width = width + 'px';
	canvas.style.height = height + 'px';
	const c = canvas.getContext('2d');
	c.setTransform(scale, 0, 0, scale, 0, 0);
	c.clearRect(0, 0, width, height);
	c.font = '12px system-ui, sans-serif';
	c.textBaseline = 'middle';
	return c;
}

function stepOf(span, most) {
	const rough = span / most, power = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].map(f => f * power).find(s => s >= rough) || rough;
}

// Beyond 2^53 ns a number may be no other one when the step is added to it.
function ticksOf(step) {
	const first = Math.ceil(view[0] / step) * step, number = Math.floor((view[1] - view[0]) / step) + 1;
	return Array.from({length: number}, (_, i) => first + i * step).filter(ns => ns <= view[1]);
}

function axisDraw() {
	const c = canvasSize(byId('axis'), AXIS), step = stepOf(view[1] - view[0], Math.max(2, plotWidth() / 110));
	c.fillStyle = color('dim');
	c.strokeStyle = color('line');
	c.textAlign = 'center';
	for (const ns of ticksOf(step)) {
		const x = xOf(ns), text = timeText(ns, step), half = c.measureText(text).width / 2;
		c.beginPath();
		c.moveTo(x, AXIS - 5);
		c.lineTo(x, AXIS);
		c.stroke();
		c.fillText(text, Math.min(Math.max(x, plotLeft() + half), plotLeft() + plotWidth() - half), AXIS / 2 - 2);
	}
	return step;
}

// The text's beginning that fits.
function fit(c, text, width) {
	if (c.measureText(text).width <= width)
		return text;
	let n = text.length;
	while (n > 1 && c.measureText(text.slice(0, n) + '\u2026').width > width)
		n -= Math.max(1, n >> 3);
	return n > 1 ? text.slice(0, n) + '\u2026' : '';
}

function heightsOf(list) {
	const heights = new Map();
	for (const band of list)
		if (kindName(band.kind) === 'instant')
			heights.set(band, Math.max(3, Math.min(BAR, 3 + 2 * Math.log2(Math.max(1, band.count)))));
		else
			heights.set(band, Math.min(BAR, band.ns / win.resolution * BAR));
	return heights;
}

function bandsDraw(c, bands, y) {
	const left = plotLeft(), heights = heightsOf(bands);
	let column = NaN, below = 0;
	for (const band of bands) {
		if (band.s !== column)
			below = 0;
		column = band.s;
		const h = heights.get(band), x = Math.max(left, xOf(band.s)), end = Math.max(x + 1, xOf(band.s + win.resolution));
		c.fillStyle = matches(band) ? color('hit') : info.kinds[band.kind][1];
		c.fillRect(x, y + BAR - below - h, end - x, h);
		if (kindName(band.kind) !== 'instant')
			below = Math.min(BAR - h, below + h);
	}
}

function pointDraw(c, x, y) {
	c.beginPath();
	c.moveTo(x, y + 3);
	c.lineTo(x + 4, y + BAR - 2);
	c.lineTo(x - 4, y + BAR - 2);
	c.fill();
}

function sliceDraw(c, item, y) {
	const left = plotLeft(), x = Math.max(left, xOf(item.s)), end = Math.min(left + plotWidth(), Math.max(x + 1, xOf(item.s + item.ns)));
	if (end < left || x > left + plotWidth())
		return;
	c.fillStyle = matches(item) ? color('hit') : info.kinds[item.kind][1];
	if (kindName(item.kind) === 'instant') {
		pointDraw(c, x, y);
		return;
	}
	c.fillRect(x, y, end - x, BAR);
	if (end - x < NAME_MIN)
		return;
	c.fillStyle = '#111';
	c.textAlign = 'left';
	c.fillText(fit(c, item.name, end - x - 6), x + 3, y + BAR / 2 + 1);
}

function trackDraw(c, track, y) {
	const left = plotLeft(), t = win && win.tracks.get(track.id);
	c.fillStyle = wanted && track.name.toLowerCase().includes(wanted) ? color('hit') : color('fg');
	c.textAlign = 'right';
	c.fillText(fit(c, track.name, left - 12), left - 6, y + BAR / 2 + 1);
	c.fillStyle = color('soft');
	c.fillRect(left, y, plotWidth(), BAR);
	if (!t)
		return;
	c.save();
	c.beginPath();
	c.rect(left, y - 3, plotWidth(), ROW);
	c.clip();
	bandsDraw(c, t.bands, y);
	for (const item of t.slices)
		sliceDraw(c, item, y);
	c.restore();
}

function hatch(c) {
	const tile = document.createElement('canvas');
	tile.width = tile.height = 8;
	const t = tile.getContext('2d');
	t.strokeStyle = color('lost');
	t.lineWidth = 1.5;
	t.beginPath();
	for (const x of [-8, 0, 8]) {
		t.moveTo(x, 8);
		t.lineTo(x + 8, 0);
	}
	t.stroke();
	return c.createPattern(tile, 'repeat');
}

function lossesDraw(c, height) {
	const left = plotLeft();
	c.fillStyle = hatch(c);
	for (const [from, to] of win ? win.lost : []) {
		const x = Math.max(left, xOf(from)), end = Math.min(left + plotWidth(), xOf(to));
		if (end >= left && x <= left + plotWidth())
			c.fillRect(x, 0, Math.max(2, end - x), height);
	}
}

function chosenDraw(c) {
	const row = chosen && rows.find(r => r.track && r.track.id === chosen.track);
	if (!row)
		return;
	const item = chosen.item, left = plotLeft();
	c.strokeStyle = color('mark');
	c.lineWidth = 2;
	if (!item) {
		c.strokeRect(left, row.y - 2, plotWidth() - 1, BAR + 4);
		return;
	}
	const x = Math.max(left, xOf(item.s)), end = Math.min(left + plotWidth(), xOf(item.s + (item.band ? win.resolution : item.ns)));
	if (end >= left && x <= left + plotWidth())
		c.strokeRect(x - 1, row.y - 2, Math.max(3, end - x + 2), BAR + 4);
}

function brushDraw(c, height) {
	if (!brush)
		return;
	const x = xOf(Math.min(...brush)), end = xOf(Math.max(...brush));
	c.fillStyle = 'rgba(255, 140, 0, .22)';
	c.fillRect(x, 0, end - x, height);
	c.strokeStyle = '#e07b00';
	c.strokeRect(x, 0, end - x, height);
}

// Further places of a queue's requests ("disk #7") that are empty in the window take no line; the selected one does.
function isShown(row) {
	const t = row.track && win ? win.tracks.get(row.track.id) : null;
	return !row.track || !win || !/ #[0-9]+$/.test(row.track.name) || (chosen && chosen.track === row.track.id) ||
		(t && t.slices.length + t.bands.length > 0);
}

function plotHeight() {
	let y = 4;
	for (const row of rows) {
		row.y = y;
		row.shown = isShown(row);
		if (row.shown)
			y += row.track ? ROW : GROUP;
	}
	return y + 4;
}

function gridDraw(c, step, height) {
	c.strokeStyle = color('line');
	c.lineWidth = 1;
	for (const ns of ticksOf(step)) {
		c.beginPath();
		c.moveTo(Math.round(xOf(ns)) + 0.5, 0);
		c.lineTo(Math.round(xOf(ns)) + 0.5, height);
		c.stroke();
	}
}

function draw() {
	if (!info)
		return;
	const height = plotHeight(), step = axisDraw(), c = canvasSize(byId('tracks'), height);
	gridDraw(c, step, height);
	for (const row of rows.filter(r => r.shown)) {
		if (row.track) {
			trackDraw(c, row.track, row.y);
			continue;
		}
		c.fillStyle = color('fg');
		c.textAlign = 'left';
		c.font = '600 13px system-ui, sans-serif';
		c.fillText(fit(c, row.group, byId('plot').clientWidth - 8), 4, row.y + GROUP / 2);
		c.font = '12px system-ui, sans-serif';
	}
	lossesDraw(c, height);
	notesDraw(c, height);
	chosenDraw(c);
	flowsDraw(c, height);
	brushDraw(c, height);
}

// What is at a point of the canvas: {track, items}; of bands, those of the column.
function hit(x, y) {
	const row = rows.find(r => r.track && r.shown && y >= r.y - 3 && y < r.y + ROW - 3);
	if (!row)
		return null;
	const ns = nsAt(x), reach = (view[1] - view[0]) / plotWidth() * 4;
	const items = x < plotLeft() ? [] : itemsOf(row.track.id).filter(i => i.band ? i.s <= ns && ns < i.s + win.resolution
		: i.ns ? i.s <= ns && ns < i.s + Math.max(i.ns, reach / 4) : Math.abs(i.s - ns) <= reach);
	return {track: row.track.id, name: row.track.name, items: items.sort((a, b) => b.ns - a.ns)};
}

function lossText(x) {
	const ns = nsAt(x), reach = (view[1] - view[0]) / plotWidth() * 2;
	const lost = (win ? win.lost : []).filter(l => l[0] - reach <= ns && ns <= l[1] + reach);
	return lost.map(l => '; lost here: ' + (l[2] === null ? 'an unknown number of' : l[2]) + ' ' + (l[4] || 'events') +
		(l[3] === null ? '' : ' of CPU ' + l[3])).slice(0, 4).join('');
}
