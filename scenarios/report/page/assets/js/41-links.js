"use strict";
// Links and what they carry: a torus or a graph on a canvas, coloured by load, with the route of a pair.

// A net is a layout that the data hold, {names, idle, at, texts, high, step, stubs, unit, links [{way, line}]}, with the
// loads of a policy: links have {from, to, load, state}, too, and pairs and ways are routes. Lengths are shares of a width.
sim.nets = {};

// has tells whether a simulation has links and their layout.
sim.nets.has = (doc, p) => (p.lattice || p.graph) && doc.net_of && doc.net_of[p.policy] !== undefined;

sim.nets.of = (doc, p) => {
	const own = p.lattice || p.graph, net = doc.nets[doc.net_of[p.policy]];
	return {...net, idle: net.idle || [], pairs: own.pairs, ways: own.ways || [], links: net.links.map((l, i) => ({...l, from: own.links[i].from, to: own.links[i].to, load: own.links[i].load, state: own.links[i].state || ""}))};
};

// place is a net in a width: {h, unit, at, lines, texts} in pixels.
sim.nets.place = (net, width) => {
	const w = Math.min(width, 60 * sim.size() / net.step), scale = v => v.map(x => x * w);
	return {h: net.high * w + 4, unit: net.step * w, at: net.at.map(scale), lines: net.links.map(l => scale(l.line)),
		texts: (net.texts || []).map(t => ({text: t.text, x: t.x * w, y: t.y * w + 4, wide: (t.wide || 1) * w}))};
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

// links is the picture of a net. pick is what the panels share: {src, node, way, panels, least, most}.
sim.nets.picture = (policy, net, pick) => {
	let base = null, spots = null;
	const ink = () => sim.css("ink");
	const trace = (ctx, line, clip) => {
		ctx.moveTo(line[0], line[1]);
		for (let k = 2; k < line.length; k += 2) ctx.lineTo(line[k], line[k + 1]);
	};
	const paintBase = (w, scale) => {
		spots = sim.nets.place(net, w);
		base = new OffscreenCanvas(Math.max(1, Math.round(w * scale)), Math.round(spots.h * scale));
		const ctx = base.getContext("2d"), shades = 48, paths = Array.from({length: shades + 1}, () => new Path2D()), unit = spots.unit;
		ctx.scale(scale, scale);
		const down = [];
		net.links.forEach((l, i) => {
			if (l.state === "down") return down.push(i);
			trace(paths[l.load ? 1 + Math.round((l.load - pick.least) / (pick.most - pick.least) * (shades - 1)) : 0], spots.lines[i]);
		});
		ctx.lineWidth = Math.min(5, Math.max(1, unit * 0.11));
		paths.forEach((p, k) => { ctx.strokeStyle = k ? sim.load((k - 1) / (shades - 1)) : sim.css("faint"); ctx.stroke(p); });
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
		height: w => sim.nets.place(net, w).h, draw,
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
