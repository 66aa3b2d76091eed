"use strict";
// Timeline: what each track does when, under one policy and, below it, another; the critical path; and rates of circuits.
sim.views.push({
	id: "timeline", title: "Timeline",
	applies: doc => doc.kind === "run" && doc.detail.policies.some(p => sim.lanes(p).length),
	draw(root, doc, state) {
		const known = doc.detail.policies.filter(p => sim.lanes(p).length).map(p => p.policy), ideal = sim.lanes(doc.detail.reference).length > 0;
		const policy = known.includes(state.policy) ? state.policy : known.includes(sim.best(doc)) ? sim.best(doc) : known[0];
		const other = state.with === "ideal" || known.includes(state.with) ? state.with : "";
		const shown = [policy, ...(other && other !== policy ? [other] : [])];
		const sims = shown.map(p => sim.simulation(doc, p === "ideal" ? "" : p));
		const groups = [...new Set(sim.lanes(sims[0]).map(l => l.group).filter(Boolean))];
		const below = ["circuits", "demand", "rates", "links"].filter(k => sims.some(s => (s[k] || []).length));
		const words = {circuits: "rate of each bundle of circuits", demand: "bandwidth that leaves each pod", rates: "gradient synchronisation", links: "the links that carry most"};
		const under = below.includes(state.below) ? state.below : state.below === "none" ? "none" : below[0] || "none";
		root.append(sim.el("div", {class: "controls"},
			sim.choice("Policy", known, policy, p => state.set({policy: p})),
			sim.choice("with", [{value: "", text: "no other"}, ...(ideal ? [{value: "ideal", text: "the ideal fabric"}] : []), ...known.filter(p => p !== policy)], other, p => state.set({with: p})),
			groups.length > 1 ? sim.choice("Tracks", [{value: "", text: "all"}, ...groups], state.group || "", v => state.set({group: v})) : "",
			below.length ? sim.choice("Below", [...below.map(k => ({value: k, text: words[k]})), {value: "none", text: "nothing"}], under, v => state.set({below: v})) : "",
			sim.check("all but the critical path dimmed", state.dim === "1", on => state.set({dim: on ? "1" : null}))));
		const panels = sims.map((s, i) => {
			const lanes = sim.lanes(s).filter(l => !state.group || l.group === state.group);
			return {sim: s, name: shown[i] === "ideal" ? "the ideal fabric" : shown[i], index: sim.bars.index(lanes), series: (under === "none" ? [] : s[under] || []).filter(q => q.time_s && q.time_s.length > 1)};
		});
		const t = sim.timeline(panels, state);
		const used = [...new Map(panels.flatMap(p => p.index.kinds.map(k => [k.words, k]))).values()].sort((a, b) => a.row - b.row);
		const button = (text, label, f) => sim.el("button", {type: "button", "aria-label": label, onclick: f}, text);
		root.append(sim.el("div", {class: "controls"}, button("−", "Zoom out", () => t.zoom(1.6)), button("+", "Zoom in", () => t.zoom(1 / 1.6)),
			button("whole", "The whole run", () => t.show(0, t.end)), button("◀", "Earlier", () => t.pan(-0.3)), button("▶", "Later", () => t.pan(0.3)), t.window));
		root.append(sim.el("ul", {class: "legend"}, used.map(k => sim.el("li", {}, sim.swatch(k.color, k.row > 0), " " + k.words)),
			panels.some(p => sim.lanes(p.sim).some(l => (l.spans || []).some(s => s.critical))) ? sim.el("li", {}, sim.swatch(sim.css("ink"), true), " on the critical path") : ""));
		root.append(t.canvas.element, sim.el("p", {class: "note"},
			"Drag to move; Ctrl and the wheel, or two fingers, to zoom. With the picture in focus the arrow keys go from bar to bar, with Shift they move through time; + and - zoom, 0 shows all, c goes to the next bar of the critical path." + (under === "none" ? "" : " Each rate is drawn to its own largest.")), t.said);
		for (const p of panels) root.append(sim.alternative(`Work by track under ${p.name}`, () => sim.timelineTable(p)));
		for (const p of panels) if ((p.sim.path || []).length) root.append(sim.alternative(`Critical path under ${p.name}`, () => sim.pathTable(p.sim)));
		t.canvas.redraw();
	},
});

// lanes are the tracks of a simulation that have something on them.
sim.lanes = s => s ? (s.lanes || s.nodes || []).filter(l => (l.spans || []).length) : [];

// timelineTable says how long each track is at what.
sim.timelineTable = p => {
	const kinds = p.index.names, time = (t, k) => t.spans.reduce((sum, s) => sum + (s.kind === k ? s.end_s - s.start_s : 0), 0), u = sim.fmt.unit(p.index.end);
	return sim.table({
		label: `Seconds of each track by kind under ${p.name}`,
		columns: [{head: "track"}, {head: "group", left: true}, ...p.index.kinds.map(k => ({head: k.words})), {head: "bars"}],
		rows: p.index.tracks.map(t => ({cells: [t.name, t.group, ...kinds.map(k => sim.fmt.seconds(time(t, k), u)), sim.fmt.count(t.spans.length)], values: [t.name, t.group, ...kinds.map(k => time(t, k)), t.spans.length]})),
	});
};

// pathTable is a critical path, a row a transfer.
sim.pathTable = s => {
	const u = sim.fmt.unit(s.makespan_s), of = p => [p.start_s, p.end_s, p.lag_s, p.ideal_s, p.circuit_s, p.sharing_s];
	return sim.table({
		label: `Critical path under ${s.policy || "the ideal fabric"}`,
		columns: [{head: "task"}, {head: "link", left: true}, ...["start", "end", "compute before", "at full rate", "lost to few circuits", "lost to sharing"].map(head => ({head}))],
		rows: s.path.map(p => ({cells: [p.name, p.link || "-", ...of(p).map(v => sim.fmt.seconds(v, u))], values: [p.name, p.link, ...of(p)]})),
	});
};
