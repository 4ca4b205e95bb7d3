// SPDX-License-Identifier: GPL-2.0-or-later
// hostrace view: what is below the plot, all of it text: the figures of the window, an item's details, reports of a range.
const TABLE_ROWS = 200;
let brush = null; // the range that is being drawn
let range = null; // ... whose reports are shown

function add(parent, tag, text) {
	const e = document.createElement(tag);
	if (text !== undefined)
		e.textContent = text;
	parent.appendChild(e);
	return e;
}

// A cell; v: its exact value.
function cell(row, text, v) {
	const td = add(row, 'td', text);
	if (v !== undefined)
		td.dataset.v = v;
	if (typeof v === 'number')
		td.className = 'n';
	return td;
}

function headings(table, names) {
	const row = add(add(table, 'thead'), 'tr');
	for (const [name, number] of names) {
		const th = add(row, 'th', name);
		th.scope = 'col';
		if (number)
			th.className = 'n';
	}
	return add(table, 'tbody');
}

function figures() {
	const table = byId('figures');
	table.textContent = '';
	if (!win)
		return;
	const body = headings(table, [['group'], ['track'], ['state'], ['time', true], ['share', true], ['items', true]]);
	for (const {track} of rows.filter(r => r.track)) {
		const t = win.tracks.get(track.id);
		for (const sum of t ? t.sums : []) {
			const row = add(body, 'tr');
			cell(row, track.group, track.group);
			cell(row, track.name, track.name);
			cell(row, kindName(sum.kind), kindName(sum.kind));
			cell(row, duration(sum.ns), sum.ns);
			cell(row, (100 * sum.ns / (win.to - win.from)).toFixed(2) + ' %', sum.ns / (win.to - win.from));
			cell(row, String(sum.count), sum.count);
		}
	}
	const lost = win.lost.reduce((sum, l) => sum + (l[2] || 0), 0);
	byId('figures-about').textContent = duration(win.to - win.from) + ' from ' + timeText(win.from, 1) + ' to ' + timeText(win.to, 1) +
		(win.exact ? '' : ': whole columns of ' + duration(win.resolution)) +
		(win.lost.length ? '. Lost in this window: ' + lost + ' events; times are too short there' : '') +
		(win.notDrawn ? '. ' + win.notDrawn + ' items found no track' : '');
}

// ---- an item ----

function choose(track, item, quiet) {
	chosen = {track, item};
	const name = info.tracks.find(t => t.id === track).name;
	if (!quiet)
		status(name + (item ? ': ' + itemText(item) : ''));
	draw();
}

function detailsShow() {
	const {track, item} = chosen, t = info.tracks.find(i => i.id === track), list = byId('item');
	const end = item.s + (item.band ? win.resolution : item.ns);
	list.textContent = '';
	const line = (name, text, v) => {
		add(list, 'dt', name);
		const dd = add(list, 'dd', text);
		if (v !== undefined)
			dd.dataset.v = v;
		dd.dataset.name = name;
	};
	line('track', t.group + ' / ' + t.name);
	line('state', kindName(item.kind), kindName(item.kind));
	line(item.band ? 'longest' : 'name', item.name + (item.band ? ', ' + duration(item.longest) : ''), item.name);
	line('from', timeText(item.s, 1), item.s);
	line('until', timeText(end, 1), end);
	line(item.band ? 'time in this column' : 'duration', duration(item.ns) + ' (' + item.ns + ' ns)', item.ns);
	line('items', String(item.count), item.count);
	byId('details').hidden = false;
	byId('zoom').onclick = () => show(item.s - (end - item.s) / 2 - 50, end + (end - item.s) / 2 + 50);
	byId('of-item').onclick = () => reports(item.s, end + 1);
	flowsLoad();
}

// ---- reports of a range ----

function valueText(key, v) {
	if (v === null)
		return 'not recorded';
	if (typeof v === 'object')
		return JSON.stringify(v);
	return typeof v === 'number' && key.endsWith('_ns') ? duration(v) : String(v);
}

function reportTable(parent, id, title, list, empty) {
	add(parent, 'h3', title);
	if (!list.length) {
		add(parent, 'p', empty).className = 'dim';
		return;
	}
	const keys = [...new Set(list.flatMap(Object.keys))].filter(k => list.some(r => typeof r[k] !== 'object' || r[k] === null));
	const box = add(parent, 'div'), table = add(box, 'table');
	box.className = 'scroll';
	box.tabIndex = 0;
	table.id = id;
	const body = headings(table, keys.map(k => [k.replace(/_ns$/, ''), typeof list[0][k] === 'number']));
	for (const r of list.slice(0, TABLE_ROWS)) {
		const row = add(body, 'tr');
		for (const k of keys)
			cell(row, k in r ? valueText(k, r[k]) : '', r[k] === null || r[k] === undefined ? '' : r[k]);
	}
	if (list.length > TABLE_ROWS)
		add(parent, 'p', (list.length - TABLE_ROWS) + ' further rows').className = 'dim';
}

async function reportAdd(parent, from, to, id, name, title, rowsOf) {
	try {
		const answer = await ask('report/' + name, {from, to});
		reportTable(parent, id, title, rowsOf(answer) || [], (answer.caveats || []).join('; ') || 'nothing');
	} catch (error) {
		add(parent, 'h3', title);
		add(parent, 'p', error.message).className = 'dim';
	}
}

// The same range twice, or another one meanwhile: the newest is shown.
async function reports(from, to) {
	const mine = range = [Math.max(0, Math.floor(from)), Math.ceil(to)];
	const tables = byId('tables'), made = document.createElement('div');
	byId('range').hidden = false;
	byId('range-about').textContent = duration(mine[1] - mine[0]) + ' from ' + timeText(mine[0], 1) +
		': what hostrace exits, blame and sched print' + windowOptions(...mine);
	tables.textContent = 'reading \u2026';
	busy(1);
	await reportAdd(made, ...mine, 'r-exits', 'exits', 'Exits', a => a.rows);
	await reportAdd(made, ...mine, 'r-causes', 'blame', 'What their time went into', a => a.causes);
	await reportAdd(made, ...mine, 'r-slowest', 'blame', 'The longest exits', a => a.rows);
	await reportAdd(made, ...mine, 'r-sched', 'sched', 'Threads', a => a.rows);
	busy(-1);
	if (range !== mine)
		return;
	tables.textContent = '';
	tables.appendChild(made);
}

// ---- search ----

function trackSearch() {
	const list = rows.filter(r => r.track && r.track.name.toLowerCase().includes(wanted));
	const at = list.findIndex(r => chosen && r.track.id === chosen.track);
	const row = list[(at + 1) % list.length];
	if (!row || (at >= 0 && list.length === 1))
		return false;
	byId('plot').scrollTop = row.y - 40;
	choose(row.track.id, null);
	return true;
}

async function settled() {
	while (pending || again)
		await new Promise(r => setTimeout(r, 10));
}

// The next item after the selected one.
async function search() {
	wanted = byId('text').value.trim().toLowerCase();
	draw();
	if (!wanted)
		return;
	const now = chosen ? chosen.item : null, after = now ? now.after ?? now.s - (now.band ? 1 : 0) : -1;
	const {found} = await ask('find', after >= 0 ? {text: wanted, after} : {text: wanted});
	if (!found) {
		if (!trackSearch())
			status('nothing further matches "' + wanted + '"');
		return;
	}
	const more = Math.max(spanMin(), found.to_ns - found.from_ns) * (found.band ? 0.05 : 1);
	show(found.from_ns - more, found.to_ns + more);
	await settled();
	byId('plot').scrollTop = rows.find(r => r.track && r.track.id === found.track).y - 40;
	choose(found.track, {s: found.from_ns, ns: found.ns, kind: info.kinds.findIndex(k => k[0] === found.kind), count: found.count,
		longest: found.longest_ns, name: found.name, band: found.band, after: found.band ? found.to_ns - 1 : found.from_ns});
	detailsShow();
}
