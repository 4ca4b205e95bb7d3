// SPDX-License-Identifier: GPL-2.0-or-later
// hostrace view: the window as a file: a picture made here, a recording made by the server.
const HEAD = 26, MARGIN = 8; // pixels of a saved picture

// "vm-1.5s-2s.png"; browsers replace what no file name can have.
function fileName(end) {
	const files = info.inputs.map(i => i.file), base = files[0].replace(/^.*\//, '').replace(/(.)\.[^.]*$/, '$1');
	return base + '-' + view.map(ns => timeText(ns, 1).replace(/(\.[0-9]*?)0*( s)$/, '$1s').replace('.s', 's')).join('-') + end;
}

function saveAs(blob, name) {
	const link = document.createElement('a');
	link.href = URL.createObjectURL(blob);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}

function legendPut(c, width, y) {
	let x = MARGIN;
	for (const [name, fill] of info.kinds) {
		const need = c.measureText(name).width + 26;
		if (x + need > width) {
			x = MARGIN;
			y += 18;
		}
		c.fillStyle = fill;
		c.fillRect(x, y - 5, 10, 10);
		c.fillStyle = color('fg');
		c.fillText(name, x + 14, y);
		x += need;
	}
	return y;
}

// The canvases as they are drawn now, of all tracks, with what the page has around them: file, window, colours.
function picture() {
	const axis = byId('axis'), tracks = byId('tracks'), scale = tracks.width / tracks.clientWidth;
	const width = tracks.clientWidth, canvas = document.createElement('canvas'), c = canvas.getContext('2d');
	const size = height => {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
		c.setTransform(scale, 0, 0, scale, 0, 0);
		c.font = '12px system-ui, sans-serif';
		c.textBaseline = 'middle';
		c.fillStyle = color('bg');
		c.fillRect(0, 0, width, height);
	};
	size(1);
	const legend = legendPut(c, width, 0), top = HEAD + legend + 18;
	size(top + AXIS + tracks.clientHeight + MARGIN);
	c.fillStyle = color('fg');
	c.fillText(fit(c, info.inputs.map(i => i.file).join(', ') + ', ' + duration(view[1] - view[0]) + ' from ' + timeText(view[0], 1) +
		', ' + (win.exact ? 'exact' : 'columns of ' + duration(win.resolution)), width - 2 * MARGIN), MARGIN, HEAD / 2);
	legendPut(c, width, HEAD + 6);
	c.drawImage(axis, 0, top, width, AXIS);
	c.drawImage(tracks, 0, top + AXIS, width, tracks.clientHeight);
	return canvas;
}

async function pngSave() {
	await settled();
	if (!win)
		return;
	picture().toBlob(blob => blob ? saveAs(blob, fileName('.png')) : status('error: the browser makes no picture of this size'));
}

// The events of what is shown.
async function recordingSave() {
	const from = Math.max(0, Math.floor(view[0])), to = Math.ceil(view[1]), name = fileName('.hrt');
	busy(1);
	status('reading \u2026');
	try {
		saveAs(await askFile('window.hrt', {from, to}), name);
		status('saved: what hostrace import' + windowOptions(from, to) + ' writes');
	} catch (error) {
		status('error: ' + error.message);
	}
	busy(-1);
}
