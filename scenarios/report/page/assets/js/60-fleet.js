"use strict";
// Fleet: which jobs are on the cubes of a pod, day by day, what fails and is repaired, and the pod at a moment.
sim.views.push({
	id: "fleet", title: "Fleet",
	applies: doc => doc.kind === "run" && doc.detail.policies.some(p => p.fleet && (p.fleet.cubes || []).length),
	draw(root, doc, state) {
		const sims = doc.detail.policies.filter(p => p.fleet && (p.fleet.cubes || []).length), of = name => sims.find(p => p.policy === name).fleet;
		const all = sims.map(p => p.fleet), whole = [Math.min(...all.map(f => f.from_s)), Math.max(...all.map(f => f.until_s))];
		const by = state.by === "size" ? "size" : "job", view = {from: whole[0], to: whole[1], whole, at: Math.max(whole[0], Number(state.at) || doc.moment || whole[0]), all: []};
		const redraw = () => view.all.forEach(c => c.redraw());
		const moment = t => {
			view.at = Math.min(Math.max(t, whole[0]), whole[1] - 1);
			scrub.value = view.at;
			when.textContent = this.day(view.at);
			scrub.setAttribute("aria-valuetext", this.day(view.at));
			state.set({at: Math.round(view.at)}, true);
			redraw();
		};
		const scrub = sim.el("input", {type: "range", min: whole[0], max: whole[1], step: 600, value: view.at, "aria-label": "Moment", "data-key": "moment", class: "long", oninput: e => moment(Number(e.target.value))});
		const when = sim.el("output", {}, this.day(view.at));
		const {controls, panels} = sim.beside(doc, state, sims.map(p => p.policy), name => {
			const f = of(name), days = this.days(f, name, view, by, redraw, moment), pod = this.pod(f, name, view, by), free = sim.el("p", {class: "note", role: "status"});
			view.all.push(days, pod, {redraw: () => { free.textContent = this.free(f, view.at); }});
			free.textContent = this.free(f, view.at);
			return [days, sim.el("h3", {}, "The pod at that moment"), free, pod, sim.alternative("Jobs", () => this.table(f, name)), sim.alternative("Failures and repairs", () => this.events(f, name))];
		});
		root.append(sim.el("div", {class: "controls"}, controls,
			sim.choice("Colours", [{value: "job", text: "of jobs"}, {value: "size", text: "of sizes"}], by, v => state.set({by: v === "job" ? null : v})),
			sim.el("button", {type: "button", "data-key": "whole", onclick: () => { [view.from, view.to] = whole; redraw(); }}, "All days")),
		scrub, sim.el("p", {class: "frame"}, "Moment: ", when), this.legend(all, by), panels(),
		sim.el("p", {class: "note"}, (whole[0] > 0 ? `Before ${this.day(whole[0])} the simulation warms up. ` : "") + "A row is a cube. Turn the wheel with Ctrl, or press + and -, to zoom; drag or press arrow keys to move; press 0 for all days; choose a place to see the pod then."));
	},

	day: t => `day ${(t / 86400).toFixed(2)}`,
	hues: ["#0072b2", "#56b4e9", "#009e73", "#cc79a7", "#7a6fc1", "#8fbf5a", "#4b8b9b", "#b8a04f", "#9b5d8a", "#6d8fd6", "#3f7d4f", "#b0b7be"],

	color(span, by) {
		if (by === "size" || !span.label) return sim.bars.kind(span.kind).color;
		return sim.tone(this.hues[Number(span.label.split(" ")[0]) * 7 % this.hues.length]);
	},

	legend(all, by) {
		const seen = new Set(all.flatMap(f => f.cubes.flatMap(c => (c.spans || []).filter(s => by === "size" || !s.label).map(s => s.kind))));
		const kinds = sim.data.look.spans.filter(k => seen.has(k.name));
		return sim.el("ul", {class: "legend"}, by === "job" ? sim.el("li", {}, this.hues.slice(0, 5).map(h => sim.swatch(sim.tone(h))), " jobs, a colour each in turn") : "",
			kinds.map(k => sim.el("li", {}, sim.swatch(sim.tone(k.color)), " " + k.words)), sim.el("li", {}, sim.swatch(sim.css("band")), " free"),
			all.some(f => (f.events || []).length) ? [sim.el("li", {}, sim.el("span", {class: "bad"}, "▼"), " fails"), sim.el("li", {}, sim.el("span", {class: "good"}, "▲"), " repaired")] : "");
	},

	free(f, t) {
		const looks = (f.looks || []).filter(l => l.at_s <= t), l = looks.at(-1), now = f.cubes.filter(c => !this.on(c, t).length).length;
		return `${now} of ${f.cubes.length} cubes free` + (l ? `; the largest slice that fitted on ${this.day(l.at_s)}, with ${l.free} free: ${l.largest} ${l.largest === 1 ? "cube" : "cubes"}` : "");
	},

	on: (cube, t) => (cube.spans || []).filter(s => s.start_s <= t && t < s.end_s),

	words(span) {
		const [job, shape, ...left] = span.label.split(" "), time = `${this.day(span.start_s)} to ${this.day(span.end_s).slice(4)}`;
		return span.label ? [`job ${job}, ${shape}`, time, left[0] === "end" ? "still there when the simulation ends" : left.join(" ")] : [span.kind, time];
	},

	// days draws the cubes over time.
	days(f, name, view, by, redraw, moment) {
		const left = 34 * sim.size(), head = 14, foot = 18 * sim.size();
		let high = 8, row = 0, drag = null;
		const x = (t, w) => left + (w - left - 4) * (t - view.from) / (view.to - view.from), time = (px, w) => view.from + (px - left) / (w - left - 4) * (view.to - view.from);
		const zoom = (t, by) => {
			const [a, b] = view.whole, long = Math.min(b - a, Math.max(600, (view.to - view.from) * by)), share = (t - view.from) / (view.to - view.from);
			view.from = Math.min(Math.max(a, t - share * long), b - long);
			view.to = view.from + long;
			redraw();
		};
		const shift = by => { const d = Math.min(Math.max(by, view.whole[0] - view.from), view.whole[1] - view.to); view.from += d; view.to += d; redraw(); };
		const tell = (px, py) => {
			const w = c.clientWidth, t = time(px, w), k = Math.floor((py - head) / high);
			if (py < head) {
				const near = (f.events || []).filter(e => Math.abs(x(e.at_s, w) - px) < 5);
				return near.length ? c.tip(px, py, near.slice(0, 6).map(e => `${this.day(e.at_s)}: ${e.part} ${e.number} ${e.what}`)) : sim.tip();
			}
			if (k < 0 || k >= f.cubes.length || px < left) return sim.tip();
			const on = this.on(f.cubes[k], t);
			c.tip(px, py, [`${f.cubes[k].name}, ${this.day(t)}`, ...(on.length ? on.flatMap(s => this.words(s).filter(l => l)).slice(0, 9) : ["free"])]);
		};
		const c = sim.picture({
			label: `Jobs on the cubes of a pod under ${name}. Arrow keys up and down go from cube to cube, left and right through time, + and - zoom, 0 shows all days, Enter chooses the moment`,
			height: w => { high = (w > 1400 ? 9 : 7) * sim.size(); return head + f.cubes.length * high + foot; },
			draw: (g, w, h) => {
				const end = head + f.cubes.length * high;
				g.fillStyle = sim.css("band");
				g.fillRect(left, head, w - left - 4, end - head);
				g.save();
				g.beginPath();
				g.rect(left, 0, w - left - 4, end);
				g.clip();
				const last = (view.to - view.from) / (w - left);
				f.cubes.forEach((cube, k) => {
					for (const s of cube.spans || []) {
						if (s.end_s < view.from || s.start_s > view.to) continue;
						g.fillStyle = this.color(s, by);
						g.fillRect(x(s.start_s, w), head + k * high, Math.max(0.7, (s.end_s - s.start_s) / last - 0.4), high - 0.8);
					}
				});
				for (const e of f.events || []) {
					const px = x(e.at_s, w), up = e.what === "up" || e.what.startsWith("repaired");
					g.fillStyle = sim.css(up ? "good" : "bad");
					g.beginPath();
					for (const [dx, dy] of up ? [[-3.5, 12], [3.5, 12], [0, 6]] : [[-3.5, 2], [3.5, 2], [0, 8]]) g.lineTo(px + dx, dy);
					g.fill();
				}
				g.strokeStyle = sim.css("ink");
				g.lineWidth = 1.5;
				g.beginPath();
				g.moveTo(x(view.at, w), 0);
				g.lineTo(x(view.at, w), end);
				g.stroke();
				g.restore();
				g.fillStyle = sim.css("dim");
				g.textAlign = "right";
				for (let k = 0; k < f.cubes.length; k += 8) g.fillText(k, left - 5, head + k * high + 9 * sim.size());
				g.textAlign = "center";
				for (const d of sim.ticks(view.from / 86400, view.to / 86400, w / 90 / sim.size())) g.fillText(`day ${+d.toPrecision(6)}`, Math.min(Math.max(x(d * 86400, w), left + 18 * sim.size()), w - 24 * sim.size()), h - 4);
			},
			hover: (px, py, e) => {
				if (px === null) return drag ? null : sim.tip();
				if (!drag || !e.buttons) { drag = null; return tell(px, py); }
				if (Math.abs(px - drag.px) > 3) drag.moved = true;
				if (drag.moved) { const w = c.clientWidth; shift(drag.from - (px - drag.px) * (view.to - view.from) / (w - left) - view.from); }
			},
			click: px => { if (!drag || !drag.moved) moment(time(px, c.clientWidth)); drag = null; },
			key: e => {
				const w = c.clientWidth, step = (view.to - view.from) / 40, mid = view.at >= view.from && view.at <= view.to ? view.at : (view.from + view.to) / 2;
				if (e.ctrlKey || e.metaKey || e.altKey) return false;
				if (e.key === "+" || e.key === "=") zoom(mid, 0.7);
				else if (e.key === "-") zoom(mid, 1 / 0.7);
				else if (e.key === "0") zoom(mid, 1e9);
				else if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
					moment(view.at + (e.key === "ArrowLeft" ? -step : step));
					if (view.at < view.from || view.at > view.to) shift(view.at - (view.from + view.to) / 2);
				} else if (e.key === "ArrowUp" || e.key === "ArrowDown") row = Math.min(Math.max(row + (e.key === "ArrowUp" ? -1 : 1), 0), f.cubes.length - 1);
				else if (e.key === "Escape") return sim.tip() || true;
				else return false;
				tell(x(view.at, w), head + (row + 0.5) * high);
				return true;
			},
		});
		c.addEventListener("wheel", e => { if (!e.ctrlKey) return; e.preventDefault(); zoom(time(e.offsetX, c.clientWidth), 1.0015 ** e.deltaY); }, {passive: false});
		c.addEventListener("pointerdown", e => { drag = {px: e.offsetX, from: view.from, moved: false}; });
		return c;
	},

	// grid returns the sides of the grid of n cubes: of all boxes, that with the smallest sum of sides.
	grid(n) {
		let best = [1, 1, n];
		for (let a = 1; a * a * a <= n; a++) for (let b = a; a * b * b <= n; b++) {
			const c = n / (a * b);
			if (Number.isInteger(c) && a + b + c < best[0] + best[1] + best[2]) best = [a, b, c];
		}
		return best;
	},

	// pod draws the cubes at the moment, as layers of their grid side by side.
	pod(f, name, view, by) {
		const [layers, rows, columns] = this.grid(f.cubes.length);
		let unit = 1;
		const spot = k => [(Math.floor(k / rows / columns) * (columns + 0.6) + k % columns) * unit, (Math.floor(k / columns) % rows) * unit];
		const c = sim.picture({
			label: `The pod under ${name} at the moment: ${layers} layers of cubes side by side`,
			height: w => { unit = Math.min(34 * sim.size(), w / (layers * (columns + 0.6))); return rows * unit + 4; },
			draw: g => f.cubes.forEach((cube, k) => {
				const [x, y] = spot(k), on = this.on(cube, view.at);
				g.fillStyle = on.length ? this.color(on.find(s => !s.label) || on[0], by) : sim.css("band");
				g.fillRect(x + 1, y + 1, unit - 2, unit - 2);
				if (!on.length) { g.strokeStyle = sim.css("dim"); g.lineWidth = 1; g.strokeRect(x + 1.5, y + 1.5, unit - 3, unit - 3); }
				if (unit < 24 * sim.size() || !on.length) return;
				g.fillStyle = sim.legible(g.fillStyle);
				g.textAlign = "center";
				sim.font(g, 10);
				g.fillText(on[0].label ? on[0].label.split(" ")[0] : "×", x + unit / 2, y + unit / 2 + 4);
			}),
			hover: (px, py) => {
				const k = px === null ? -1 : f.cubes.findIndex((_, i) => { const [x, y] = spot(i); return px >= x && px < x + unit && py >= y && py < y + unit; });
				if (k < 0) return sim.tip();
				const on = this.on(f.cubes[k], view.at);
				c.tip(px, py, [f.cubes[k].name, ...(on.length ? on.flatMap(s => this.words(s).filter(l => l)) : ["free"])]);
			},
		});
		return c;
	},

	table(f, name) {
		const jobs = new Map(), most = 500;
		for (const [k, cube] of f.cubes.entries()) for (const s of cube.spans || []) {
			const key = `${s.label || s.kind + k} ${s.start_s}`, j = jobs.get(key) || {...s, cubes: []};
			j.cubes.push(k);
			jobs.set(key, j);
		}
		const list = [...jobs.values()].sort((a, b) => a.start_s - b.start_s);
		return sim.el("div", {}, list.length > most ? sim.el("p", {class: "note"}, `The first ${most} of ${list.length}.`) : "", sim.table({
			label: `Jobs under ${name}`, columns: [{head: "job"}, {head: "shape", left: true}, {head: "from, day"}, {head: "to, day"}, {head: "how it left", left: true}, {head: "cubes", left: true}],
			rows: list.slice(0, most).map(j => {
				const [job, shape, ...left] = j.label ? j.label.split(" ") : [j.kind, "", ""];
				return {cells: [job, shape, (j.start_s / 86400).toFixed(3), (j.end_s / 86400).toFixed(3), left.join(" "), j.cubes.join(" ")], values: [job, shape, j.start_s, j.end_s, left.join(" "), j.cubes.length]};
			}),
		}));
	},

	events: (f, name) => sim.table({
		label: `Failures and repairs under ${name}`, columns: [{head: "day"}, {head: "part", left: true}, {head: "number"}, {head: "what happens", left: true}],
		rows: (f.events || []).map(e => ({cells: [(e.at_s / 86400).toFixed(3), e.part, e.number, e.what], values: [e.at_s, e.part, e.number, e.what]})),
	}),
});
