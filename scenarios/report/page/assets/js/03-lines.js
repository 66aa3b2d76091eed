"use strict";
// Lines by uPlot, in the look of the page.
//
//	root.append(sim.lines({label, x: {label, values, labels, log, format}, y: {label, log, from, to, format}, series, height, open}))
//
// x.values are ordered numbers, or places from 0 that x.labels name. A series is {name, color, dashes, values}, null where
// there is none; format makes texts of numbers. open(series, i) is called when a point is chosen, tell(series, i) returns
// more lines of text to show beside it.
sim.lines = ({label, x, y, series, height = 240, open, tell}) => {
	const box = sim.el("div", {class: "lines", role: "img", "aria-label": label}), font = "11px system-ui, 'Liberation Sans', Arial, sans-serif";
	const ink = sim.css("ink"), dim = sim.css("dim"), faint = sim.css("faint"), named = Boolean(x.labels);
	const all = series.flatMap(s => s.values).filter(v => v !== null && isFinite(v) && (!y.log || v > 0));
	let lo = y.from === undefined ? Math.min(...all) : y.from, hi = y.to === undefined ? Math.max(...all) : y.to;
	if (!all.length) [lo, hi] = [0, 1];
	const room = hi > lo ? 0.06 * (hi - lo) : Math.abs(hi) * 0.1 || 1;
	const yRange = y.log ? [lo / 1.15, hi * 1.15] : [lo >= 0 && lo - room < 0 ? 0 : lo - room, hi + room];
	const first = x.values[0], last = x.values.at(-1);
	const xRange = named ? [-0.5, x.values.length - 0.5] : x.log ? [first / 1.08, last * 1.08] : last > first ? [first - 0.03 * (last - first), last + 0.03 * (last - first)] : [first - 1, first + 1];
	const axis = {stroke: dim, font, ticks: {stroke: faint, size: 4}, grid: {stroke: faint, width: 1}};
	const few = x.values.length <= 12;
	let at = null;
	const options = {
		height, legend: {show: false}, padding: [8, 30, 0, 0],
		cursor: {points: {show: false}, drag: {x: false, y: false}, y: false},
		scales: {x: {time: false, distr: x.log && !named ? 3 : 1, range: () => xRange}, y: {distr: y.log ? 3 : 1, range: () => yRange}},
		axes: [
			{...axis, label: x.label, labelFont: font, labelSize: 18, size: 30, space: 50,
				...(named || few ? {splits: () => x.values, filter: (u, s) => s, values: (u, s) => sim.thinned(u, s.map(v => named ? x.labels[v] : x.format(v)), x.values.map(v => u.valToPos(v, "x")), 6.2)} : {values: (u, s) => s.map(v => v === null ? "" : x.format(v))})},
			{...axis, label: y.label, labelFont: font, labelSize: 18, size: (u, values) => 14 + 6.4 * Math.max(4, ...(values || []).map(v => String(v || "").length)), ...(y.log && yRange[1] / yRange[0] < 50 ? {splits: () => sim.ticks(...yRange, 5), filter: (u, s) => s} : {}), values: (u, s) => s.map(v => v === null ? "" : y.format(v))},
		],
		series: [{}, ...series.map(s => ({label: s.name, stroke: s.color, width: 2, dash: s.dashes, spanGaps: true, paths: named ? () => null : undefined, points: {show: named || x.values.length <= 40, size: named ? 9 : 6, fill: s.color, stroke: s.color}}))],
		hooks: {setCursor: [u => {
			at = null;
			const {left, top, idx} = u.cursor;
			if (left < 0 || idx === null || idx === undefined) { sim.tip(); return; }
			let best = 40;
			series.forEach((s, i) => {
				const v = u.data[i + 1][idx], d = v === null || v === undefined ? Infinity : Math.abs(u.valToPos(v, "y") - top);
				if (d < best) { best = d; at = [i, idx]; }
			});
			const r = u.over.getBoundingClientRect();
			if (!at) { sim.tip(); return; }
			const s = series[at[0]], shown = named ? x.labels[u.data[0][idx]] : x.format(u.data[0][idx]);
			sim.tip(r.left + left, r.top + top, [s.name || label, `${x.label}: ${shown}`, `${y.label}: ${y.format(s.values[idx])}`, ...(tell ? tell(at[0], idx) : [])]);
			u.over.style.cursor = open ? "pointer" : "default";
		}]},
	};
	let plot = null;
	const fit = () => {
		const width = Math.floor(box.clientWidth);
		if (!width) return;
		if (plot) { if (plot.width !== width) plot.setSize({width, height}); return; }
		plot = new uPlot({...options, width}, [x.values, ...series.map(s => s.values.map(v => v === undefined || y.log && !(v > 0) ? null : v))], box);
		plot.over.addEventListener("click", () => { if (at && open) open(...at); });
		plot.over.addEventListener("pointerleave", () => sim.tip());
	};
	const watch = new ResizeObserver(fit);
	watch.observe(box);
	sim.paint.push(fit);
	sim.leave.push(() => { watch.disconnect(); if (plot) plot.destroy(); });
	box.style.minHeight = height + "px";
	return box;
};

// thinned leaves out labels that would run into the one before.
sim.thinned = (u, labels, places, per) => {
	let free = -Infinity;
	return labels.map((l, i) => {
		const half = String(l).length * per / 2;
		if (places[i] - half < free) return "";
		free = places[i] + half + 6;
		return l;
	});
};
