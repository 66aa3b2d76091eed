package graph

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
)

// drawProblem draws a strongly connected graph of limited degree, with loops and parallel edges,
// and a demand.
func drawProblem(t *rapid.T, maxNodes, degree int) (g scaleup.Topology, n int, demand []float64) {
	n = rapid.IntRange(2, maxNodes).Draw(t, "n")
	names := make([]int, n)
	for i := range names {
		names[i] = i
	}
	ring := rapid.Permutation(names).Draw(t, "ring")
	for i, u := range ring {
		g = append(g, scaleup.Edge{From: int32(u), To: int32(ring[(i+1)%n])})
	}
	for range rapid.IntRange(0, degree-1).Draw(t, "more") {
		for u, v := range rapid.Permutation(names).Draw(t, "permutation") {
			if rapid.IntRange(0, 7).Draw(t, "dark") > 0 {
				g = append(g, scaleup.Edge{From: int32(u), To: int32(v)})
			}
		}
	}
	demand = make([]float64, n*n)
	kind := rapid.SampledFrom([]string{"uniform", "some", "any", "far apart"}).Draw(t, "demand")
	for i := range demand {
		if i/n == i%n {
			continue
		}
		switch kind {
		case "uniform":
			demand[i] = 1
		case "some":
			demand[i] = float64(rapid.IntRange(0, 2).Draw(t, "chunks"))
		case "any":
			demand[i] = rapid.Float64Range(0, 10).Draw(t, "chunks")
		default:
			demand[i] = math.Pow(10, float64(rapid.IntRange(-12, 3).Draw(t, "power")))
		}
	}
	return g, n, demand
}

// network returns the graph of a topology without loops, and the number of links of each arc.
func network(t scaleup.Topology, n int) (g *Digraph, links []float64) {
	var arcs []Arc
	for _, e := range t.Sorted() {
		a := Arc{From: e.From, To: e.To}
		switch {
		case e.From == e.To:
		case len(arcs) > 0 && a == arcs[len(arcs)-1]:
			links[len(links)-1]++
		default:
			arcs, links = append(arcs, a), append(links, 1)
		}
	}
	return NewDigraph(n, arcs), links
}

func optimum(t scaleup.Topology, n int, demand []float64, o CongestionOptions) (*Congestion, error) {
	g, links := network(t, n)
	return MinCongestion(g, links, demand, o)
}

// bracket returns a certified result.
func bracket(t interface {
	Helper()
	Fatalf(string, ...any)
}, g scaleup.Topology, n int, demand []float64, o CongestionOptions) *Congestion {
	t.Helper()
	r, err := optimum(g, n, demand, o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	gap := o.Gap
	if gap == 0 {
		gap = DefaultGap
	}
	if !r.Certified || !(r.Bound <= r.Load) || r.Load-r.Bound > gap*r.Bound*(1+1e-9) {
		t.Fatalf("%+v on %v of %v: no bracket of %v", *r, g, demand, gap)
	}
	return r
}

// provedBound returns the bound that lengths y of connections prove.
func provedBound(g *Digraph, capacity, y, demand []float64) float64 {
	n := g.Nodes()
	dist := make([]float64, n*n)
	for i := range dist {
		if dist[i] = math.Inf(1); i/n == i%n {
			dist[i] = 0
		}
	}
	all := 0.0
	for e := range y {
		if y[e] < 0 {
			return math.Inf(1)
		}
		i := int(g.From[e])*n + int(g.To[e])
		dist[i] = min(dist[i], y[e])
		all += y[e] * capacity[e]
	}
	for v := range n {
		for i := range dist {
			dist[i] = min(dist[i], dist[i/n*n+v]+dist[v*n+i%n])
		}
	}
	sum := 0.0
	for i, d := range demand {
		if d > 0 {
			sum += d * dist[i]
		}
	}
	return sum / all
}

// TestMetamorphic verifies transformations of a problem that preserve the optimum, or change it
// in a known direction.
func TestMetamorphic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, n, demand := drawProblem(t, 9, 3)
		o := CongestionOptions{Gap: 1e-2}
		base := bracket(t, g, n, demand, o)
		same := func(what string, r *Congestion, factor float64) {
			if r.Bound > factor*base.Load*(1+1e-12) || factor*base.Bound > r.Load*(1+1e-12) {
				t.Fatalf("%s: %+v, before %+v on %v of %v", what, *r, *base, g, demand)
			}
		}
		largeDemand := make([]float64, n*n)
		for i, d := range demand {
			largeDemand[i] = 3.7 * d
		}
		same("scaled by 3.7", bracket(t, g, n, largeDemand, o), 3.7)

		label := make([]int32, n)
		for i := range label {
			label[i] = int32(i)
		}
		label = rapid.Permutation(label).Draw(t, "label")
		renamed := make([]float64, n*n)
		for i, d := range demand {
			renamed[int(label[i/n])*n+int(label[i%n])] = d
		}
		same("renamed", bracket(t, g.Relabel(label), n, renamed, o), 1)
		same("each link twice", bracket(t, append(g[:len(g):len(g)], g...), n, demand, o), 0.5)

		u := rapid.IntRange(0, n-1).Draw(t, "from")
		v := rapid.IntRange(0, n-1).Draw(t, "to")
		if r := bracket(t, append(g[:len(g):len(g)], scaleup.Edge{From: int32(u), To: int32(v)}), n, demand, o); r.Bound > base.Load*(1+1e-12) {
			t.Fatalf("with %d->%d more: %+v, before %+v on %v of %v", u, v, *r, *base, g, demand)
		}
	})
}

// TestSinglePaths verifies an example by hand in which every path is unique.
func TestSinglePaths(t *testing.T) {
	for n := 2; n <= 70; n++ {
		r := bracket(t, scaleup.Circulant(n, 1), n, demands(n, "uniform"), CongestionOptions{})
		if want := float64(n * (n - 1) / 2); r.Load != want || r.Bound != want || r.Iterations != 0 {
			t.Fatalf("ring of %d: %+v, want %v", n, *r, want)
		}
	}
	// The graph is 3 -> 0 -> 1 -> 2 -> 1 with two links 0 -> 1 and a loop.
	g := scaleup.Topology{{From: 3, To: 0}, {From: 0, To: 1}, {From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 1}, {From: 3, To: 3}}
	d := make([]float64, 16)
	d[3*4+0], d[3*4+2], d[0*4+2], d[2*4+1] = 1, 2, 4, 5
	if r := bracket(t, g, 4, d, CongestionOptions{}); r.Load != 6 || r.Bound != 6 { // 1 -> 2 carries 2 + 4
		t.Fatalf("%+v, want 6", *r)
	}
	d[3*4+2] = 8 // 3 -> 0 carries 1 + 8, 0 -> 1 half of 12, 1 -> 2 12
	if r := bracket(t, g, 4, d, CongestionOptions{}); r.Load != 12 {
		t.Fatalf("%+v, want 12", *r)
	}
}

// TestTwoPaths verifies an example by hand: paths of 1 and 2 hops share 3 units, and another
// demand takes part of the second path.
func TestTwoPaths(t *testing.T) {
	// Node 1 is reached from 0 directly or via 2; node 2 only directly.
	g := scaleup.Topology{{From: 0, To: 1}, {From: 0, To: 2}, {From: 2, To: 1}}
	d := make([]float64, 9)
	d[1], d[2] = 3, 1 // both links out of 0 carry 4 together
	if r := bracket(t, g, 3, d, CongestionOptions{}); math.Abs(r.Load-2) > 2e-3 {
		t.Fatalf("%+v, want 2", *r)
	}
	d[2*3+1] = 5 // 2->1 already carries 5, and its free capacity is of no use
	if r := bracket(t, g, 3, d, CongestionOptions{}); math.Abs(r.Load-5) > 5e-3 {
		t.Fatalf("%+v, want 5", *r)
	}
}

func TestBudget(t *testing.T) {
	d := demands(16, "random")
	g := graphs(16, "rings", d)
	best := bracket(t, g, 16, d, CongestionOptions{})
	last := Congestion{Load: math.Inf(1)}
	for budget := 1; budget <= best.Iterations; budget++ {
		r, err := optimum(g, 16, d, CongestionOptions{Iterations: budget})
		if err != nil || r.Iterations != budget || r.Certified != (r.Load-r.Bound <= DefaultGap*r.Bound) {
			t.Fatalf("budget %d: %+v, %v", budget, r, err)
		}
		if r.Load < best.Bound || r.Bound > best.Load || r.Load > last.Load*(1+1e-15) || r.Bound < last.Bound {
			t.Fatalf("budget %d: %+v, with one less %+v, in the end %+v", budget, *r, last, *best)
		}
		last = *r
	}
	if again := bracket(t, g, 16, d, CongestionOptions{}); *again != *best {
		t.Fatalf("%+v, again %+v", *best, *again)
	}
}

// TestNoPath verifies that demand between nodes without a path is rejected, and that any graph
// meets no demand.
func TestNoPath(t *testing.T) {
	ring := scaleup.Circulant(3, 1)
	d := make([]float64, 9)
	if r, err := optimum(ring[:2], 3, d, CongestionOptions{}); err != nil || *r != (Congestion{Certified: true}) {
		t.Errorf("no demand: %v, %v", r, err)
	}
	d[6] = 1
	if r, err := optimum(ring[:2], 3, d, CongestionOptions{}); err == nil || err.Error() != "graph: no path from node 2 to node 0" {
		t.Errorf("%v, %v; want an error", r, err)
	}
}
