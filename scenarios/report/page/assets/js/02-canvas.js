"use strict";
// A canvas of the page: as sharp as the screen, as wide as its place, drawn again when either changes.
//
//	const c = sim.canvas({label, height, draw(g, w, h), hover(x, y), key(e)})
//	root.append(c.element); c.redraw();
//
// label says what it shows to those who cannot see it; height is a number of CSS pixels or a function of the width. draw
// gets a cleared context in CSS pixels. hover, on moves of the pointer and with null when it leaves, and key, on keys
// while the canvas has the focus, are optional. redraw draws at the next frame, once however often it is asked.
sim.canvas = ({label, height, draw, hover, key}) => {
	const canvas = sim.el("canvas", {role: "img", "aria-label": label, tabindex: key ? 0 : null});
	const element = sim.el("div", {class: "canvas"}, canvas);
	let asked = 0, w = 0, h = 0;
	const now = () => {
		cancelAnimationFrame(asked);
		asked = 0;
		const wide = Math.floor(element.clientWidth);
		if (!wide) return;
		const tall = Math.round(typeof height === "function" ? height(wide) : height), per = devicePixelRatio || 1;
		if (canvas.width !== Math.round(wide * per) || canvas.height !== Math.round(tall * per)) {
			canvas.width = Math.round(wide * per);
			canvas.height = Math.round(tall * per);
			canvas.style.width = wide + "px";
			canvas.style.height = tall + "px";
		}
		[w, h] = [wide, tall];
		const g = canvas.getContext("2d");
		g.setTransform(per, 0, 0, per, 0, 0);
		g.clearRect(0, 0, w, h);
		g.font = "12px system-ui, 'Liberation Sans', Arial, sans-serif";
		g.textBaseline = "middle";
		draw(g, w, h);
	};
	const redraw = () => { if (!asked) asked = requestAnimationFrame(now); };
	const watch = new ResizeObserver(redraw);
	watch.observe(element);
	sim.paint.push(now);
	const ratio = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
	ratio.addEventListener("change", redraw);
	sim.leave.push(() => { watch.disconnect(); ratio.removeEventListener("change", redraw); cancelAnimationFrame(asked); });
	if (hover) {
		canvas.addEventListener("pointermove", e => hover(e.offsetX, e.offsetY, e));
		canvas.addEventListener("pointerleave", () => hover(null));
	}
	if (key) canvas.addEventListener("keydown", e => { if (key(e)) e.preventDefault(); });
	return {element, canvas, redraw, now, size: () => [w, h]};
};

// ticks are round values between two, about so many.
sim.ticks = (from, to, count) => {
	const raw = (to - from) / Math.max(count, 1), base = 10 ** Math.floor(Math.log10(raw));
	const step = base * ([1, 2, 5, 10].find(m => m * base >= raw * 0.999) || 10), out = [];
	if (!(step > 0) || !isFinite(step)) return out;
	for (let i = Math.ceil(from / step - 1e-9); i * step <= to + step * 1e-9; i++) out.push(i * step);
	return out;
};
