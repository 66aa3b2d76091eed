package pack

import (
	"math"
	"slices"

	"sim/internal/numbers"
	"sim/policies/graph"
	"sim/policies/reconfigure/halt"
)

// quadratic is a quadratic assignment of GPUs to places: it lowers the sum over pairs of demand x hops by exchanging
// GPUs.
type quadratic struct {
	n  int
	at []int32 // GPU, by place
	// d[x*n+y] is the demand between the GPUs of places x and y, h[x*n+y] the hops between these places.
	d, h []bothWays
	// price[a*n+b] is the cost of the GPU of place a if it were at place b and the others did not move: the sum over
	// places z of the products of d[a,z] and h[b,z]. Four prices give the change of the sum by an exchange. An exchange
	// swaps two columns of d, which adds a product to each price (Taillard, Robust taboo search for the quadratic
	// assignment problem, Parallel Computing 17, 1991), and two rows.
	price []int64
	// cycle lists the places along a ring, and is nil for other topologies. surplus is the demand that the GPU of a
	// place sends less the demand that it receives, indexed by place.
	cycle   []int32
	surplus []int64
	w, g    []bothWays // scratch
	stop    halt.When
}

// bothWays is a number for each direction between two places.
type bothWays struct{ to, from int32 }

func (a bothWays) minus(b bothWays) bothWays { return bothWays{a.to - b.to, a.from - b.from} }

// times is the sum of the products in both directions.
func (a bothWays) times(b bothWays) int64 {
	return int64(a.to)*int64(b.to) + int64(a.from)*int64(b.from)
}

func newQuadratic(n int, need, hops, cycle []int32, stop halt.When) *quadratic {
	q := &quadratic{n: n, at: numbers.Below(int32(n)), d: make([]bothWays, n*n), h: make([]bothWays, n*n), price: make([]int64, n*n),
		cycle: cycle, surplus: make([]int64, n), w: make([]bothWays, n), g: make([]bothWays, n), stop: stop}
	for x := range n {
		for y := range n {
			i, j := x*n+y, y*n+x
			q.d[i], q.h[i] = bothWays{need[i], need[j]}, bothWays{hops[i], hops[j]}
			q.surplus[x] += int64(need[i])
			q.surplus[y] -= int64(need[i])
		}
	}
	for a := range n {
		stop.Check()
		d := q.d[a*n : (a+1)*n]
		for b := range n {
			h, sum := q.h[b*n : (b+1)*n][:len(d)], int64(0)
			for z, x := range d {
				sum += x.times(h[z])
			}
			q.price[a*n+b] = sum
		}
	}
	return q
}

func (q *quadratic) clone() *quadratic {
	c := *q
	c.at, c.d, c.price, c.surplus = slices.Clone(q.at), slices.Clone(q.d), slices.Clone(q.price), slices.Clone(q.surplus)
	return &c
}

// set makes q what o, a clone of it, is.
func (q *quadratic) set(o *quadratic) {
	copy(q.at, o.at)
	copy(q.d, o.d)
	copy(q.price, o.price)
	copy(q.surplus, o.surplus)
}

// sum is the sum over pairs of demand x hops.
func (q *quadratic) sum() (sum int64) {
	for x := range q.n {
		sum += q.price[x*q.n+x]
	}
	return sum / 2
}

// score is what descend lowers: the sum of demand x hops, and on a ring n x its largest load.
func (q *quadratic) score() int64 { return q.sum() + q.tilt() }

// tilt is n x (largest - mean load) on a ring, else 0. From link to link the load grows by the surplus of the GPU
// between.
func (q *quadratic) tilt() int64 {
	load, sum, most := int64(0), int64(0), int64(0)
	for _, x := range q.cycle {
		load += q.surplus[x]
		sum += load
		most = max(most, load) // the last is 0
	}
	return int64(len(q.cycle))*most - sum
}

// grows is how much the sum grows if the GPUs at x and y change places.
func (q *quadratic) grows(x, y int) int64 {
	n := q.n
	dx, hx, px := q.d[x*n:(x+1)*n], q.h[x*n:(x+1)*n], q.price[x*n:(x+1)*n]
	dy, hy, py := q.d[y*n:(y+1)*n], q.h[y*n:(y+1)*n], q.price[y*n:(y+1)*n]
	sum := py[x] - py[y] - px[x] + px[y]
	// Both ends of the demand between x and y move.
	for _, z := range [2]int{x, y} {
		sum -= dy[z].minus(dx[z]).times(hx[z].minus(hy[z]))
	}
	return sum + int64(dx[y].to-dy[x].to)*int64(hy[x].to-hx[y].to)
}

func (q *quadratic) exchange(x, y int) {
	n := q.n
	for z := range n {
		q.w[z], q.g[z] = q.d[z*n+y].minus(q.d[z*n+x]), q.h[z*n+x].minus(q.h[z*n+y])
	}
	for a, w := range q.w {
		if w == (bothWays{}) {
			continue
		}
		row, to, from := q.price[a*n:(a+1)*n], int64(w.to), int64(w.from)
		row = row[:len(q.g)]
		for b, g := range q.g {
			row[b] += to*int64(g.to) + from*int64(g.from)
		}
	}
	q.at[x], q.at[y] = q.at[y], q.at[x]
	q.surplus[x], q.surplus[y] = q.surplus[y], q.surplus[x]
	for z := range n {
		q.price[x*n+z], q.price[y*n+z] = q.price[y*n+z], q.price[x*n+z]
		q.d[x*n+z], q.d[y*n+z] = q.d[y*n+z], q.d[x*n+z]
	}
	for z := 0; z < len(q.d); z += n {
		q.d[z+x], q.d[z+y] = q.d[z+y], q.d[z+x]
	}
}

// descend exchanges while that helps.
func (q *quadratic) descend() {
	tilt := q.tilt()
	(&graph.Exchanges{N: q.n}).Run(math.MaxInt, func(x, y int) bool {
		if y == x+1 {
			q.stop.Check()
		}
		change := q.grows(x, y)
		if q.cycle != nil {
			s := q.surplus
			s[x], s[y] = s[y], s[x]
			change += q.tilt() - tilt
			s[x], s[y] = s[y], s[x]
		}
		if change >= 0 {
			return false
		}
		q.exchange(x, y)
		tilt = q.tilt()
		return true
	})
}
