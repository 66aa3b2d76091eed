"use strict";
// The frame of the page: data, routes, helpers. A view is a file of its own that adds itself:
//
//	sim.views.push({id, title, applies(doc), draw(root, doc, state)})
//
// applies says from the document's data alone whether there is something to show. draw fills root, an empty <section>;
// state has the parameters of the address as texts, state.policy among them, and state.set({policy: "x"}) changes them
// (null removes one), which draws the view again, or with a second argument true only changes the address. A document
// is as type Document of the Go package has it:
//
//	kind "run":        name, title, toml, result {rows: [{policy, metrics, labels}], reference}, timings,
//	                   detail {reference, policies: [simulation], windows}, table {heads, metrics, rows, best}, notes, explain
//	kind "sweep":      name, title, toml, sweep {axes: [{name, keys, labels, numbers}], cells: [{at, policy, metrics, labels, failed}]},
//	                   took {cells}, plots, metric
//	kind "comparison": name, title, comparison {keys, metrics, differences, missing_rows, new_rows, regressions}, keys, words, summary, rules
//
// A simulation is policy, makespan_s, lanes [{name, group, spans [{kind, label, start_s, end_s, bytes, critical}]}],
// of work on links nodes [the same as lanes] and links, circuits, demand, rates [{name, group, time_s, value}], topology {pods, pairs}, path, lattice (a torus: dims, links, ways, pairs), graph (nodes, links, pairs),
// schedule {gpus, phases}, traffic, fleet {cubes, looks, events}, jobs [simulation]. Any of them may be null.
// Of a run nets and net_of, wirings, plans, tiers and moment are what pictures show, as scenarios/result prepares it for figures too.
// leave has what is to be done when a view is left, and paint what draws its pictures at once.
const sim = {views: [], data: null, leave: [], paint: []};

// el makes an element: el("p", {class: "note", onclick: f}, "text", child, ...).
sim.el = (tag, attrs, ...children) => {
	const e = tag.startsWith("svg:") ? document.createElementNS("http://www.w3.org/2000/svg", tag.slice(4)) : document.createElement(tag);
	for (const [k, v] of Object.entries(attrs || {})) {
		if (v === null || v === undefined || v === false) continue;
		if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
		else if (k === "value") e.value = v;
		else e.setAttribute(k, v === true ? "" : v);
	}
	e.append(...children.flat(Infinity).filter(c => c !== null && c !== undefined && c !== false));
	return e;
};

// css is a colour of the theme, as --name has it.
sim.css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
sim.dark = () => sim.css("scheme") === "dark";

// rgb is a colour's red, green and blue, of "#rrggbb" or "rgb(r, g, b)".
sim.rgb = color => color.startsWith("#") ? [1, 3, 5].map(i => parseInt(color.slice(i, i + 2), 16)) : color.match(/\d+/g).map(Number);

// tone is a colour of figures as the theme can show it: on dark ground lighter, black being white.
sim.tone = hex => {
	if (!sim.dark()) return hex;
	const c = sim.rgb(hex), light = 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2];
	const share = light < 40 ? 0.85 : light < 130 ? 0.3 : 0.05;
	return `rgb(${c.map(v => Math.round(v + (255 - v) * share))})`;
};

// legible is the colour of text on another.
sim.legible = hex => {
	const c = sim.rgb(hex);
	return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2] > 140 ? "#222222" : "#ffffff";
};

// heat is the colour of a share from 0 to 1.
sim.heat = share => {
	const all = sim.data.look.heat, at = Math.min(Math.max(share, 0), 1) * (all.length - 1), i = Math.min(Math.floor(at), all.length - 2);
	const a = sim.rgb(all[i]), b = sim.rgb(all[i + 1]);
	return `rgb(${a.map((v, k) => Math.round(v + (b[k] - v) * (at - i)))})`;
};

// line is how a policy looks, the same in all documents: {color, dashes}.
sim.line = policy => sim.style(sim.policies.indexOf(policy));
sim.style = i => {
	const all = sim.data.look.series, n = Math.max(i, 0), s = all[n % all.length], color = sim.tone(s.color), ground = sim.rgb(sim.css("ground"));
	const weak = () => `rgb(${sim.rgb(color).map((v, k) => Math.round(0.5 * v + 0.5 * ground[k]))})`; // the second time round
	return {color: Math.floor(n / all.length) % 2 ? weak() : color, dashes: s.dashes || []};
};

// swatch is a sample of a colour for legends.
sim.swatch = (color, thin) => {
	const s = sim.el("span", {class: thin ? "swatch thin" : "swatch", "aria-hidden": "true"});
	s.style.background = color;
	return s;
};

// best is the policy that is best in a run, or the first; simulation is that of a policy, the ideal fabric's by "".
sim.best = doc => doc.table.best >= 0 ? doc.result.rows[doc.table.best].policy : (doc.result.rows[0] || {}).policy;
sim.simulation = (doc, policy) => policy ? doc.detail.policies.find(p => p.policy === policy) : doc.detail.reference;
sim.row = (doc, policy) => doc.result.rows.find(r => r.policy === policy);

// metric is what is known of a metric.
sim.metric = name => sim.data.metrics[name] || {words: name.replaceAll("_", " "), better: "", unit: "", format: "", means: "", rank: 0};

// The pages' addresses are #view/document?key=value. A document is counted from 0.
sim.address = (view, doc, params) => {
	const q = new URLSearchParams();
	for (const [k, v] of Object.entries(params || {})) if (v !== null && v !== undefined && v !== "") q.set(k, v);
	const text = q.toString();
	return `#${view}/${doc}${text ? "?" + text : ""}`;
};
sim.parse = hash => {
	const [path, query] = hash.replace(/^#/, "").split("?");
	const [view, doc] = path.split("/");
	return {view: view || "", doc: Number(doc) || 0, params: Object.fromEntries(new URLSearchParams(query || ""))};
};

sim.state = (view, doc, params) => {
	const state = {...params};
	Object.defineProperty(state, "set", {value: (changes, quiet) => {
		Object.assign(state, changes);
		history.replaceState(null, "", sim.address(view, doc, state));
		if (!quiet) sim.route();
	}});
	return state;
};

// route shows what the address says. A view whose drawing fails says so and leaves the others usable.
sim.route = () => {
	const at = sim.parse(location.hash);
	const docs = sim.data.docs, doc = docs[at.doc] || docs[0], n = docs.indexOf(doc);
	const usable = sim.views.filter(v => v.applies(doc));
	const view = usable.find(v => v.id === at.view) || usable[0] || {id: "nothing", title: "Nothing to show", draw() {}};
	const was = document.activeElement, key = was && was.dataset ? was.dataset.key : "";
	const keeps = sim.at === `${view.id}/${n}`, y = keeps ? scrollY : 0;
	sim.leave.splice(0).forEach(f => f());
	sim.paint.length = 0;
	sim.tip();
	sim.at = `${view.id}/${n}`;
	document.title = `${view.title}: ${doc.name} - sim`;
	sim.frame(usable, view, n);
	const root = sim.el("section", {"aria-label": view.title, "data-view": view.id});
	document.getElementById("main").replaceChildren(root);
	root.append(sim.el("h1", {}, doc.name), doc.title ? sim.el("p", {class: "lead"}, doc.title) : "");
	if (sim.data.left_out.length) root.append(sim.leftOut());
	try {
		view.draw(root, doc, sim.state(view.id, n, at.params));
	} catch (err) {
		root.append(sim.el("p", {class: "warn"}, `This view cannot be shown: ${err.message}.`));
		console.error(err);
	}
	const again = key && root.querySelector(`[data-key="${CSS.escape(key)}"]`);
	if (again) again.focus({preventScroll: true});
	scrollTo(0, y);
	document.documentElement.dataset.ready = sim.at;
};

sim.leftOut = () => sim.el("details", {class: "warn"},
	sim.el("summary", {}, `Left out to keep the file small: ${sim.data.left_out.length} parts of simulations`),
	sim.el("ul", {}, sim.data.left_out.map(t => sim.el("li", {}, t))));

// frame draws the choice of documents and of views.
sim.frame = (usable, view, n) => {
	const docs = sim.data.docs, box = document.getElementById("docs");
	box.replaceChildren(docs.length < 2 ? sim.el("span", {}, docs[0].name) :
		sim.el("select", {"aria-label": "Result", onchange: e => { location.hash = sim.address(view.id, e.target.value); }},
			docs.map((d, i) => sim.el("option", {value: i, selected: i === n}, d.name))));
	document.getElementById("views").replaceChildren(...usable.map(v =>
		sim.el("a", {href: sim.address(v.id, n), "aria-current": v === view ? "page" : null}, v.title)));
};

// choice is a labelled list of options, each a text or {value, text}.
sim.choice = (label, options, value, set) => sim.el("label", {class: "choice"}, label + " ",
	sim.el("select", {"data-key": label, onchange: e => set(e.target.value)}, options.map(o => {
		const v = o.value === undefined ? o : o.value;
		return sim.el("option", {value: v, selected: String(v) === String(value)}, o.text === undefined ? o : o.text);
	})));

sim.check = (label, on, set) => sim.el("label", {class: "choice"},
	sim.el("input", {type: "checkbox", "data-key": label, checked: on, onchange: e => set(e.target.checked)}), " " + label);

// arrows lets arrow keys move between the links or buttons of a group.
sim.arrows = group => group.addEventListener("keydown", e => {
	const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[e.key];
	const all = [...group.querySelectorAll("a, button")], i = all.indexOf(document.activeElement);
	if (!step || i < 0) return;
	e.preventDefault();
	all[(i + step + all.length) % all.length].focus();
});

// tip shows text beside a point of the window, or hides it; the lines of text are paragraphs.
sim.tip = (x, y, lines) => {
	const tip = document.getElementById("tip");
	tip.hidden = !lines;
	if (!lines) return;
	tip.replaceChildren(...lines.map((l, i) => sim.el(i ? "div" : "b", {}, l)));
	const w = tip.offsetWidth, h = tip.offsetHeight;
	tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - w - 4)) + "px";
	tip.style.top = (y + 16 + h > innerHeight ? Math.max(4, y - h - 10) : y + 16) + "px";
};

// unpack reads the data that the file holds.
sim.unpack = async () => {
	const text = document.getElementById("data").textContent;
	const bytes = Uint8Array.from(atob(text), c => c.charCodeAt(0));
	const plain = new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
	return plain.json();
};

// start draws the page.
sim.start = async () => {
	sim.theme();
	sim.data = await sim.unpack();
	sim.policies = [];
	for (const d of sim.data.docs) {
		const names = d.result ? d.result.rows.map(r => r.policy) : d.sweep ? d.sweep.cells.map(c => c.policy) : d.comparison.differences.map(c => c.row.policy || "");
		for (const p of names) if (!sim.policies.includes(p)) sim.policies.push(p);
	}
	sim.keys();
	sim.arrows(document.getElementById("views"));
	addEventListener("hashchange", sim.route);
	sim.route();
};

// theme follows the system until a person chooses otherwise.
sim.theme = () => {
	const root = document.documentElement, dark = matchMedia("(prefers-color-scheme: dark)");
	const store = (...v) => { try { return v.length ? localStorage.setItem("sim-theme", v[0]) : localStorage.getItem("sim-theme"); } catch { return null; } };
	const set = t => { root.dataset.theme = t; if (sim.data) sim.route(); };
	set(store() || (dark.matches ? "dark" : "light"));
	dark.addEventListener("change", e => set(e.matches ? "dark" : "light"));
	document.getElementById("theme").addEventListener("click", () => {
		const t = root.dataset.theme === "dark" ? "light" : "dark";
		store(t);
		set(t);
	});
	let before = null; // paper is light
	addEventListener("beforeprint", () => {
		before = root.dataset.theme;
		if (before !== "light") { set("light"); sim.paint.forEach(f => f()); }
	});
	addEventListener("afterprint", () => { if (before !== "light") set(before); });
};

// keys answers keys that hold everywhere.
sim.keys = () => {
	const dialog = document.getElementById("keys");
	const list = [["1 to 9", "view"], ["[ and ]", "result before, result after"], ["t", "light or dark"], ["Tab", "next control"],
		["arrow keys", "move: between views, in a plot, through time"], ["+ and -", "zoom in a timeline"], ["0", "whole timeline"],
		["Enter", "open what is chosen; sort by the column"], ["Escape", "close"], ["?", "this list"]];
	document.getElementById("keys-list").append(sim.el("dl", {class: "keys"}, list.map(([k, w]) => [sim.el("dt", {}, k), sim.el("dd", {}, w)])));
	document.getElementById("help").addEventListener("click", () => dialog.showModal());
	document.getElementById("keys-close").addEventListener("click", () => dialog.close());
	addEventListener("keydown", e => {
		if (e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, select, textarea, dialog")) return;
		const links = document.querySelectorAll("#views a"), at = sim.parse(location.hash), docs = sim.data.docs.length;
		if (e.key === "?") dialog.showModal();
		else if (e.key === "t") document.getElementById("theme").click();
		else if (e.key >= "1" && e.key <= "9" && links[e.key - 1]) links[e.key - 1].click();
		else if ((e.key === "[" || e.key === "]") && docs > 1) location.hash = sim.address(at.view, (at.doc + (e.key === "]" ? 1 : docs - 1)) % docs);
		else if (e.key === "Escape") sim.tip();
	});
};
