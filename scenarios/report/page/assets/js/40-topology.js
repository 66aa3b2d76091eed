"use strict";
// Topology: what joins what. Circuits between pods, links of tori and graphs by load, fabrics inside each other.
sim.views.push({
	id: "topology", title: "Topology",
	applies: doc => doc.kind === "run" && (doc.detail.policies.some(p => p.topology || sim.nets.has(doc, p)) || doc.tiers),
	draw(root, doc, state) {
		const sims = doc.detail.policies, names = sims.filter(p => p.topology || sim.nets.has(doc, p)).map(p => p.policy);
		if (doc.tiers) root.append(...this.tiers(doc));
		if (!names.length) return;
		const of = name => sims.find(p => p.policy === name), links = sims.some(p => sim.nets.has(doc, p));
		const {shown, controls, panels} = sim.beside(doc, state, names, name => {
			const p = of(name);
			return links ? this.net(name, nets.get(name), pick) : this.pods(doc, p, most, shown.length > 1 ? of(shown.find(s => s !== name)) : null, state);
		});
		const bar = sim.el("div", {class: "controls"}, controls);
		if (links) {
			const nets = new Map(shown.map(s => [s, sim.nets.of(doc, of(s))])), all = shown.map(s => nets.get(s));
			const pick = {src: null, node: null, way: null, panels: [], most: all.reduce((m, n) => n.links.reduce((m, l) => Math.max(m, l.load), m), 0)};
			pick.least = all.reduce((m, n) => n.links.reduce((m, l) => l.load > 0 ? Math.min(m, l.load) : m, m), 0.75 * pick.most); // small differences look small
			const ways = all[0].ways;
			if (ways.length) bar.append(sim.choice("Route", [{value: -1, text: "from a node that is chosen"}, ...ways.map((w, i) => ({value: i, text:
				`${all[0].names[w.src]} to ${all[0].names[w.dst]}, ${sim.plural(w.links.length, "hop")}${w.usual ? ", if nothing were down" : ""}`}))], -1, v => {
				pick.way = ways[v];
				pick.panels.forEach(c => c.redraw());
			}));
			const net = this.net;
			root.append(bar, sim.el("ul", {class: "legend"}, sim.scale(`load of a link, ${all[0].unit}`, pick.least, pick.most),
				all.some(n => n.links.some(l => !l.load && !l.state)) ? sim.el("li", {}, sim.swatch(sim.css("faint")), " without load") : "",
				all.some(n => n.links.some(l => l.state === "down")) ? sim.el("li", {}, sim.el("b", {class: "bad"}, "× "), "down") : "",
				all[0].idle.some(i => i) ? sim.el("li", {}, "□ switch, ● end point") : ""),
			sim.el("div", {class: "panels wide"}, shown.map(s => sim.el("div", {class: "panel"}, sim.el("h2", {}, sim.swatch(sim.line(s).color), " ", s), net.call(this, s, nets.get(s), pick)))),
			sim.el("p", {class: "note"}, (all[0].stubs ? "A link round the torus, or between slices, is a stub at the node that it leaves; of the two lines between nodes each is one direction. " : "Of the two lines between nodes each is one direction. ") +
				(all.some(n => n.pairs && n.pairs.length) ? "Choose a node, then point at another, to see the route between them." : "")));
			return;
		}
		const most = Math.max(1, ...sims.filter(p => p.topology).flatMap(p => p.topology.pairs.map(q => q.circuits)));
		const p = of(shown[0]), jobs = (p.jobs || []).map(j => j.policy);
		if (jobs.length > 1) bar.append(sim.choice("Job", [{value: "", text: "all"}, ...jobs], state.job || "", j => state.set({job: j || null})));
		if (p.moves && p.moves.length) bar.append(this.moment(p, state));
		root.append(bar, panels(), this.legend(p));
	},

	net: (name, net, pick) => [sim.nets.picture(name, net, pick), sim.alternative("Links", () => sim.nets.table(name, net))],

	legend: p => sim.el("p", {class: "note"}, "A number is circuits between two pods, and the width of a line is to scale; a pod's box says how many of its ports are used." +
		" How optical switches match ports is not modelled: circuits only fit the ports of each pod." +
		(p.topology.pairs.some(q => q.twin) ? " Short lines lead to the same pod of neighbouring replicas, which synchronise gradients." : "")),

	// moment is the choice of a moment of an iteration in which circuits move.
	moment(p, state) {
		const at = Math.min(Number(state.move) || 0, p.moves.length), m = p.moves[at - 1];
		return sim.el("span", {class: "choice"}, sim.el("label", {}, "Moment ", sim.el("input", {type: "range", min: 0, max: p.moves.length, value: at, "data-key": "moment",
			"aria-valuetext": m ? m.when : "the beginning", oninput: e => state.set({move: e.target.value})})),
		sim.el("output", {}, m ? `${sim.fmt.seconds(m.at_s)}, ${m.when}` : "the iteration begins"));
	},

	// circuits are those of a simulation, of one of its jobs if one is asked for, after its first moves.
	circuits(p, state) {
		const k = (p.jobs || []).findIndex(j => j.policy === state.job), own = p.jobs && p.jobs[k], t = (own || p).topology, count = t.pairs.map(q => q.circuits);
		if (!own) (p.moves || []).slice(0, Number(state.move) || 0).forEach(m => m.circuits.forEach(c => {
			const k = t.pairs.findIndex(q => q.a === c.a && q.b === c.b && !q.twin === !c.dp);
			if (k >= 0) count[k] = c.to;
		}));
		return {t, count, layout: k + 1};
	},

	// pods draws pods and the circuits between them; other is the policy that stands beside it.
	pods(doc, p, most, other, state) {
		const {t, count, layout} = this.circuits(p, state), wiring = doc.wirings[p.policy][layout], was = other ? this.circuits(other, state) : null;
		const bundles = t.pairs.map((q, i) => {
			const k = was ? was.t.pairs.findIndex(o => o.a === q.a && o.b === q.b && !o.twin === !q.twin) : -1;
			return {...q, circuits: count[i], differs: was && (k < 0 ? 0 : was.count[k]) !== count[i] ? count[i] - (k < 0 ? 0 : was.count[k]) : 0};
		});
		const row = sim.row(doc, p.policy), used = t.pods.reduce((s, v) => s + v.used, 0), all = t.pods.reduce((s, v) => s + v.total, 0), r = row && row.metrics.ports ? row.metrics.ports / Math.max(1, used) : 1;
		const words = q => `${t.pods[q.a].name} - ${q.twin || q.a === q.b ? "the same pod of " + (q.copies > 1 ? "each neighbouring replica" : "the other replica") : t.pods[q.b].name}`;
		const times = q => (q.twin && q.copies > 1 ? `${q.copies} × ` : "") + q.circuits;
		return [
			sim.el("p", {class: "note"}, `${sim.fmt.count(r * used)} of ${sim.fmt.count(r * all)} ports${r > 1.5 ? `, of ${sim.fmt.plain(+r.toFixed(2))} replicas; one is drawn for all` : ""}`),
			wiring.form < 2 ? this.ring(p.policy, t, bundles, most, wiring) : this.matrix(p.policy, t, bundles, most),
			sim.alternative("Circuits", () => sim.table({
				label: `Circuits of ${p.policy}`, columns: [{head: "between"}, {head: "circuits"}, ...(was ? [{head: `more than ${other.policy}`}] : [])],
				rows: bundles.map(q => ({cells: [words(q), times(q), ...(was ? [q.differs || ""] : [])], values: [words(q), q.circuits, q.differs]})),
			})),
		];
	},

	// places puts pods in rows of replicas where only neighbours are joined, and else on a circle.
	places(t, wiring, w, h) {
		if (!wiring.form) return wiring.places.map(([x, y]) => ({x: w * (x + 0.5) / wiring.columns, y: h * (y + 0.6) / wiring.rows, out: -Math.PI / 2}));
		const n = t.pods.length;
		return t.pods.map((_, i) => { const out = 2 * Math.PI * i / n - Math.PI / 2; return {x: w / 2 + (w / 2 - 130) * Math.cos(out), y: h / 2 + (h / 2 - 85) * Math.sin(out), out}; });
	},

	ring(policy, t, bundles, most, wiring) {
		const n = t.pods.length, m = wiring.form ? n : wiring.columns, w = innerWidth < 600 ? Math.max(430, m * 50) : Math.max(560, m * 56), tall = wiring.form ? Math.max(380, n * 42) : Math.max(380, 110 * wiring.rows), at = this.places(t, wiring, w, tall), flat = at.every(p => p.y === at[0].y), h = flat ? 150 : tall;
		if (flat) at.forEach(p => { p.y = 90; });
		const wide = Math.min(84, flat ? w / n * (n > 10 ? 0.62 : 0.56) : Math.max(46, 520 / m)), small = wide < 70;
		const s = (tag, attrs, ...c) => sim.el("svg:" + tag, attrs, ...c), width = q => Math.max(1.2, 11 * q.circuits / most);
		const lines = [], labels = [], ends = [];
		const label = (x, y, q, clr) => {
			const text = (q.twin && q.copies > 1 ? `${q.copies} × ` : "") + q.circuits, differs = q.differs ? ` (${q.differs > 0 ? "+" : "−"}${Math.abs(q.differs)})` : "", long = (text + differs).length;
			labels.push(s("rect", {x: x - long * 3.9 - 3, y: y - 9, width: long * 7.8 + 6, height: 18, rx: 3, class: "ground"}),
				s("text", {x, y: y + 4.5, "text-anchor": "middle", class: clr}, text, differs ? s("tspan", {class: "differs"}, differs) : ""));
		};
		for (const q of bundles) {
			const a = at[q.a], b = at[q.b];
			if (q.twin || q.a === q.b) {
				const copies = Math.min(2, q.copies || 1), edge = [a.x + Math.cos(a.out) * wide / 2, a.y + Math.sin(a.out) * 20];
				for (let k = 0; k < copies; k++) {
					const angle = a.out + 1.1 * (k - (copies - 1) / 2), x = edge[0] + 22 * Math.cos(angle), y = edge[1] + 22 * Math.sin(angle);
					lines.push(s("line", {x1: edge[0], y1: edge[1], x2: x, y2: y, class: "peer", "stroke-width": width(q) / 2 + 0.6}));
					ends.push(s("circle", {cx: x, cy: y, r: 4, class: "peer"}));
				}
				label(edge[0] + 44 * Math.cos(a.out) * (flat ? 1 : 1.25), edge[1] + 40 * Math.sin(a.out), q, "peer");
				continue;
			}
			lines.push(s("line", {x1: a.x, y1: a.y, x2: b.x, y2: b.y, class: q.circuits ? "circuit" : "none", "stroke-width": q.circuits ? width(q) : 1}));
			const d = Math.abs(q.a - q.b), f = flat || d === 1 || d === n - 1 ? 0.5 : 0.34;
			label(a.x + (b.x - a.x) * f, a.y + (b.y - a.y) * f - (flat ? 12 + width(q) / 2 : 0), q, "circuit");
		}
		const boxes = t.pods.map((p, i) => {
			const box = s("g", {}, s("title", {}, `${p.name}: ${p.used} of ${p.total} ports`), s("rect", {x: at[i].x - wide / 2, y: at[i].y - 20, width: wide, height: 40, rx: 4, class: "pod"}),
				s("text", {x: at[i].x, y: at[i].y - 3, "text-anchor": "middle", class: "strong"}, small ? p.name.replace(/^pod /, "") : p.name),
				s("text", {x: at[i].x, y: at[i].y + 13, "text-anchor": "middle", class: "small"}, `${p.used}/${p.total}${small ? "" : " ports"}`));
			return box;
		});
		return s("svg", {viewBox: `0 0 ${w} ${h}`, class: "pods", role: "img", "aria-label": `Circuits of ${policy}; the table below says them`}, lines, ends, labels, boxes);
	},

	// matrix shows the circuits between more pods than lines could.
	matrix(policy, t, bundles, most) {
		const n = t.pods.length, peers = bundles.some(q => q.twin || q.a === q.b), columns = n + (peers ? 2 : 0);
		let cell = 1;
		const at = new Map();
		for (const q of bundles) {
			if (q.twin || q.a === q.b) at.set(`${q.a} ${n + 1}`, q);
			else if (q.circuits) { at.set(`${q.a} ${q.b}`, q); at.set(`${q.b} ${q.a}`, q); }
		}
		let row = 0, column = 0;
		const tell = c => {
			const q = at.get(`${row} ${column}`), to = column > n ? "DP peers" : column === n ? "" : t.pods[column].name;
			if (to) c.tip(40 + (column + 1) * cell, 22 + (row + 1) * cell, [`${t.pods[row].name} - ${to}`, q ? `${q.circuits} circuits` : "none"]);
		};
		const c = sim.picture({
			label: `Circuits of ${policy} as a matrix of pods. Arrow keys go from pair to pair`,
			height: w => { cell = Math.max(3, Math.min(26 * sim.size(), (w - 50) / columns)); return 30 + n * cell; },
			draw(ctx) {
				const blue = sim.tone("#0072b2"), red = sim.tone("#d55e00");
				ctx.fillStyle = sim.css("band");
				ctx.fillRect(40, 22, n * cell, n * cell);
				for (const [key, q] of at) {
					const [r, k] = key.split(" ").map(Number);
					ctx.globalAlpha = 0.2 + 0.8 * q.circuits / most;
					ctx.fillStyle = k > n ? red : blue;
					ctx.fillRect(40 + k * cell, 22 + r * cell, Math.max(1, cell - 0.6), Math.max(1, cell - 0.6));
					ctx.globalAlpha = 1;
					if (cell < 14) continue;
					ctx.fillStyle = q.circuits / most > 0.45 ? sim.css("ground") : sim.css("ink");
					ctx.textAlign = "center";
					ctx.fillText(q.circuits, 40 + (k + 0.5) * cell, 26 + (r + 0.5) * cell);
				}
				ctx.fillStyle = sim.css("dim");
				const step = Math.ceil(24 / cell);
				for (let i = 0; i < n; i += step) {
					ctx.textAlign = "center";
					ctx.fillText(i, 40 + (i + 0.5) * cell, 16);
					ctx.textAlign = "right";
					ctx.fillText(i, 34, 26 + (i + 0.5) * cell);
				}
				if (peers) ctx.fillText("DP", 40 + (n + 2) * cell, 16);
			},
			hover(x, y) {
				if (x === null) return sim.tip();
				[row, column] = [Math.floor((y - 22) / cell), Math.floor((x - 40) / cell)];
				if (row >= 0 && row < n && column >= 0 && column < columns) tell(c); else sim.tip();
			},
			key(e) {
				const step = {ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0]}[e.key];
				if (!step) return false;
				row = Math.min(n - 1, Math.max(0, row + step[0]));
				column = Math.min(columns - 1, Math.max(0, column + step[1]));
				tell(c);
				return true;
			},
		});
		return c;
	},

	// tiers draws fabrics inside each other, and what each carries and costs under every policy.
	tiers(doc) {
		const rows = doc.result.rows.filter(r => doc.tiers[r.policy]).map(r => [r.policy, doc.tiers[r.policy]]), tiers = rows[0][1].map(t => t.name);
		const busiest = i => Math.max(...rows.map(([, list]) => list[i].busy));
		const nest = i => sim.el("div", {class: "tier"}, sim.el("div", {}, sim.el("b", {}, tiers[i]), ` busy for at most ${sim.fmt.percent(busiest(i))} of the time`), i ? nest(i - 1) : "");
		return [sim.el("h2", {}, "Tiers, one inside the other"), nest(tiers.length - 1), sim.table({
			label: "Time by tier",
			columns: [{head: "policy"}, {head: "tier", left: true}, {head: "carries"}, {head: "busy"}, {head: "exposed"}, {head: "iteration if twice as fast"}],
			rows: rows.flatMap(([policy, list]) => list.map(t => ({
				cells: [policy, t.name, sim.fmt.bytes(t.bytes), sim.fmt.percent(t.busy), sim.fmt.seconds(t.exposed_s), sim.fmt.seconds(t.doubled_s)],
				values: [policy, t.name, t.bytes, t.busy, t.exposed_s, t.doubled_s],
			}))),
		}), sim.el("p", {class: "note"}, "Exposed by a tier is how much shorter the iteration would be if the tier took no time.")];
	},
});
