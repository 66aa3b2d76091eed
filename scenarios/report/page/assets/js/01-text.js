"use strict";
// Numbers and tables as sim prints them.
sim.fmt = {};

sim.fmt.unit = most => {
	most = Math.abs(most);
	let u = {name: "ns", per: 1e9, digits: 4};
	if (most >= 2 * 86400) u = {name: "d", per: 1 / 86400, digits: 4};
	else if (most >= 2 * 3600) u = {name: "h", per: 1 / 3600, digits: 4};
	else if (most >= 1 || most === 0) u = {name: "s", per: 1, digits: 4};
	else if (most >= 1e-3) u = {name: "ms", per: 1e3, digits: 4};
	else if (most >= 1e-6) u = {name: "µs", per: 1e6, digits: 4};
	for (let v = most * u.per; v >= 100 && u.digits > 1; v /= 10) u.digits--;
	return u;
};
sim.fmt.seconds = (v, u) => { u = u || sim.fmt.unit(v); return `${(v * u.per).toFixed(u.digits)} ${u.name}`; };
sim.fmt.count = v => Math.round(v).toString().replace(/\B(?=(\d{3})+$)/g, ",");
sim.fmt.percent = ratio => {
	const p = 100 * ratio, a = Math.abs(p);
	return p.toFixed(a > 1e-6 && a < 0.0995 ? Math.min(1 - Math.floor(Math.log10(a)), 6) : 1) + " %";
};
sim.fmt.scaled = (v, unit) => {
	const a = Math.abs(v);
	for (const [prefix, of] of [["P", 1e15], ["T", 1e12], ["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
		if (a >= of) return `${+(v / of).toPrecision(4)} ${prefix}${unit}`;
	}
	return `${+v.toPrecision(4)} ${unit}`;
};
sim.fmt.bytes = v => sim.fmt.scaled(v, "B");
sim.fmt.bits = v => sim.fmt.scaled(v, "b/s");

// number prints a value of a metric with its unit.
sim.fmt.number = (v, name) => {
	if (v === null || v === undefined || !isFinite(v)) return "-";
	const m = sim.metric(name);
	switch (m.format) {
	case "decimals": return v.toFixed(4);
	case "time": return sim.fmt.seconds(v);
	case "count": return sim.fmt.count(v);
	case "percent": return sim.fmt.percent(v);
	case "gap": return Math.abs(v) <= 1e-6 ? "optimal" : sim.fmt.percent(v);
	}
	if (m.unit === "s") return sim.fmt.seconds(v);
	if (m.unit === "%") return sim.fmt.percent(v);
	if (m.unit === "B" || m.unit === "B/s" || m.unit === "b" || m.unit === "b/s") return sim.fmt.scaled(v, m.unit);
	return (Number.isInteger(v) ? sim.fmt.count(v) : String(+v.toPrecision(6))) + (m.unit && m.unit !== "%" ? " " + m.unit : "");
};

// head is a metric's name for people.
sim.fmt.head = name => sim.metric(name).words || name;

// table makes a table that is sorted by its columns: columns are {head, title, left}, rows {cells, values, strong, open}.
// A cell is a text or an element, a value what it is sorted by. open is called when the row's first cell is chosen.
sim.table = ({label, columns, rows, sort, onsort}) => {
	const body = sim.el("tbody");
	let by = sort ? sort.column : -1, up = sort ? sort.up : true;
	const fill = () => {
		const order = rows.map((_, i) => i);
		if (by >= 0) {
			const key = i => rows[i].values ? rows[i].values[by] : rows[i].cells[by];
			order.sort((a, b) => {
				const x = key(a), y = key(b), none = v => v === null || v === undefined || v === "-" || Number.isNaN(v);
				if (none(x) || none(y)) return none(x) - none(y) || a - b;
				const d = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", {numeric: true});
				return (up ? d : -d) || a - b;
			});
		}
		body.replaceChildren(...order.map(i => {
			const r = rows[i];
			return sim.el("tr", {class: r.strong ? "strong" : null}, r.cells.map((c, k) => {
				const inner = k === 0 && r.open ? sim.el("button", {type: "button", class: "link", "data-key": `${label} ${i}`, onclick: r.open}, c) : c;
				return sim.el(k ? "td" : "th", {class: columns[k].left || k === 0 ? "left" : null, scope: k ? null : "row"}, inner);
			}));
		}));
		head.querySelectorAll("th").forEach((th, k) => th.setAttribute("aria-sort", k === by ? up ? "ascending" : "descending" : "none"));
	};
	const head = sim.el("tr", {}, columns.map((c, k) => sim.el("th", {scope: "col", class: c.left || k === 0 ? "left" : null, title: c.title},
		sim.el("button", {type: "button", "data-key": `${label} by ${c.head}`, onclick: () => {
			[by, up] = by !== k ? [k, true] : up ? [k, false] : [-1, true];
			if (onsort) onsort(by, up);
			fill();
		}}, c.head))));
	fill();
	return sim.el("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": label}, sim.el("table", {}, sim.el("caption", {}, label), sim.el("thead", {}, head), body));
};

// alternative is a table in place of a picture, made when it is opened.
sim.alternative = (label, make) => {
	const d = sim.el("details", {class: "alternative", ontoggle: () => { if (d.open && d.children.length < 2) d.append(make()); }}, sim.el("summary", {}, label + " as a table"));
	return d;
};

// prose shows text of the command: paragraphs as such, with what is strong between \x02 and \x03; tables, which have columns
// apart, as they are.
sim.prose = text => {
	const strong = line => line.split(/[\x02\x03]/).map((t, i) => i % 2 ? sim.el("strong", {}, t) : t);
	const out = sim.el("div", {class: "prose"});
	for (const block of text.replace(/\s+$/, "").split(/\n\s*\n/)) {
		let table = [];
		const flush = () => { if (table.length) out.append(sim.el("pre", {tabindex: 0}, table.join("\n"))); table = []; };
		for (const line of block.split("\n")) {
			if (/─|\S {2,}\S|^ {8,}\S/.test(line)) table.push(line);
			else if (line.trim()) {
				flush();
				out.append(/^\x02[^\x03]*\x03$/.test(line) ? sim.el("h3", {}, line.slice(1, -1)) : sim.el("p", {class: /^ *- /.test(line) ? "item" : null}, strong(line.trim())));
			}
		}
		flush();
	}
	return out;
};
