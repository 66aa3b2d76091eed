package topology_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize/convex/lp"

	"sim/policies/topology"
)

// linearProgram is a linear program: minimise x[0] subject to x >= 0 and, for each row, row.x <=
// rhs, or row.x = rhs if equal is true.
type linearProgram struct {
	rows  [][]float64
	rhs   []float64
	equal []bool
	n     int
}

func (p *linearProgram) add(equal bool, rhs float64, row []float64) {
	p.rows, p.rhs, p.equal = append(p.rows, row), append(p.rhs, rhs), append(p.equal, equal)
}

// solve is the two-phase simplex method on a dense tableau. It uses Bland's rule if the
// largest coefficient makes no progress. It returns false if the program is infeasible.
func (p *linearProgram) solve() (float64, []float64, bool) {
	const zero = 1e-10
	m := len(p.rows)
	// One artificial variable per row follows. It has no column, because it never returns
	// to the basis.
	artificial := p.n + m
	width := artificial + 1
	tab := make([][]float64, m)
	basis := make([]int, m)
	for i, row := range p.rows {
		tab[i] = make([]float64, width)
		sign := 1.0
		if p.rhs[i] < 0 {
			sign = -1
		}
		for k, a := range row {
			tab[i][k] = sign * a
		}
		tab[i][width-1] = sign * p.rhs[i]
		if !p.equal[i] {
			tab[i][p.n+i] = sign
		}
		if basis[i] = p.n + i; p.equal[i] || sign < 0 {
			basis[i] = artificial + i
		}
	}

	var some []int // nonzero columns of the pivot row
	run := func(cost func(k int) float64) bool {
		reduced := make([]float64, width)
		for k := range p.n {
			reduced[k] = cost(k)
		}
		for i, b := range basis {
			if c := cost(b); c != 0 {
				for k := range reduced {
					reduced[k] -= c * tab[i][k]
				}
			}
		}
		still := 0
		for range 20_000 {
			in := -1
			for k := range artificial {
				if reduced[k] < -zero && (in < 0 || still < 20 && reduced[k] < reduced[in]) {
					in = k
				}
			}
			if in < 0 {
				return true
			}
			out, lowest := -1, math.Inf(1)
			for i := range tab {
				if a := tab[i][in]; a > zero {
					r := tab[i][width-1] / a
					if r < lowest-zero || r < lowest+zero && basis[i] < basis[out] {
						out, lowest = i, min(lowest, r)
					}
				}
			}
			if out < 0 {
				panic("unbounded")
			}
			if still++; lowest > zero {
				still = 0
			}
			basis[out] = in
			scale := 1 / tab[out][in]
			some = some[:0]
			for k, a := range tab[out] {
				if a != 0 {
					tab[out][k] = a * scale
					some = append(some, k)
				}
			}
			eliminate := func(row []float64) {
				if f := row[in]; f != 0 {
					for _, k := range some {
						row[k] -= f * tab[out][k]
					}
				}
			}
			for i := range tab {
				if i != out {
					eliminate(tab[i])
				}
			}
			eliminate(reduced)
		}
		panic("the simplex method does not end")
	}

	run(func(k int) float64 {
		if k >= artificial {
			return 1
		}
		return 0
	})

	for i, b := range basis {
		if b >= artificial && tab[i][width-1] > 1e-7 {
			return 0, nil, false
		}
	}

	for i, b := range basis { // artificial variables that remain in the basis at zero must not increase
		if b >= artificial {
			if k := slices.IndexFunc(tab[i][:artificial], func(a float64) bool { return math.Abs(a) > 1e-7 }); k >= 0 {
				scale := 1 / tab[i][k]
				for c := range tab[i] {
					tab[i][c] *= scale
				}
				for o := range tab {
					if f := tab[o][k]; o != i && f != 0 {
						for c := range tab[o] {
							tab[o][c] -= f * tab[i][c]
						}
					}
				}
				basis[i] = k
			}
		}
	}
	run(func(k int) float64 {
		if k == 0 {
			return 1
		}
		return 0
	})

	x := make([]float64, p.n)
	for i, b := range basis {
		if b < p.n {
			x[b] = tab[i][width-1]
		}
	}

	return x[0], x, true
}

// gonum solves p with gonum's simplex method.
func (p *linearProgram) gonum() (float64, error) {
	m := len(p.rows)
	width := p.n + m
	a := mat.NewDense(m, width, nil)
	for i, row := range p.rows {
		for k, v := range row {
			a.Set(i, k, v)
		}
		if !p.equal[i] {
			a.Set(i, p.n+i, 1)
		}
	}

	var used []int // nonempty columns, as gonum requires
	for k := range width {
		if mat.Max(a.ColView(k)) != 0 || mat.Min(a.ColView(k)) != 0 {
			used = append(used, k)
		}
	}

	b := mat.NewDense(m, len(used), nil)
	for c, k := range used {
		for i := range m {
			b.Set(i, c, a.At(i, k))
		}
	}

	cost := make([]float64, len(used))
	cost[0] = 1
	value, _, err := lp.Simplex(cost, b, p.rhs, 1e-10, nil)
	return value, err
}

// TestSimplexAgainstGonum compares some of the exact search's linear programs with gonum.
func TestSimplexAgainstGonum(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	seen, agreed, gaveUp := 0, 0, 0
	sample := func(p *linearProgram, value float64, ok bool) {
		if seen++; seen%5 > 0 {
			return
		}
		want, err := p.gonum()
		switch {
		case errors.Is(err, lp.ErrInfeasible) && !ok:
			agreed++
		case err != nil:
			gaveUp++ // degenerate
		case !ok || math.Abs(value-want) > accuracy:
			t.Errorf("program %d: %.9g (%v), gonum %.9g", seen, value, ok, want)
		default:
			agreed++
		}
	}

	for range numCases(40) {
		d := drawSmallProblem(rng, 4)
		g := d.graph(t)
		o, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := topology.NewProblem(g.graph, o); err == nil {
			d.optimum(p, 3000, sample)
		}
	}

	t.Logf("%d agreed, gonum gave up on %d, of %d programs", agreed, gaveUp, seen)
	if agreed < 10 || gaveUp > agreed {
		t.Errorf("%d agreed, gonum gave up on %d", agreed, gaveUp)
	}
}
