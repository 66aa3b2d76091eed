package topology

import "slices"

// push adds a box if it can contain a solution. Each element of lo is first raised to the
// minimum circuits with which the bound of an otherwise full box is within the limit.
func (q *portSearch) push(lo, hi []int, minPorts int) {
	if !q.p.tightenUpper(lo, hi) || !q.boundKeepsLimit(hi) {
		return
	}
	if tightenLower(lo, hi, q.boundKeepsLimit); q.p.exceedsPorts(lo) {
		return
	}
	if n := max(minPorts, q.p.portsOf(lo)); n <= q.ceiling {
		q.open.add(lo, hi, n)
	}
}

// branchBundle returns the bundle in branchOn that lowers the bound of the lower corner
// most if it gets all its circuits. It returns -1 if the box has one choice of these
// bundles.
func (q *portSearch) branchBundle(b *box[int]) int {
	best, lowest := -1, never
	x := slices.Clone(b.lo)
	for e := range x {
		if !q.branchOn[e] || b.hi[e] == b.lo[e] || q.ctx.Err() != nil {
			continue
		}
		x[e] = b.hi[e]
		q.charge(q.p, 1)
		if c := q.evaluator.bound(x); best < 0 || c < lowest {
			best, lowest = e, c
		}
		x[e] = b.lo[e]
	}
	return best
}
