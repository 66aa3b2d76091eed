"use strict";
// Bars in tracks over time, so indexed that a picture costs what it has pixels and not what there are bars.
sim.bars = {};

// kind is how spans of a kind look: {words, color, row}; row 0 is work, others are rows of transfers below it.
sim.bars.kind = (name, moves) => {
	const k = sim.data.look.spans.find(k => k.name === name), color = k ? sim.tone(k.color) : sim.css(moves ? "accent" : "dim");
	return {words: k ? k.words : name || "work", color, rgb: sim.rgb(color), row: k ? k.row : moves ? 1 : 0};
};

// index makes of tracks, as results have them, what cover draws: {kinds, end, count, tracks: [{name, group, spans, rows}]}. A
// row is levels of bars: those of the first are spans, each of the next covers two. A level has starts, ends, what of
// each bar is busy, its kind, whether it holds some of the critical path, and of the first which span it is.
sim.bars.index = lanes => {
	const names = [], kinds = [];
	let end = 0, count = 0;
	const kindOf = s => {
		let k = names.indexOf(s.kind);
		if (k < 0) { k = names.push(s.kind) - 1; kinds.push(sim.bars.kind(s.kind, s.bytes > 0)); }
		return k;
	};
	const tracks = (lanes || []).map(l => {
		const byRow = new Map();
		(l.spans || []).forEach((s, i) => {
			const k = kindOf(s), row = kinds[k].row;
			if (!byRow.has(row)) byRow.set(row, []);
			byRow.get(row).push([i, k]);
			end = Math.max(end, s.end_s);
			count++;
		});
		const rows = [...byRow].sort((a, b) => a[0] - b[0]).map(([row, list]) => {
			const n = list.length, first = {s: new Float64Array(n), e: new Float64Array(n), busy: new Float64Array(n), kind: new Uint8Array(n), critical: new Uint8Array(n), span: new Uint32Array(n)};
			list.forEach(([i, k], at) => {
				const s = l.spans[i];
				first.s[at] = s.start_s; first.e[at] = s.end_s; first.busy[at] = s.end_s - s.start_s;
				first.kind[at] = k; first.critical[at] = s.critical ? 1 : 0; first.span[at] = i;
			});
			const levels = [first];
			while (levels.at(-1).s.length > 1) levels.push(sim.bars.halve(levels.at(-1)));
			return {row, levels};
		});
		return {name: l.name, group: l.group || "", spans: l.spans || [], rows};
	});
	return {names, kinds, end, count, tracks};
};

// halve is the level above one: two bars each, of the kind that is busier.
sim.bars.halve = b => {
	const n = Math.ceil(b.s.length / 2), up = {s: new Float64Array(n), e: new Float64Array(n), busy: new Float64Array(n), kind: new Uint8Array(n), critical: new Uint8Array(n)};
	for (let i = 0; i < n; i++) {
		const x = 2 * i, y = Math.min(x + 1, b.s.length - 1);
		up.s[i] = b.s[x];
		up.e[i] = Math.max(b.e[x], b.e[y]);
		up.busy[i] = y > x ? b.busy[x] + b.busy[y] : b.busy[x];
		up.kind[i] = b.busy[y] > b.busy[x] ? b.kind[y] : b.kind[x];
		up.critical[i] = b.critical[x] | b.critical[y];
	}
	return up;
};

// strips are rows of bars as lines of pixels, which are stretched to the height of their rows: drawing costs as many steps
// as there are pixels in a line. add fills a line and gives its number, put draws one.
sim.bars.strips = (width, count) => {
	const n = Math.max(1, Math.round(width * (devicePixelRatio || 1))), image = new ImageData(n, Math.max(1, count)), sum = new Float32Array(4 * n);
	const canvas = new OffscreenCanvas(n, Math.max(1, count)), pixels = canvas.getContext("2d");
	let used = 0;
	return {
		n, fits: (w, c) => w === width && c === count && n === Math.max(1, Math.round(w * (devicePixelRatio || 1))),
		clear() { used = 0; image.data.fill(0); },
		// add takes cover(put), which covers a share of the pixel at i with a colour [r, g, b] as often as it likes.
		add(cover) {
			sum.fill(0);
			cover((i, share, c) => {
				if (i < 0 || i >= n) return;
				const k = 4 * i;
				sum[k] += share * c[0]; sum[k + 1] += share * c[1]; sum[k + 2] += share * c[2]; sum[k + 3] += share;
			});
			const at = 4 * n * used, d = image.data;
			for (let k = 0; k < 4 * n; k += 4) {
				const a = sum[k + 3];
				if (a <= 0) continue;
				d[at + k] = sum[k] / a; d[at + k + 1] = sum[k + 1] / a; d[at + k + 2] = sum[k + 2] / a; d[at + k + 3] = 255 * Math.min(1, a);
			}
			return used++;
		},
		ready() { pixels.putImageData(image, 0, 0); },
		put(g, line, x, y, h) {
			g.imageSmoothingEnabled = false;
			g.drawImage(canvas, 0, line, n, 1, x, y, width, h);
		},
	};
};

// cover puts the bars of a row between two times into a line of n pixels. Of what is narrower than a pixel the bars of a higher
// level stand for those below them. dim weakens what is not on the critical path; path, if it is given, gets what is.
sim.bars.cover = (put, row, kinds, {from, to, n, dim, path, wide}) => {
	const levels = row.levels, scale = n / (to - from);
	const visit = (l, i) => {
		const b = levels[l], s = b.s[i], e = b.e[i];
		if (e < from || s > to) return;
		const width = (e - s) * scale;
		if (l > 0 && width > 1) {
			visit(l - 1, 2 * i);
			if (2 * i + 1 < levels[l - 1].s.length) visit(l - 1, 2 * i + 1);
			return;
		}
		const onPath = b.critical[i] === 1, strength = dim && !onPath ? 0.25 : 1, c = kinds[b.kind[i]].rgb, p = (s - from) * scale;
		if (width <= 1) {
			put(Math.floor(p), strength * Math.min(1, Math.max(b.busy[i] * scale, 0.25)), c);
			if (onPath && path) path(Math.floor(p));
			return;
		}
		const gap = width > 6 ? 0.5 : 0, first = Math.max(p + gap, 0), last = Math.min(p + width - gap, n), a = Math.floor(first), z = Math.floor(last);
		if (a === z) put(a, strength * (last - first), c);
		else {
			put(a, strength * (a + 1 - first), c);
			for (let k = a + 1; k < z; k++) put(k, strength, c);
			put(z, strength * (last - z), c);
		}
		if (onPath && path) for (let k = a; k <= z; k++) path(k);
		if (wide && l === 0 && width > 9) wide(i, first / n, last / n);
	};
	visit(levels.length - 1, 0);
};

// at is the bar of a row at a time or within reach of it, as its place in the first level; -1 where there is none.
sim.bars.at = (row, time, reach) => {
	const b = row.levels[0];
	let lo = 0, hi = b.s.length;
	while (lo < hi) { const m = (lo + hi) >> 1; if (b.s[m] <= time + reach) lo = m + 1; else hi = m; }
	let best = -1, off = reach;
	for (let i = lo - 1; i >= 0 && i >= lo - 8; i--) {
		const d = b.s[i] > time ? b.s[i] - time : Math.max(0, time - b.e[i]);
		if (d <= off && (best < 0 || d < off)) { best = i; off = d; }
	}
	return best;
};

// steps draws a step function of time as an area, most being its full height.
sim.bars.steps = (g, series, most, {from, scale, width, x, y, h, color}) => {
	const t = series.time_s, v = series.value, to = from + width / scale;
	let lo = 0, hi = t.length;
	while (lo < hi) { const m = (lo + hi) >> 1; if (t[m] <= from) lo = m + 1; else hi = m; }
	g.fillStyle = color;
	let a = -1, high = 0;
	const put = (p, q, value) => {
		const tall = h * value / most;
		if (tall > 0) g.fillRect(x + p, y + h - tall, Math.max(q - p, 0.5), tall);
	};
	for (let i = Math.max(lo - 1, 0); i < t.length - 1 && t[i] < to; i++) {
		const p = Math.max(0, (t[i] - from) * scale), q = Math.min(width, (t[i + 1] - from) * scale);
		if (q - p >= 1) { // and what was narrower before it, as its largest
			if (a >= 0) put(a, p, high);
			put(p, q, v[i]);
			a = -1;
			high = 0;
		} else {
			if (a < 0) a = p;
			high = Math.max(high, v[i]);
			if (q - a >= 1) { put(a, q, high); a = -1; high = 0; }
		}
	}
	if (a >= 0) put(a, Math.min(width, a + 1), high);
};
