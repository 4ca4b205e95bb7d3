// SPDX-License-Identifier: GPL-2.0-or-later
// hostrace view: marks and notes, which the server keeps in a file next to the recording. A mark is 1 ns long.
const NOTE_REACH = 5, FLAG = 6; // pixels
let notes = [];       // {from_ns, to_ns, text}, in order of time
let noteChosen = '';  // 'FROM-TO' of the one that the address names
let noteRange = null; // what the form is for

const noteKey = n => n.from_ns + '-' + n.to_ns;
const isMark = n => n.to_ns - n.from_ns <= 1;
const noteTime = n => timeText(n.from_ns, 1) + (isMark(n) ? '' : ', ' + duration(n.to_ns - n.from_ns));

// A link shows the note with as much time around it, of a mark with as much as is shown now.
function noteLink(n) {
	const span = isMark(n) ? (view[1] - view[0]) / 2 : n.to_ns - n.from_ns;
	return '#t=' + Math.round(Math.max(limits[0], n.from_ns - span)) + '-' + Math.round(Math.min(limits[1], n.to_ns + span)) +
		'&note=' + noteKey(n);
}

function noteRow(list, n) {
	const row = add(list, 'li'), link = add(row, 'a', noteTime(n)), remove = add(row, 'button', 'Delete');
	row.insertBefore(document.createTextNode(' ' + n.text + ' '), remove);
	row.dataset.note = noteKey(n);
	row.className = noteKey(n) === noteChosen ? 'chosen' : '';
	link.href = noteLink(n);
	remove.setAttribute('aria-label', 'Delete ' + n.text);
	remove.addEventListener('click', () => noteSend('delete', n));
}

function notesList({outside, error}) {
	const list = byId('marks-list');
	list.textContent = '';
	for (const n of notes)
		noteRow(list, n);
	const about = error || (outside ? outside + ' of the file are outside of this recording' : '');
	byId('marks-about').textContent = about;
	byId('marks').hidden = !notes.length && !about;
	draw();
}

function notesTake(answer) {
	notes = answer.notes;
	notesList(answer);
	return answer;
}

async function noteSend(what, n) {
	busy(1);
	try {
		const {file} = notesTake(await ask('notes/' + what, {from: n.from_ns, to: n.to_ns, text: n.text}, 'POST'));
		byId('note-form').hidden = true;
		byId('plot').focus();
		status((what === 'add' ? 'saved in ' : 'deleted in ') + file);
	} catch (error) {
		status('error: ' + error.message);
	}
	busy(-1);
}

// ---- the form ----

function noteAsk(from, to) {
	const begin = Math.max(0, Math.floor(from));
	noteRange = {from_ns: begin, to_ns: Math.max(begin + 1, Math.ceil(to))};
	byId('note-range').textContent = noteTime(noteRange);
	byId('note-form').hidden = false;
	byId('note-text').value = '';
	byId('note-text').focus();
}

const markAsk = ns => noteAsk(ns, ns);

// Of the selected item, or of what is shown.
function noteOfChosen() {
	const item = chosen && chosen.item;
	noteAsk(...(item ? [item.s, item.s + (item.band ? win.resolution : item.ns)] : view));
}

function noteFormListen() {
	byId('note-form').addEventListener('submit', event => {
		event.preventDefault();
		noteSend('add', {...noteRange, text: byId('note-text').value.trim()});
	});
	byId('note-form').addEventListener('keydown', event => {
		if (event.key !== 'Escape')
			return;
		byId('note-form').hidden = true;
		byId('plot').focus();
	});
	byId('axis').addEventListener('click', event => {
		const n = notesAt(event.clientX - byId('axis').getBoundingClientRect().left)[0];
		if (n)
			location.hash = noteLink(n);
	});
}

// ---- the picture ----

const notesAt = x => notes.filter(n => x >= xOf(n.from_ns) - NOTE_REACH && x <= xOf(n.to_ns) + NOTE_REACH);
const noteText = x => notesAt(x).slice(0, 3).map(n => '; note: ' + n.text).join('');

function notesDraw(c, height) {
	const left = plotLeft(), right = left + plotWidth(), axis = byId('axis').getContext('2d');
	for (const n of notes) {
		const x = xOf(n.from_ns), end = xOf(n.to_ns);
		if (end < left || x > right)
			continue;
		c.fillStyle = axis.fillStyle = color('mark');
		for (const edge of [x, end].filter(e => e >= left && e <= right))
			c.fillRect(edge, 0, noteKey(n) === noteChosen ? 3 : 1, height);
		axis.fillRect(Math.max(left, x) - 1, AXIS - FLAG, Math.max(FLAG, Math.min(end, right) - Math.max(left, x)), FLAG);
		c.globalAlpha = 0.08;
		c.fillRect(Math.max(left, x), 0, Math.min(end, right) - Math.max(left, x), height);
		c.globalAlpha = 1;
	}
}
