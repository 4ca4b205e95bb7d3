// SPDX-License-Identifier: GPL-2.0-or-later
// The page of `hostrace report`. Names in the data are hostile: they become text nodes (el(), add()) and titles, never
// markup. All scripts of this folder share one scope (report.mk).

// Names without controls of the text's direction, and others, as text_sanitize() removes them elsewhere.
const CONTROLS = new RegExp("[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f"
  + "\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb"
  + "\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]", "gu");
const data = JSON.parse(document.getElementById("data").textContent,
	(key, value) => typeof value === "string" ? value.replace(CONTROLS, "?") : value);

// ---- elements ----

function add(to, children) {
	for (const c of children.flat(9))
		if (c !== null && c !== undefined && c !== false)
			to.append(c instanceof Node ? c : String(c));
	return to;
}

// Attributes: "class", "title", ...; "on": {event: handler}; "style": {property: value}.
function el(tag, attributes, ...children) {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes || {}))
		if (name === "on")
			for (const [event, handler] of Object.entries(value))
				e.addEventListener(event, handler);
		else if (name === "style")
			for (const [property, v] of Object.entries(value))
				e.style.setProperty(property, v);
		else if (value !== null && value !== undefined && value !== false)
			e.setAttribute(name, value === true ? "" : value);
	return add(e, children);
}

// ---- numbers ----

const units = [[1e9, "s"], [1e6, "ms"], [1e3, "\u00b5s"], [1, "ns"]];

function duration(ns) {
	if (ns === null || ns === undefined)
		return "";
	for (const [size, name] of units)
		if (Math.abs(ns) >= size || size === 1) {
			const v = ns / size;
			return (size === 1 ? v.toFixed(0) : v.toPrecision(Math.max(3, Math.trunc(v).toString().length))) + " " + name;
		}
}

function count(n) {
	return n === null || n === undefined ? "" : Number(n).toLocaleString("en-US");
}

function percent(part) {
	return (100 * part).toFixed(part < 0.1 ? 2 : 1) + " %";
}

// "/machine/peripheral/disk/virtio-backend" is what QEMU calls "disk".
// Without an id, "device[0]": kind and number.
function deviceName(row) {
	const m = /^\/machine\/(?:peripheral|peripheral-anon|unattached)\/([^/]+)/.exec(row.device || "");
	return !m ? row.device : row.kind ? m[1].replace(/^device(?=\[)/, row.kind) : m[1];
}

// ---- sections ----

const sections = data.sections;

function dataOf(key) {
	return sections[key] && sections[key].data;
}

function rowsOf(key) {
	const d = dataOf(key);
	return d && Array.isArray(d.rows) ? d.rows : [];
}

function start0() {
	const info = dataOf("info");
	return info && info.result ? info.result.start_ns || 0 : 0;
}

function sinceStart(ns) {
	return ((ns - start0()) / 1e9).toFixed(6) + " s";
}

const cutNames = {rows: "rows", nodes: "nodes of the call tree (small ones are one \u201cmore\u201d each)", parts: "parts of exits, the longest",
	sections: "sections: its data is too large for a page"};

function reasonOf(key) {
	const s = sections[key];
	return s && (s.error || (s.data && s.data.caveats || []).join("; ")) || "no events";
}

// Notes of the command, what the page leaves out, and how to see all.
function notesOf(key) {
	const s = sections[key];
	if (!s)
		return null;
	const cut = (s.cut || []).map((c) => el("p", {class: "note"}, `Shown: ${count(c.shown)} of ${count(c.of)} `,
		cutNames[c.what] || c.what, "."));
	const caveats = s.data && s.data.caveats || [];
	return [cut, s.error ? el("p", {class: "dim"}, "No data: ", s.error, ".") : null,
		el("details", {class: "notes"}, el("summary", {}, `Command${caveats.length ? ` and notes (${caveats.length})` : ""}`),
			el("p", {}, el("code", {}, s.command, " -f json")),
			el("ul", {}, caveats.map((c) => el("li", {}, c))))];
}

// One line for what has no data; unfolded, why, and the command.
function noData(parts) {
	return parts.length ? el("details", {class: "notes nodata"}, el("summary", {}, "No data: ", parts.map((p) => p[0]).join(", ")),
		el("ul", {}, parts.map(([name, key, id]) => el("li", {id: typeof id === "string" ? id : null}, name, ": ", reasonOf(key), sections[key] ? [". ",
			el("code", {}, sections[key].command)] : null)))) : null;
}

const emptySections = []; // [title, key, id]: one line for all

// A section whose parts may be missing; null without any. Parts: [title, key, element or null].
function section(id, title, lead, parts) {
	const isEmpty = ([, , content]) => [content].flat(9).every((c) => !c), empty = parts.filter(isEmpty);
	if (empty.length === parts.length) {
		emptySections.push([title, parts[0][1], id]);
		return null;
	}
	return el("section", {id, tabindex: -1}, el("h2", {}, title), lead ? el("p", {class: "dim"}, lead) : null,
		parts.filter((p) => !isEmpty(p)).map(([name, key, content]) => [name ? el("h3", {}, name) : null, content, notesOf(key)]),
		noData(empty));
}

const themes = ["auto", "light", "dark"];
const redraws = [];

function redrawAll() {
	for (const draw of redraws)
		draw();
}

// Charts are canvases: their colours are read from the style when they are drawn.
function cssColor(name) {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function themeButton() {
	const b = el("button", {type: "button", title: "colours: automatic, light or dark"}, "auto");
	b.addEventListener("click", () => {
		const next = themes[(themes.indexOf(b.textContent) + 1) % themes.length];
		b.textContent = next;
		if (next === "auto")
			delete document.documentElement.dataset.theme;
		else
			document.documentElement.dataset.theme = next;
		redrawAll();
	});
	return b;
}

// A paper is white, and nothing is unfolded by hand there: notes and timelines are printed unfolded.
function preparePrinting() {
	let theme, unfolded = [];
	window.addEventListener("beforeprint", () => {
		theme = document.documentElement.dataset.theme;
		document.documentElement.dataset.theme = "light";
		document.documentElement.dataset.printing = "1";
		unfolded = [...document.querySelectorAll(".notes:not([open]), #closeups details:not([open])")];
		for (const d of unfolded)
			d.open = true;
		redrawAll();
	});
	window.addEventListener("afterprint", () => {
		for (const d of unfolded)
			d.open = false;
		delete document.documentElement.dataset.printing;
		if (theme)
			document.documentElement.dataset.theme = theme;
		else
			delete document.documentElement.dataset.theme;
		redrawAll();
	});
}

function start() {
	const main = document.getElementById("main");
	const made = [baselineSection(), exitsSection(), heatmapSection(), blameSection(), queuesSection(), portsSection(), profileSection(),
		timelineSection(), threadsSection(), clockSection(), recordingSection()].filter((s) => s);
	add(main, [made, noData(emptySections)]);
	const nav = el("nav", {"aria-label": "sections"}, el("div", {}, [document.getElementById("summary"), ...made].map((s) =>
		el("a", {href: "#" + s.id}, s.querySelector("h2").textContent)), themeButton()));
	document.body.insertBefore(nav, main);
	add(document.body, [el("footer", {}, el("p", {class: "dim"}, `Made by hostrace ${data.version}. `,
		"Charts: uPlot 1.6.32, \u00a9 Leon Sorokin, MIT license."))]);
	preparePrinting();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
	let timer;
	window.addEventListener("resize", () => {
		clearTimeout(timer);
		timer = setTimeout(redrawAll, 100);
	});
	redrawAll();
	window.addEventListener("hashchange", windowOfHash);
	windowOfHash();
	document.documentElement.dataset.ready = "1";
}
