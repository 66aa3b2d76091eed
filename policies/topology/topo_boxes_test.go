package topology_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/flow"
	"sim/policies/topology"
)

// usefulTopologies returns all topologies that fit the ports and have no useless circuit.
func usefulTopologies(p *topology.Problem) (all [][]int) {
	x := slices.Repeat([]int{1}, len(p.Useful))
	var try func(e int)
	try = func(e int) {
		if e == len(x) {
			all = append(all, slices.Clone(x))
			return
		}
		for x[e] = 1; x[e] <= p.Useful[e] && p.Feasible(x); x[e]++ {
			try(e + 1)
		}
		x[e] = 1
	}
	try(0)
	return all
}

// TestBoundsOfBoxes compares the bounds for fair sharing and the bounds of path means
// with every topology of small random problems. No topology of a box may be faster than
// its bound. Some bounds are tight, so that a bound that is 1 % too high fails.
func TestBoundsOfBoxes(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	fairMet, sharper, meanMet, proved := 0, 0, 0, 0
	for n := range numCases(1500) {
		g := drawSmallProblem(rng, 6).graph(t)
		optical, err := g.pods.Connect(g.graph)
		if err != nil {
			t.Fatal(err)
		}
		p, err := topology.NewProblem(g.graph, optical)
		if err != nil {
			continue // too few ports
		}
		all := usefulTopologies(p)
		fair, best := make([]engine.Time, len(all)), engine.Never
		fastest := engine.Never
		for i, x := range all {
			d, err := p.Evaluate(context.Background(), x, flow.MaxMin)
			if err != nil {
				t.Fatal(err)
			}
			fair[i] = d.Makespan
			fastest = min(fastest, d.Makespan)
			any, _, err := p.ByRules(x)
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, any)
		}
		for i, x := range all {
			_, plain, _ := p.ByRules(x)
			bound, inside := p.FairBound(x), engine.Never
			for k, y := range all {
				if !slices.ContainsFunc(seqOf(len(x)), func(e int) bool { return y[e] > x[e] }) {
					inside = min(inside, fair[k])
				}
			}
			if bound > inside {
				t.Fatalf("case %d, topology %v: bound %v for fair sharing exceeds makespan %v", n, x, bound, inside)
			}
			if float64(bound)*1.01 > float64(inside) && bound > plain+engine.Nanosecond {
				fairMet++
			}
			if bound > plain+engine.Nanosecond && fair[i] > bound {
				sharper++
			}
		}
		ones := slices.Repeat([]int{1}, len(p.Useful))
		mean := p.MeanBound(ones, p.Useful, 60)
		if mean > best {
			t.Fatalf("case %d: bound of path means %v exceeds makespan %v", n, mean, best)
		}
		if float64(mean)*1.01 > float64(best) {
			meanMet++
		}
		bound, value, stopped := p.ProveFairly(2000)
		if bound > fastest || value < fastest || !stopped && min(bound, fastest) < value-engine.Nanosecond {
			t.Fatalf("case %d: %v and bound %v under fair sharing, stopped %v; the best is %v", n,
				value, bound, stopped, fastest)
		}
		if !stopped {
			proved++
		}
	}

	t.Logf("bounds for fair sharing above those for any: %d met to 1 %%, %d not; %d bounds by means met to 1 %%; %d optima proved", fairMet, sharper, meanMet, proved)
	if fairMet == 0 || meanMet == 0 || proved == 0 {
		t.Error("no bound is met: one that is too high would not show")
	}
}
