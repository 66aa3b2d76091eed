package topology

import (
	"cmp"
	"slices"

	"sim/engine"
	"sim/engine/flow"
)

// portGoal selects the topologies within the limit that are sought.
type portGoal int

const (
	oneMinimum     portGoal = iota // one with minimum ports
	allMinima                      // all with minimum ports, but one per vector of ports per pod
	paretoFrontier                 // all that no other dominates by using at most as many ports in every pod
)

// portSolution is a topology within the limit.
type portSolution struct {
	circuits []int
	used     []int // ports per pod
	makespan engine.Time
	service  flow.Service
}

// portSearch is a best-first search over boxes of topologies in the order of their
// minimum ports. A box is the set of topologies with lo[e] to hi[e] circuits of each bundle e;
// lo is its lower corner, hi its upper corner. More capacity never increases a bound, so a box
// is empty if the bound of its upper corner exceeds the limit. For other boxes there are two
// cases:
//
//   - If rates are free, more circuits do no harm. A lower corner within the limit has
//     the minimum ports of its box. A box whose lower corner exceeds the limit is split
//     at the bundle that lowers the corner's bound most.
//   - If the service is fixed, more circuits can increase the makespan (docs/model.md),
//     so no topology represents others and all are simulated. Boxes are split at the
//     inner bundles. A box with a single choice of inner bundles is enumerated in the
//     order of ports, from a common simulated prefix.
type portSearch struct {
	*portMinimiser // the makespan limit, the budget and the evaluator
	goal           portGoal
	ceiling        int               // maximum ports of a solution
	open           *openBoxes[int]   // by ports: all topologies of a box with fewer ports have been visited
	lowerCorners   map[string]bool   // whether a simulated lower corner keeps the limit, by topologyKey
	branchOn       []bool            // bundles at which boxes are split
	outerLinks     []int32           // links of the other bundles
	forker         *circuitEvaluator // evaluator of common prefixes; nil if the service does not support forks

	solutions []portSolution
	// floor is a lower bound on the ports of every topology within the limit that is not
	// in solutions. It is at most ceiling + 1.
	floor int
}

// newSearch returns a search for topologies with at most ceiling ports.
func (s *portMinimiser) newSearch(want portGoal, ceiling int) *portSearch {
	q := &portSearch{portMinimiser: s, goal: want, ceiling: ceiling, floor: ceiling + 1,
		lowerCorners: map[string]bool{},
		open:         newOpenBoxes(cmp.Compare[int]), branchOn: make([]bool, len(s.circuits))}
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

// close releases the evaluator of prefixes.
func (q *portSearch) close() {
	if q.forker != nil {
		q.p.release(q.forker)
	}
}

// run searches until all boxes are settled, the goal is reached or the budget is used.
func (q *portSearch) run() {
	const minPorts = 0
	q.push(q.minCircuits(), slices.Clone(q.p.Useful), minPorts)
	isSettled := func(ports int) bool { return ports > q.ceiling || q.isDone() }
	visit := func(b *box[int]) bool {
		if q.isDominated(b.lo) {
			return true
		}
		q.visit(b)
		return !q.mustStop()
	}

	// The rest of an unfinished box is unknown.
	unfinished := q.open.explore(isSettled, q.mustStop, visit)
	if unfinished != nil && unfinished.value <= q.ceiling && !q.isDone() {
		q.floor = min(q.floor, unfinished.value)
	}
}

// isDone reports whether the goal is reached.
func (q *portSearch) isDone() bool { return q.goal == oneMinimum && len(q.solutions) > 0 }

// visit simulates the lower corner of a box, then splits or enumerates the box.
func (q *portSearch) visit(b *box[int]) {
	if q.lowerCornerKeepsLimit(b.lo) {
		return // all other topologies of the box use at least as many ports
	}
	if e := q.branchBundle(b); e >= 0 {
		b.split(e, b.lo[e], func(lo, hi []int) { q.push(lo, hi, b.value) })
	} else if q.fixedService {
		q.completeBox(b)
	}
}

// lowerCornerKeepsLimit simulates the lower corner of a box and reports whether it keeps
// the limit. A corner that does becomes a solution.
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
		q.floor = min(q.floor, q.p.portsOf(lo)) // excluded by its simulations, but not by its bound
	}
	return ok
}

// addSolution records a topology within the limit.
func (q *portSearch) addSolution(x []int, c engine.Time) {
	q.solutions = append(q.solutions, portSolution{circuits: slices.Clone(x), used: q.p.Fabric.Ports(x), makespan: c, service: q.service})
	if q.goal != paretoFrontier {
		q.ceiling = min(q.ceiling, q.p.portsOf(x))
		q.floor = min(q.floor, q.ceiling+1)
	}
}

// isDominated reports whether a solution uses at most as many ports as x in every pod.
func (q *portSearch) isDominated(x []int) bool {
	used := q.p.Fabric.Ports(x)
	return slices.ContainsFunc(q.solutions, func(t portSolution) bool { return dominates(used, t.used) })
}

// dominates reports whether a is at least b in every element.
func dominates(a, b []int) bool {
	for i := range a {
		if a[i] < b[i] {
			return false
		}
	}
	return true
}
