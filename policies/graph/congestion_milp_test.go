package graph

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"sim/fabric/scaleup"
	"sim/policies/milp"
)

// program returns the multi-commodity flow in its usual form: flows per source and link,
// conserved at every GPU.
func program(g scaleup.Topology, n int, demand []float64) *milp.Model {
	m := &milp.Model{Name: "flow"}
	high := m.AddColumn(milp.Column{Name: "high", Up: math.Inf(1), Cost: 1})
	byLink := make([][]milp.Term, len(g))
	for s := range n {
		rows := make([][]milp.Term, n)
		for e, x := range g {
			f := m.AddColumn(milp.Column{Name: fmt.Sprintf("f_s%d_e%d", s, e), Up: math.Inf(1)})
			rows[x.From] = append(rows[x.From], milp.Term{Column: f, Factor: -1})
			rows[x.To] = append(rows[x.To], milp.Term{Column: f, Factor: 1})
			byLink[e] = append(byLink[e], milp.Term{Column: f, Factor: 1})
		}
		for t := range n {
			if t != s {
				m.AddRow(fmt.Sprintf("keep_s%d_t%d", s, t), milp.Equal, demand[s*n+t], rows[t]...)
			}
		}
	}
	for e, terms := range byLink {
		m.AddRow(fmt.Sprintf("link_e%d", e), milp.LessOrEqual, 0, append(terms, milp.Term{Column: high, Factor: -1})...)
	}
	return m
}

// TestAgainstSolver verifies that the optimum of a linear-programming solver lies within the
// bracket.
func TestAgainstSolver(t *testing.T) {
	if _, _, err := milp.Find("highs"); errors.Is(err, milp.ErrNoSolver) {
		t.Skip("no HiGHS on the PATH to compare with")
	}
	r := rand.New(rand.NewPCG(21, 1))
	cases := 60
	for c := range cases {
		n, k := 3+r.IntN(8), 1+r.IntN(3)
		var g scaleup.Topology
		for j := range k {
			p := r.Perm(n)
			for i, u := range p {
				if j == 0 {
					g = append(g, scaleup.Edge{From: int32(u), To: int32(p[(i+1)%n])})
				} else {
					g = append(g, scaleup.Edge{From: int32(i), To: int32(u)})
				}
			}
		}
		d := make([]float64, n*n)
		for i := range d {
			if i/n != i%n {
				d[i] = [...]float64{1, float64(r.IntN(3)), 2 * r.Float64()}[c%3]
			}
		}
		d[1]++
		s, err := milp.Solve(context.Background(), program(g, n, d), milp.Options{Solver: "highs"})
		if err != nil || s.Status != milp.Optimal {
			t.Fatalf("%+v, %v", s, err)
		}
		for _, gap := range []float64{1e-3, 1e-2} {
			got := bracket(t, g, n, d, CongestionOptions{Gap: gap})
			if got.Bound > s.Value*(1+1e-7) || got.Load < s.Value*(1-1e-7) {
				t.Fatalf("%+v, the solver %v, on %v of %v", *got, s.Value, g, d)
			}
		}
	}
}
