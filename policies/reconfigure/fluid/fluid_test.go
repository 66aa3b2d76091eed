package fluid

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/scaleup"
)

// drawn is a strongly connected graph of degree at most k, loops and double edges included, with a demand.
func drawn(t *rapid.T, most, degree int) (g scaleup.Topology, n int, demand []float64) {
	n = rapid.IntRange(2, most).Draw(t, "n")
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

// bracket returns a certified result.
func bracket(t interface {
	Helper()
	Fatalf(string, ...any)
}, g scaleup.Topology, n int, demand []float64, o Options) *Result {
	t.Helper()
	r, err := Optimum(g, n, demand, o)
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

// The routing kept, walked on the graph itself, has the load claimed; the lengths kept, with distances by Floyd and
// Warshall, prove the bound claimed.
func TestCertificate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		topology, n, demand := drawn(t, 12, 3)
		total := 0.0
		for _, d := range demand {
			total += d
		}
		if total == 0 {
			return
		}
		g := newGraph(topology, n)
		m := newMaster(g.instance(demand, total, true, nil))
		r := m.solve(Options{Gap: rapid.SampledFrom([]float64{1e-2, 1e-3, 1e-6}).Draw(t, "gap"), Iterations: DefaultIterations}, &Result{Load: math.Inf(1)})
		if !r.Certified {
			t.Fatalf("%+v is not certified", r)
		}
		load := make([]float64, len(g.to))
		for i, s := range m.in.source {
			for k := m.in.first[i]; k < m.in.first[i+1]; k++ {
				sum := 0.0
				for _, p := range m.commodities[k].paths {
					sum += p.kept
					at := make([]int, n) // arrivals less departures
					for _, e := range p.classes {
						at[g.from[e]]--
						at[g.to[e]]++
						load[e] += p.kept * total
					}
					at[s]++
					at[m.in.sink[k]]--
					for _, x := range at {
						if x != 0 || p.kept < 0 {
							t.Fatalf("connections %v with %v chunks are no path %d->%d", p.classes, p.kept, s, m.in.sink[k])
						}
					}
				}
				if want := demand[int(s)*n+int(m.in.sink[k])]; math.Abs(sum*total-want) > 1e-12*want+1e-300 {
					t.Fatalf("%v chunks %d->%d, want %v", sum*total, s, m.in.sink[k], want)
				}
			}
		}
		links := make(map[[2]int32]float64)
		for _, e := range topology {
			links[[2]int32{e.From, e.To}]++
		}
		worst := 0.0
		for e := range load {
			worst = max(worst, load[e]/links[[2]int32{g.from[e], g.to[e]}])
		}
		if math.Abs(worst-r.Load*total) > 1e-12*worst {
			t.Fatalf("the routing loads %v, claimed %v", worst, r.Load*total)
		}
		if bound := proved(g, m.proof, demand); math.Abs(bound-r.Bound*total) > 1e-12*bound {
			t.Fatalf("the lengths prove %v, claimed %v", bound, r.Bound*total)
		}
	})
}

// proved is the bound that lengths y of connections prove.
func proved(g *graph, y, demand []float64) float64 {
	n := g.n
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
		i := int(g.from[e])*n + int(g.to[e])
		dist[i] = min(dist[i], y[e])
		all += y[e] * g.capacity[e]
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

// Changes that must not matter, or only one way.
func TestMetamorphic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g, n, demand := drawn(t, 9, 3)
		o := Options{Gap: 1e-5}
		base := bracket(t, g, n, demand, o)
		same := func(what string, r *Result, factor float64) {
			if r.Bound > factor*base.Load*(1+1e-12) || factor*base.Bound > r.Load*(1+1e-12) {
				t.Fatalf("%s: %+v, before %+v on %v of %v", what, *r, *base, g, demand)
			}
		}
		scaled := make([]float64, n*n)
		for i, d := range demand {
			scaled[i] = 3.7 * d
		}
		same("scaled by 3.7", bracket(t, g, n, scaled, o), 3.7)

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

// One way for everything: by hand.
func TestSinglePaths(t *testing.T) {
	for n := 2; n <= 70; n++ {
		r := bracket(t, scaleup.Circulant(n, 1), n, demands(n, "uniform"), Options{})
		if want := float64(n * (n - 1) / 2); r.Load != want || r.Bound != want || r.Iterations != 0 {
			t.Fatalf("ring of %d: %+v, want %v", n, *r, want)
		}
	}
	// 3 -> 0 -> 1 -> 2 -> 1, two links 0 -> 1, a loop.
	g := scaleup.Topology{{From: 3, To: 0}, {From: 0, To: 1}, {From: 0, To: 1}, {From: 1, To: 2}, {From: 2, To: 1}, {From: 3, To: 3}}
	d := make([]float64, 16)
	d[3*4+0], d[3*4+2], d[0*4+2], d[2*4+1] = 1, 2, 4, 5
	if r := bracket(t, g, 4, d, Options{}); r.Load != 6 || r.Bound != 6 { // 1 -> 2 carries 2 + 4
		t.Fatalf("%+v, want 6", *r)
	}
	d[3*4+2] = 8 // 3 -> 0 carries 1 + 8, 0 -> 1 half of 12, 1 -> 2 12
	if r := bracket(t, g, 4, d, Options{}); r.Load != 12 {
		t.Fatalf("%+v, want 12", *r)
	}
}

// Two paths of 1 and 2 hops share 3 chunks over the second, which is taken by half of another's: by hand.
func TestTwoPaths(t *testing.T) {
	// 0->1 directly or over 2; 0->2 only directly.
	g := scaleup.Topology{{From: 0, To: 1}, {From: 0, To: 2}, {From: 2, To: 1}}
	d := make([]float64, 9)
	d[1], d[2] = 3, 1 // both links out of 0 carry 4 together
	if r := bracket(t, g, 3, d, Options{Gap: 1e-9}); math.Abs(r.Load-2) > 1e-8 {
		t.Fatalf("%+v, want 2", *r)
	}
	d[2*3+1] = 5 // 2->1 carries 5 already; what it leaves to 0->1 is no use
	if r := bracket(t, g, 3, d, Options{Gap: 1e-9}); math.Abs(r.Load-5) > 1e-8 {
		t.Fatalf("%+v, want 5", *r)
	}
}

func TestBudget(t *testing.T) {
	d := demands(16, "random")
	g := graphs(16, "rings", d)
	best := bracket(t, g, 16, d, Options{Gap: 1e-7})
	last := Result{Load: math.Inf(1)}
	for budget := 1; budget <= best.Iterations; budget++ {
		r, err := Optimum(g, 16, d, Options{Gap: 1e-7, Iterations: budget})
		if err != nil || r.Iterations != budget || r.Certified != (budget == best.Iterations) {
			t.Fatalf("budget %d: %+v, %v", budget, r, err)
		}
		if r.Load < best.Bound || r.Bound > best.Load || r.Load > last.Load*(1+1e-15) || r.Bound < last.Bound {
			t.Fatalf("budget %d: %+v, with one less %+v, in the end %+v", budget, *r, last, *best)
		}
		last = *r
	}
	if again := bracket(t, g, 16, d, Options{Gap: 1e-7}); *again != *best {
		t.Fatalf("%+v, again %+v", *best, *again)
	}
}

func TestErrors(t *testing.T) {
	ring := scaleup.Circulant(3, 1)
	with := func(i int, v float64) []float64 {
		d := make([]float64, 9)
		d[i] = v
		return d
	}
	for what, c := range map[string]struct {
		g    scaleup.Topology
		n    int
		d    []float64
		o    Options
		want error
	}{
		"size":      {ring, 3, make([]float64, 8), Options{}, ErrDemand},
		"no GPUs":   {nil, 0, nil, Options{}, ErrDemand},
		"below 0":   {ring, 3, with(1, -1), Options{}, ErrDemand},
		"no number": {ring, 3, with(1, math.NaN()), Options{}, ErrDemand},
		"infinite":  {ring, 3, with(1, math.Inf(1)), Options{}, ErrDemand},
		"to itself": {ring, 3, with(4, 1), Options{}, ErrDemand},
		"no path":   {ring[:2], 3, with(6, 1), Options{}, ErrDemand},
		"edge":      {scaleup.Circulant(4, 1), 3, with(1, 1), Options{}, scaleup.ErrTopology},
		"gap":       {ring, 3, with(1, 1), Options{Gap: -1}, ErrDemand},
		"budget":    {ring, 3, with(1, 1), Options{Iterations: -1}, ErrDemand},
	} {
		if r, err := Optimum(c.g, c.n, c.d, c.o); !errors.Is(err, c.want) || r != nil {
			t.Errorf("%s: %v, %v, want %v", what, r, err, c.want)
		}
	}
	if r, err := Optimum(nil, 3, make([]float64, 9), Options{}); err != nil || *r != (Result{Certified: true}) {
		t.Errorf("no demand: %v, %v", r, err)
	}
}

// Demands of very different sizes make the equations of the last steps all but singular; narrow brackets still come, and
// soon.
func TestFarApart(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 9))
	for range 1000 {
		n := 3 + r.IntN(8)
		g := scaleup.Circulant(n, 1)
		for range 1 + r.IntN(2) {
			for u, v := range r.Perm(n) {
				g = append(g, scaleup.Edge{From: int32(u), To: int32(v)})
			}
		}
		d := make([]float64, n*n)
		for i := range d {
			if i/n != i%n {
				d[i] = math.Pow(10, float64(r.IntN(16)-12))
			}
		}
		if b := bracket(t, g, n, d, Options{Gap: 1e-6}); b.Iterations > 60 {
			t.Fatalf("%d steps on %v of %v", b.Iterations, g, d)
		}
	}
}
