// SPDX-License-Identifier: GPL-2.0-or-later
// Call trees as flame graphs, the root on top. A click or Enter zooms, Escape zooms out, the field searches.

const FRAME_PX = 18, LEAST = 0.002; // narrower frames than this part of the width are not drawn

function hueOf(name) {
	let h = 0;
	for (let i = 0; i < name.length; i++)
		h = (h * 31 + name.charCodeAt(i)) % 997;
	return 20 + h % 40;
}

function flame(id, tree) {
	const weight = (n) => tree.time_ns ? n.time_ns : n.hits;
	const show = (n) => tree.time_ns ? duration(n.time_ns) + `, ${count(n.hits)} times` : count(n.hits) + " samples";
	const box = el("div", {class: "flame", id, role: "tree"}), info = el("span", {class: "dim"}, show(tree)), path = [tree];
	const search = el("input", {type: "search", placeholder: "search", "aria-label": "search in the flame graph"});
	const back = el("button", {type: "button"}, "zoom out");
	let depth = 0;
	const text = (n) => [n.name, ...n.tail || []].join(" < ");
	const frame = (n, x, w, level) => {
		const whole = weight(tree) || 1;
		const b = el("button", {type: "button", role: "treeitem", title: `${text(n)}: ${show(n)}, ${percent(weight(n) / whole)}`, style: {
			left: 100 * x + "%", width: 100 * w + "%", top: level * FRAME_PX + "px", background: `hsl(${hueOf(n.name)} 85% 72%)`}}, text(n));
		b.addEventListener("click", () => {
			const at = path.indexOf(n);
			if (at >= 0)
				path.length = at + 1;
			else
				path.push(n);
			draw();
			box.firstChild.focus();
		});
		box.append(b);
		depth = Math.max(depth, level + 1);
		const own = weight(n) || 1;
		let at = x;
		for (const c of n.children || []) {
			const part = w * weight(c) / own;
			if (part >= LEAST)
				frame(c, at, part, level + 1);
			at += part;
		}
	};
	const mark = () => {
		const q = search.value.toLowerCase();
		for (const b of box.children)
			b.classList.toggle("hit", q !== "" && b.textContent.toLowerCase().includes(q));
	};
	const draw = () => {
		box.replaceChildren();
		depth = 0;
		frame(path[path.length - 1], 0, 1, 0);
		box.style.height = depth * FRAME_PX + 2 + "px";
		info.textContent = show(path[path.length - 1]);
		back.disabled = path.length < 2;
		mark();
	};
	const out = () => {
		if (path.length > 1) {
			path.pop();
			draw();
		}
	};
	back.addEventListener("click", out);
	search.addEventListener("input", mark);
	box.addEventListener("keydown", (ev) => ev.key === "Escape" && out());
	draw();
	return [el("div", {class: "tools"}, search, back, info), box];
}

function flames(key) {
	return rowsOf(key).filter((t) => t.children && t.children.length).map((t, i) => flame(`flame-${key}-${i}`, t));
}

function profileSection() {
	return section("profile", "Profiles", "Width is time or samples; the callers are above. Frames below 0.2 % of the width are not drawn.", [
		["Guest code, by sampled instruction pointers", "profile_guest_code", flames("profile_guest_code")],
		["Samples", "profile", flames("profile")], ["Off-CPU time", "off_cpu", flames("off_cpu")]]);
}
