// SPDX-License-Identifier: GPL-2.0-or-later
// What the scripts of all pictures use. They run in a function of their own, in an SVG file or in SVG within HTML.
const NS = 'http://www.w3.org/2000/svg';
const root = document.currentScript.ownerSVGElement;
const alone = document.documentElement === root;
const one = name => root.querySelector('.' + name);

function el(parent, name, attributes, text) {
	const e = document.createElementNS(NS, name);
	for (const key in attributes)
		e.setAttribute(key, attributes[key]);
	if (text !== undefined)
		e.textContent = text;
	parent.appendChild(e);
	return e;
}

function duration(ns) {
	const units = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];
	const [unit, size] = units.find(u => Math.abs(ns) >= u[1] * 0.9995) || units[3];
	const v = ns / size;
	return (unit === 'ns' ? Math.round(v) : v.toPrecision(3 + Math.max(0, Math.floor(Math.log10(Math.abs(v))) - 2))) + unit;
}

// Breaks a text at its " · " and blanks to at most `width` pixels; returns the number of lines.
function fold(text, width, step) {
	const words = (text.dataset.all || text.textContent).split(' ');
	const x = text.getAttribute('x');
	let line, lines = 0;
	text.dataset.all = words.join(' ');
	text.textContent = '';
	for (const word of words) {
		const before = line ? line.textContent : '';
		if (line)
			line.textContent += ' ' + word;
		if (!line || (before && line.getComputedTextLength() > width)) {
			if (line)
				line.textContent = before;
			line = el(text, 'tspan', lines ? {x, dy: step} : {x}, word);
			lines++;
		}
	}
	return lines;
}

// As much of a text as fits into `width` pixels; its middle is left out, since names of threads differ at their ends.
function cut(text, width) {
	const all = text.dataset.all = text.dataset.all || text.textContent;
	text.textContent = all;
	for (let n = all.length; n > 3 && text.getComputedTextLength() > width; n--)
		text.textContent = all.slice(0, Math.ceil(n / 2)) + '…' + all.slice(all.length + 1 - Math.ceil(n / 2));
}

// A box with lines of text next to the pointer.
const box = {
	show(lines, x, y) {
		this.hide();
		const g = this.g = el(root, 'g', {class: 'box', 'pointer-events': 'none'});
		const frame = el(g, 'rect', {fill: '#222', rx: 3, opacity: 0.92});
		let width = 0;
		lines.forEach((line, i) => {
			const t = el(g, 'text', {x: 6, y: 15 + i * 14, fill: '#fff', 'font-size': 11}, line);
			width = Math.max(width, t.getComputedTextLength());
		});
		const [all, high] = size();
		const height = lines.length * 14 + 8;
		frame.setAttribute('width', width + 12);
		frame.setAttribute('height', height);
		const left = Math.max(2, Math.min(x + 12, all - width - 16));
		g.setAttribute('transform', `translate(${left} ${y + 16 + height < high ? y + 16 : Math.max(0, y - height - 8)})`);
	},
	hide() {
		if (this.g)
			this.g.remove();
		this.g = null;
	}
};

function size() {
	const v = root.viewBox.baseVal;
	return [v.width, v.height];
}

// The width of the window, if the picture is alone in it. A phone shows such a document as if its screen was 980 px wide:
// the picture is laid out for the screen, and enlarged.
const wide = () => document.documentElement.clientWidth || window.innerWidth;
const available = () => alone ? Math.max(320, screen.width < 700 ? Math.min(wide(), screen.width) : wide()) : size()[0];

function resize(width, height) {
	const scale = alone ? wide() / width : 1;
	root.setAttribute('width', width * scale);
	root.setAttribute('height', height * scale);
	root.setAttribute('viewBox', `0 0 ${width} ${height}`);
}

// The pointer's place in the picture.
function point(event) {
	const r = root.getBoundingClientRect();
	const [width, height] = size();
	return [(event.clientX - r.left) * width / r.width, (event.clientY - r.top) * height / r.height];
}

// Buttons and a field for searching, at the top right.
function controls(buttons, search) {
	const bar = el(root, 'foreignObject', {class: 'controls', y: 6, height: 26});
	const div = document.createElementNS('http://www.w3.org/1999/xhtml', 'div');
	div.setAttribute('style', 'display: flex; gap: 3px; justify-content: flex-end');
	for (const [name, title, action] of buttons) {
		const b = document.createElementNS('http://www.w3.org/1999/xhtml', 'button');
		b.textContent = name;
		b.title = title;
		b.addEventListener('click', action);
		div.appendChild(b);
	}
	const field = document.createElementNS('http://www.w3.org/1999/xhtml', 'input');
	field.setAttribute('placeholder', 'search');
	field.setAttribute('aria-label', 'search');
	field.setAttribute('style', 'width: 110px');
	field.addEventListener('input', () => search(field.value));
	div.appendChild(field);
	bar.appendChild(div);
	return {bar, field};
}
