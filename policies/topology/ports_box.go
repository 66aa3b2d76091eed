package topology

import "slices"

// push opens a box, if it can hold what is sought: each bundle of lo is lifted to the fewest circuits with which the
// bound of an otherwise full box keeps the limit.
func (q *portSearch) push(lo, hi []int, least int) {
	if !q.p.tighten(lo, hi) || !q.bounded(hi) {
		return
	}
	if raise(lo, hi, q.bounded); q.p.overrun(lo) {
		return
	}
	if n := max(least, q.p.used(lo)); n <= q.ceiling {
		q.open.open(lo, hi, n)
	}
}

// needy returns the bundle, of those to split over, whose full use lowers the bound of the lower corner most; -1 where
// the box is down to one choice of them.
func (q *portSearch) needy(b *box[int]) int {
	best, lowest := -1, never
	x := slices.Clone(b.lo)
	for e := range x {
		if !q.split[e] || b.hi[e] == b.lo[e] || q.ctx.Err() != nil {
			continue
		}
		x[e] = b.hi[e]
		q.spend(q.p, 1)
		if c := q.w.bound(x); best < 0 || c < lowest {
			best, lowest = e, c
		}
		x[e] = b.lo[e]
	}
	return best
}
