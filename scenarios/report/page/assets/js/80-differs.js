"use strict";
// What differs: of a comparison the inputs first, then what moved: failing values first, then by the size of the relative change.
sim.views.push({
	id: "differs", title: "What differs",
	applies: doc => doc.kind === "comparison",
	draw(root, doc, state) {
		const c = doc.comparison, keys = c.keys || [];
		root.append(sim.el("p", {}, doc.summary + "."));
		if (c.references) root.append(sim.el("p", {class: "warn"}, c.references));
		root.append(sim.el("h2", {}, keys.length ? `Inputs: ${keys.length} key${keys.length > 1 ? "s" : ""}` : "Inputs"));
		root.append(keys.length ? sim.table({
			label: "Keys whose values differ",
			columns: [{head: "key"}, {head: "old", left: true}, {head: "new", left: true}],
			rows: keys.map(k => ({cells: [k.key, k.old || "-", k.new || "-"]})),
		}) : sim.el("p", {class: "note"}, "No key differs, or a side has no scenario to tell."));
		for (const [title, rows] of [["Rows that only the old side has", c.missing_rows], ["Rows that only the new side has", c.new_rows]]) {
			if (rows.length) root.append(sim.el("h2", {}, title), sim.el("ul", {}, rows.map(r => sim.el("li", {}, Object.values(r).join(" ")))));
		}
		root.append(sim.el("h2", {}, "Metrics that moved"));
		const wall = new Set(state.wall === "1" ? [] : c.metrics.filter(m => m.wall).map(m => m.name));
		const metrics = [...new Set(c.differences.map(d => d.metric))].filter(m => !wall.has(m)), policies = [...new Set(c.differences.map(d => d.row.policy || ""))];
		root.append(sim.el("div", {class: "controls"},
			sim.choice("Metric", [{value: "", text: "all"}, ...metrics.map(m => ({value: m, text: sim.fmt.head(m)}))], state.metric || "", m => state.set({metric: m})),
			policies.length > 1 ? sim.choice("Policy", [{value: "", text: "all"}, ...policies], state.policy || "", p => state.set({policy: p})) : "",
			c.metrics.some(m => m.wall) ? sim.check("wall-clock too", state.wall === "1", on => state.set({wall: on ? "1" : null})) : "",
			sim.check("what got worse alone", state.worse === "1", on => state.set({worse: on ? "1" : null}))));
		const size = d => d.change === undefined ? Infinity : Math.abs(d.change);
		const shown = c.differences.map((d, i) => ({d, w: doc.words[i]})).filter(({d}) => d.mark !== "same" && !wall.has(d.metric) && (!state.metric || d.metric === state.metric) &&
			(!state.policy || d.row.policy === state.policy) && (state.worse !== "1" || d.mark === "worse" || d.mark === "missing"));
		shown.sort((a, b) => (b.d.fails ? 1 : 0) - (a.d.fails ? 1 : 0) || (size(b.d) > size(a.d) ? 1 : size(b.d) < size(a.d) ? -1 : 0));
		const parts = doc.keys || [];
		const most = 500;
		root.append(this.means(c, wall));
		root.append(sim.table({
			label: "Differences, failing ones first, then the largest",
			columns: [{head: "metric"}, ...parts.map(p => ({head: p, left: true})), {head: "old"}, {head: "new"}, {head: "change"}, {head: "verdict", left: true}],
			rows: shown.slice(0, most).map(({d, w}) => ({
				cells: [sim.el("span", {title: d.metric}, sim.fmt.head(d.metric)), ...parts.map(p => d.row[p] || ""), w.old, w.new, w.change,
					sim.el("span", {class: d.mark === "worse" || d.mark === "missing" ? "bad" : d.mark === "better" ? "good" : null}, w.verdict)],
				values: [sim.fmt.head(d.metric), ...parts.map(p => d.row[p] || ""), d.old, d.new, d.change, w.verdict], strong: d.fails,
			})),
		}));
		if (shown.length > most) root.append(sim.el("p", {class: "note"}, `and ${shown.length - most} that differ less; choose a metric or a policy to see them`));
		root.append(sim.el("p", {class: "note"}, doc.rules + "."));
	},

	// means is the mean change of each metric that has several rows.
	means(c, wall) {
		const moved = c.metrics.filter(m => !wall.has(m.name) && m.means.length && m.means[0].rows > 1 && m.differ);
		if (!moved.length) return "";
		return sim.el("details", {}, sim.el("summary", {}, "Mean change by metric"), sim.table({
			label: "Geometric means of new over old",
			columns: [{head: "metric"}, {head: "better", left: true}, {head: "rows that differ"}, {head: "mean change"}],
			rows: moved.map(m => ({
				cells: [sim.fmt.head(m.name), m.better || "-", `${m.differ} of ${m.rows}`, (m.means[0].ratio < 1 ? "" : "+") + sim.fmt.percent(m.means[0].ratio - 1)],
				values: [sim.fmt.head(m.name), m.better, m.differ, m.means[0].ratio],
			})),
		}));
	},
});
