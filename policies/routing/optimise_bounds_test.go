package routing

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// tinyProblem draws a connected graph with some flows. With rates, links have 1, 2 or 3 Gb/s.
func tinyProblem(t *rapid.T, rates bool) *Problem {
	nodes := rapid.IntRange(2, 5).Draw(t, "nodes")
	p := &Problem{Network: &engine.Network{Nodes: int32(nodes)}}
	rate := func() float64 {
		if !rates {
			return 2e9
		}
		return float64(rapid.IntRange(1, 3).Draw(t, "rate")) * 1e9
	}
	both := func(a, b int) {
		for _, k := range [][2]int{{a, b}, {b, a}} {
			p.Network.Links = append(p.Network.Links, engine.Link{From: int32(k[0]), To: int32(k[1]), Rate: rate(), Channels: 2})
		}
	}
	for a := 1; a < nodes; a++ {
		both(a, rapid.IntRange(0, a-1).Draw(t, "parent"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		a, b := rapid.IntRange(0, nodes-1).Draw(t, "a"), rapid.IntRange(0, nodes-1).Draw(t, "b")
		if a != b {
			both(a, b)
		}
	}
	draw := rapid.SampledFrom([]*rapid.Generator[float64]{
		rapid.Float64Range(0.1, 4), rapid.Just(0.7), rapid.SampledFrom([]float64{0.5, 0.8, 1.3}), rapid.Map(rapid.IntRange(0, 4), func(k int) float64 { return float64(k) }),
	}).Draw(t, "demands")
	for range rapid.IntRange(1, 5).Draw(t, "flows") {
		a := rapid.IntRange(0, nodes-1).Draw(t, "src")
		b := rapid.IntRange(0, nodes-1).Filter(func(b int) bool { return b != a }).Draw(t, "dst")
		p.Flows = append(p.Flows, engine.Flow{Src: int32(a), Dst: int32(b)})
		p.Demand = append(p.Demand, draw.Draw(t, "demand"))
	}
	return p
}

// simplePaths returns all simple paths of each flow as lists of links.
func simplePaths(n *engine.Network, flows []engine.Flow) [][][]int {
	all := make([][][]int, len(flows))
	for i, f := range flows {
		var extend func(node int32, visited uint64, path []int)
		extend = func(node int32, visited uint64, path []int) {
			if node == f.Dst {
				all[i] = append(all[i], append([]int(nil), path...))
				return
			}
			for l, k := range n.Links {
				if k.From == node && k.Rate > 0 && visited>>k.To&1 == 0 {
					extend(k.To, visited|1<<k.To, append(path, l))
				}
			}
		}
		extend(f.Src, 1<<f.Src, nil)
	}
	return all
}

// optimalLoads returns the minimum of the largest load over rate: with one path per flow by
// exhaustive search, and with split flows by the simplex method. Rates are relative to a
// reference.
func optimalLoads(p *Problem, by float64) (one, spread float64) {
	n, all := p.Network, simplePaths(p.Network, p.Flows)
	load := make([]float64, len(n.Links))
	one = math.Inf(1)
	var lead func(i int)
	lead = func(i int) {
		if i == len(all) {
			one = min(one, maxOf(load))
			return
		}
		for _, path := range all[i] {
			worst := 0.0
			for _, l := range path {
				load[l] += p.Demand[i] * by / n.Links[l].Rate
				worst = max(worst, load[l])
			}
			if worst < one {
				lead(i + 1)
			}
			for _, l := range path {
				load[l] -= p.Demand[i] * by / n.Links[l].Rate
			}
		}
	}
	lead(0)
	// The dual problem: lengths of links whose sum, times rates, is at most 1. Maximise the sum
	// of demand times distance. The distance of a flow is at most the length of each of its
	// paths.
	links, paths := len(n.Links), 0
	for _, of := range all {
		paths += len(of)
	}
	rows := make([][]float64, 0, paths+1)
	limit := make([]float64, 0, paths+1)
	gain := make([]float64, links+len(all))
	for i, of := range all {
		gain[links+i] = p.Demand[i]
		for _, path := range of {
			row := make([]float64, links+len(all))
			row[links+i] = 1
			for _, l := range path {
				row[l]--
			}
			rows, limit = append(rows, row), append(limit, 0)
		}
	}
	row := make([]float64, links+len(all))
	for l, k := range n.Links {
		row[l] = k.Rate / by
	}
	return one, simplex(append(rows, row), append(limit, 1), gain)
}

// simplex returns the maximum of gain*x subject to rows*x <= limit, x >= 0, for non-negative
// limits (Bland's rule).
func simplex(rows [][]float64, limit, gain []float64) float64 {
	m, n := len(rows), len(gain)
	z := make([][]float64, m+1)
	basis := make([]int, m)
	for i := range m {
		z[i] = make([]float64, n+m+1)
		copy(z[i], rows[i])
		z[i][n+i], z[i][n+m] = 1, limit[i]
		basis[i] = n + i
	}
	z[m] = make([]float64, n+m+1)
	for j, g := range gain {
		z[m][j] = -g
	}
	for {
		in, out := -1, -1
		for j := range n + m {
			if z[m][j] < -1e-9 {
				in = j
				break
			}
		}
		if in < 0 {
			return z[m][n+m]
		}
		for i := range m {
			if z[i][in] > 1e-9 {
				if out < 0 {
					out = i
					continue
				}
				a, b := z[i][n+m]/z[i][in], z[out][n+m]/z[out][in]
				if a < b-1e-12 || a < b+1e-12 && basis[i] < basis[out] {
					out = i
				}
			}
		}
		if out < 0 {
			return math.Inf(1)
		}
		basis[out] = in
		by := z[out][in]
		for j := range z[out] {
			z[out][j] /= by
		}
		for i := range z {
			if f := z[i][in]; i != out && f != 0 {
				for j := range z[i] {
					z[i][j] -= f * z[out][j]
				}
			}
		}
	}
}

// TestBounds verifies bounds on tiny graphs. The bound for single paths is at most the optimum of
// one path per flow. The equilibration and its bound bracket the optimum of the linear program.
// The choice is at least the optimum.
func TestBounds(t *testing.T) {
	proved, met, all := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := tinyProblem(t, rapid.Bool().Draw(t, "rates"))
		by := p.referenceRate()
		if rapid.Bool().Draw(t, "reference") {
			p.Rate, by = 4e9, 4e9
		}
		if !p.RatesDiffer() {
			by = p.referenceRate()
			for _, l := range p.Network.Links {
				by = l.Rate
			}
		}
		one, spread := optimalLoads(p, by)
		in, err := newRouteInstance(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		if f := in.packingBound(); f > one*(1+1e-9) {
			t.Fatalf("floor %g, optimum %g", f, one)
		}
		if v := in.roundUp(spread, in.demandUnit()); v > one*(1+1e-9) || v < spread {
			t.Fatalf("%g is lifted to %g, optimum %g", spread, v, one)
		}
		x, err := in.startPaths(t.Context(), in.unrestricted(), nil, reasonDisconnected)
		if err != nil {
			t.Fatal(err)
		}
		s := newPathAssignmentSearch(in, x.candidates, 1, 0, 1)
		s.saveBest()
		y := newEquilibration(in, in.unrestricted(), s)
		if _, err := y.run(t.Context(), 200, math.MaxInt); err != nil {
			t.Fatal(err)
		}
		y.recount()
		if y.bound > spread*(1+1e-9) || maxOf(y.load) < spread*(1-1e-9) {
			t.Fatalf("spread proves %g, reaches %g; optimum %g", y.bound, maxOf(y.load), spread)
		}
		if math.Abs(y.bound-spread) < 1e-3*spread {
			proved++
		}
		d, err := OptimisedRouter{NeighbourCap: -1, Budget: 20000}.Route(t.Context(), p, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		have, bound, free := d.Metrics["max_link_load"], d.Bound, d.Metrics["unconstrained_max_link_load"]
		if p.RatesDiffer() {
			have, bound, free = d.Metrics["max_load_over_rate"], d.Metrics["bound_max_load_over_rate"], d.Metrics["unconstrained_max_load_over_rate"]
			if d.Bound != 0 || d.Labels["gap_model"] != ModelLoadOverRate {
				t.Fatalf("bound %g of model %q", d.Bound, d.Labels["gap_model"])
			}
		}
		units, over := loadsOf(p, d.Paths, by)
		if math.Abs(over-have) > 1e-9 || math.Abs(units-d.Metrics["max_link_load"]) > 1e-9 {
			t.Fatalf("load over rate %g, metric %g; units %g, metric %g", over, have, units, d.Metrics["max_link_load"])
		}
		if bound > one*(1+1e-9) || free < one*(1-1e-9) || have < one*(1-1e-9) {
			t.Fatalf("bound %g, optimum %g, spread %g, unconstrained %g, load %g", bound, one, spread, free, have)
		}
		if c, err := packet.CheckChannels(t.Context(), p.Network, d.Paths, p.Flows); err != nil || c != nil {
			t.Fatalf("%v: %s", err, c.Names(p.Network))
		}
		if all++; free <= one*(1+1e-9) {
			met++
		}
	})
	t.Logf("of %d programs %d solved, %d unconstrained choices optimal", all, proved, met)
	if 10*proved < 9*all || 10*met < 9*all {
		t.Error("few are")
	}
}

// TestDemandUnitBound verifies that a bound is never rounded up beyond a load that demands can have:
// the sum of any of the demands.
func TestDemandUnitBound(t *testing.T) {
	units := 0
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]float64{1, 0.1, 1.0 / 3, 1e-3, 0.03125}).Draw(t, "part")
		in := &routeInstance{demand: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) float64 {
			if rapid.Bool().Draw(t, "any") {
				return rapid.Float64Range(0.1, 4).Draw(t, "demand")
			}
			return part * float64(rapid.IntRange(1, 4000).Draw(t, "parts"))
		}), 1, 5).Draw(t, "demands")}
		unit := in.demandUnit()
		if unit > 0 {
			units++
		}
		load := 0.0
		for _, d := range in.demand {
			if rapid.Bool().Draw(t, "counts") {
				load += d
			}
		}
		if got := in.roundUp(load, unit); got > load*(1+roundingTol) {
			t.Fatalf("load %g in units of %g is rounded up to %g", load, unit, got)
		}
	})
	if units == 0 {
		t.Error("no demands have a unit")
	}
}
