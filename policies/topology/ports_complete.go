package topology

import "slices"

// complete simulates every topology of a box with exactly its number of ports, the box being down to one choice of the
// bundles that others wait for, and opens the box again for one port more.
func (q *portSearch) complete(b *box[int]) {
	c := &completion{q: q, b: b, x: slices.Clone(b.lo), free: q.p.room(b.lo)}
	left := b.value - q.p.used(b.lo)
	most := 0
	for e := range b.lo {
		if b.hi[e] > b.lo[e] {
			c.ends = append(c.ends, e)
			c.price = append(c.price, q.p.price(e))
		}
	}
	c.most = make([]int, len(c.ends)+1)
	for i := len(c.ends) - 1; i >= 0; i-- {
		most += (b.hi[c.ends[i]] - b.lo[c.ends[i]]) * c.price[i]
		c.most[i] = most
	}
	if left > 0 { // the lower corner itself has been simulated
		c.try(0, left)
	}
	if left < most && b.value < q.ceiling && !q.over() {
		q.open.open(b.lo, b.hi, b.value+1)
	}
}

// completion goes through the completions of a box.
type completion struct {
	q      *portSearch
	b      *box[int]
	x      []int
	free   []int
	ends   []int // bundles that are open
	price  []int // of a circuit of theirs
	most   []int // ports that they can take from here on
	forked bool
}

// try takes so many more ports for the bundles from the i-th open one on.
func (c *completion) try(i, left int) {
	switch {
	case c.q.over() || c.q.want == wantOne && len(c.q.found) > 0:
		return
	case left == 0:
		c.simulate()
		return
	case left > c.most[i] || c.q.undercut(c.x):
		return
	}
	e, low := c.ends[i], c.x[c.ends[i]]
	n := min(c.b.hi[e]-low, c.q.p.fits(c.free, e), left/c.price[i])
	c.q.p.take(c.free, e, n)
	for ; n >= 0; n-- {
		c.x[e] = low + n
		c.try(i+1, left-n*c.price[i])
		c.q.p.take(c.free, e, -1)
	}
	c.q.p.take(c.free, e, 1)
}

// simulate simulates a completion.
func (c *completion) simulate() {
	q := c.q
	if q.undercut(c.x) {
		return
	}
	if q.forker == nil {
		if t, ok := q.within(c.x); ok {
			q.keep(c.x, t)
		}
		return
	}
	if !c.forked {
		q.spend(q.p, 1)
		q.forker.provision(c.b.hi)
		q.forker.Fork(q.outer, q.limit+1)
		c.forked = true
	}
	q.fork(q.p)
	q.forker.provision(c.x)
	if t, ok := q.forker.Resume(q.limit + 1); ok {
		q.keep(c.x, t)
	}
}
