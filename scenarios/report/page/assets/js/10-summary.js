"use strict";
// Summary: the table of results with what stands below it, several runs side by side, and what would help.
sim.views.push({
	id: "summary", title: "Summary",
	applies: doc => doc.kind === "run",
	draw(root, doc, state) {
		const t = doc.table, policy = state.policy || sim.best(doc);
		root.append(sim.table({
			label: "Results by policy",
			columns: t.heads.map((h, i) => ({head: h.replaceAll("-\n", "").replaceAll("\n", " "), title: i ? sim.fmt.head(t.metrics[i - 1]) : null})),
			rows: t.rows.map((cells, i) => {
				const row = doc.result.rows[i], took = (doc.timings.policies || {})[row.policy] || {};
				return {
					cells: [sim.el("span", {}, sim.swatch(sim.line(row.policy).color), " ", (i === t.best ? "* " : "") + cells[0]), ...cells.slice(1).map(c => { const [value, beside] = c.split("\t"); return beside ? [value, sim.el("span", {class: "beside"}, beside)] : value; })],
					values: [row.policy, ...t.metrics.map(m => m === "solve_s" ? took.solve_s : row.metrics[m])],
					strong: i === t.best, open: () => state.set({policy: row.policy}),
				};
			}),
		}));
		root.append(sim.prose(doc.notes));
		const runs = sim.data.docs.filter(d => d.kind === "run");
		if (runs.length > 1) root.append(...this.beside(runs, state));
		if (doc.explain[policy]) {
			root.append(sim.el("h2", {}, "Where the time goes"));
			const known = doc.result.rows.map(r => r.policy).filter(p => doc.explain[p]);
			if (known.length > 1) root.append(sim.choice("Policy", known, policy, p => state.set({policy: p})));
			root.append(sim.prose(doc.explain[policy]));
		}
		root.append(sim.el("h2", {}, "All metrics"), this.metrics(doc), sim.el("details", {}, sim.el("summary", {}, "Scenario, as it was resolved"), sim.el("pre", {tabindex: 0}, doc.toml)));
	},

	// beside sets several runs side by side by one metric.
	beside(runs, state) {
		const has = name => runs.filter(d => d.result.rows.some(r => name in r.metrics)).length > 1;
		// Metrics that are relative to different ideal fabrics are marked, and come after the main metrics.
		const relative = sim.data.relative || {}, rank = m => relative[m] ? 98 : sim.metric(m).rank || 99, head = m => sim.fmt.head(m) + (relative[m] ? " †" : "");
		const names = [...new Set(runs.flatMap(d => d.result.rows.flatMap(r => Object.keys(r.metrics))))].filter(has)
			.sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
		if (!names.length) return [];
		const metric = names.includes(state.metric) ? state.metric : names[0];
		const policies = [...new Set(runs.flatMap(d => d.result.rows.map(r => r.policy)))];
		const value = (d, p) => (sim.row(d, p) || {metrics: {}}).metrics[metric];
		return [sim.el("h2", {}, "Runs side by side"),
			sim.choice("Metric", names.map(n => ({value: n, text: head(n)})), metric, m => state.set({metric: m})),
			relative[metric] ? sim.el("p", {class: "warn"}, `† ${relative[metric]}`) : "",
			sim.table({
				label: `${sim.fmt.head(metric)} by run`,
				columns: [{head: "policy"}, ...runs.map(d => ({head: d.name, title: d.title}))],
				rows: policies.map(p => ({cells: [p, ...runs.map(d => sim.fmt.number(value(d, p), metric))], values: [p, ...runs.map(d => value(d, p))]})),
			})];
	},

	// metrics is every metric of every policy.
	metrics(doc) {
		const rows = doc.result.rows, names = [...new Set(rows.flatMap(r => Object.keys(r.metrics)))].sort();
		return sim.el("details", {}, sim.el("summary", {}, `${names.length} metrics of ${rows.length} policies`), sim.table({
			label: "Metrics",
			columns: [{head: "metric"}, {head: "what it is", left: true}, {head: "better", left: true}, ...rows.map(r => ({head: r.policy}))],
			rows: names.map(n => ({
				cells: [n, sim.fmt.head(n), sim.metric(n).better, ...rows.map(r => sim.fmt.number(r.metrics[n], n))],
				values: [n, sim.fmt.head(n), sim.metric(n).better, ...rows.map(r => r.metrics[n])],
			})),
		}));
	},
});
