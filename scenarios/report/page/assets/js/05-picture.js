"use strict";
// What pictures share: what the pointer or keys choose on them, policies beside each other, colours of loads.

// picture is a canvas (sim.canvas) with click(x, y); what it returns is its element, with redraw and tip(x, y, lines),
// which shows text beside a point of it.
sim.picture = ({click, draw, ...rest}) => {
	const c = sim.canvas({...rest, draw: (g, w, h) => { g.textBaseline = "alphabetic"; sim.font(g, 12); draw(g, w, h); }});
	c.canvas.dataset.key = rest.label;
	if (click) c.canvas.addEventListener("click", e => click(e.offsetX, e.offsetY));
	const tip = (x, y, lines) => { const r = c.canvas.getBoundingClientRect(); sim.tip(r.left + x, r.top + y, lines); };
	return Object.assign(c.element, {redraw: c.redraw, tip});
};

// size is how much larger than usual text is, as it is on wide screens; font sets it on a canvas, in pixels of usual size.
sim.size = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 15;
sim.font = (g, px) => { g.font = `${px * sim.size()}px ${getComputedStyle(document.documentElement).fontFamily}`; };

// plural counts: plural(1, "hop") is "1 hop".
sim.plural = (n, word) => `${sim.fmt.count(n)} ${word}${n === 1 ? "" : "s"}`;

// beside is the choice of a policy and of another to stand beside it, and the panels of both: panel(policy) returns the
// children of one.
sim.beside = (doc, state, policies, panel) => {
	const first = policies.includes(state.policy) ? state.policy : policies.includes(sim.best(doc)) ? sim.best(doc) : policies[0];
	const other = state.beside === "" || !policies.includes(state.beside) || state.beside === first ? null : state.beside;
	const shown = other ? [first, other] : [first];
	return {shown, controls: policies.length < 2 ? [] : [
		sim.choice("Policy", policies, first, p => state.set({policy: p})),
		sim.choice("Beside", [{value: "", text: "nothing"}, ...policies.filter(p => p !== first)], other || "", p => state.set({beside: p || null})),
	], panels: () => sim.el("div", {class: "panels"}, shown.map(p => sim.el("div", {class: "panel"},
		sim.el("h2", {}, sim.swatch(sim.line(p).color), " ", p), panel(p))))};
};

// load is the colour of a share of the largest load: on light ground the dark end of the colours of heat is the most.
sim.load = share => sim.heat(sim.dark() ? share : 1 - share);

// scale is the legend of loads from the least to the most.
sim.scale = (words, least, most) => {
	const bar = sim.el("span", {class: "heat", "aria-hidden": "true"});
	bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(sim.load)})`;
	return sim.el("li", {}, `${words}: ${sim.fmt.plain(least)} `, bar, ` ${sim.fmt.plain(most)}`);
};
sim.fmt.plain = v => Number.isInteger(v) ? sim.fmt.count(v) : String(+v.toPrecision(5));
