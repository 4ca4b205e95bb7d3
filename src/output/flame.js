// SPDX-License-Identifier: GPL-2.0-or-later
// Zooms and searches a flame graph (flame_svg.c). Its rectangles have the counts as data-x and data-n.
const plot = one('plot'), names = one('names');
const ROW = 17, EDGE = 12, TOP = 60;
const total = Number(plot.dataset.n);
const high = Number(plot.getAttribute('height'));
const frames = [...plot.querySelectorAll('rect')].map(rect => {
	const title = rect.querySelector('title'), text = title.textContent;
	title.remove(); // the box shows it
	rect.setAttribute('tabindex', -1);
	return {rect, text, name: text.slice(0, text.lastIndexOf(': ')), fill: rect.getAttribute('fill'),
		x: Number(rect.dataset.x), n: Number(rect.dataset.n), y: Number(rect.getAttribute('y'))};
});
const of = new Map(frames.map(f => [f.rect, f]));
let view = [0, total], width = 0, top_ = TOP, wanted = '';

const matches = f => wanted && f.name.toLowerCase().includes(wanted);

// The share of all counts that is below a matching frame.
function share() {
	let sum = 0, end = -1;
	for (const f of frames.filter(matches).sort((a, b) => a.x - b.x || b.n - a.n))
		if (f.x >= end) {
			sum += f.n;
			end = f.x + f.n;
		}
	return sum / total;
}

function draw() {
	const scale = width / (view[1] - view[0]);
	names.textContent = '';
	for (const f of frames) {
		const from = Math.max(f.x, view[0]), to = Math.min(f.x + f.n, view[1]), w = (to - from) * scale;
		f.rect.style.display = w > 0.1 ? '' : 'none';
		if (w <= 0.1)
			continue;
		const x = (from - view[0]) * scale;
		f.rect.setAttribute('x', x);
		f.rect.setAttribute('width', Math.max(0.3, w - (w > 3 ? 0.7 : 0)));
		f.rect.setAttribute('fill', matches(f) ? '#e6007e' : f.fill);
		if (w >= 24) {
			const most = Math.floor((w - 6) / 6.5), short = f.name.length > most ? f.name.slice(0, Math.max(1, most - 2)) + '..' : f.name;
			el(names, 'text', {x: EDGE + x + 3, y: top_ + f.y + 12}, short);
		}
	}
	status.textContent = (view[1] - view[0] < total ? `${(100 * (view[1] - view[0]) / total).toFixed(2)} % of all` : 'zoom: click') +
		(wanted ? `; ${(100 * share()).toFixed(2)} % match` : '');
}

function show(from, to) {
	view = [from, to];
	box.hide();
	draw();
}

const reset = () => show(0, total);
const under = e => of.get(e.target);

root.addEventListener('click', e => {
	const f = under(e);
	if (f)
		show(f.x, f.x + f.n);
});
root.addEventListener('pointermove', e => {
	const f = under(e);
	if (f)
		box.show([f.text], ...point(e));
	else
		box.hide();
});
root.addEventListener('pointerleave', () => box.hide());
document.addEventListener('keydown', e => {
	if (e.key === 'Escape' || (e.key === '0' && e.target !== tools.field))
		reset();
	else if (e.key === '/' && e.target !== tools.field) {
		e.preventDefault();
		tools.field.focus();
	}
});

const status = el(root, 'text', {class: 'status', fill: '#666', x: EDGE});
const tools = controls([['all', 'show everything (0)', reset]], text => {
	wanted = text.trim().toLowerCase();
	draw();
});

function layout() {
	const all = available(), low = 44 + 14 * fold(one('about'), all - 2 * EDGE, 14);
	top_ = low + 2 + (all < 700 ? 26 : 0);
	width = all - 2 * EDGE;
	resize(all, top_ + high + 24);
	plot.setAttribute('y', top_);
	plot.setAttribute('width', width);
	plot.setAttribute('viewBox', `0 0 ${width} ${high}`);
	tools.bar.setAttribute('x', all < 700 ? EDGE : all - 250);
	tools.bar.setAttribute('y', all < 700 ? low - 6 : 6);
	tools.bar.setAttribute('width', 240);
	tools.bar.firstChild.style.justifyContent = all < 700 ? 'flex-start' : 'flex-end';
	status.setAttribute('y', top_ + high + 15);
	draw();
}

layout();
if (alone)
	window.addEventListener('resize', layout);
root.dataset.ready = '1';
