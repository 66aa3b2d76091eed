package pack

import (
	"slices"

	"sim/policies/reconfigure/halt"
)

// quadratic is a quadratic assignment. Of the places: row x of d, of 2n entries, is the demand from the GPU at x to
// those at all places and then that to it from them; the rows of h are the hops likewise.
type quadratic struct {
	n    int
	at   []int32
	d, h []int32
	// cycle lists the places along a ring; surplus, by place, is what the GPU there sends more than it receives.
	cycle   []int32
	surplus []int64
	stop    halt.When
}

func newQuadratic(n int, need, hops, cycle []int32) *quadratic {
	q := &quadratic{n: n, at: make([]int32, n), d: bothWays(n, need), h: bothWays(n, hops), cycle: cycle, surplus: make([]int64, n)}
	for x := range n {
		q.at[x] = int32(x)
		for y := range n {
			q.surplus[x] += int64(need[x*n+y])
			q.surplus[y] -= int64(need[x*n+y])
		}
	}
	return q
}

// bothWays puts beside every row of an n x n matrix its column.
func bothWays(n int, m []int32) []int32 {
	rows := make([]int32, 0, 2*n*n)
	for x := range n {
		rows = append(rows, m[x*n:x*n+n]...)
		for y := range n {
			rows = append(rows, m[y*n+x])
		}
	}
	return rows
}

func (q *quadratic) clone() *quadratic {
	c := *q
	c.at, c.d, c.surplus = slices.Clone(q.at), slices.Clone(q.d), slices.Clone(q.surplus)
	return &c
}

// set makes q what o, a clone of it, is.
func (q *quadratic) set(o *quadratic) {
	copy(q.at, o.at)
	copy(q.d, o.d)
	copy(q.surplus, o.surplus)
}

// sum is that of demand x hops.
func (q *quadratic) sum() int64 { return work(q.d, q.h) / 2 }

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
func (q *quadratic) grows(x, y int) (sum int64) {
	n := q.n
	dx, hx := q.d[2*x*n:2*(x+1)*n], q.h[2*x*n:2*(x+1)*n]
	dy, hy := q.d[2*y*n:2*(y+1)*n], q.h[2*y*n:2*(y+1)*n]
	dy, hx, hy = dy[:len(dx)], hx[:len(dx)], hy[:len(dx)]
	for z, d := range dx {
		sum += int64(dy[z]-d) * int64(hx[z]-hy[z])
	}
	// At x and y themselves it is another matter: there both ends change.
	for _, z := range [4]int{x, y, n + x, n + y} {
		sum -= int64(dy[z]-dx[z]) * int64(hx[z]-hy[z])
	}
	return sum + int64(dy[x]-dx[y])*int64(hx[y]-hy[x])
}

func (q *quadratic) exchange(x, y int) {
	n := q.n
	q.at[x], q.at[y] = q.at[y], q.at[x]
	q.surplus[x], q.surplus[y] = q.surplus[y], q.surplus[x]
	dx, dy := q.d[2*x*n:2*(x+1)*n], q.d[2*y*n:2*(y+1)*n]
	for z := range dx {
		dx[z], dy[z] = dy[z], dx[z]
	}
	for z := 0; z < len(q.d); z += n {
		q.d[z+x], q.d[z+y] = q.d[z+y], q.d[z+x]
	}
}

// descend exchanges while that helps.
func (q *quadratic) descend() {
	tilt := q.tilt()
	// None helps when all have been weighed since the last that did.
	for left := q.n * (q.n - 1) / 2; left > 0; {
		for x := 0; x < q.n && left > 0; x++ {
			q.stop.Check()
			for y := x + 1; y < q.n && left > 0; y++ {
				change := q.grows(x, y)
				if q.cycle != nil {
					s := q.surplus
					s[x], s[y] = s[y], s[x]
					change += q.tilt() - tilt
					s[x], s[y] = s[y], s[x]
				}
				left--
				if change < 0 {
					q.exchange(x, y)
					tilt = q.tilt()
					left = q.n * (q.n - 1) / 2
				}
			}
		}
	}
}
