// SPDX-License-Identifier: GPL-2.0-or-later
// Draws any part of a timeline from its data (timeline_data.c), as timeline_plot.c draws the whole: time of each kind by
// pixel; wide slices with their names; points; arrows where they are few.
const D = JSON.parse(one('data').textContent);
const [, TOP, ROW, BAR] = D.layout;
const KINDS = D.kinds.length, POINT = D.kinds.findIndex(k => k[0] === 'instant');
const ARROWS = 150, NAMES = 400; // more arrows, or denser ones, are a blob
let left = D.layout[0], width = 0, down = 0;
let view = [0, D.span_ns || 1];
let wanted = '';

// Flat lists of differences become objects.
function rows(list, length, at) {
	const out = [];
	for (let i = 0, before = 0; i < list.length; i += length) {
		before += list[i];
		out.push(at(before, list, i));
	}
	return out;
}

const tracks = D.tracks.map(t => ({
	name: t.name, group: t.group, y: t.y,
	slices: rows(t.slices, 4, (s, l, i) => ({s, ns: l[i + 1], kind: l[i + 2], name: D.names[l[i + 3]]})),
	bands: rows(t.bands, 6, (c, l, i) => ({
		s: c * D.resolution_ns - D.origin_ns, ns: l[i + 1], kind: l[i + 2], count: l[i + 3],
		longest: l[i + 4], name: D.names[l[i + 5]]}))
}));
const arrows = [];
for (const flow of D.arrows) {
	const at = rows(flow.map((v, i) => i % 3 === 0 ? flow[i + 1] : i % 3 === 1 ? flow[i - 1] : v), 3,
		(s, l, i) => ({s, track: l[i + 1], e: s + l[i + 2]}));
	for (let i = 0; i + 1 < at.length; i++)
		arrows.push([at[i], at[i + 1]]);
}

// Index of the first item that may reach into the view: on a track they do not overlap.
function first(list, from) {
	let lo = 0, hi = list.length;
	while (lo < hi) {
		const mid = (lo + hi) >> 1;
		if (list[mid].s < from)
			lo = mid + 1;
		else
			hi = mid;
	}
	return Math.max(0, lo - 1);
}

const xOf = ns => (ns - view[0]) / (view[1] - view[0]) * width;
const isWanted = item => wanted && item.name.toLowerCase().includes(wanted);

function spread(px, kind, x, end, amount) {
	const per = amount / (end - x);
	x = Math.max(x, 0);
	end = Math.min(end, width);
	for (let i = Math.floor(x); i < end; i++)
		px[i * (KINDS + 1) + kind] += per * (Math.min(end, i + 1) - Math.max(x, i));
}

function fill(track) {
	const px = new Float64Array(width * (KINDS + 1)), exact = new Uint8Array(width), broad = [];
	for (let i = first(track.slices, view[0]); i < track.slices.length; i++) {
		const s = track.slices[i], x = xOf(s.s), end = xOf(s.s + s.ns);
		if (x >= width)
			break;
		if (end < 0)
			continue;
		if (s.kind === POINT) {
			const at = Math.max(0, Math.floor(x));
			px[at * (KINDS + 1) + (isWanted(s) ? KINDS : POINT)]++;
			exact[at] = 1;
			continue;
		}
		if (end > x)
			spread(px, isWanted(s) ? KINDS : s.kind, x, end, end - x);
		if (end - x >= 3)
			broad.push([Math.max(0, x), Math.min(width, end), s, x]);
	}
	for (let i = first(track.bands, view[0] - D.resolution_ns); i < track.bands.length; i++) {
		const b = track.bands[i], x = xOf(b.s);
		if (x >= width)
			break;
		spread(px, isWanted(b) ? KINDS : b.kind, x, xOf(b.s + D.resolution_ns),
			b.kind === POINT ? b.count : b.ns / (view[1] - view[0]) * width);
	}
	return {px, exact, broad};
}

// Runs of equal pixels, one path per kind.
function stacks(px, y) {
	const d = new Array(KINDS + 1).fill(''), half = new Uint8Array(width * (KINDS + 1));
	for (let i = 0; i < width; i++) {
		let sum = 0, drawn = 0;
		for (let k = 0; k <= KINDS; k++) {
			if (k === POINT)
				continue;
			sum += px[i * (KINDS + 1) + k];
			const to = Math.min(2 * BAR, Math.round(sum * 2 * BAR));
			half[i * (KINDS + 1) + k] = to - drawn;
			drawn = to;
		}
	}
	const same = (i, j) => {
		for (let k = 0; k <= KINDS; k++)
			if (half[i * (KINDS + 1) + k] !== half[j * (KINDS + 1) + k])
				return false;
		return true;
	};
	for (let i = 0, end; i < width; i = end) {
		for (end = i + 1; end < width && same(i, end); end++)
			;
		let below = 0;
		for (let k = 0; k <= KINDS; k++) {
			const h = half[i * (KINDS + 1) + k];
			below += h;
			if (h)
				d[k] += `M${left + i} ${y + BAR - below / 2}h${end - i}v${h / 2}h${i - end}z`;
		}
	}
	return d;
}

function points(px, exact, y) {
	let d = '', most = 0;
	const count = i => px[i * (KINDS + 1) + POINT];
	for (let i = 0; i < width; i++)
		most = Math.max(most, count(i));
	for (let i = 0; i < width; i++) {
		const h = BAR * Math.log1p(count(i)) / Math.log1p(most);
		if (exact[i])
			d += `M${left + i} ${y + 4}l3 6h-6z`;
		else if (h > 0)
			d += `M${left + i} ${y + BAR - h}h1v${h}h-1z`;
	}
	return d;
}

function drawTrack(plot, track, names) {
	const y = track.y + down, {px, exact, broad} = fill(track);
	el(plot, 'path', {d: `M${left} ${y + ROW - 2}h${width}`, stroke: '#eee'});
	stacks(px, y).forEach((d, k) => {
		if (d)
			el(plot, 'path', {d, fill: k < KINDS ? D.kinds[k][1] : '#e6007e'});
	});
	const dots = points(px, exact, y);
	if (dots)
		el(plot, 'path', {d: dots});
	el(plot, 'path', {d: broad.map(w => w[3] >= 0 ? `M${left + w[0]} ${y}v${BAR}` : '').join(''),
		stroke: '#fff', 'stroke-width': 0.5});
	for (const [x, end, s] of broad)
		if (end - x > 6 * s.name.length + 4 && names.nr < NAMES) {
			names.nr++;
			el(plot, 'text', {x: left + x + 2, y: y + 11, 'font-size': 10, 'pointer-events': 'none'}, s.name);
		}
}

function drawArrows(plot) {
	const seen = arrows.filter(([a, b]) => b.s >= view[0] && Math.min(a.s, b.s) <= view[1]);
	const places = seen.flatMap(([a, b]) => [xOf(a.s), xOf(b.s)]).map(x => Math.min(width, Math.max(0, x)));
	if (seen.length > ARROWS || 4 * seen.length > Math.max(...places) - Math.min(...places) + 40)
		return seen.length;
	for (const [a, b] of seen) {
		const x1 = left + xOf(a.e <= b.s ? a.e : a.s), x2 = left + xOf(b.s);
		const y1 = tracks[a.track].y + down + BAR / 2, y2 = tracks[b.track].y + down + BAR / 2;
		const bend = x2 - x1 > 24 ? (x2 - x1) / 2 : 12;
		el(plot, 'path', {class: 'arrow', d: `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`,
			fill: 'none', stroke: '#333', 'stroke-width': 0.8, 'marker-end': 'url(#tip)', opacity: 0.7,
			'clip-path': 'url(#inside)'});
	}
	return 0;
}

function drawAxis(bottom) {
	const axis = one('axis'), span = view[1] - view[0];
	let step = 1;
	for (let i = 0; span / step > Math.max(2, width / 85); i++)
		step = i % 3 === 1 ? step / 2 * 5 : step * 2;
	axis.textContent = '';
	for (let ns = Math.ceil(view[0] / step) * step; ns <= view[1]; ns += step) {
		const x = left + xOf(ns), digits = Math.max(3, Math.ceil(Math.log10((ns || 1) / step)) + 1);
		el(axis, 'path', {d: `M${x} ${TOP + down}V${bottom}`, stroke: '#ddd'});
		el(axis, 'text', {x, y: TOP + down - 6, 'text-anchor': 'middle', fill: '#666'}, tick(ns, step, digits));
	}
}

// As many digits as distinguish one tick from the next.
function tick(ns, step, digits) {
	const units = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];
	const [unit, size] = units.find(u => ns >= u[1]) || units[3];
	return digits > 6 ? '+' + duration(ns - Math.floor(view[0] / step) * step) : parseFloat((ns / size).toPrecision(digits)) + unit;
}

function draw() {
	const plot = one('plot'), names = {nr: 0}, bottom = size()[1] - 12;
	plot.textContent = '';
	drawAxis(bottom);
	for (const track of tracks)
		drawTrack(plot, track, names);
	const hidden = drawArrows(plot);
	status.textContent = (view[0] > 0 || view[1] < D.span_ns ?
		`${duration(view[1] - view[0])} from ${duration(view[0])}` : 'zoom: wheel or click; move: drag') +
		(hidden ? `; zoom in for ${hidden} arrows` : '') + (wanted ? `; ${found()}` : '');
}

function found() {
	let slices = 0, bands = 0;
	for (const t of tracks) {
		slices += t.slices.filter(isWanted).length;
		bands += t.bands.filter(isWanted).length;
	}
	return `${slices} slices match` + (bands ? `, and the longest of ${bands} bands` : '');
}

// ---- what is at a place ----

function at(x, y) {
	const track = tracks.find(t => y >= t.y + down - 2 && y < t.y + down + ROW - 2);
	if (!track || x < left - 3 || x > left + width + 3)
		return null;
	const ns = view[0] + (x - left) / width * (view[1] - view[0]), near = 3 / width * (view[1] - view[0]);
	let best = null, far = near;
	for (let i = first(track.slices, ns - near); i < track.slices.length && track.slices[i].s <= ns + near; i++) {
		const s = track.slices[i], off = s.kind === POINT ? Math.abs(s.s - ns) : Math.max(s.s - ns, ns - s.s - s.ns, 0);
		if (off <= far && !(best && off === far && s.ns < best.ns)) {
			best = s;
			far = off;
		}
	}
	return {track, ns, slice: best, bands: track.bands.filter(b => b.s <= ns && ns < b.s + D.resolution_ns)};
}

function describe(here) {
	const {track, slice, bands, ns} = here, lines = [`${track.group}: ${track.name}`];
	if (slice)
		lines.push(`${slice.name} · ${D.kinds[slice.kind][2]}` + (slice.kind === POINT ? '' : ` · ${duration(slice.ns)}`),
			`at ${duration(slice.s)}`);
	for (const b of bands)
		lines.push(b.kind === POINT ? `${b.count} × ${D.kinds[b.kind][2]}` :
			`${D.kinds[b.kind][2]}: ${duration(b.ns)}, ${(100 * b.ns / D.resolution_ns).toFixed(1)} %, ` +
			`${b.count} slices, longest ${duration(b.longest)} ${b.name}`);
	if (bands.length)
		lines.push(`${duration(D.resolution_ns)} summed up; each slice: --since ` +
			`${((bands[0].s + D.start_ns) / 1e9).toFixed(6)}s --period ${duration(D.resolution_ns)}`);
	return lines.length > 1 ? lines : [...lines, `nothing at ${duration(ns)}`];
}

// ---- moving ----

function show(from, to) {
	const span = Math.min(D.span_ns || 1, Math.max(to - from, 50));
	from = Math.min(Math.max(0, from), (D.span_ns || 1) - span);
	view = [from, from + span];
	box.hide();
	draw();
}

function zoom(factor, x) {
	const ns = view[0] + (x === undefined ? 0.5 : (x - left) / width) * (view[1] - view[0]);
	show(ns - (ns - view[0]) * factor, ns + (view[1] - ns) * factor);
}

const move = part => show(view[0] + part * (view[1] - view[0]), view[1] + part * (view[1] - view[0]));
const reset = () => show(0, D.span_ns);
const down_at = new Map();
let moved = 0, gap = 0;

root.addEventListener('wheel', e => {
	const [x] = point(e);
	if (x < left)
		return;
	e.preventDefault();
	zoom(e.deltaY > 0 ? 1.25 : 0.8, x);
}, {passive: false});
root.addEventListener('pointerdown', e => {
	if (e.target.closest('foreignObject') || point(e)[0] < left)
		return;
	down_at.set(e.pointerId, point(e));
	moved = 0;
});
root.addEventListener('pointermove', e => {
	const [x, y] = point(e), before = down_at.get(e.pointerId);
	if (!before) {
		const here = at(x, y);
		return here ? box.show(describe(here), x, y) : box.hide();
	}
	down_at.set(e.pointerId, [x, y]);
	moved += Math.abs(x - before[0]);
	if (down_at.size === 2) {
		const [[a], [b]] = [...down_at.values()], now = Math.max(10, Math.abs(a - b));
		if (gap)
			zoom(gap / now, (a + b) / 2);
		gap = now;
	} else if (moved > 3) {
		move((before[0] - x) / width);
	}
});
root.addEventListener('pointerup', e => {
	const [x, y] = point(e), click = down_at.delete(e.pointerId) && moved <= 3;
	const here = click && at(x, y);
	gap = 0;
	if (here && e.pointerType === 'touch')
		box.show(describe(here), x, y);
	else if (here && here.slice && here.slice.ns)
		show(here.slice.s - here.slice.ns / 2, here.slice.s + here.slice.ns * 1.5);
	else if (here && here.bands.length)
		show(here.bands[0].s - D.resolution_ns * 4, here.bands[0].s + D.resolution_ns * 5);
});
root.addEventListener('pointercancel', e => down_at.delete(e.pointerId));
root.addEventListener('pointerleave', () => box.hide());
root.addEventListener('dblclick', e => e.target.closest('foreignObject') || reset());
document.addEventListener('keydown', e => {
	const keys = {'+': () => zoom(0.5), '=': () => zoom(0.5), '-': () => zoom(2), '0': reset,
		ArrowLeft: () => move(-0.25), ArrowRight: () => move(0.25), '/': () => tools.field.focus()};
	if (e.target === tools.field ? e.key === 'Escape' && !tools.field.blur() : !keys[e.key] || e.ctrlKey || e.metaKey)
		return;
	if (e.target !== tools.field) {
		e.preventDefault();
		keys[e.key]();
	}
});

// ---- the page ----

const status = el(root, 'text', {class: 'status', fill: '#666'});
const tools = controls([['+', 'zoom in (+)', () => zoom(0.5)], ['−', 'zoom out (-)', () => zoom(2)],
	['all', 'show everything (0)', reset]], text => {
	wanted = text.trim().toLowerCase();
	draw();
});
const inside = el(el(one('plot').parentNode.querySelector('defs'), 'clipPath', {id: 'inside'}), 'rect', {});
const height = size()[1];

// As wide as the window, if the picture is alone in it: then what stands above the rows is broken into lines.
function layout() {
	const all = available();
	left = all < 700 ? 110 : D.layout[0];
	width = Math.round(all - left - (all < 700 ? 8 : 24));
	const lines = fold(one('about'), all - 24, 14);
	let x = all < 700 ? 12 : left, y = 40 + 14 * lines;
	for (const key of root.querySelectorAll('.key')) {
		const w = key.getBBox().width + 14;
		if (x + w > all && x > left) {
			x = all < 700 ? 12 : left;
			y += 16;
		}
		key.setAttribute('transform', `translate(${x} ${y})`);
		x += w;
	}
	down = y + 38 - TOP;
	resize(all, height + down);
	one('labels').setAttribute('transform', `translate(${left - D.layout[0]} ${down})`);
	for (const label of root.querySelectorAll('.track'))
		cut(label, left - 14);
	for (const group of root.querySelectorAll('.labels text:not(.track)')) {
		group.setAttribute('x', 12 + D.layout[0] - left);
		cut(group, all - 20);
	}
	tools.bar.setAttribute('x', all < 700 ? 90 : all - 330);
	tools.bar.setAttribute('width', all < 700 ? all - 96 : 320);
	status.setAttribute('x', 12);
	status.setAttribute('y', height + down - 3);
	for (const [key, value] of Object.entries({x: left, y: 0, width, height: height + down}))
		inside.setAttribute(key, value);
	draw();
}

// timeline.svg#t=SINCE-UNTIL: timestamps of the trace in ns, as in a link to the page of `hostrace report`.
function fragment() {
	const given = /^#t=(\d+)-(\d+)$/.exec(alone ? location.hash : '');
	view = given ? [Math.max(0, given[1] - D.origin_ns), Math.min(D.span_ns, given[2] - D.origin_ns)] : view;
	if (!(view[0] < view[1]))
		view = [0, D.span_ns || 1];
}

root.style.touchAction = 'pan-y';
fragment();
layout();
if (alone) {
	window.addEventListener('resize', layout);
	window.addEventListener('hashchange', () => { fragment(); draw(); });
}
root.dataset.ready = '1';
