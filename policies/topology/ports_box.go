package topology

import "slices"

// push opens a box, if it can hold what is sought.
func (q *portSearch) push(lo, hi []int, least int) {
	if !q.p.tighten(lo, hi) || !q.raise(lo, hi) {
		return
	}
	if n := max(least, q.p.portsOfReplica(lo)); n <= q.ceiling {
		q.open.Enqueue(&portBox{box{lo: lo, hi: hi, id: q.made}, n})
		q.made++
	}
}

// raise lifts each bundle of lo to the fewest circuits with which the bound of
// an otherwise full box keeps the limit; false where none does.
func (q *portSearch) raise(lo, hi []int) bool {
	if !q.bounded(hi) {
		return false
	}
	x := slices.Clone(hi)
	for e := range lo {
		few, many := lo[e], hi[e]
		for mid := few; few < many && q.ctx.Err() == nil; mid = (few + many) / 2 { // most often the first does
			x[e] = mid
			if q.bounded(x) {
				many = mid
			} else {
				few = mid + 1
			}
		}
		x[e] = hi[e]
		lo[e] = few
	}
	for _, f := range q.p.room(lo) {
		if f < 0 {
			return false
		}
	}
	return true
}

// needy returns the bundle, of those to split over, whose full use lowers the
// bound of the lower corner most; -1 where the box is down to one choice of
// them.
func (q *portSearch) needy(b *portBox) int {
	best, lowest := -1, never
	x := slices.Clone(b.lo)
	for e := range x {
		if !q.split[e] || b.hi[e] == b.lo[e] || q.ctx.Err() != nil {
			continue
		}
		x[e] = b.hi[e]
		q.spend(forksAPlay)
		if c := q.w.bound(x); best < 0 || c < lowest {
			best, lowest = e, c
		}
		x[e] = b.lo[e]
	}
	return best
}
