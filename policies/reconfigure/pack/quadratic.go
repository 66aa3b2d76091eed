package pack

import (
	"math"
	"slices"

	"sim/internal/numbers"
	"sim/policies/graph"
	"sim/policies/reconfigure/cancellation"
)

// quadraticAssignment assigns GPUs to the nodes of a sequence of topologies. It minimises
// the sum over pairs of demand x hops by pairwise exchanges: the quadratic assignment
// problem. In this file a place is such a node.
type quadraticAssignment struct {
	n    int
	gpus []int32 // GPU, indexed by place
	// demand[x*n+y] is the demand between the GPUs of places x and y. hops[x*n+y] are the
	// hops between these places.
	demand, hops []directedPair
	// cost[a*n+b] is the cost of the GPU of place a if it were at place b and the others
	// did not move: the sum over places z of the products of demand[a,z] and hops[b,z].
	// Four costs give the change of the sum by an exchange.
	//
	// An exchange swaps two columns of demand, which adds a product to each cost (Taillard,
	// Robust taboo search for the quadratic assignment problem, Parallel Computing 17,
	// 1991), and two rows.
	cost []int64

	cycle []int32 // the places along a ring; nil for other topologies
	// surplus is the demand that the GPU of a place sends minus the demand that it receives,
	// indexed by place.
	surplus                 []int64
	demandChange, hopChange []directedPair // scratch of exchange
	stop                    cancellation.Condition
}

// directedPair has a number for each direction between two places.
type directedPair struct{ to, from int32 }

func (a directedPair) minus(b directedPair) directedPair {
	return directedPair{to: a.to - b.to, from: a.from - b.from}
}

// times returns the sum of the products of both directions.
func (a directedPair) times(b directedPair) int64 {
	return int64(a.to)*int64(b.to) + int64(a.from)*int64(b.from)
}

// newQuadraticAssignment returns the assignment in which the GPU of each place has its
// number. demand and hops are n x n matrices; cycle is as in quadraticAssignment.
func newQuadraticAssignment(n int, demand, hops, cycle []int32, stop cancellation.Condition) *quadraticAssignment {
	q := &quadraticAssignment{
		n:            n,
		gpus:         numbers.Below(int32(n)),
		demand:       make([]directedPair, n*n),
		hops:         make([]directedPair, n*n),
		cost:         make([]int64, n*n),
		cycle:        cycle,
		surplus:      make([]int64, n),
		demandChange: make([]directedPair, n),
		hopChange:    make([]directedPair, n),
		stop:         stop,
	}

	for x := range n {
		for y := range n {
			i, j := x*n+y, y*n+x
			q.demand[i] = directedPair{to: demand[i], from: demand[j]}
			q.hops[i] = directedPair{to: hops[i], from: hops[j]}
			q.surplus[x] += int64(demand[i])
			q.surplus[y] -= int64(demand[i])
		}
	}

	// The costs, by their definition.
	for a := range n {
		stop.Check()
		d := q.demand[a*n : (a+1)*n]
		for b := range n {
			h := q.hops[b*n : (b+1)*n][:len(d)]
			sum := int64(0)
			for z, x := range d {
				sum += x.times(h[z])
			}
			q.cost[a*n+b] = sum
		}
	}

	return q
}

// clone returns a copy of the state. It shares hops and scratch memory.
func (q *quadraticAssignment) clone() *quadraticAssignment {
	c := *q
	c.gpus = slices.Clone(q.gpus)
	c.demand = slices.Clone(q.demand)
	c.cost = slices.Clone(q.cost)
	c.surplus = slices.Clone(q.surplus)
	return &c
}

// copyFrom copies the state of o, which must be a clone of q or its origin.
func (q *quadraticAssignment) copyFrom(o *quadraticAssignment) {
	copy(q.gpus, o.gpus)
	copy(q.demand, o.demand)
	copy(q.cost, o.cost)
	copy(q.surplus, o.surplus)
}

// sum returns the sum over pairs of demand x hops.
func (q *quadraticAssignment) sum() (sum int64) {
	for x := range q.n {
		sum += q.cost[x*q.n+x]
	}
	return sum / 2
}

// score returns the value that descend minimises: the sum of demand x hops, and for a directed ring
// n x its largest link load. On such a ring, each unit of demand loads one link per hop, so the sum
// of demand x hops is the sum of the n link loads, n x their mean. ringExcess adds n x (largest -
// mean).
func (q *quadraticAssignment) score() int64 { return q.sum() + q.ringExcess() }

// ringExcess returns n x (largest - mean load) on a ring, else 0. The loads of consecutive
// links differ by the surplus of the GPU between them.
func (q *quadraticAssignment) ringExcess() int64 {
	load := int64(0)
	sum := int64(0)
	largest := int64(0)
	for _, x := range q.cycle {
		load += q.surplus[x]
		sum += load
		largest = max(largest, load) // the last is 0
	}
	return int64(len(q.cycle))*largest - sum
}

// exchangeDelta returns the change of the sum if the GPUs at x and y are exchanged. With d = demand,
// h = hops and "." for the product of both directions (times), it is
//
//	cost[y,x] - cost[y,y] - cost[x,x] + cost[x,y]
//	- sum over z in {x, y} of (d[y,z] - d[x,z]) . (h[x,z] - h[y,z])
//	+ (d(x,y) - d(y,x)) * (h(y,x) - h(x,y))
//
// where d(x,y) and h(x,y) are the numbers in one direction, from x to y. The first line assumes
// that all other GPUs stay, which holds for all places z except x and y. The second line removes
// these two places from it. The third line is the change of the products of x and y with
// each other: both of their GPUs move.
func (q *quadraticAssignment) exchangeDelta(x, y int) int64 {
	n := q.n
	dx := q.demand[x*n : (x+1)*n]
	hx := q.hops[x*n : (x+1)*n]
	px := q.cost[x*n : (x+1)*n]
	dy := q.demand[y*n : (y+1)*n]
	hy := q.hops[y*n : (y+1)*n]
	py := q.cost[y*n : (y+1)*n]
	sum := py[x] - py[y] - px[x] + px[y]

	// Remove places x and y from the sum, and add the demand between them.
	for _, z := range [2]int{x, y} {
		sum -= dy[z].minus(dx[z]).times(hx[z].minus(hy[z]))
	}
	return sum + int64(dx[y].to-dy[x].to)*int64(hy[x].to-hx[y].to)
}

// exchange exchanges the GPUs at x and y and updates all costs.
func (q *quadraticAssignment) exchange(x, y int) {
	n := q.n
	for z := range n {
		q.demandChange[z], q.hopChange[z] = q.demand[z*n+y].minus(q.demand[z*n+x]),
			q.hops[z*n+x].minus(q.hops[z*n+y])
	}

	// Update all costs by the outer product of the changes of demand and hops.
	for a, w := range q.demandChange {
		if w == (directedPair{}) {
			continue
		}
		row := q.cost[a*n : (a+1)*n]
		to := int64(w.to)
		from := int64(w.from)
		row = row[:len(q.hopChange)]
		for b, g := range q.hopChange {
			row[b] += to*int64(g.to) + from*int64(g.from)
		}
	}

	// Exchange the GPUs and their rows and columns.
	q.gpus[x], q.gpus[y] = q.gpus[y], q.gpus[x]
	q.surplus[x], q.surplus[y] = q.surplus[y], q.surplus[x]
	for z := range n {
		q.cost[x*n+z], q.cost[y*n+z] = q.cost[y*n+z], q.cost[x*n+z]
		q.demand[x*n+z], q.demand[y*n+z] = q.demand[y*n+z], q.demand[x*n+z]
	}
	for z := 0; z < len(q.demand); z += n {
		q.demand[z+x], q.demand[z+y] = q.demand[z+y], q.demand[z+x]
	}
}

// descend exchanges GPUs while this lowers the score.
func (q *quadraticAssignment) descend() {
	excess := q.ringExcess()

	// Run calls the function for all pairs x < y, in turn, until none of them is exchanged.
	const maxCalls = math.MaxInt
	(&graph.Exchanges{N: q.n}).Run(maxCalls, func(x, y int) bool {
		if y == x+1 {
			q.stop.Check()
		}
		change := q.exchangeDelta(x, y)
		if q.cycle != nil {
			s := q.surplus
			s[x], s[y] = s[y], s[x]
			change += q.ringExcess() - excess
			s[x], s[y] = s[y], s[x]
		}

		if change >= 0 {
			return false
		}
		q.exchange(x, y)
		excess = q.ringExcess()
		return true
	})
}
