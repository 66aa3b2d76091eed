package topology

import (
	"cmp"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// portGoal says which topologies within the limit are sought.
type portGoal int

const (
	oneMinimum     portGoal = iota // one with the fewest ports
	allMinima                      // all with the fewest ports, of those with the same ports in every pod one
	paretoFrontier                 // all that no other undercuts: none takes at most as many ports in every pod
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
	*portMinimiser
	goal         portGoal
	ceiling      int               // ports beyond which nothing is sought
	open         *openBoxes[int]   // by ports: topologies with fewer have been looked at
	lowerCorners map[string]bool   // lower corners simulated, and whether they keep the limit
	branchOn     []bool            // bundles that boxes are split over
	outerLinks   []int32           // links of the other bundles
	forker       *circuitEvaluator // that simulations go on from; nil where there is no common beginning

	solutions []portSolution
	// floor is the ports that every topology needs which keeps the limit and is not found, as long as that is not above
	// the ceiling.
	floor int
}

// newSearch returns a search for topologies with at most so many ports.
func (s *portMinimiser) newSearch(want portGoal, ceiling int) *portSearch {
	q := &portSearch{portMinimiser: s, goal: want, ceiling: ceiling, floor: ceiling + 1, lowerCorners: map[string]bool{},
		open: newOpenBoxes(cmp.Compare[int]), branchOn: make([]bool, len(s.circuits))}
	for e := range q.branchOn {
		q.branchOn[e] = true
	}
	if !s.fixedService {
		return q
	}
	q.branchOn = s.p.innerBundles()
	q.outerLinks = s.p.linksOf(func(e int) bool { return !q.branchOn[e] })
	if supportsFork(s.service) && s.p.oneHop == nil {
		q.forker = s.p.acquire(s.ctx, s.service)
	}
	return q
}

func (q *portSearch) close() {
	if q.forker != nil {
		q.p.release(q.forker)
	}
}

// run looks until nothing is left or the budget ends.
func (q *portSearch) run() {
	q.push(q.minCircuits(), slices.Clone(q.p.Useful), 0)
	left := q.open.explore(func(ports int) bool { return ports > q.ceiling || q.isDone() }, q.mustStop, func(b *box[int]) bool {
		if q.isDominated(b.lo) {
			return true
		}
		q.visit(b)
		return !q.mustStop()
	})
	if left != nil && left.value <= q.ceiling && !q.isDone() { // what is left of this box is not known
		q.floor = min(q.floor, left.value)
	}
}

// isDone reports whether nothing more is sought.
func (q *portSearch) isDone() bool { return q.goal == oneMinimum && len(q.solutions) > 0 }

// visit looks at a box.
func (q *portSearch) visit(b *box[int]) {
	if q.lowerCornerKeepsLimit(b.lo) {
		return // it undercuts all of its box
	}
	if e := q.branchBundle(b); e >= 0 {
		b.split(e, b.lo[e], func(lo, hi []int) { q.push(lo, hi, b.value) })
	} else if q.fixedService {
		q.completeBox(b)
	}
}

// lowerCornerKeepsLimit simulates the lower corner of a box and reports whether it keeps the limit.
func (q *portSearch) lowerCornerKeepsLimit(lo []int) bool {
	k := topologyKey(lo)
	ok, known := q.lowerCorners[k]
	if known {
		return ok
	}
	c, ok := q.keepsLimit(lo)
	q.lowerCorners[k] = ok
	if ok {
		q.addSolution(lo, c)
	} else if !q.fixedService && q.boundKeepsLimit(lo) {
		q.floor = min(q.floor, q.p.portsOf(lo)) // only its simulations, not its bound, exclude it
	}
	return ok
}

// addSolution takes a topology within the limit.
func (q *portSearch) addSolution(x []int, c engine.Time) {
	q.solutions = append(q.solutions, portSolution{slices.Clone(x), q.p.Fabric.Ports(x), c, q.service})
	if q.goal != paretoFrontier {
		q.ceiling = min(q.ceiling, q.p.portsOf(x))
		q.floor = min(q.floor, q.ceiling+1)
	}
}

// isDominated reports whether something found takes at most as many ports as x in every pod.
func (q *portSearch) isDominated(x []int) bool {
	used := q.p.Fabric.Ports(x)
	return slices.ContainsFunc(q.solutions, func(t portSolution) bool { return dominates(used, t.used) })
}

// dominates reports whether a is at least b in every pod.
func dominates(a, b []int) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}
