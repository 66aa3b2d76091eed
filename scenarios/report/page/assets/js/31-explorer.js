"use strict";
// The sweep explorer: lines over an axis, a panel for each value of another, and the cells as a table.
sim.views.push({
	id: "explorer", title: "Sweep explorer",
	applies: doc => doc.kind === "sweep",
	draw(root, doc, state) {
		const v = sim.cells.view(doc, state), metric = sim.metric(v.y);
		const option = d => ({value: d.name, text: d.title}), none = {value: "none", text: "nothing"};
		root.append(sim.el("div", {class: "controls"},
			sim.choice("y", v.metrics.map(m => ({value: m, text: sim.fmt.head(m) + sim.cells.mark(doc, m)})), v.y, y => state.set({y})),
			sim.choice("x", v.varied.map(option), v.x.name, x => state.set({x})),
			sim.choice("lines", [none, ...v.varied.filter(d => d !== v.x).map(option)], v.series ? v.series.name : "none", series => state.set({series})),
			sim.choice("panels", [none, ...v.varied.filter(d => d !== v.x && d !== v.series).map(option)], v.panels ? v.panels.name : "none", panels => state.set({panels})),
			this.several(v) ? sim.choice("of several cells", ["mean", "min", "max"], v.take, take => state.set({take})) : "",
			v.x.numbers ? sim.check("log x", v.logX, on => state.set({logx: on ? "1" : "0"})) : "",
			sim.check("log y", v.logY, on => state.set({logy: on ? "1" : "0"})),
			v.panels ? sim.check("same scale", v.same, on => state.set({same: on ? null : "0"})) : ""));
		root.append(this.filters(doc, v, state));
		if (doc.all > doc.sweep.cells.length) root.append(sim.el("p", {class: "warn"}, `The sweep is not finished: ${sim.fmt.count(doc.sweep.cells.length)} of ${sim.fmt.count(doc.all)} cells are here.`));
		const failed = v.cells.filter(c => c.failed).length;
		root.append(sim.el("p", {class: "note"}, `${metric.words || v.y}${metric.better && !sim.cells.relative(doc, v.y) ? `, ${metric.better} is better` : ""}: ${sim.fmt.count(v.cells.length)} of ${sim.fmt.count(doc.sweep.cells.length)} cells` +
			(failed ? `, of which ${failed} failed` : "") + (metric.means ? `. It is ${metric.means}.` : ".")));
		const relative = sim.cells.relative(doc, v.y);
		const unranked = Object.values(doc.relative || {})[0];
		if (relative) root.append(sim.el("p", {class: "warn"}, `† ${relative}`));
		else if (unranked) root.append(sim.el("p", {class: "note"}, `† ${unranked}`));
		if (state.cell !== undefined && doc.sweep.cells[state.cell]) root.append(this.cell(doc, v, doc.sweep.cells[state.cell], state));
		root.append(...this.panels(doc, v, state), sim.el("h2", {}, `${sim.fmt.head(v.y)}${sim.cells.mark(doc, v.y)} by policy`), this.pivot(doc, v, state));
		root.append(sim.el("details", {}, sim.el("summary", {}, "All cells with more metrics"), this.table(doc, v, state)));
		root.append(sim.el("details", {}, sim.el("summary", {}, "The study"), sim.el("pre", {tabindex: 0}, doc.toml)));
	},

	// several reports whether cells share a place.
	several: v => v.varied.some(d => d !== v.x && d !== v.series && d !== v.panels && (!v.only[d.name] || v.only[d.name].size > 1)),

	filters(doc, v, state) {
		const on = (d, i) => !v.only[d.name] || v.only[d.name].has(i);
		const count = Object.keys(v.only).length;
		return sim.el("details", {class: "filters", open: count > 0 || state.filters === "1", ontoggle: e => state.set({filters: e.target.open ? "1" : null}, true)},
			sim.el("summary", {}, "Which cells"), v.varied.map(d => sim.el("fieldset", {}, sim.el("legend", {}, d.title), d.labels.map((l, i) =>
				sim.check(l, on(d, i), yes => {
					const left = d.labels.map((_, k) => k).filter(k => k === i ? yes : on(d, k));
					state.set({["only." + d.name]: left.length === d.labels.length || !left.length ? null : left.join(",")});
				})))));
	},

	// panels draws a panel for each value of the dimension of panels.
	panels(doc, v, state) {
		const kinds = v.panels ? v.panels.labels.map((l, i) => [l, i]).filter(([, i]) => v.cells.some(c => v.panels.of(c) === i)) : [["", -1]];
		const places = v.x.labels.map((_, i) => i).filter(i => v.cells.some(c => v.x.of(c) === i));
		const numeric = Boolean(v.x.numbers);
		if (numeric) places.sort((a, b) => v.x.numbers[a] - v.x.numbers[b]);
		const lines = v.series ? v.series.labels.map((l, i) => [l, i]).filter(([, i]) => v.cells.some(c => v.series.of(c) === i)) : [["", -1]];
		const look = ([l, i]) => v.series && v.series.name === "policy" ? sim.line(l) : v.series && v.series.numbers && lines.length > 2 ? {color: sim.heat(0.05 + 0.81 * i / (v.series.labels.length - 1)), dashes: []} : sim.style(Math.max(i, 0));
		const by = new Map(), key = (p, s, x) => `${p} ${s} ${x}`;
		for (const c of v.cells) {
			const k = key(v.panels ? v.panels.of(c) : -1, v.series ? v.series.of(c) : -1, v.x.of(c));
			if (!by.has(k)) by.set(k, []);
			by.get(k).push(c);
		}
		const grid = kinds.map(([, p]) => lines.map(([, s]) => places.map(x => by.has(key(p, s, x)) ? sim.cells.place(doc, by.get(key(p, s, x)), v) : [null, null])));
		const all = grid.flat(2).map(([n]) => n).filter(n => n !== null && (!v.logY || n > 0));
		if (!all.length) return [sim.el("p", {class: "note"}, "None of these cells has this metric.")];
		const format = n => sim.fmt.number(n, v.y), short = this.short(v.y);
		const legend = lines.length > 1 || v.series ? sim.el("ul", {class: "legend", "aria-label": v.series.title}, lines.map(l => sim.el("li", {}, sim.swatch(look(l).color), " " + l[0]))) : "";
		const range = v.same ? {from: all.reduce((a, b) => Math.min(a, b)), to: all.reduce((a, b) => Math.max(a, b))} : {};
		const most = 48;
		return [legend, sim.el("div", {class: kinds.length > 1 ? "panels" : "panel"}, kinds.slice(0, most).map(([label, p], at) => sim.el("div", {},
			kinds.length > 1 || label ? sim.el("h3", {}, label) : "",
			sim.lines({
				label: `${sim.fmt.head(v.y)} over ${v.x.title}${label ? ", " + label : ""}; the table of cells follows`, height: kinds.length > 1 ? 230 : 380,
				x: {label: v.x.title, log: v.logX && numeric && v.x.numbers.every(n => n > 0), ...(numeric ? {values: places.map(i => v.x.numbers[i]), format: n => v.x.labels[v.x.numbers.indexOf(n)] || String(+n.toPrecision(4))} : {values: places.map((_, i) => i), labels: places.map(i => v.x.labels[i]), format: String})},
				y: {label: sim.fmt.head(v.y), log: v.logY, format: short, ...range},
				series: lines.map((l, s) => ({name: l[0], ...look(l), values: grid[at][s].map(([n]) => n)})),
				tell: (s, i) => [format(grid[at][s][i][0]), "click opens the cell"],
				open: (s, i) => { const c = grid[at][s][i][1]; if (c) state.set({cell: doc.sweep.cells.indexOf(c)}); },
			})))), kinds.length > most ? sim.el("p", {class: "note"}, `The first ${most} of ${kinds.length} panels.`) : ""];
	},

	// short prints a number on an axis.
	short: name => {
		const m = sim.metric(name);
		return n => {
			if (m.unit === "s") { const u = sim.fmt.unit(n); return `${+(n * u.per).toPrecision(4)} ${u.name}`; }
			if (m.unit === "%") return `${+(100 * n).toPrecision(4)} %`;
			return m.unit.startsWith("B") || m.unit.startsWith("b") ? sim.fmt.scaled(n, m.unit) : Math.abs(n) >= 1e4 ? sim.fmt.scaled(n, "").trim() : String(+n.toPrecision(5));
		};
	},

	// pivot is the table that sim sweep prints: a row a place, a column a policy, the best of a row in bold.
	pivot(doc, v, state) {
		const axes = v.dims.slice(0, -1), policy = v.dims.at(-1), shown = policy.labels.filter((_, i) => v.cells.some(c => policy.of(c) === i)), most = 1000;
		const rows = new Map();
		for (const c of v.cells) {
			if (!rows.has(c.at.join())) rows.set(c.at.join(), {});
			rows.get(c.at.join())[c.policy] = c;
		}
		const better = sim.cells.relative(doc, v.y) ? "" : sim.metric(v.y).better, table = [...rows.values()].slice(0, most).map(by => {
			const some = Object.values(by)[0], values = shown.map(p => by[p] && sim.cells.value(doc, by[p], v.y)), known = values.filter(n => n !== undefined);
			const best = better === "lower" ? Math.min(...known) : better === "higher" ? Math.max(...known) : NaN;
			return {
				cells: [...axes.map(d => d.labels[d.of(some)]), ...shown.map((p, i) => by[p] ? sim.el("button", {type: "button", class: `link${values[i] === best ? " strong" : ""}`, title: "Open the cell", onclick: () => { state.set({cell: doc.sweep.cells.indexOf(by[p])}); scrollTo(0, 0); }}, by[p].failed ? "failed" : sim.fmt.number(values[i], v.y)) : "")],
				values: [...axes.map(d => d.numbers ? d.numbers[d.of(some)] : d.labels[d.of(some)]), ...values],
			};
		});
		return sim.el("div", {}, sim.table({label: `${sim.fmt.head(v.y)} by policy`, columns: [...axes.map(d => ({head: d.title, left: !d.numbers, title: d.name})), ...shown.map(p => ({head: p}))], rows: table}),
			rows.size > most ? sim.el("p", {class: "note"}, `The first ${most} of ${rows.size} places.`) : "");
	},

	table(doc, v, state) {
		const more = [v.y, ...v.metrics.filter(m => m !== v.y && sim.metric(m).rank && v.cells.some(c => sim.cells.value(doc, c, m) !== undefined))].slice(0, 5), most = 1000;
		return sim.el("div", {}, sim.table({
			label: "Cells",
			columns: [{head: "cell"}, ...v.dims.map(d => ({head: d.title, left: !d.numbers, title: d.name})), ...more.map(m => ({head: sim.fmt.head(m) + sim.cells.mark(doc, m), title: m}))],
			rows: v.cells.slice(0, most).map(c => {
				const n = doc.sweep.cells.indexOf(c);
				return {
					cells: [String(n + 1), ...v.dims.map(d => d.labels[d.of(c)]), ...more.map((m, i) => c.failed && !i ? sim.el("span", {class: "bad", title: c.failed}, "failed") : sim.fmt.number(sim.cells.value(doc, c, m), m))],
					values: [n, ...v.dims.map(d => d.numbers ? d.numbers[d.of(c)] : d.labels[d.of(c)]), ...more.map(m => sim.cells.value(doc, c, m))],
					open: () => { state.set({cell: n}); scrollTo(0, 0); },
				};
			}),
		}), v.cells.length > most ? sim.el("p", {class: "note"}, `The first ${most} of ${v.cells.length} cells; choose fewer above.`) : "");
	},

	// cell is all that is known of a cell.
	cell(doc, v, c, state) {
		const others = doc.sweep.cells.filter(o => o !== c && o.at.every((n, i) => n === c.at[i]));
		const names = Object.keys(c.metrics || {}).sort();
		return sim.el("div", {class: "opened", role: "group", "aria-label": "An open cell"},
			sim.el("h2", {}, `Cell: ${v.dims.map(d => d.name === "policy" ? d.labels[d.of(c)] : `${d.title} ${d.labels[d.of(c)]}`).join(", ")}`),
			sim.el("p", {class: "note"}, `Scenario ${c.scenario}, seed ${c.seed}`),
			c.failed ? sim.el("p", {class: "warn"}, c.failed) : "",
			sim.table({
				label: "Metrics of the cell, and of other policies in its place",
				columns: [{head: "metric"}, {head: c.policy}, ...others.map(o => ({head: o.policy}))],
				rows: names.map(n => ({cells: [sim.el("span", {title: n}, sim.fmt.head(n)), ...[c, ...others].map(o => sim.fmt.number((o.metrics || {})[n], n))], values: [sim.fmt.head(n), ...[c, ...others].map(o => (o.metrics || {})[n])]})),
			}),
			Object.entries(c.labels || {}).map(([k, t]) => t.includes("\n") ? sim.el("details", {}, sim.el("summary", {}, k), sim.el("pre", {tabindex: 0}, t)) : sim.el("p", {class: "note"}, `${k.replaceAll("_", " ")}: ${t}`)),
			sim.el("button", {type: "button", onclick: () => state.set({cell: null})}, "Close the cell"));
	},
});
