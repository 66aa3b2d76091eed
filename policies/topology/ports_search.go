package topology

import (
	"cmp"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// wanted says which topologies within the limit are sought.
type wanted int

const (
	wantOne      wanted = iota // one with the fewest ports
	wantFewest                 // all with the fewest ports, of those with the same ports in every pod one
	wantFrontier               // all that no other undercuts: none takes at most as many ports in every pod
)

// portSolution is a topology within the limit.
type portSolution struct {
	circuits []int
	used     []int // ports by pod
	makespan engine.Time
	service  flow.Service
}

// portSearch looks through boxes of topologies, those with the fewest ports first. Capacity never lowers a bound, so a
// box whose upper corner's bound exceeds the limit is empty. What is left depends on who decides:
//
//   - Where rates are ours to choose, no circuit more does harm: a lower corner
//     that keeps the limit is the cheapest of its box, and one whose bound does
//     not keep it is split where that is lifted most.
//   - Where the simulation decides, a circuit more may do harm (docs/model.md), so
//     that no topology stands for others: all are simulated. Boxes are split over
//     the bundles that others wait for, and completed in all ways with so many
//     ports, from a common beginning, before any with more is.
type portSearch struct {
	*portSaver
	want    wanted
	ceiling int             // ports beyond which nothing is sought
	open    *boxes[int]     // by ports: topologies with fewer have been looked at
	tried   map[string]bool // lower corners simulated, and whether they keep the limit
	split   []bool          // bundles that boxes are split over
	outer   []int32         // links of the other bundles
	forker  *evaluator      // that simulations go on from; nil where there is no common beginning

	found []portSolution
	// floor is the ports that every topology needs which keeps the limit and is not found, as long as that is not above
	// the ceiling.
	floor int
}

// seek returns a search for topologies with at most so many ports.
func (s *portSaver) seek(want wanted, ceiling int) *portSearch {
	q := &portSearch{portSaver: s, want: want, ceiling: ceiling, floor: ceiling + 1, tried: map[string]bool{},
		open: newBoxes(cmp.Compare[int]), split: make([]bool, len(s.circuits))}
	for e := range q.split {
		q.split[e] = true
	}
	if !s.exact {
		return q
	}
	q.split = s.p.inner()
	q.outer = s.p.links(func(e int) bool { return !q.split[e] })
	if forks(s.service) && s.p.hop == nil {
		q.forker = s.p.evaluator(s.ctx, s.service)
	}
	return q
}

func (q *portSearch) close() {
	if q.forker != nil {
		q.p.done(q.forker)
	}
}

// run looks until nothing is left or the budget ends.
func (q *portSearch) run() {
	q.push(q.fewest(), slices.Clone(q.p.Useful), 0)
	left := q.open.explore(func(ports int) bool { return ports > q.ceiling || q.enough() }, q.over, func(b *box[int]) bool {
		if q.undercut(b.lo) {
			return true
		}
		q.visit(b)
		return !q.over()
	})
	if left != nil && left.value <= q.ceiling && !q.enough() { // what is left of this box is not known
		q.floor = min(q.floor, left.value)
	}
}

// enough reports whether nothing more is sought.
func (q *portSearch) enough() bool { return q.want == wantOne && len(q.found) > 0 }

// visit looks at a box.
func (q *portSearch) visit(b *box[int]) {
	if q.does(b.lo) {
		return // it undercuts all of its box
	}
	if e := q.needy(b); e >= 0 {
		b.split(e, b.lo[e], func(lo, hi []int) { q.push(lo, hi, b.value) })
	} else if q.exact {
		q.complete(b)
	}
}

// does simulates the lower corner of a box and reports whether it keeps the limit.
func (q *portSearch) does(lo []int) bool {
	k := key(lo)
	ok, known := q.tried[k]
	if known {
		return ok
	}
	c, ok := q.within(lo)
	q.tried[k] = ok
	if ok {
		q.keep(lo, c)
	} else if !q.exact && q.bounded(lo) {
		q.floor = min(q.floor, q.p.used(lo)) // only its simulations, not its bound, exclude it
	}
	return ok
}

// keep takes a topology within the limit.
func (q *portSearch) keep(x []int, c engine.Time) {
	q.found = append(q.found, portSolution{slices.Clone(x), q.p.Fabric.Ports(x), c, q.service})
	if q.want != wantFrontier {
		q.ceiling = min(q.ceiling, q.p.used(x))
		q.floor = min(q.floor, q.ceiling+1)
	}
}

// undercut reports whether something found takes at most as many ports as x in every pod.
func (q *portSearch) undercut(x []int) bool {
	used := q.p.Fabric.Ports(x)
	return slices.ContainsFunc(q.found, func(t portSolution) bool { return covers(used, t.used) })
}

// covers reports whether a is at least b in every pod.
func covers(a, b []int) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}
