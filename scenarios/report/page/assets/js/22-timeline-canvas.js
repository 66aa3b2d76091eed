"use strict";
// The canvas of the timeline: panels of tracks with one axis of time, which is zoomed and moved, and a bar in focus.
sim.timeline = (panels, state) => {
	const end = Math.max(...panels.map(p => Math.max(p.index.end, p.sim.makespan_s || 0)));
	const least = end * 1e-7, gutter = w => w < 600 ? 62 : 118, axis = 24, head = 20, strip = 22, over = 12;
	const count = panels.reduce((n, p) => n + p.index.tracks.length, 0), high = () => Math.max(8, Math.min(30, Math.round((panels.length > 1 ? 620 : 900) / Math.max(count, 1))));
	const tall = p => head + p.index.tracks.length * high(p) + (p.series.length ? 8 + p.series.length * strip : 0) + axis;
	let from = Number(state.from) || 0, to = Number(state.to) || end, focus = null, saved = 0;
	if (!(to > from)) [from, to] = [0, end];
	const window_ = sim.el("span", {class: "note"}), said = sim.el("p", {class: "note", role: "status", "aria-live": "polite"});
	const fitting = new Map(), most = {}; // labels as they fit, and the largest of each series in all panels
	for (const p of panels) for (const s of p.series) most[s.name] = s.value.reduce((a, b) => Math.max(a, b), most[s.name] || 1);
	const scale = w => (w - gutter(w) - 6) / (to - from);

	const draw = (g, w, h) => {
		const left = gutter(w), width = w - left - 6, per = scale(w);
		const ink = sim.css("ink"), dim = sim.css("dim"), faint = sim.css("faint"), band = sim.css("band");
		g.fillStyle = faint;
		g.fillRect(left, 2, width, 5);
		g.fillStyle = sim.css("accent");
		g.fillRect(left + width * from / end, 1, Math.max(3, width * (to - from) / end), 7);
		let y = over;
		for (const p of panels) {
			p.top = y;
			g.fillStyle = ink;
			g.textAlign = "left";
			g.font = "600 12px system-ui, 'Liberation Sans', Arial, sans-serif";
			g.fillText(`${p.name}: ${sim.fmt.seconds(p.sim.makespan_s || p.index.end)}`, left, y + head / 2);
			g.font = "11px system-ui, 'Liberation Sans', Arial, sans-serif";
			y += head;
			const th = high(p), n = p.index.tracks.length, bottom = y + n * th + (p.series.length ? 8 + p.series.length * strip : 0);
			let group = null, odd = false;
			p.index.tracks.forEach((t, i) => { if (t.group !== group) { odd = !odd; group = t.group; } if (odd) { g.fillStyle = band; g.fillRect(left, y + i * th, width, th); } });
			const u = sim.fmt.unit(to), ticks = sim.ticks(from, to, width / 110);
			g.strokeStyle = faint;
			g.lineWidth = 1;
			g.textAlign = "center";
			for (const v of ticks) {
				const x = Math.round(left + (v - from) * per) + 0.5;
				g.beginPath(); g.moveTo(x, y); g.lineTo(x, bottom + 4); g.stroke();
				g.fillStyle = dim;
				const digits = Math.max(0, Math.min(9, -Math.floor(Math.log10((ticks[1] - ticks[0] || 1) * u.per) + 1e-9)));
				g.fillText(`${(v * u.per).toFixed(digits)} ${u.name}`, Math.min(Math.max(x, left + 20), w - 28), bottom + 13);
			}
			g.save();
			g.beginPath(); g.rect(left, y - 2, width, bottom - y + 4); g.clip();
			const thin = Math.max(0, ...p.index.kinds.map(k => k.row)), rows = p.index.tracks.flatMap((t, i) => t.rows.map(row => ({t, row, top: y + i * th + sim.timelineRow(row.row, thin, th)[0], h: sim.timelineRow(row.row, thin, th)[1]})));
			if (!p.strips || !p.strips.fits(width, 2 * rows.length)) p.strips = sim.bars.strips(width, 2 * rows.length);
			const strips = p.strips, mark = sim.rgb(ink), texts = [], onPath = new Uint8Array(strips.n);
			strips.clear();
			for (const r of rows) {
				const marked = r.row.levels.at(-1).critical[0] === 1;
				onPath.fill(0);
				r.line = strips.add(put => sim.bars.cover(put, r.row, p.index.kinds, {from, to, n: strips.n, dim: state.dim === "1", path: marked ? k => { onPath[k] = 1; } : null, wide: r.row.row || r.h < 11 ? null : (i, a, z) => texts.push([r, i, left + a * width, left + z * width])}));
				r.path = marked ? strips.add(put => onPath.forEach((on, k) => { if (on) put(k, 1, mark); })) : -1;
			}
			strips.ready();
			for (const r of rows) {
				strips.put(g, r.line, left, r.top, r.h);
				if (r.path >= 0) strips.put(g, r.path, left, r.top - 1.5, 2);
			}
			for (const [r, i, a, z] of texts) {
				const b = r.row.levels[0], text = r.t.spans[b.span[i]].label;
				if (!text || z - a < 6.6 * text.length + 3) continue;
				g.globalAlpha = state.dim === "1" && !b.critical[i] ? 0.4 : 1;
				g.fillStyle = g.globalAlpha < 1 ? dim : sim.legible(p.index.kinds[b.kind[i]].color);
				g.fillText(text, (a + z) / 2, r.top + r.h / 2 + 0.5);
			}
			g.globalAlpha = 1;
			p.series.forEach((s, i) => {
				const sy = y + n * th + 8 + i * strip;
				sim.bars.steps(g, s, most[s.name], {from, scale: per, width, x: left, y: sy, h: strip - 4, color: sim.css("accent")});
				g.fillStyle = faint;
				g.fillRect(left, sy + strip - 4, width, 1);
			});
			const ends = Math.round(left + ((p.sim.makespan_s || end) - from) * per);
			g.setLineDash([3, 2]); g.strokeStyle = ink; g.beginPath(); g.moveTo(ends, y); g.lineTo(ends, bottom); g.stroke(); g.setLineDash([]);
			g.restore();
			g.fillStyle = dim;
			g.textAlign = "right";
			const step = Math.ceil(12 / th), fit = (text, room) => {
				const key = `${room} ${text}`;
				if (!fitting.has(key)) {
					while (text.length > 2 && g.measureText(text).width > room) text = text.slice(0, -2) + "…";
					fitting.set(key, text);
				}
				return fitting.get(key);
			};
			p.index.tracks.forEach((t, i) => { if (i % step === 0) g.fillText(fit(w < 600 ? t.name : `${t.group ? t.group + ", " : ""}${t.name}`, left - 8), left - 6, y + i * th + th / 2); });
			p.series.forEach((s, i) => g.fillText(fit(s.name, left - 8), left - 6, y + n * th + 8 + i * strip + strip / 2 - 2));
			p.tracksAt = y;
			if (focus && focus.panel === p) {
				const b = focus.row.levels[0], [ry, rh] = sim.timelineRow(focus.row.row, thin, th), a = left + (b.s[focus.bar] - from) * per, z = left + (b.e[focus.bar] - from) * per;
				g.strokeStyle = sim.css("accent"); g.lineWidth = 2;
				g.strokeRect(Math.max(a, left) - 1.5, y + focus.track * th + ry - 2, Math.max(Math.min(z, w) - Math.max(a, left), 1) + 3, rh + 4);
			}
			y = bottom + axis;
		}
		const u = sim.fmt.unit(to - from);
		window_.textContent = `${sim.fmt.seconds(from)} to ${sim.fmt.seconds(to)}: ${sim.fmt.seconds(to - from, u)} of ${sim.fmt.seconds(end)}`;
	};

	const show = (a, b) => {
		const wide = Math.min(Math.max(b - a, least), end);
		from = Math.min(Math.max(a, 0), end - wide);
		to = from + wide;
		canvas.redraw();
		clearTimeout(saved);
		saved = setTimeout(() => state.set(wide >= end ? {from: null, to: null} : {from: from.toPrecision(9), to: to.toPrecision(9)}, true), 300);
	};
	sim.leave.push(() => clearTimeout(saved));
	const zoom = (by, at) => { at = at === undefined ? (from + to) / 2 : at; show(at - (at - from) * by, at + (to - at) * by); };
	const pan = share => show(from + share * (to - from), to + share * (to - from));

	// find is the bar or the series at a point.
	const find = (x, y) => {
		const [w] = canvas.size(), left = gutter(w), per = scale(w), time = from + (x - left) / per;
		for (const p of panels) {
			const th = high(p), i = Math.floor((y - p.tracksAt) / th), s = Math.floor((y - p.tracksAt - p.index.tracks.length * th - 8) / strip);
			if (x < left || y < p.tracksAt) continue;
			if (i < p.index.tracks.length) {
				const thin = Math.max(0, ...p.index.kinds.map(k => k.row)), within = y - p.tracksAt - i * th;
				const rows = p.index.tracks[i].rows.map(row => ({row, off: sim.timelineOff(row.row, thin, th, within)})).sort((a, b) => a.off - b.off);
				for (const {row} of rows) {
					const bar = sim.bars.at(row, time, 3 / per);
					if (bar >= 0) return {panel: p, track: i, row, bar};
				}
				return null;
			}
			if (s < p.series.length && s >= 0) return {panel: p, series: p.series[s], time};
		}
		return null;
	};
	const describe = f => {
		if (f.series) {
			const t = f.series.time_s;
			let lo = 0, hi = t.length;
			while (lo < hi) { const m = (lo + hi) >> 1; if (t[m] <= f.time) lo = m + 1; else hi = m; }
			return [f.series.name, `${sim.fmt.bits(lo ? f.series.value[lo - 1] : 0)} at ${sim.fmt.seconds(f.time)}, at most ${sim.fmt.bits(most[f.series.name])}`, f.panel.name];
		}
		const t = f.panel.index.tracks[f.track], s = t.spans[f.row.levels[0].span[f.bar]], k = f.panel.index.kinds[f.row.levels[0].kind[f.bar]], took = s.end_s - s.start_s;
		return [/^\d+$/.test(s.label) ? `${k.words}, micro-batch ${s.label}` : s.label.includes(" ") ? s.label : s.label && s.label !== "DP" ? `${k.words} ${s.label}` : k.words, `${t.name}${t.group ? ", " + t.group : ""}, ${f.panel.name}`,
			`${sim.fmt.seconds(s.start_s)} to ${sim.fmt.seconds(s.end_s)}: ${sim.fmt.seconds(took)}`,
			...(s.bytes ? [`${sim.fmt.bytes(s.bytes)} at ${took > 0 ? sim.fmt.bits(8 * s.bytes / took) : "any rate"} on average`] : []), ...(s.critical ? ["on the critical path"] : [])];
	};

	const pointers = new Map();
	let dragged = 0;
	const hover = (x, y, e) => {
		if (x === null) { sim.tip(); return; }
		if (pointers.has(e.pointerId)) {
			const was = pointers.get(e.pointerId), [w] = canvas.size(), others = [...pointers].filter(([id]) => id !== e.pointerId);
			if (others.length === 1) { // two fingers: the times under them stay there
				const [ox] = others[0][1], left = gutter(w), per = scale(w), t = from + (was[0] - left) / per, o = from + (ox - left) / per;
				if (Math.abs(x - ox) > 8 && Math.abs(was[0] - ox) > 8) zoom(Math.abs(was[0] - ox) / Math.abs(x - ox), o + 0 * t);
			} else show(from - (x - was[0]) / scale(w), to - (x - was[0]) / scale(w));
			dragged += Math.abs(x - was[0]);
			pointers.set(e.pointerId, [x, y]);
			sim.tip();
			return;
		}
		const f = find(x, y);
		canvas.canvas.style.cursor = f ? "pointer" : "grab";
		sim.tip(e.clientX, e.clientY, f && describe(f));
	};
	const pick = f => { focus = f; said.textContent = describe(f).join("; "); canvas.redraw(); };

	// go focuses a bar and brings it into view.
	const go = f => {
		const b = f.row.levels[0], s = b.s[f.bar], e = b.e[f.bar], wide = to - from;
		pick(f);
		if (s < from || e > to) show((s + e) / 2 - Math.max(wide, (e - s) * 1.2) / 2, (s + e) / 2 + Math.max(wide, (e - s) * 1.2) / 2);
	};
	const key = e => {
		const all = panels.flatMap(p => p.index.tracks.flatMap((t, track) => t.rows.map(row => ({panel: p, track, row}))));
		const mine = focus ? all.findIndex(a => a.row === focus.row) : -1, step = {ArrowRight: 1, ArrowLeft: -1}[e.key], rise = {ArrowDown: 1, ArrowUp: -1}[e.key];
		const b = focus && focus.row.levels[0], mid = b ? (b.s[focus.bar] + b.e[focus.bar]) / 2 : -1, at = mid > from && mid < to ? mid : undefined;
		if (e.key === "+" || e.key === "=") zoom(1 / 1.6, at);
		else if (e.key === "-") zoom(1.6, at);
		else if (e.key === "0" || e.key === "Home") show(0, end);
		else if (step && e.shiftKey) pan(0.15 * step);
		else if ((step || rise) && mine < 0 && all.length) go({...all[0], bar: Math.max(0, sim.bars.at(all[0].row, from, end))});
		else if (step) go({...focus, bar: Math.min(Math.max(focus.bar + step, 0), focus.row.levels[0].s.length - 1)});
		else if (rise && all[mine + rise]) go({...all[mine + rise], bar: Math.max(0, sim.bars.at(all[mine + rise].row, mid, end))});
		else if (e.key === "c") {
			const after = focus ? focus.row.levels[0].s[focus.bar] : -1, panel = focus ? focus.panel : panels[0];
			let next = null;
			for (const a of all) if (a.panel === panel) a.row.levels[0].critical.forEach((on, bar) => { if (on && a.row.levels[0].s[bar] > after && (!next || a.row.levels[0].s[bar] < next.row.levels[0].s[next.bar])) next = {...a, bar}; });
			if (next) go(next);
		} else return false;
		return true;
	};
	const canvas = sim.canvas({label: `Timeline of ${panels.map(p => p.name).join(" and ")}: ${sim.fmt.count(panels.reduce((n, p) => n + p.index.count, 0))} bars; tables follow`,
		height: over + panels.reduce((sum, p) => sum + tall(p), 0), draw, hover, key});
	canvas.canvas.addEventListener("pointerdown", e => { canvas.canvas.setPointerCapture(e.pointerId); pointers.set(e.pointerId, [e.offsetX, e.offsetY]); dragged = 0; });
	for (const type of ["pointerup", "pointercancel"]) canvas.canvas.addEventListener(type, e => {
		pointers.delete(e.pointerId);
		const f = type === "pointerup" && dragged < 4 && find(e.offsetX, e.offsetY);
		if (f && !f.series) pick(f);
	});
	canvas.canvas.addEventListener("wheel", e => {
		const [w] = canvas.size(), x = e.offsetX;
		if (e.ctrlKey || e.metaKey) zoom(Math.exp(e.deltaY * 0.002), from + (x - gutter(w)) / scale(w));
		else if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) show(from + e.deltaX / scale(w), to + e.deltaX / scale(w));
		else return;
		e.preventDefault();
	}, {passive: false});
	return {canvas, end, show, zoom, pan, window: window_, said};
};

// timelineRow is where a row lies in a track of a height: work above, so many thin rows below it.
sim.timelineRow = (row, thin, high) => {
	if (!thin) return [high * 0.1, high * 0.8];
	const each = high * 0.36 / thin;
	return row ? [high * 0.62 + each * (row - 1), each * 0.85] : [high * 0.08, high * 0.5];
};
sim.timelineOff = (row, thin, high, y) => {
	const [at, h] = sim.timelineRow(row, thin, high);
	return y < at ? at - y : Math.max(0, y - at - h);
};
