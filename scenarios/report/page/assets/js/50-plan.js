"use strict";
// Plan: how a collective goes over a domain whose links are reconfigured, slot by slot.
sim.views.push({
	id: "plan", title: "Plan",
	applies: doc => doc.kind === "run" && doc.detail.policies.some(p => p.schedule && (p.schedule.phases || []).length),
	draw(root, doc, state) {
		const plans = doc.detail.policies.filter(p => (doc.plans || {})[p.policy]), names = plans.map(p => p.policy);
		const name = names.includes(state.policy) ? state.policy : names.includes(sim.best(doc)) ? sim.best(doc) : names[0];
		const plan = this.frames(plans.find(p => p.policy === name).schedule, doc.plans[name]), end = plan.frames.at(-1).to;
		const slowest = names.map(n => [doc.plans[n].end_s, n]).reduce((a, b) => b[0] > a[0] ? b : a), own = slowest[0] > 4 * end, longest = own ? end : slowest[0];
		let at = Math.min(Math.max(Number(state.frame) || 0, 0), plan.frames.length - 1), timer = 0, speed = 4;
		const words = sim.el("p", {class: "frame", role: "status"}), moves = sim.el("div");
		const scrub = sim.el("input", {type: "range", min: 0, max: plan.frames.length - 1, value: at, "aria-label": "Moment of the plan", "data-key": "scrub", class: "long", oninput: e => { stop(); go(Number(e.target.value)); }});
		const play = sim.el("button", {type: "button", "data-key": "play", onclick: () => timer ? stop() : start()}, "Play");
		const button = (text, label, to) => sim.el("button", {type: "button", "aria-label": label, "data-key": label, onclick: () => { stop(); go(to()); }}, text);
		const stop = () => { clearInterval(timer); timer = 0; play.textContent = "Play"; };
		const start = () => {
			if (at === plan.frames.length - 1) go(0);
			clearInterval(timer);
			timer = setInterval(() => at < plan.frames.length - 1 ? go(at + 1) : stop(), 1000 / speed);
			play.textContent = "Pause";
		};
		const go = i => {
			at = Math.min(Math.max(i, 0), plan.frames.length - 1);
			scrub.value = at;
			scrub.setAttribute("aria-valuetext", this.words(plan, at));
			state.set({frame: at || null}, true);
			words.textContent = this.words(plan, at);
			moves.replaceChildren(this.crossing(plan, at));
			picture.redraw();
			strip.redraw();
		};
		const starts = plan.frames.flatMap((f, i) => f.setup || !i ? [i] : []);
		const picture = plan.gpus <= 24 ? this.ring(plan, () => at, name) : this.matrix(plan, () => at, name);
		const strip = this.strip(plan, () => at, longest, i => { stop(); go(i); });
		sim.leave.push(stop);
		root.append(sim.el("div", {class: "controls"}, names.length > 1 ? sim.choice("Planner", names, name, p => state.set({policy: p, frame: null})) : "",
			button("|◀", "Reconfiguration before", () => starts.filter(i => i < at).at(-1) || 0), button("◀", "Step back", () => at - 1), play,
			button("▶", "Step", () => at + 1), button("▶|", "Reconfiguration after", () => starts.find(i => i > at) || plan.frames.length - 1),
			sim.choice("Speed", [1, 2, 4, 10, 30].map(v => ({value: v, text: `${v} a second`})), speed, v => { speed = Number(v); if (timer) start(); })),
		scrub, words, strip, sim.el("ul", {class: "legend"}, this.legend(plan), plans.length > 1 ? sim.el("li", {}, `${own ? "to scale of this plan" : "all plans to one scale"}; the longest, ${slowest[1]}, takes ${sim.fmt.seconds(slowest[0])}`) : ""), sim.el("div", {class: "panels wide"}, picture, moves),
		sim.alternative("Plan", () => this.table(plan, name, end)));
		go(at);
	},

	// frames are the moments of a plan: a reconfiguration, a slot, or steps in a row whose messages are equally long.
	frames(s, plan) {
		const frames = [], held = new Array(s.gpus).fill(0);
		let done = 0;
		s.phases.forEach((p, k) => {
			const part = plan.parts[k], edges = plan.sets[part.set].links, set = part.set + 1, fresh = !p.reused || !k;
			let t = part.from_s, slots = part.before, x = 0;
			if (fresh && s.delay_s > 0 && !s.intervals) frames.push({setup: true, phase: k, set, edges, from: t - s.delay_s, to: t, sent: [], done, held: held.slice()});
			for (const r of p.steps || []) for (let i = 0; i < Math.min(r.count, 512); i++) {
				const each = r.count / Math.min(r.count, 512);
				frames.push({phase: k, set, edges, from: t, to: t += r.step_s * each, bytes: r.bytes, kind: p.kind, first: slots + 1, last: slots += each, sent: [], busy: edges.length});
			}
			const by = Array.from({length: p.slots}, () => []);
			for (const m of p.sent || []) by[m[0]].push(m);
			const known = (p.sent || []).length > 0, each = Math.ceil(p.slots / 2000); // of many slots some together
			for (let i = 0; i < p.slots; i += each) {
				const n = Math.min(each, p.slots - i), sent = [];
				for (let j = i; j < i + n; j++) for (const [, from, to, src, dst, chunk] of by[j]) {
					if (from !== src) held[from]--;
					if (to === dst) done++; else held[to]++;
					sent.push({from, to, src, dst, chunk, hop: part.hops[x++]});
				}
				const busy = (p.busy || []).slice(i, i + n).reduce((a, b) => a + b, 0) / n;
				frames.push({setup: s.intervals && fresh && !i, phase: k, set, edges, from: t, to: t += n * s.slot_s, first: slots + 1, last: slots += n, sent, known, busy, done, held: held.slice()});
			}
		});
		return {frames, gpus: s.gpus, sets: plan.sets.length, slots: plan.rounds, steps: plan.steps, most: plan.max_hops || 1, total: done, origin: s.origin, delay: s.delay_s, intervals: s.intervals};
	},

	words(plan, i) {
		const f = plan.frames[i], at = `${sim.fmt.seconds(f.from)} to ${sim.fmt.seconds(f.to)}: `;
		if (f.setup && !f.last) return at + `the switches set up topology ${f.set} of ${plan.sets}; nothing crosses`;
		const what = plan.steps ? "step" : "slot", number = Math.round(f.first) === Math.round(f.last) ? `${what} ${Math.round(f.first)}` : `${what}s ${Math.round(f.first)} to ${Math.round(f.last)}`;
		const done = plan.total ? `; ${sim.fmt.count(f.done)} of ${sim.fmt.count(plan.total)} chunks delivered` : "";
		const held = f.held && f.held.some(h => h) ? `, ${Math.max(...f.held)} at most wait at a GPU on their way` : "";
		return at + `${number} of ${sim.fmt.count(Math.round(plan.slots))} on topology ${f.set} of ${plan.sets}` +
			(plan.steps ? `, ${f.kind || "step"}: messages of up to ${sim.fmt.bytes(f.bytes)} on every link` : `; ${sim.fmt.plain(+f.busy.toFixed(2))} of ${f.edges.length} links carry a chunk`) + done + held;
	},

	color: (plan, hop) => sim.tone(["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9"][(hop - 1) % 6]),

	legend(plan) {
		const hops = Array.from({length: Math.min(plan.most, 6)}, (_, i) => sim.el("li", {}, sim.swatch(this.color(plan, i + 1)), ` hop ${i + 1}${i === 5 && plan.most > 6 ? ", 7, ..." : ""}${i ? "" : " of a chunk"}`));
		return [sim.el("li", {}, sim.swatch(sim.css("dim")), plan.intervals ? " a switch reconfigures" : " reconfiguration"), ...(plan.total ? hops : [])];
	},

	// ring puts few GPUs on a circle, with an arrow for every link.
	ring(plan, at, name) {
		return sim.picture({
			label: `Links of the plan of ${name} at a moment, and the chunks that cross them`, height: w => Math.min(w, 520 * sim.size()),
			draw: (g, w, h) => {
				const f = plan.frames[at()], r = Math.min(w, h) / 2 - 34 * sim.size(), n = plan.gpus, ball = Math.min(17, Math.max(8, 3.6 * r / n)) * sim.size();
				const spot = i => { const a = 2 * Math.PI * i / n - Math.PI / 2; return [w / 2 + r * Math.cos(a), h / 2 + r * Math.sin(a)]; };
				const carried = new Map();
				for (const x of f.sent) carried.set(`${x.from} ${x.to}`, [...(carried.get(`${x.from} ${x.to}`) || []), x]);
				const arrow = (from, to, color, wide, text, dash) => {
					const [a, b] = [spot(from), spot(to)], both = f.edges.some(e => e[0] === to && e[1] === from);
					const d = Math.hypot(b[0] - a[0], b[1] - a[1]), [ux, uy] = [(b[0] - a[0]) / d, (b[1] - a[1]) / d], bend = both ? Math.min(18, d * 0.12) : 0;
					const mid = [(a[0] + b[0]) / 2 - uy * bend * 2, (a[1] + b[1]) / 2 + ux * bend * 2];
					const [ax, ay] = [mid[0] - a[0], mid[1] - a[1]].map(v => v / Math.hypot(mid[0] - a[0], mid[1] - a[1])), [bx, by] = [b[0] - mid[0], b[1] - mid[1]].map(v => v / Math.hypot(b[0] - mid[0], b[1] - mid[1]));
					const tip = [b[0] - bx * (ball + 2), b[1] - by * (ball + 2)], angle = Math.atan2(by, bx), size = 5 + wide * 1.4;
					g.strokeStyle = g.fillStyle = color;
					g.lineWidth = wide;
					g.setLineDash(dash || []);
					g.beginPath();
					g.moveTo(a[0] + ax * ball, a[1] + ay * ball);
					g.quadraticCurveTo(mid[0], mid[1], tip[0] - bx * size * 0.7, tip[1] - by * size * 0.7);
					g.stroke();
					g.setLineDash([]);
					g.beginPath();
					for (const [l, t] of [[0, 0], [-size, -0.4], [-size, 0.4]]) g.lineTo(tip[0] + l * Math.cos(angle + t), tip[1] + l * Math.sin(angle + t));
					g.fill();
					if (!text) return;
					const p = d < 120 ? 0.4 : Math.min(0.5, 70 * sim.size() / d), x = (1 - p) ** 2 * a[0] + 2 * p * (1 - p) * mid[0] + p * p * b[0], y = (1 - p) ** 2 * a[1] + 2 * p * (1 - p) * mid[1] + p * p * b[1];
					sim.font(g, n > 12 ? 10 : 12);
					const wide2 = g.measureText(text).width;
					g.fillStyle = sim.css("ground");
					g.fillRect(x - wide2 / 2 - 2, y - 7 * sim.size(), wide2 + 4, 14 * sim.size());
					g.fillStyle = sim.css("ink");
					g.textAlign = "center";
					g.fillText(text, x, y + 4 * sim.size());
				};
				const drawn = new Set();
				for (const [from, to] of f.edges) {
					const key = `${from} ${to}`, list = carried.get(key);
					if (drawn.has(key)) continue;
					drawn.add(key);
					if (!list) arrow(from, to, f.setup && !f.last ? sim.css("dim") : sim.css("faint"), 1.3, "", f.setup && !f.last ? [5, 4] : null);
				}
				for (const list of carried.values()) {
					const x = list[0];
					arrow(x.from, x.to, this.color(plan, x.hop), 2.6, n > 18 ? "" : list.length > 2 ? `${list.length} chunks` : list.map(c => `${c.src}→${c.dst}`).join(", "));
				}
				g.textAlign = "center";
				for (let i = 0; i < n; i++) {
					const [x, y] = spot(i);
					g.beginPath();
					g.arc(x, y, ball, 0, 7);
					g.fillStyle = sim.css("raised");
					g.fill();
					g.strokeStyle = sim.css("ink");
					g.lineWidth = 1;
					g.stroke();
					g.fillStyle = sim.css("ink");
					sim.font(g, 12);
					g.fillText(i, x, y + 4 * sim.size());
				}
			},
		});
	},

	// matrix shows the links of many GPUs: a row is who sends, a column who receives.
	matrix(plan, at, name) {
		let cell = 1;
		const c = sim.picture({
			label: `Links of the plan of ${name} at a moment: rows send, columns receive`, height: w => Math.min(w, 640 * sim.size()),
			draw: (g, w, h) => {
				const f = plan.frames[at()], n = plan.gpus, room = Math.min(w, h) - 40, wide = room / n;
				cell = wide;
				g.strokeStyle = sim.css("faint");
				g.strokeRect(36, 20, room, room);
				const put = (from, to, color) => { g.fillStyle = color; g.fillRect(36 + to * wide, 20 + from * wide, Math.max(1.5, wide - 0.5), Math.max(1.5, wide - 0.5)); };
				for (const [from, to] of f.edges) put(from, to, f.setup && !f.last ? sim.css("dim") : sim.css("faint"));
				for (const x of f.sent) put(x.from, x.to, this.color(plan, x.hop));
				g.fillStyle = sim.css("dim");
				const step = [1, 2, 4, 8, 16, 32, 64, 128, 256].find(s => s * wide >= 26 * sim.size()) || 512;
				for (let i = 0; i < n; i += step) {
					g.textAlign = "center";
					g.fillText(i, 36 + (i + 0.5) * wide, 14);
					g.textAlign = "right";
					g.fillText(i, 31, 24 + (i + 0.5) * wide);
				}
			},
			hover: (x, y) => {
				const to = x === null ? -1 : Math.floor((x - 36) / cell), from = x === null ? -1 : Math.floor((y - 20) / cell), f = plan.frames[at()];
				if (to < 0 || from < 0 || to >= plan.gpus || from >= plan.gpus || !f.edges.some(e => e[0] === from && e[1] === to)) return sim.tip();
				const sent = f.sent.filter(s => s.from === from && s.to === to);
				c.tip(x, y, [`GPU ${from} to GPU ${to}`, ...sent.slice(0, 6).map(s => `chunk ${s.chunk} from ${s.src} for ${s.dst}, hop ${s.hop}`), sent.length ? "" : "carries nothing now"].filter(t => t));
			},
		});
		return c;
	},

	// strip is the plan in time, to scale with all plans: how many links carry something, reconfigurations between.
	strip(plan, at, longest, choose) {
		const c = sim.picture({
			label: "The plan in time: bars are links that carry chunks, grey is reconfiguration. Arrow keys step", height: () => 74 * sim.size(),
			draw: (g, w, h) => {
				const x = t => 2 + (w - 4) * t / longest, foot = h - 18 * sim.size(), top = Math.max(1, ...plan.frames.map(f => f.edges.length));
				for (const f of plan.frames) {
					if (f.setup && !f.last) { g.fillStyle = sim.css("dim"); g.fillRect(x(f.from), 4, Math.max(0.6, x(f.to) - x(f.from)), foot - 4); continue; }
					g.fillStyle = sim.tone("#0072b2");
					const tall = (foot - 4) * (plan.steps ? 1 : f.busy / top);
					g.fillRect(x(f.from), foot - tall, Math.max(0.5, x(f.to) - x(f.from) - (x(f.to) - x(f.from) > 4 ? 0.7 : 0)), tall);
					if (f.setup) { g.fillStyle = sim.css("dim"); g.fillRect(x(f.from), 4, 1.5, foot - 4); }
				}
				const f = plan.frames[at()];
				g.strokeStyle = sim.css("bad");
				g.lineWidth = 2;
				g.strokeRect(x(f.from) - 1, 2, Math.max(3, x(f.to) - x(f.from) + 2), foot);
				g.fillStyle = sim.css("dim");
				const u = sim.fmt.unit(longest);
				for (const t of sim.ticks(0, longest, w / 110 / sim.size())) { g.textAlign = t ? "center" : "left"; if (x(t) < w - 22 * sim.size()) g.fillText(`${+(t * u.per).toPrecision(6)} ${u.name}`, x(t), h - 4); }
			},
			click: px => { const w = c.clientWidth, t = (px - 2) / (w - 4) * longest, i = plan.frames.findIndex(f => t < f.to); choose(i < 0 ? plan.frames.length - 1 : i); },
			key: e => {
				const step = {ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10}[e.key];
				if (step) choose(at() + step);
				else if (e.key === "Home") choose(0);
				else if (e.key === "End") choose(plan.frames.length - 1);
				else return false;
				return true;
			},
		});
		return c;
	},

	// crossing lists the chunks that cross links now.
	crossing(plan, i) {
		const f = plan.frames[i], most = 24;
		if (!f.sent.length) return sim.el("p", {class: "note"}, f.setup && !f.last ? "No link carries anything while the switches reconfigure." : f.known === false && !plan.steps ? "Which chunks cross is not kept of a plan of so many." : "");
		return sim.el("div", {}, sim.table({
			label: "Chunks that cross", columns: [{head: "link"}, {head: "chunk", left: true}, {head: "hop"}],
			rows: f.sent.slice(0, most).map(x => ({cells: [`${x.from} → ${x.to}`, `${x.chunk} from ${x.src} for ${x.dst}`, x.hop]})),
		}), f.sent.length > most ? sim.el("p", {class: "note"}, `and ${f.sent.length - most} more`) : "");
	},

	table(plan, name) {
		const sets = [];
		for (const f of plan.frames) {
			const s = sets[f.set - 1] = sets[f.set - 1] || {set: f.set, edges: f.edges, from: f.from, slots: 0, busy: 0};
			s.to = f.to;
			if (f.last) { const n = f.last - f.first + 1; s.slots += n; s.busy += n * (f.busy || 0); }
		}
		return sim.table({
			label: `Plan of ${name}`, columns: [{head: "topology"}, {head: "from"}, {head: "to"}, {head: "links"}, {head: plan.steps ? "steps" : "slots"}, {head: "links that carry, mean"}],
			rows: sets.map(s => ({cells: [String(s.set), sim.fmt.seconds(s.from), sim.fmt.seconds(s.to), s.edges.length, Math.round(s.slots), sim.fmt.plain(+(s.busy / (s.slots || 1)).toFixed(2))],
				values: [s.set, s.from, s.to, s.edges.length, s.slots, s.busy / (s.slots || 1)]})),
		});
	},
});
