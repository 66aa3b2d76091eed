"use strict";
// Links and what they carry: a torus or a graph on a canvas, coloured by load, with the route of a pair.

// A net is {names, idle, links [{from, to, load, state, way}], pairs, place(w)}: way is what the link is called at its
// node, and place gives for a width {h, unit, at [[x, y]], lines [[x, y, ...]] by link, texts [{x, y, text}]}.
sim.nets = {};

sim.nets.of = p => p.lattice ? sim.nets.torus(p.lattice) : sim.nets.graph(p.graph);

// torus lays the slices of the third dimension beside each other. A link round the torus is a stub at the node that it
// leaves, one of further dimensions a stub across.
sim.nets.torus = t => {
	const [X, Y] = [t.dims[0], t.dims[1] || 1], Z = t.dims.slice(2).reduce((a, b) => a * b, 1);
	const where = n => [Math.floor(n / Z / Y), Math.floor(n / Z) % Y, n % Z];
	const named = n => {
		const c = [];
		for (let i = t.dims.length - 1; i >= 0; i--) { c.unshift(n % t.dims[i]); n = Math.floor(n / t.dims[i]); }
		return `(${c})`;
	};
	const nodes = X * Y * Z, names = Array.from({length: nodes}, (_, n) => named(n));
	const links = t.links.map(l => ({from: l.from, to: l.to, load: l.load, state: l.state || "", way: ("xyzuvw"[l.dim] || l.dim) + (l.up ? "+" : "-")}));
	const place = w => {
		let unit = 0, columns = 1;
		for (let c = 1; c <= Z; c++) {
			const u = Math.min(w / (c * (X + 0.7)), Math.max(420, w * 0.8) / (Math.ceil(Z / c) * (Y + 0.9)), 60 * sim.size());
			if (u > unit) [unit, columns] = [u, c];
		}
		const head = (Z > 1 ? 16 : 4) * sim.size(), tall = unit * (Y + 0.3) + head, at = [], texts = [];
		for (let n = 0; n < nodes; n++) {
			const [x, y, z] = where(n);
			at.push([(z % columns) * unit * (X + 0.7) + unit * (x + 0.85), Math.floor(z / columns) * tall + head + unit * (Y - y - 0.35)]);
			if (Z > 1 && !x && !y) texts.push({x: at[n][0] + unit * (X - 1) / 2, y: Math.floor(z / columns) * tall + 11 * sim.size(), text: (X * unit > 60 ? "z = " : "") + z});
		}
		const off = Math.max(0.8, unit * 0.075), stub = unit * 0.42, slant = unit * 0.27;
		const lines = t.links.map(l => {
			const [x, y] = at[l.from], s = l.up ? 1 : -1;
			if (l.dim > 1) return [x, y, x + s * slant * (l.dim % 2 ? -1 : 1), y - s * slant];
			const long = l.wrap ? stub : unit;
			return l.dim === 0 ? [x, y - s * off, x + s * long, y - s * off] : [x - s * off, y, x - s * off, y - s * long];
		});
		return {h: Math.ceil(Z / columns) * tall + 6, unit, at, lines, texts};
	};
	return {names, idle: [], links, pairs: t.pairs, ways: t.ways || [], unit: t.unit, place, stubs: t.links.some(l => l.wrap) || Z > 1};
};

// graph lays nodes out by how far they are from those that send, or on a circle where all do.
sim.nets.graph = g => {
	const n = g.nodes.length, idle = g.nodes.map(v => v.switch), near = g.nodes.map(() => []);
	for (const l of g.links) { near[l.from].push(l.to); near[l.to].push(l.from); }
	const level = g.nodes.map(v => v.switch ? -1 : 0);
	for (let queue = level.flatMap((v, i) => v === 0 ? [i] : []); queue.length;) {
		queue = queue.flatMap(i => [...new Set(near[i])].filter(j => level[j] < 0 && (level[j] = level[i] + 1)));
	}
	const top = Math.max(...level), x = new Array(n).fill(0.5), rows = [];
	for (let k = 0; k <= top; k++) {
		const row = level.flatMap((v, i) => v === k ? [i] : []);
		const mean = i => { const below = near[i].filter(j => level[j] === k - 1); return below.reduce((s, j) => s + x[j], 0) / (below.length || 1); };
		if (k) row.sort((a, b) => mean(a) - mean(b) || a - b);
		row.forEach((i, j) => { x[i] = (j + 0.5) / row.length; });
		rows.push(row);
	}
	const place = w => {
		const flat = top < 1, h = flat ? Math.min(w, 460) : 60 + 110 * top, unit = flat ? Math.min(40, 2 * Math.PI * (h / 2 - 30) / n) : Math.min(40, w / Math.max(...rows.map(r => r.length)));
		const at = level.map((v, i) => {
			if (flat) { const a = 2 * Math.PI * i / n - Math.PI / 2; return [w / 2 + (Math.min(w, h) / 2 - 34) * Math.cos(a), h / 2 + (h / 2 - 34) * Math.sin(a)]; }
			return [x[i] * (w - 20) + 10, h - 26 - 110 * v];
		});
		const lines = g.links.map(l => {
			const [a, b] = [at[l.from], at[l.to]], d = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1, o = Math.min(3, unit * 0.09);
			const [ox, oy] = [-(b[1] - a[1]) / d * o, (b[0] - a[0]) / d * o];
			const bend = !flat && level[l.from] === level[l.to] ? Math.min(46, d * 0.16) + 6 : 0, line = [];
			for (let k = 0; k <= (bend ? 12 : 1); k++) {
				const f = k / (bend ? 12 : 1);
				line.push(a[0] + (b[0] - a[0]) * f + ox, a[1] + (b[1] - a[1]) * f + oy - bend * 4 * f * (1 - f));
			}
			return line;
		});
		const texts = unit < 13 ? [] : g.nodes.map((v, i) => ({text: v.name.replace(/^switch /, ""), x: at[i][0] + (level[i] && !flat ? 14 + 3 * v.name.length : 0), y: at[i][1] + (level[i] && !flat ? 4 : 20), wide: flat ? 60 : (w - 20) / rows[level[i]].length}));
		return {h, unit, at, lines, texts};
	};
	const links = g.links.map(l => ({from: l.from, to: l.to, load: l.load, state: "", way: l.speed !== 1 ? `${sim.fmt.plain(l.speed)} times the rate` : ""}));
	return {names: g.nodes.map(v => v.name), idle, links, pairs: g.pairs, ways: [], unit: g.unit, place};
};

// route lists the links of the route of a pair; null where it is not known.
sim.nets.route = (net, src, dst) => {
	if (!net.pairs || !net.pairs.length || src === dst) return null;
	net.out = net.out || net.links.reduce((out, l, i) => { out[l.from].push(i); return out; }, net.names.map(() => []));
	const hops = net.pairs[src].split(" ")[dst];
	if (!hops) return null;
	let at = src;
	return [...hops].map(c => { const l = net.out[at][c.charCodeAt(0) - 48]; at = net.links[l].to; return l; });
};

// links is the picture of a net. pick is what the panels share: {src, node, way, panels, most}.
sim.nets.picture = (policy, net, pick) => {
	let base = null, spots = null;
	const ink = () => sim.css("ink");
	const trace = (ctx, line, clip) => {
		ctx.moveTo(line[0], line[1]);
		for (let k = 2; k < line.length; k += 2) ctx.lineTo(line[k], line[k + 1]);
	};
	const paintBase = (w, scale) => {
		spots = net.place(w);
		base = new OffscreenCanvas(Math.max(1, Math.round(w * scale)), Math.round(spots.h * scale));
		const ctx = base.getContext("2d"), shades = 48, paths = Array.from({length: shades + 1}, () => new Path2D()), unit = spots.unit;
		ctx.scale(scale, scale);
		const down = [];
		net.links.forEach((l, i) => {
			if (l.state === "down") return down.push(i);
			trace(paths[Math.round(l.load / (pick.most || 1) * shades)], spots.lines[i]);
		});
		ctx.lineWidth = Math.min(5, Math.max(1, unit * 0.11));
		paths.forEach((p, k) => { ctx.strokeStyle = k ? sim.load(k / shades) : sim.css("faint"); ctx.stroke(p); });
		ctx.strokeStyle = sim.css("bad");
		ctx.setLineDash([2, 2]);
		ctx.beginPath();
		for (const i of down) trace(ctx, spots.lines[i]);
		ctx.stroke();
		ctx.setLineDash([]);
		for (const i of down) {
			const l = spots.lines[i], x = l[l.length - 2], y = l[l.length - 1], r = Math.min(4, unit * 0.12);
			ctx.lineWidth = 1.5;
			ctx.beginPath();
			ctx.moveTo(x - r, y - r); ctx.lineTo(x + r, y + r); ctx.moveTo(x - r, y + r); ctx.lineTo(x + r, y - r);
			ctx.stroke();
		}
		const r = Math.min(5, Math.max(0.8, unit * 0.1));
		spots.at.forEach(([x, y], n) => {
			ctx.beginPath();
			if (net.idle[n]) ctx.rect(x - r * 1.6, y - r * 1.6, r * 3.2, r * 3.2);
			else ctx.arc(x, y, r, 0, 7);
			ctx.fillStyle = net.idle[n] ? sim.css("raised") : sim.css("dim");
			ctx.fill();
			if (net.idle[n]) { ctx.strokeStyle = ink(); ctx.lineWidth = 1; ctx.stroke(); }
		});
		ctx.fillStyle = sim.css("dim");
		sim.font(ctx, 11);
		ctx.textAlign = "center";
		for (const t of spots.texts) if (!t.wide || ctx.measureText(t.text).width < t.wide) ctx.fillText(t.text, t.x, t.y);
	};
	const draw = (ctx, w) => {
		const scale = devicePixelRatio || 1, key = `${w} ${scale} ${sim.dark()}`;
		if (!base || base.key !== key) { paintBase(w, scale); base.key = key; }
		ctx.drawImage(base, 0, 0, w, spots.h);
		const mark = (n, color) => {
			if (n === null || n === undefined) return;
			ctx.strokeStyle = color;
			ctx.lineWidth = 2.5;
			ctx.beginPath();
			ctx.arc(...spots.at[n], Math.max(5, spots.unit * 0.2), 0, 7);
			ctx.stroke();
		};
		const route = (list, color, dash) => {
			ctx.strokeStyle = color;
			ctx.setLineDash(dash);
			// What leaves by a stub arrives by one.
			const parts = list.flatMap(i => {
				const l = spots.lines[i], n = l.length, [x, y] = spots.at[net.links[i].to], [dx, dy] = [l[n - 2] - l[0], l[n - 1] - l[1]];
				return Math.hypot(l[n - 2] - x, l[n - 1] - y) > spots.unit * 0.5 ? [l, [x - dx, y - dy, x, y]] : [l];
			});
			for (const [width, back] of [[Math.min(9, 3.5 + spots.unit * 0.1), sim.css("ground")], [Math.min(6, 2 + spots.unit * 0.07), color]]) {
				ctx.beginPath();
				for (const l of parts) trace(ctx, l);
				ctx.lineWidth = width;
				ctx.strokeStyle = back;
				ctx.stroke();
			}
			ctx.setLineDash([]);
			ctx.fillStyle = color;
			for (const l of parts) { // arrow heads
				const n = l.length, a = Math.atan2(l[n - 1] - l[n - 3], l[n - 2] - l[n - 4]), s = Math.min(9, 4 + spots.unit * 0.1);
				ctx.beginPath();
				for (const [d, t] of [[0, 0], [-s, -0.45], [-s, 0.45]]) ctx.lineTo(l[n - 2] + d * Math.cos(a + t), l[n - 1] + d * Math.sin(a + t));
				ctx.fill();
			}
		};
		const bad = sim.css("bad"), way = pick.way && net.ways.find(w => w.src === pick.way.src && w.dst === pick.way.dst && !w.usual === !pick.way.usual);
		if (way) {
			route(way.links, way.usual ? sim.css("dim") : bad, way.usual ? [4, 3] : []);
			mark(way.src, bad);
			mark(way.dst, bad);
			return;
		}
		const list = pick.src === null || pick.node === null ? null : sim.nets.route(net, pick.src, pick.node);
		if (list) route(list, bad, []);
		mark(pick.src, bad);
		mark(pick.node, ink());
	};
	const nearest = (x, y) => {
		let best = null, least = Math.max(7, spots.unit * 0.3) ** 2;
		spots.at.forEach(([u, v], n) => { const d = (u - x) ** 2 + (v - y) ** 2; if (d < least) [best, least] = [n, d]; });
		return best;
	};
	const nearLink = (x, y) => {
		let best = null, least = 36;
		spots.lines.forEach((l, i) => {
			for (let k = 0; k + 3 < l.length; k += 2) {
				const [dx, dy] = [l[k + 2] - l[k], l[k + 3] - l[k + 1]], f = Math.min(1, Math.max(0, ((x - l[k]) * dx + (y - l[k + 1]) * dy) / (dx * dx + dy * dy || 1)));
				const d = (l[k] + f * dx - x) ** 2 + (l[k + 1] + f * dy - y) ** 2;
				if (d < least) [best, least] = [i, d];
			}
		});
		return best;
	};
	const words = l => `${l.way ? l.way + " " : ""}to ${net.names[l.to]}: ${l.state || sim.fmt.plain(l.load) + " " + net.unit}`;
	const describe = n => {
		const own = net.links.filter(l => l.from === n), list = pick.src !== null && pick.src !== n ? sim.nets.route(net, pick.src, n) : null;
		const lines = [net.names[n], ...own.slice(0, 12).map(words), own.length > 12 ? `and ${own.length - 12} more links` : ""];
		if (pick.src !== null && pick.src !== n) {
			lines.push(list ? `from ${net.names[pick.src]}: ${sim.plural(list.length, "hop")}, ${list.map(i => net.links[i].way || net.names[net.links[i].to]).join(" ")}` : `from ${net.names[pick.src]}: no route is kept`);
		}
		return lines.filter(t => t);
	};
	const choose = (n, quiet) => { if (pick.node !== n) { pick.node = n; pick.panels.forEach(c => c.redraw()); } };
	const start = n => { pick.src = pick.src === n ? null : n; pick.way = null; pick.panels.forEach(c => c.redraw()); };
	const move = (dx, dy) => {
		const [x, y] = spots.at[pick.node];
		let best = null, least = Infinity;
		spots.at.forEach(([u, v], n) => {
			const along = (u - x) * dx + (v - y) * dy, across = Math.abs((u - x) * dy) + Math.abs((v - y) * dx);
			if (along > 1 && along + 3 * across < least) [best, least] = [n, along + 3 * across];
		});
		if (best !== null) choose(best);
	};
	const c = sim.picture({
		label: `Links under ${policy}, by load. Arrow keys go from node to node, Enter shows the routes from one, Escape ends that`,
		height: w => net.place(w).h, draw,
		hover: (x, y) => {
			if (x === null) { choose(null); return sim.tip(); }
			const n = nearest(x, y), i = n === null ? nearLink(x, y) : null;
			choose(n);
			if (n !== null) c.tip(x, y, describe(n));
			else if (i !== null) c.tip(x, y, [`${net.names[net.links[i].from]} ${words(net.links[i])}`]);
			else sim.tip();
		},
		click: (x, y) => { const n = nearest(x, y); if (n !== null) { start(n); c.tip(x, y, describe(n)); } },
		key: e => {
			if (e.ctrlKey || e.metaKey || e.altKey) return false;
			const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]}[e.key];
			if (e.key === "Escape") { pick.src = null; choose(null); c.redraw(); sim.tip(); return true; }
			if (!step && e.key !== "Enter" && e.key !== " ") return false;
			if (pick.node === null) choose(0);
			else if (step) move(...step);
			else start(pick.node);
			c.tip(...spots.at[pick.node], describe(pick.node));
			return true;
		},
	});
	c.net = net;
	pick.panels.push(c);
	return c;
};

// table lists the most loaded links.
sim.nets.table = (policy, net) => {
	const most = 300, order = net.links.map((_, i) => i).sort((a, b) => net.links[b].load - net.links[a].load || a - b).slice(0, most);
	return sim.el("div", {}, net.links.length > most ? sim.el("p", {class: "note"}, `The ${most} most loaded of ${sim.fmt.count(net.links.length)} links.`) : "", sim.table({
		label: `Links under ${policy}`, columns: [{head: "from"}, {head: "link", left: true}, {head: "to", left: true}, {head: net.unit}, {head: "state", left: true}],
		rows: order.map(i => { const l = net.links[i]; return {cells: [net.names[l.from], l.way, net.names[l.to], sim.fmt.plain(l.load), l.state || "up"], values: [l.from, l.way, l.to, l.load, l.state]}; }),
	}));
};
