package pack

import "slices"

// quadratic is a quadratic assignment. Of the places, in both directions: d[x*n+y] is the demand from the GPU at x to the
// one at y, h the hops; e and i are d and h transposed, so that places are compared along rows.
type quadratic struct {
	n          int
	at         []int32
	d, e, h, i []int32
	// cycle lists the places along a ring; surplus, by place, is what the GPU there sends more than it receives.
	cycle   []int32
	surplus []int64
}

func newQuadratic(n int, need, hops, cycle []int32) *quadratic {
	q := &quadratic{n: n, at: make([]int32, n), d: slices.Clone(need), e: make([]int32, n*n), h: hops, i: make([]int32, n*n),
		cycle: cycle, surplus: make([]int64, n)}
	for x := range n {
		q.at[x] = int32(x)
		for y := range n {
			q.e[y*n+x], q.i[y*n+x] = need[x*n+y], hops[x*n+y]
			q.surplus[x] += int64(need[x*n+y])
			q.surplus[y] -= int64(need[x*n+y])
		}
	}
	return q
}

func (q *quadratic) clone() *quadratic {
	c := *q
	c.at, c.d, c.e, c.surplus = slices.Clone(q.at), slices.Clone(q.d), slices.Clone(q.e), slices.Clone(q.surplus)
	return &c
}

// set makes q what o, a clone of it, is.
func (q *quadratic) set(o *quadratic) {
	copy(q.at, o.at)
	copy(q.d, o.d)
	copy(q.e, o.e)
	copy(q.surplus, o.surplus)
}

// score is what descend lowers: the sum of demand x hops, and on a ring n x its largest load.
func (q *quadratic) score() int64 { return work(q.d, q.h) + q.tilt() }

// tilt is n x (largest - mean load) on a ring, else 0. From link to link the load grows by the surplus of the GPU between.
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
	dx, dy, ex, ey := q.d[x*n:x*n+n], q.d[y*n:y*n+n], q.e[x*n:x*n+n], q.e[y*n:y*n+n]
	hx, hy, ix, iy := q.h[x*n:x*n+n], q.h[y*n:y*n+n], q.i[x*n:x*n+n], q.i[y*n:y*n+n]
	for z := range n {
		sum += int64(dy[z]-dx[z])*int64(hx[z]-hy[z]) + int64(ey[z]-ex[z])*int64(ix[z]-iy[z])
	}
	// At x and y themselves it is another matter: there both ends change.
	for _, z := range [2]int{x, y} {
		sum -= int64(dy[z]-dx[z])*int64(hx[z]-hy[z]) + int64(ey[z]-ex[z])*int64(ix[z]-iy[z])
	}
	return sum + int64(dy[x]-dx[y])*int64(hx[y]-hy[x])
}

func (q *quadratic) exchange(x, y int) {
	n := q.n
	q.at[x], q.at[y] = q.at[y], q.at[x]
	q.surplus[x], q.surplus[y] = q.surplus[y], q.surplus[x]
	for _, m := range [2][]int32{q.d, q.e} {
		for z := range n {
			m[x*n+z], m[y*n+z] = m[y*n+z], m[x*n+z]
		}
		for z := range n {
			m[z*n+x], m[z*n+y] = m[z*n+y], m[z*n+x]
		}
	}
}

// descend exchanges while that helps.
func (q *quadratic) descend() {
	tilt := q.tilt()
	for better := true; better; {
		better = false
		for x := range q.n {
			for y := x + 1; y < q.n; y++ {
				change := q.grows(x, y)
				if q.cycle != nil {
					s := q.surplus
					s[x], s[y] = s[y], s[x]
					change += q.tilt() - tilt
					s[x], s[y] = s[y], s[x]
				}
				if change < 0 {
					q.exchange(x, y)
					tilt = q.tilt()
					better = true
				}
			}
		}
	}
}
