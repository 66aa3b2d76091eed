"use strict";
// The views are there: draw the page.
sim.start().catch(err => {
	document.getElementById("main").replaceChildren(sim.el("p", {class: "warn"}, `This page cannot be shown: ${err.message}. It needs a browser of 2023 or later.`));
	throw err;
});
