// SPDX-License-Identifier: GPL-2.0-or-later
// hostrace view: what the server sent, and the window that is shown. Times are ns after the trace's start. A slice is one
// interval; a band is the sum of `count` ones of a kind, in a column of the window's resolution.
const byId = id => document.getElementById(id);
let info = null;   // /tracks
let rows = [];     // of the plot: groups and tracks, in their order
let win = null;    // the newest /window
let view = [0, 1]; // what is shown
let limits = [0, 1];
let chosen = null; // {track, item}: selected by mouse, keyboard or search
let wanted = '';   // the text that is searched for
let pending = 0, again = false;

const SPAN_MIN = 100; // ns
const spanMin = () => Math.max(SPAN_MIN, limits[1] * 2 ** -44); // of far times, whose digits a number does not have

// Exact: no digit is lost between this and what the server has.
function duration(ns) {
	for (const [unit, per] of [['s', 1e9], ['ms', 1e6], ['us', 1e3]])
		if (Math.abs(ns) >= per)
			return (ns / per).toFixed(3) + ' ' + unit;
	return Math.round(ns) + ' ns';
}

// A time on the axis: as many digits as its step needs.
function timeText(ns, step) {
	const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(1, step)))));
	return (ns / 1e9).toFixed(digits) + ' s';
}

// "1.5s", "20ms", "7 ns"; a bare number is seconds. NaN: it is none.
function timeParse(text) {
	const m = /^\s*([0-9]*\.?[0-9]+)\s*(s|ms|us|ns)?\s*$/.exec(text);
	return m ? Math.round(Number(m[1]) * {s: 1e9, ms: 1e6, us: 1e3, ns: 1}[m[2] || 's']) : NaN;
}

async function askAny(path, parameters, method) {
	const query = parameters ? '?' + new URLSearchParams(parameters) : '';
	const answer = await fetch(path + query, {cache: 'no-store', method: method || 'GET'}).catch(() => null);
	if (!answer)
		throw new Error("'hostrace view' does not answer: it has ended, or the connection to it");
	if (!answer.ok)
		throw new Error((await answer.json().catch(() => ({}))).error || String(answer.status));
	return answer;
}

const ask = async (...what) => (await askAny(...what)).json();
const askFile = async (...what) => (await askAny(...what)).blob();

// Of the command that reads the same; the whole recording needs none.
function windowOptions(from, to) {
	return (info.options ? ' ' + info.options : '') + (from ? ' --since ' + from + 'ns' : '') +
		(to < limits[1] || info.until_given ? ' --until ' + to + 'ns' : '');
}

function objects(list, length, make) {
	const out = [];
	for (let i = 0; i < list.length; i += length)
		out.push(make(list, i));
	return out;
}

function windowRead(data) {
	const tracks = new Map();
	const name = n => data.names[n] || '';
	for (const t of data.tracks)
		tracks.set(t.id, {
			slices: objects(t.slices, 4, (l, i) => ({s: l[i], ns: l[i + 1], kind: l[i + 2], count: 1, name: name(l[i + 3])})),
			bands: objects(t.bands, 6, (l, i) => ({s: l[i], ns: l[i + 1], kind: l[i + 2], count: l[i + 3],
				longest: l[i + 4], name: name(l[i + 5]), band: true})),
			sums: objects(t.sums, 3, (l, i) => ({kind: l[i], ns: l[i + 1], count: l[i + 2]}))
		});
	return {from: data.from_ns, to: data.to_ns, resolution: data.resolution_ns, exact: data.exact, lost: data.lost,
		notDrawn: data.not_drawn, tracks};
}

function rowsMake() {
	const tracks = info.tracks.slice().sort((a, b) => a.guest - b.guest || a.group_id - b.group_id || a.order - b.order || a.id - b.id);
	let group = -1;
	rows = [];
	for (const track of tracks) {
		if (track.group_id !== group)
			rows.push({group: track.group});
		group = track.group_id;
		rows.push({track});
	}
}

function busy(more) {
	pending += more;
	document.documentElement.dataset.ready = pending ? '0' : '1';
}

// One request at a time: of those that come meanwhile, the newest follows.
async function load() {
	if (again)
		return;
	if (pending) {
		again = true;
		return;
	}
	busy(1);
	try {
		const from = Math.max(0, Math.floor(view[0])), to = Math.max(from + 1, Math.ceil(view[1]));
		win = windowRead(await ask('window', {from, to, width: plotWidth()}));
		status('');
	} catch (error) {
		status('error: ' + error.message);
	}
	busy(-1);
	draw();
	figures();
	if (again) {
		again = false;
		load();
	}
}

function show(from, to) {
	const span = Math.min(Math.max(to - from, spanMin()), limits[1] - limits[0]);
	from = Math.min(Math.max(from, limits[0]), limits[1] - span);
	view = [from, from + span];
	history.replaceState(null, '', '#t=' + Math.round(view[0]) + '-' + Math.round(view[1]) + (noteChosen ? '&note=' + noteChosen : ''));
	byId('svg').href = 'timeline.svg?' + new URLSearchParams({from: Math.floor(view[0]), to: Math.ceil(view[1])});
	byId('from').value = timeText(view[0], span / 1000);
	byId('to').value = timeText(view[1], span / 1000);
	document.documentElement.dataset.ready = '0';
	draw();
	load();
}

const zoomAt = (ns, factor) => show(ns - (ns - view[0]) * factor, ns + (view[1] - ns) * factor);
const pan = part => show(view[0] + part * (view[1] - view[0]), view[1] + part * (view[1] - view[0]));

const kindName = kind => info.kinds[kind][0];
const matches = item => wanted && (item.name.toLowerCase().includes(wanted) || kindName(item.kind).includes(wanted));

// Slices and bands of a track that are in the view, in order of time.
function itemsOf(id) {
	const t = win && win.tracks.get(id);
	if (!t)
		return [];
	return t.slices.concat(t.bands).filter(i => i.s < view[1] && i.s + (i.band ? win.resolution : i.ns) >= view[0])
		.sort((a, b) => a.s - b.s || a.kind - b.kind);
}

function itemText(item) {
	if (!item.band)
		return kindName(item.kind) + ' ' + item.name + ', ' + duration(item.ns) + ' from ' + timeText(item.s, 1);
	return kindName(item.kind) + (item.name ? ' (longest: ' + item.name + ', ' + duration(item.longest) + ')' : '') + ': ' +
		item.count + (item.count === 1 ? ' item' : ' items') + ' begin' + (item.count === 1 ? 's' : '') + ', ' + duration(item.ns) +
		' within ' + duration(win.resolution) + ' from ' + timeText(item.s, 1);
}

function status(text) {
	byId('status').textContent = text;
}
