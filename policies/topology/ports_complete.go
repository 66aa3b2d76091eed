package topology

import "slices"

// completeBox simulates every topology of a box with exactly its number of ports, the box being down to one choice of the
// bundles that others wait for, and opens the box again for one port more.
func (q *portSearch) completeBox(b *box[int]) {
	c := &boxCompletion{search: q, box: b, x: slices.Clone(b.lo), free: q.p.freePorts(b.lo)}
	left := b.value - q.p.portsOf(b.lo)
	most := 0
	for e := range b.lo {
		if b.hi[e] > b.lo[e] {
			c.openBundles = append(c.openBundles, e)
			c.portsPerCircuit = append(c.portsPerCircuit, q.p.portsPerCircuit(e))
		}
	}
	c.maxPorts = make([]int, len(c.openBundles)+1)
	for i := len(c.openBundles) - 1; i >= 0; i-- {
		most += (b.hi[c.openBundles[i]] - b.lo[c.openBundles[i]]) * c.portsPerCircuit[i]
		c.maxPorts[i] = most
	}
	if left > 0 { // the lower corner itself has been simulated
		c.try(0, left)
	}
	if left < most && b.value < q.ceiling && !q.mustStop() {
		q.open.add(b.lo, b.hi, b.value+1)
	}
}

// boxCompletion goes through the completions of a box.
type boxCompletion struct {
	search          *portSearch
	box             *box[int]
	x               []int
	free            []int
	openBundles     []int // bundles that are open
	portsPerCircuit []int // of a circuit of theirs
	maxPorts        []int // ports that they can take from here on
	forked          bool
}

// try takes so many more ports for the bundles from the i-th open one on.
func (c *boxCompletion) try(i, left int) {
	switch {
	case c.search.mustStop() || c.search.goal == oneMinimum && len(c.search.solutions) > 0:
		return
	case left == 0:
		c.simulate()
		return
	case left > c.maxPorts[i] || c.search.isDominated(c.x):
		return
	}
	e, low := c.openBundles[i], c.x[c.openBundles[i]]
	n := min(c.box.hi[e]-low, c.search.p.maxAdditional(c.free, e), left/c.portsPerCircuit[i])
	c.search.p.allocate(c.free, e, n)
	for ; n >= 0; n-- {
		c.x[e] = low + n
		c.try(i+1, left-n*c.portsPerCircuit[i])
		c.search.p.allocate(c.free, e, -1)
	}
	c.search.p.allocate(c.free, e, 1)
}

// simulate simulates a completion.
func (c *boxCompletion) simulate() {
	q := c.search
	if q.isDominated(c.x) {
		return
	}
	if q.forker == nil {
		if t, ok := q.keepsLimit(c.x); ok {
			q.addSolution(c.x, t)
		}
		return
	}
	if !c.forked {
		q.charge(q.p, 1)
		q.forker.provision(c.box.hi)
		q.forker.Fork(q.outerLinks, q.limit+1)
		c.forked = true
	}
	q.chargeFork(q.p)
	q.forker.provision(c.x)
	if t, ok := q.forker.Resume(q.limit + 1); ok {
		q.addSolution(c.x, t)
	}
}
