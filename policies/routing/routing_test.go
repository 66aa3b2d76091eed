package routing

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/static"
	"sim/fabric/torus"
)

// patterns returns all 64 twist patterns in binary order.
func patterns() []string {
	all := make([]string, 64)
	for i := range all {
		all[i] = fmt.Sprintf("%06b", i)
	}
	return all
}

var long = flag.Bool("long", false, "also run the tests that take a minute")

// torusProblem returns all-to-all traffic on a torus with faults and two virtual channels.
func torusProblem(t testing.TB, faults torus.Faults, twist string, dims ...int) *Problem {
	t.Helper()
	o, err := torus.New(dims...)
	if err != nil {
		t.Fatal(err)
	}
	if twist != "" {
		if err := o.Twist(twist); err != nil {
			t.Fatal(err)
		}
	}
	h, err := o.Health(faults)
	if err != nil {
		t.Fatal(err)
	}
	n := o.Network(h, engine.Link{Rate: 400e9, Channels: 2})
	return &Problem{Network: n, Torus: o, Flows: everyPair(o.Nodes())}
}

func everyPair(n int) []engine.Flow {
	all := make([]engine.Flow, 0, n*(n-1))
	for s := range int32(n) {
		for d := range int32(n) {
			if s != d {
				all = append(all, engine.Flow{Src: s, Dst: d})
			}
		}
	}
	return all
}

// linkLoads returns the loads of the paths of a problem's flows.
func linkLoads(p *Problem, w *engine.Paths) *static.Loads {
	// Cannot be cancelled.
	z, _ := static.PathLoads(context.Background(), p.Network, p.Flows, p.Demand, w)
	return z
}

// route routes a problem and verifies paths and bound.
func route(t testing.TB, r Router, p *Problem, o Options) (*Decision, *static.Loads) {
	t.Helper()
	d, err := r.Route(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Paths.Check(t.Context(), p.Network, p.Flows); err != nil {
		t.Fatal(err)
	}
	return d, linkLoads(p, d.Paths)
}

// TestRegularLoads verifies that dimension-order routing takes shortest paths and meets the bound
// on the maximum link load of all-to-all traffic on regular tori.
func TestRegularLoads(t *testing.T) {
	for _, c := range []struct {
		dims []int
		max  int64
	}{{[]int{4, 4, 4}, 32}, {[]int{4, 4, 8}, 128}, {[]int{4, 8, 8}, 256}, {[]int{8, 8, 8}, 512}, {[]int{8, 4, 4}, 128}, {[]int{4, 4, 12}, 288}, {[]int{8}, 8}, {[]int{4, 4}, 8}} {
		p := torusProblem(t, torus.Faults{}, "", c.dims...)
		d, z := route(t, DimensionOrder{}, p, Options{})
		if z.Max != c.max {
			t.Errorf("%s: most loaded link carries %d, want %d", p.Torus, z.Max, c.max)
		}
		if want := p.Torus.Distances().Sum; z.SumHops != want {
			t.Errorf("%s: %d hops in all, shortest are %d", p.Torus, z.SumHops, want)
		}
		if d.Bound > float64(z.Max) || d.Bound <= 0 {
			t.Errorf("%s: bound %g of %d", p.Torus, d.Bound, z.Max)
		}
	}
}

// TestTies verifies ties at half a ring: up from an even coordinate, down from an odd one
// (the example of Sec. 4.1).
func TestTies(t *testing.T) {
	p := torusProblem(t, torus.Faults{}, "", 8, 8, 8)
	at := p.Torus.Node
	p.Flows = []engine.Flow{{Src: at(1, 0, 0), Dst: at(5, 0, 0)}, {Src: at(2, 0, 0), Dst: at(6, 0, 0)}}
	d, _ := route(t, DimensionOrder{}, p, Options{})
	for f, port := range []int{1, 0} {
		if path := d.Paths.Steps(d.Paths.ClassOf(int32(f))); len(path) != 4 || path[0].Port() != port {
			t.Errorf("flow %v takes %v, want port %d", p.Flows[f], path, port)
		}
	}
}

// TestParallelLinks verifies all-to-all traffic along a wrapped dimension of size 2. The paths
// that cross it from a node are as many as the other dimensions have nodes. "dor" and
// "wild-first" use each of the two links for half of these paths, up to one path if their number
// is odd, for any order of dimensions.
func TestParallelLinks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dims := rapid.SliceOfN(rapid.IntRange(1, 4), 0, 3).Draw(t, "others")
		two := rapid.IntRange(0, len(dims)).Draw(t, "dimension of size 2")
		dims = slices.Insert(dims, two, 2)
		o, err := torus.New(dims...)
		if err != nil {
			t.Fatal(err)
		}
		settings := Settings{Order: named(rapid.Permutation(places(len(dims))).Draw(t, "order")...)}
		if len(dims) > 3 { // only three dimensions have names
			settings.Order = nil
		}
		p := &Problem{Network: o.Network(nil, engine.Link{Rate: 1e9, Channels: 2}), Torus: o, Flows: everyPair(o.Nodes())}
		half := o.Nodes() / 4
		for _, name := range []string{"dor", "wild-first"} {
			d, err := ByName(name).Router.Route(context.Background(), p, Options{Settings: settings})
			if err != nil {
				t.Fatal(err)
			}
			z := linkLoads(p, d.Paths)
			for i, l := range o.Links() {
				if load := int(z.Link[i]); int(l.Dim) == two && load != half && load != (o.Nodes()/2+1)/2 {
					t.Fatalf("%s on %v in order %v: link %d from node %d to %d carries %d routes, want %d or one more if %d is odd", name, o, settings.Order, i, l.From, l.To, load, half, o.Nodes()/2)
				}
			}
		}
	})
}

// places returns 0 to n-1.
func places(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// TestDimensionOrder verifies that paths pass the dimensions in order, on tori with any twists
// and on meshes. They are shortest if nodes are identical or nothing is twisted.
func TestDimensionOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 5)
		o, err := torus.New(size.Draw(t, "x"), size.Draw(t, "y"), size.Draw(t, "z"))
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "twist") {
			if err := o.Twist(rapid.SampledFrom(patterns()).Draw(t, "pattern")); err != nil {
				t.Fatal(err)
			}
		} else if err := o.Mesh(rapid.SliceOfDistinct(rapid.IntRange(0, 2), func(d int) int { return d }).Draw(t, "open")...); err != nil {
			t.Fatal(err)
		}
		order := rapid.Permutation([]int{0, 1, 2}).Draw(t, "order")
		p := &Problem{Network: o.Network(nil, engine.Link{Rate: 1e9, Channels: 2}), Torus: o, Flows: everyPair(o.Nodes())}
		d, err := DimensionOrder{Order: named(order...)}.Route(context.Background(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Paths.Check(t.Context(), p.Network, p.Flows); err != nil {
			t.Fatal(err)
		}
		for f, flow := range p.Flows {
			path := d.Paths.Steps(d.Paths.ClassOf(int32(f)))
			for i := 1; i < len(path); i++ {
				a, b := path[i-1].Port(), path[i].Port()
				if a != b && slices.Index(order, a/2) >= slices.Index(order, b/2) {
					t.Fatalf("flow %v in order %v takes %v", flow, order, path)
				}
			}
		}
		z := linkLoads(p, d.Paths)
		if sum := o.Distances().Sum; z.SumHops < sum || z.SumHops > sum && (o.Shift == nil || o.Symmetric()) {
			t.Fatalf("%d hops in all, shortest are %d", z.SumHops, sum)
		}
	})
}

// TestVectors verifies that the three methods for shortest vectors agree.
func TestVectors(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 6)
		o, err := torus.New(size.Draw(t, "x"), size.Draw(t, "y"), size.Draw(t, "z"))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Twist(rapid.SampledFrom(patterns()).Draw(t, "twist")); err != nil {
			t.Fatal(err)
		}
		if !o.Symmetric() {
			t.Skip("no vectors to compare with")
		}
		z, err := newGeometry(&Problem{Network: o.Network(nil, engine.Link{Rate: 1}), Torus: o}, []int{0, 1, 2})
		if err != nil {
			t.Fatal(err)
		}
		all, err := o.Vectors()
		if err != nil {
			t.Fatal(err)
		}
		sorted := func(v []int16) (out [][]int16) {
			for i := 0; i < len(v); i += 3 {
				out = append(out, v[i:i+3])
			}
			slices.SortFunc(out, slices.Compare)
			return out
		}
		a := rapid.Int32Range(0, int32(o.Nodes()-1)).Draw(t, "from")
		row := z.searchVectors(a)
		for b := range int32(o.Nodes()) {
			var want []int16
			for _, v := range all[o.Subtract(b, a)] {
				for _, c := range v {
					want = append(want, int16(c))
				}
			}
			if got := sorted(z.shortestVectors(a, b, nil)); !slices.EqualFunc(got, sorted(want), slices.Equal) {
				t.Fatalf("%d to %d: %v, want %v", a, b, got, sorted(want))
			}
			if got := sorted(row.vectors[3*row.start[b] : 3*row.start[b+1]]); !slices.EqualFunc(got, sorted(want), slices.Equal) {
				t.Fatalf("%d to %d: search finds %v, want %v", a, b, got, sorted(want))
			}
		}
	})
}

// named returns the names of dimensions.
func named(of ...int) []string { return dimNames(of) }

func TestUnserved(t *testing.T) {
	fails := func(r Router, p *Problem, want string) {
		t.Helper()
		_, err := r.Route(context.Background(), p, Options{})
		if !errors.Is(err, ErrUnserved) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	p := torusProblem(t, torus.Faults{}, "", 4, 4, 4)
	fails(DimensionOrder{Order: named(0, 1, 1)}, p, "not distinct dimensions")
	fails(DimensionOrder{Order: named(0, 1)}, p, "does not name every dimension")
	fails(WildRule{WildFirst: WildFirst{Wild: named(3)}}, p, "not distinct dimensions")
	graph := *p
	graph.Torus = nil
	fails(DimensionOrder{}, &graph, "shortest")
	fails(WildRule{}, &graph, "shortest")
	cut := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: 2, Index: 3}}}, "", 4, 4, 4)
	fails(DimensionOrder{}, cut, "no path from node ")
	// In the last dimension of the order, failed links cannot be avoided.
	cut = torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: 2, Index: 3}}}, "", 4, 4, 8)
	fails(WildRule{Order: named(0, 1, 2)}, cut, "more pairs): links that are down are on every wild-first path")
	if _, err := (DimensionOrder{}).Route(context.Background(), &Problem{Network: p.Network, Torus: p.Torus, Flows: []engine.Flow{{Src: 0, Dst: 64}}}, Options{}); err == nil {
		t.Error("node 64 of 64")
	}
	if ByName("dor") == nil || ByName("door") != nil {
		t.Error("routers dor and door")
	}
}

// BenchmarkDimensionOrder reports the heap size of the paths of an all-to-all.
func BenchmarkDimensionOrder(b *testing.B) {
	for _, dims := range [][]int{{4, 8, 8}, {8, 8, 8}, {16, 16, 16}} {
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			p := torusProblem(b, torus.Faults{}, "", dims...)
			var d *Decision
			for b.Loop() {
				var err error
				if d, err = (DimensionOrder{}).Route(context.Background(), p, Options{}); err != nil {
					b.Fatal(err)
				}
			}
			var m runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/1e6, "MB-live")
			b.ReportMetric(float64(len(d.Paths.Start)), "walks")
		})
	}
}
