package topology

import "slices"

// completeBox simulates all topologies of a box with exactly b.value ports. The box must
// have a single choice of the inner bundles. It then adds the box again with one port
// more.
func (q *portSearch) completeBox(b *box[int]) {
	c := &boxCompletion{search: q, box: b, x: slices.Clone(b.lo), free: q.p.freePorts(b.lo)}
	remaining := b.value - q.p.portsOf(b.lo)
	maxPorts := 0

	// The bundles with a range, and the ports that each suffix of them can use.
	for e := range b.lo {
		if b.hi[e] > b.lo[e] {
			c.openBundles = append(c.openBundles, e)
			c.portsPerCircuit = append(c.portsPerCircuit, q.p.portsPerCircuit(e))
		}
	}

	c.maxPorts = make([]int, len(c.openBundles)+1)
	for i := len(c.openBundles) - 1; i >= 0; i-- {
		maxPorts += (b.hi[c.openBundles[i]] - b.lo[c.openBundles[i]]) * c.portsPerCircuit[i]
		c.maxPorts[i] = maxPorts
	}

	if remaining > 0 { // if it is 0, the only topology is the lower corner, which has been simulated
		const firstIndex = 0
		c.try(firstIndex, remaining)
	}
	if remaining < maxPorts && b.value < q.ceiling && !q.mustStop() {
		q.open.add(b.lo, b.hi, b.value+1)
	}
}

// boxCompletion enumerates the topologies of a box with a given number of ports.
type boxCompletion struct {
	search          *portSearch
	box             *box[int]
	x               []int
	free            []int // ports that x leaves free, indexed by pod
	openBundles     []int // bundles with several choices
	portsPerCircuit []int // indexed as openBundles
	maxPorts        []int // ports that the open bundles from this index on can use in addition
	forked          bool  // the common prefix has been simulated
}

// try distributes the remaining ports over the open bundles from index i on.
func (c *boxCompletion) try(i, remaining int) {
	switch {
	case c.search.mustStop() || c.search.goal == oneMinimum && len(c.search.solutions) > 0:
		return
	case remaining == 0:
		c.simulate()
		return
	case remaining > c.maxPorts[i] || c.search.isDominated(c.x):
		return
	}

	// Try the maximum of further circuits of the bundle first. free always has the ports that the
	// current n leaves.
	e, low := c.openBundles[i], c.x[c.openBundles[i]]
	n := min(c.box.hi[e]-low, c.search.p.maxAdditional(c.free, e), remaining/c.portsPerCircuit[i])
	c.search.p.allocate(c.free, e, n)
	for ; n >= 0; n-- {
		c.x[e] = low + n
		c.try(i+1, remaining-n*c.portsPerCircuit[i])
		c.search.p.allocate(c.free, e, -1)
	}

	c.search.p.allocate(c.free, e, 1)
}

// simulate simulates the current topology, from the common prefix if possible.
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

	// Simulate the common prefix on first use.
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
