"use strict";
// The cells of a sweep, and how they are looked at: dimensions are its axes and the policy.
sim.cells = {};

sim.cells.dims = doc => {
	const s = doc.sweep, policies = [...new Set(s.cells.map(c => c.policy))];
	const dims = s.axes.map((a, i) => ({name: a.name, title: a.name.split(".").pop().replaceAll("_", " "), labels: a.labels, numbers: a.numbers || null, of: c => c.at[i]}));
	const titles = dims.map(d => d.title);
	dims.forEach(d => { if (titles.filter(t => t === d.title).length > 1) d.title = d.name; });
	return [...dims, {name: "policy", title: "policy", labels: policies, numbers: null, of: c => policies.indexOf(c.policy)}];
};

// named finds a dimension by its key, or by the last part of it.
sim.cells.named = (dims, name) => name && dims.find(d => d.name === name || d.name.endsWith("." + name));

sim.cells.metrics = doc => [...new Set([...doc.sweep.cells.flatMap(c => Object.keys(c.metrics || {})), "solve_s", "simulation_s"])]
	.sort((a, b) => sim.cells.rank(doc, a) - sim.cells.rank(doc, b) || a.localeCompare(b));

// relative says why values of a metric cannot be ranked, and mark marks such a metric. They come after the main metrics.
sim.cells.relative = (doc, metric) => (doc.relative || {})[metric];
sim.cells.mark = (doc, metric) => sim.cells.relative(doc, metric) ? " †" : "";
sim.cells.rank = (doc, metric) => sim.cells.relative(doc, metric) ? 98 : sim.metric(metric).rank || 99;

sim.cells.value = (doc, c, metric) => {
	const took = (doc.took.cells || {})[c.key] || {};
	return metric in took ? took[metric] : (c.metrics || {})[metric];
};

// view reads from the address which axes are which; the study's first figure says what is else.
sim.cells.view = (doc, state) => {
	const dims = sim.cells.dims(doc), varied = dims.filter(d => d.labels.length > 1), plot = (doc.plots || [])[0] || {};
	const pick = (asked, ...others) => asked === "none" ? null : [asked, ...others].map(n => sim.cells.named(dims, n)).find(Boolean) || null;
	const metrics = sim.cells.metrics(doc), y = metrics.includes(state.y) ? state.y : doc.metric;
	const most = [...varied].filter(d => d.numbers).sort((a, b) => b.labels.length - a.labels.length)[0] || varied[0] || dims.at(-1);
	const x = pick(state.x, plot.x, most.name) || most;
	const free = varied.filter(d => d !== x);
	let series = pick(state.series, plot.series, "policy");
	if (series === x || series && state.series !== "none" && series.labels.length < 2) series = free[0] || null;
	let panels = pick(state.panels, plot.panels);
	if (!panels && state.panels !== "none") panels = free.find(d => d !== series) || null;
	if (panels === x || panels === series) panels = free.find(d => d !== series) || null;
	if (state.panels === "none") panels = null;
	const only = {};
	for (const d of dims) {
		const v = state["only." + d.name];
		if (v) only[d.name] = new Set(v.split(",").map(Number));
	}
	const cells = doc.sweep.cells.filter(c => dims.every(d => !only[d.name] || only[d.name].has(d.of(c))));
	return {dims, varied, metrics, x, y, series, panels, only, cells, take: state.take || plot.aggregation || "mean", logX: state.logx ? state.logx === "1" : Boolean(plot.log_x), logY: state.logy ? state.logy === "1" : Boolean(plot.log_y), same: state.same !== "0"};
};

// place is the value of cells at one place, and one of them: that of the least or the most, or their mean.
sim.cells.place = (doc, cells, v) => {
	const have = cells.map(c => [sim.cells.value(doc, c, v.y), c]).filter(([n]) => typeof n === "number" && isFinite(n));
	if (!have.length) return [null, cells[0]];
	if (v.take === "mean") return [have.reduce((s, [n]) => s + n, 0) / have.length, have[0][1]];
	return have.reduce((a, b) => (v.take === "min") === (b[0] < a[0]) ? b : a);
};
