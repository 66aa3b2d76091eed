package pack

import (
	"slices"

	"sim/policies/reconfigure/halt"
)

// quadratic is a quadratic assignment. Of the places: row x of d has by place the demand from the GPU at x to that there
// and the demand from there to it, a pair; the rows of h are the hops likewise, the other way round. Pairs are numbers
// whose product, modulo 2^64, has the sum of the two products above its lower half (see halves), which sums of few
// enough do not fill.
type quadratic struct {
	n     int
	at    []int32
	d, h  []uint64
	block int // products that may be added up
	// cycle lists the places along a ring; surplus, by place, is what the GPU there sends more than it receives.
	cycle   []int32
	surplus []int64
	stop    halt.When
}

func newQuadratic(n int, need, hops, cycle []int32) *quadratic {
	q := &quadratic{n: n, at: make([]int32, n), d: make([]uint64, n*n), h: make([]uint64, n*n), cycle: cycle, surplus: make([]int64, n)}
	most := [2]int64{1, 1}
	for x := range n {
		q.at[x] = int32(x)
		for y := range n {
			i, j := x*n+y, y*n+x
			q.d[i] = uint64(int64(need[i]) + int64(need[j])<<32)
			q.h[i] = uint64(int64(hops[j]) + int64(hops[i])<<32)
			q.surplus[x] += int64(need[i])
			q.surplus[y] -= int64(need[i])
			most = [2]int64{max(most[0], int64(need[i])), max(most[1], int64(hops[i]))}
		}
	}
	q.block = int((1<<30 - 1) / (most[0] * most[1])) // 2 products each
	return q
}

// halves takes a pair apart; of sums of products of pairs, above is the sum of both products of each.
func halves(x uint64) (below, above int64) {
	below = int64(int32(x))
	return below, (int64(x) - below) >> 32
}

// times is the sum of both products of two pairs, of any size.
func times(d, h uint64) int64 {
	to, from := halves(d)
	back, there := halves(h)
	return to*there + from*back
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
func (q *quadratic) sum() (sum int64) {
	for i, d := range q.d {
		sum += times(d, q.h[i])
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
func (q *quadratic) grows(x, y int) (sum int64) {
	n := q.n
	dx, hx := q.d[x*n:(x+1)*n], q.h[x*n:(x+1)*n]
	dy, hy := q.d[y*n:(y+1)*n], q.h[y*n:(y+1)*n]
	if q.block == 0 {
		for z, d := range dx {
			sum += times(dy[z]-d, hx[z]-hy[z])
		}
	}
	for from := 0; from < n && q.block > 0; from += q.block {
		to := min(n, from+q.block)
		d, e, f, g := dx[from:to], dy[from:to], hx[from:to], hy[from:to]
		e, f, g = e[:len(d)], f[:len(d)], g[:len(d)]
		all := uint64(0)
		for z, d := range d {
			all += (e[z] - d) * (f[z] - g[z])
		}
		_, above := halves(all)
		sum += above
	}
	return sum + q.ends(x, y)
}

// ends is what grows has to add at x and y themselves, where it is another matter: there both ends change.
func (q *quadratic) ends(x, y int) (sum int64) {
	n := q.n
	dx, hx := q.d[x*n:(x+1)*n], q.h[x*n:(x+1)*n]
	dy, hy := q.d[y*n:(y+1)*n], q.h[y*n:(y+1)*n]
	for _, z := range [2]int{x, y} {
		sum -= times(dy[z]-dx[z], hx[z]-hy[z])
	}
	to, _ := halves(dx[y])
	back, _ := halves(dy[x])
	there, _ := halves(hx[y])
	here, _ := halves(hy[x])
	return sum + (to-back)*(there-here)
}

func (q *quadratic) exchange(x, y int) {
	n := q.n
	q.at[x], q.at[y] = q.at[y], q.at[x]
	q.surplus[x], q.surplus[y] = q.surplus[y], q.surplus[x]
	dx, dy := q.d[x*n:(x+1)*n], q.d[y*n:(y+1)*n]
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
	p := newPrices(q)
	// None helps when all have been weighed since the last that did.
	for left := q.n * (q.n - 1) / 2; left > 0; {
		for x := 0; x < q.n && left > 0; x++ {
			q.stop.Check()
			for y := x + 1; y < q.n && left > 0; y++ {
				change := p.grows(x, y)
				if q.cycle != nil {
					s := q.surplus
					s[x], s[y] = s[y], s[x]
					change += q.tilt() - tilt
					s[x], s[y] = s[y], s[x]
				}
				left--
				if change < 0 {
					p.exchange(x, y)
					tilt = q.tilt()
					left = q.n * (q.n - 1) / 2
				}
			}
		}
	}
}

// prices are what the GPU at each place would pay at each other with the rest where it is: [a*n+b] is the sum over
// places z of the products of d[a,z] and h[b,z], of which how much the sum grows by an exchange follows at once. An
// exchange swaps two columns of d, which adds a product to each price (as Taillard, 1991, has it of exchanges), and two
// rows. Where sums of n products do not fit, nothing is kept.
type prices struct {
	q    *quadratic
	all  []uint64 // nil where nothing is kept
	w, g []uint64
}

func newPrices(q *quadratic) *prices {
	n := q.n
	p := &prices{q: q}
	if q.block < n {
		return p
	}
	p.all, p.w, p.g = make([]uint64, n*n), make([]uint64, n), make([]uint64, n)
	for a := range n {
		q.stop.Check()
		d := q.d[a*n : (a+1)*n]
		for b := range n {
			sum := uint64(0)
			h := q.h[b*n : (b+1)*n][:len(d)]
			for z, x := range d {
				sum += x * h[z]
			}
			p.all[a*n+b] = sum
		}
	}
	return p
}

// grows is that of q.
func (p *prices) grows(x, y int) int64 {
	if p.all == nil {
		return p.q.grows(x, y)
	}
	n := p.q.n
	_, sum := halves(p.all[y*n+x] - p.all[y*n+y] - p.all[x*n+x] + p.all[x*n+y])
	return sum + p.q.ends(x, y)
}

// exchange is that of q.
func (p *prices) exchange(x, y int) {
	q, n := p.q, p.q.n
	if p.all != nil {
		for z := range n {
			p.w[z], p.g[z] = q.d[z*n+y]-q.d[z*n+x], q.h[z*n+x]-q.h[z*n+y]
		}
		for a, w := range p.w {
			if w == 0 {
				continue
			}
			row := p.all[a*n : (a+1)*n][:len(p.g)]
			for b, g := range p.g {
				row[b] += w * g
			}
		}
		one, other := p.all[x*n:(x+1)*n], p.all[y*n:(y+1)*n]
		for b := range one {
			one[b], other[b] = other[b], one[b]
		}
	}
	q.exchange(x, y)
}
