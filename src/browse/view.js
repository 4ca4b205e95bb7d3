// SPDX-License-Identifier: GPL-2.0-or-later
// hostrace view: mouse, wheel, touch, keys.
const pointers = new Map(); // those that are down: where they were
let moved = false, pinch = 0;

function at(event) {
	const box = byId('tracks').getBoundingClientRect();
	return [event.clientX - box.left, event.clientY - box.top];
}

const pinchOf = () => {
	const [a, b] = [...pointers.values()];
	return Math.abs(a[0] - b[0]) || 1;
};

function pointerDown(event) {
	const [x, y] = at(event);
	if (event.button || x < plotLeft())
		return;
	byId('plot').setPointerCapture(event.pointerId);
	pointers.set(event.pointerId, [x, y]);
	moved = false;
	if (pointers.size === 2)
		pinch = pinchOf();
	if (event.shiftKey && pointers.size === 1)
		brush = [nsAt(x), nsAt(x)];
}

function hover(x, y) {
	const under = hit(x, y);
	status(under ? under.name + (under.items.length ? ': ' + under.items.slice(0, 6).map(itemText).join('; ') : '') + lossText(x) + noteText(x) : '');
}

function pointerMove(event) {
	const [x, y] = at(event), before = pointers.get(event.pointerId);
	if (!before) {
		hover(x, y);
		return;
	}
	if (Math.abs(x - before[0]) + Math.abs(y - before[1]) < 3 && !moved)
		return;
	moved = true;
	pointers.set(event.pointerId, [x, y]);
	if (brush) {
		brush[1] = Math.min(Math.max(nsAt(x), view[0]), view[1]);
		draw();
	} else if (pointers.size === 2) {
		const now = pinchOf(), [a, b] = [...pointers.values()];
		zoomAt(nsAt((a[0] + b[0]) / 2), pinch / now);
		pinch = now;
	} else {
		const ns = (x - before[0]) / plotWidth() * (view[1] - view[0]);
		show(view[0] - ns, view[1] - ns);
	}
}

function click(x, y) {
	const under = hit(x, y);
	if (!under)
		return;
	choose(under.track, under.items[0] || null);
	if (under.items.length)
		detailsShow();
}

function pointerUp(event) {
	const [x, y] = at(event);
	if (!pointers.delete(event.pointerId) || event.type === 'pointercancel') {
		brush = null;
		return;
	}
	if (brush && moved) {
		const ends = brush.slice().sort((a, b) => a - b);
		brush = null;
		reports(...ends);
	} else if (!moved) {
		brush = null;
		if (event.altKey)
			markAsk(nsAt(x));
		else
			click(x, y);
	}
	draw();
}

function wheel(event) {
	if (!event.deltaY || event.altKey)
		return;
	event.preventDefault();
	if (event.shiftKey)
		pan(event.deltaY / 1000);
	else
		zoomAt(Math.min(Math.max(nsAt(at(event)[0]), view[0]), view[1]), 1.0015 ** event.deltaY);
}

// ---- keys ----

function trackStep(step) {
	const list = rows.filter(r => r.track && r.shown), now = list.findIndex(r => chosen && r.track.id === chosen.track);
	const row = list[Math.min(Math.max(now + step, 0), list.length - 1)], plot = byId('plot');
	if (!row)
		return;
	choose(row.track.id, null);
	if (row.y < plot.scrollTop || row.y + ROW > plot.scrollTop + plot.clientHeight)
		plot.scrollTop = row.y - plot.clientHeight / 2;
}

function itemStep(step) {
	if (!chosen)
		trackStep(1);
	const items = chosen ? itemsOf(chosen.track) : [];
	if (!items.length)
		return;
	const now = chosen.item ? items.findIndex(i => i.s === chosen.item.s && i.kind === chosen.item.kind && i.name === chosen.item.name)
		: step > 0 ? -1 : items.length;
	choose(chosen.track, items[Math.min(Math.max(now + step, 0), items.length - 1)]);
}

const middle = () => (view[0] + view[1]) / 2;
const KEYS = {
	a: () => pan(-0.25), arrowleft: () => pan(-0.25), d: () => pan(0.25), arrowright: () => pan(0.25),
	w: () => zoomAt(middle(), 0.5), '+': () => zoomAt(middle(), 0.5), '=': () => zoomAt(middle(), 0.5),
	s: () => zoomAt(middle(), 2), '-': () => zoomAt(middle(), 2), 0: () => show(...limits),
	arrowup: () => trackStep(-1), arrowdown: () => trackStep(1), '[': () => itemStep(-1), ']': () => itemStep(1),
	r: () => reports(...view), enter: () => chosen && chosen.item && detailsShow(),
	m: () => markAsk(chosen && chosen.item ? chosen.item.s : middle()), n: noteOfChosen,
	'/': () => byId('text').focus()
};

function keyDown(event) {
	const key = KEYS[event.key.toLowerCase()];
	if (!key || event.target.tagName === 'INPUT' || event.ctrlKey || event.metaKey || event.altKey)
		return;
	if (/^(arrow(up|down)|enter)$/.test(event.key.toLowerCase()) && event.target !== byId('plot'))
		return; /* they scroll the page, and open links */
	event.preventDefault();
	key();
}

// ---- start ----

function legendMake() {
	const legend = byId('legend');
	for (const [name, fill] of info.kinds) {
		const key = add(legend, 'span');
		add(key, 'i').style.background = fill;
		key.appendChild(document.createTextNode(name));
	}
}

function notesMake() {
	const notes = info.caveats.slice(), lost = info.inputs.reduce((sum, i) => sum + (i.lost || 0), 0);
	if (lost)
		notes.push(lost + ' events were lost: where it is known when, the timeline is hatched');
	if (info.slices_left_out)
		notes.push(info.slices_left_out + ' items are left out: there are too many tracks');
	if (info.losses_left_out)
		notes.push(info.losses_left_out + ' losses are not drawn');
	if (!info.tracks.length)
		notes.push('nothing in this recording is drawn: a timeline is made of exits, virtqueues, threads and guests\' tasks');
	for (const text of notes)
		add(byId('caveats'), 'li', text);
	byId('notes').hidden = !notes.length;
}

function inputsRead() {
	const from = timeParse(byId('from').value), to = timeParse(byId('to').value);
	if (from >= 0 && to > from)
		show(from, to);
	else
		status('invalid time (expected e.g. 1.5s, 20ms)');
}

function themeSet(dark) {
	document.documentElement.dataset.theme = dark ? 'dark' : 'light';
	byId('theme').textContent = dark ? 'Light' : 'Dark';
	draw();
}

function listen() {
	const plot = byId('plot'), on = (id, act) => byId(id).addEventListener('click', act);
	plot.addEventListener('pointerdown', pointerDown);
	plot.addEventListener('pointermove', pointerMove);
	plot.addEventListener('pointerup', pointerUp);
	plot.addEventListener('pointercancel', pointerUp);
	plot.addEventListener('wheel', wheel, {passive: false});
	document.addEventListener('keydown', keyDown);
	on('all', KEYS[0]);
	on('in', KEYS.w);
	on('out', KEYS.s);
	on('left', KEYS.a);
	on('right', KEYS.d);
	on('reports', KEYS.r);
	on('mark', KEYS.m);
	on('png', pngSave);
	on('hrt', recordingSave);
	on('note', KEYS.n);
	on('note-item', KEYS.n);
	on('note-of-range', () => noteAsk(...range));
	noteFormListen();
	on('theme', () => themeSet(document.documentElement.dataset.theme !== 'dark'));
	byId('from').addEventListener('change', inputsRead);
	byId('to').addEventListener('change', inputsRead);
	byId('search').addEventListener('submit', event => {
		event.preventDefault();
		search().catch(error => status('error: ' + error.message));
	});
	window.addEventListener('hashchange', addressRead);
	window.addEventListener('resize', () => show(...view));
	matchMedia('print').addEventListener('change', draw);
}

// The window that the page's address names, or everything; and its note.
function addressRead() {
	const link = /^#t=(\d+)-(\d+)(?:&note=(\d+-\d+))?$/.exec(location.hash);
	noteChosen = link && link[3] || '';
	for (const row of byId('marks-list').children)
		row.className = row.dataset.note === noteChosen ? 'chosen' : '';
	show(...(link ? [Number(link[1]), Number(link[2])] : limits));
}

async function start() {
	try {
		info = await ask('tracks');
	} catch (error) {
		status('error: ' + error.message);
		return;
	}
	const files = info.inputs.map(i => i.file).join(', ');
	limits = [info.from_ns, Math.max(info.to_ns, info.from_ns + SPAN_MIN)];
	document.title = files + ' - hostrace view';
	byId('title').textContent = files;
	byId('about').textContent = duration(info.to_ns - info.from_ns) + ', ' + info.slices + ' items on ' + info.tracks.length + ' tracks' +
		(info.resolution_ns ? '; shorter than ' + duration(info.resolution_ns) + ' they are summed up until you zoom in' : '');
	rowsMake();
	legendMake();
	notesMake();
	themeSet(matchMedia('(prefers-color-scheme: dark)').matches);
	listen();
	addressRead();
	await ask('notes').then(notesTake).catch(error => status('error: ' + error.message));
}
