// SPDX-License-Identifier: GPL-2.0-or-later
// hostrace view: the paths of the requests that the selected item has to do with, as arrows and as tables.
const QUEUES = 1, BLOCK = 3; // ranks of tracks
const ARROW = 6;             // pixels
let flows = null;            // {item, list}: what the server answered for this item

const rankOf = track => Math.floor(track.order / 2 ** 32);
const trackOf = id => info.tracks.find(t => t.id === id);

// The request's own track, which is only known where its slice is drawn as it is.
function laneOf(ns, rank) {
	for (const track of info.tracks.filter(t => rankOf(t) === rank)) {
		const t = win && ns !== undefined && win.tracks.get(track.id);
		if (t && t.slices.some(i => i.s === ns && kindName(i.kind) === 'request'))
			return track.id;
	}
	return null;
}

// What is the host's disk's, and what its thread has no track for, is on the request's own track.
function flowTracks(flow) {
	const at = Object.fromEntries(flow.points.map(p => [p.point, p.ns]));
	const lane = laneOf(at.pop, QUEUES), block = laneOf(at.issue, BLOCK);
	return flow.points.map(p => p.track ?? (['issue', 'irq', 'complete'].includes(p.point) ? block : lane));
}

function flowTitle(flow) {
	const device = flow.device === null ? 'an unknown device' : flow.device.replace(/\/virtio-backend$/, '').replace(/^.*\//, '');
	return 'Path of head ' + flow.head + ' of ' + device + ', queue ' + flow.queue;
}

function flowTable(parent, flow, number) {
	const tracks = flowTracks(flow), begin = flow.points[0].ns;
	add(parent, 'h3', flowTitle(flow));
	const box = add(parent, 'div'), table = add(box, 'table');
	box.className = 'scroll';
	box.tabIndex = 0;
	table.id = 'path-' + number;
	const body = headings(table, [['point'], ['time', true], ['after the first', true], ['after the one before', true], ['track']]);
	flow.points.forEach((p, i) => {
		const row = add(body, 'tr'), before = i ? flow.points[i - 1].ns : p.ns;
		cell(row, p.point, p.point);
		cell(row, timeText(p.ns, 1), p.ns);
		cell(row, duration(p.ns - begin), p.ns - begin);
		cell(row, i ? duration(p.ns - before) : '', p.ns - before);
		cell(row, p.track !== null ? trackOf(p.track).name : p.tid !== null ? 'thread ' + p.tid
			: tracks[i] !== null ? trackOf(tracks[i]).name : '');
	});
}

function flowsShow(answer) {
	const parent = byId('paths');
	parent.textContent = '';
	answer.flows.forEach((flow, number) => flowTable(parent, flow, number));
	if (answer.left_out)
		add(parent, 'p', answer.left_out + ' further requests have to do with it').className = 'dim';
	if (answer.flows.length)
		add(parent, 'p', 'Of the events from ' + timeText(answer.from_ns, 1) + ' to ' + timeText(answer.to_ns, 1) +
			': a request that is not all in it may lack points.').className = 'dim';
}

// Another item may have been selected meanwhile.
async function flowsLoad() {
	const {track, item} = chosen;
	byId('paths').textContent = '';
	flows = null;
	if (item.band)
		return;
	busy(1);
	try {
		const answer = await ask('flows', {track, from: item.s, to: Math.min(item.s + Math.max(1, item.ns), info.to_ns)});
		if (chosen && chosen.item === item) {
			flows = {item, list: answer.flows.map(flow => ({points: flow.points, tracks: flowTracks(flow)}))};
			flowsShow(answer);
		}
	} catch (error) {
		byId('paths').textContent = 'paths of requests: ' + error.message;
	}
	busy(-1);
	draw();
}

// ---- the picture ----

function arrowDraw(c, x0, y0, x, y) {
	const angle = Math.atan2(y - y0, x - x0), back = Math.min(ARROW, Math.hypot(x - x0, y - y0));
	c.beginPath();
	c.moveTo(x0, y0);
	c.lineTo(x, y);
	c.stroke();
	c.beginPath();
	c.moveTo(x, y);
	c.lineTo(x - back * Math.cos(angle - 0.4), y - back * Math.sin(angle - 0.4));
	c.lineTo(x - back * Math.cos(angle + 0.4), y - back * Math.sin(angle + 0.4));
	c.fill();
}

function flowDraw(c, flow) {
	let before = null;
	flow.points.forEach((p, i) => {
		const row = rows.find(r => r.track && r.shown && r.track.id === flow.tracks[i]);
		if (!row)
			return;
		const now = [xOf(p.ns), row.y + BAR / 2];
		if (before)
			arrowDraw(c, ...before, ...now);
		c.fillRect(now[0] - 2, now[1] - 2, 4, 4);
		before = now;
	});
}

function flowsDraw(c, height) {
	if (!flows || !chosen || chosen.item !== flows.item)
		return;
	c.save();
	c.beginPath();
	c.rect(plotLeft(), 0, plotWidth(), height);
	c.clip();
	c.strokeStyle = c.fillStyle = color('arrow');
	c.lineWidth = 1.5;
	for (const flow of flows.list)
		flowDraw(c, flow);
	c.restore();
}
