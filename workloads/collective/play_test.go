package collective

import (
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/flow"
	"sim/fabric/torus"
)

var long = flag.Bool("long", false, "also run the tests that take a minute")

// one byte per nanosecond
const rate = 8e9

// newTorus returns a torus with the given twist.
func newTorus(t rapid.TB, twist string, dims ...int) *torus.Torus {
	t.Helper()
	o, err := torus.New(dims...)
	if err == nil && twist != "" {
		err = o.Twist(twist)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// must fails the test on an error.
func must[T any](v T, err error) func(t rapid.TB) T {
	return func(t rapid.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// translationOrbits returns the orbit of each node under translations by even steps along
// each dimension, and the first node of each orbit.
func translationOrbits(o *torus.Torus) (orbit, first []int32) {
	n := o.Nodes()
	orbit = slices.Repeat([]int32{-1}, n)
	group, in := []int32{0}, map[int32]bool{0: true}
	for k := 0; k < len(group); k++ {
		for d, size := range o.Dims {
			at := make([]int, len(o.Dims))
			if at[d] = 2; size%2 > 0 {
				at[d] = 1
			}
			if at[d] == size {
				continue
			}
			if h := o.Plus(group[k], o.Node(at...)); !in[h] {
				in[h] = true
				group = append(group, h)
			}
		}
	}
	for a := range int32(n) {
		if orbit[a] >= 0 {
			continue
		}
		for _, h := range group {
			orbit[o.Plus(a, h)] = int32(len(first))
		}
		first = append(first, a)
	}
	return orbit, first
}

// orbitPaths routes all flows. Flows of the same orbit and difference use the same path,
// up to maxPaths shortest vectors, selected by pick among the given number.
func orbitPaths(t rapid.TB, o *torus.Torus, flows []engine.Flow, maxPaths int, pick func(orbit int32, of int) int) (*engine.Paths, []int32) {
	t.Helper()
	vectors := must(o.Vectors())(t)
	orbit, first := translationOrbits(o)
	w := &engine.Paths{First: []int32{0}}
	w.Degree, w.Link = o.Ports()
	for k := range first {
		for d := range o.Nodes() {
			of := vectors[d]
			for range min(maxPaths, len(of)) {
				v := of[pick(int32(k), len(of))]
				var steps []engine.Step
				for dim, c := range v {
					port := 2 * dim
					if c < 0 {
						port++
					}
					steps = append(steps, slices.Repeat([]engine.Step{engine.MakeStep(port, 0)}, max(c, -c))...)
				}
				w.Add(steps...)
			}
			w.First = append(w.First, int32(len(w.Start)))
		}
	}
	for _, f := range flows {
		w.Class = append(w.Class, orbit[f.Src]*int32(o.Nodes())+o.Subtract(f.Dst, f.Src))
	}
	return w, orbit
}

// parityChoice splits the paths between opposite nodes of a ring by the parity of the
// orbit's first node.
func parityChoice(o *torus.Torus) func(int32, int) int {
	_, first := translationOrbits(o)
	return func(k int32, of int) int {
		at, odd := first[k], 0
		for d := range o.Dims { // vectors are in lexicographic order, first dimension first
			if of >= 2 {
				odd = 2*odd + o.Coord(at, d)%2
			}
		}
		return odd % of
	}
}

// linkLoads returns the bytes on each link.
func linkLoads(n *engine.Network, r *engine.Routes, x *Traffic) []float64 {
	load, demand := make([]float64, len(n.Links)), x.Demand()
	for i := range x.Flows {
		for _, u := range r.Of(int32(i)) {
			if demand != nil {
				load[u.Resource] += demand[i] * u.Weight
			} else {
				load[u.Resource] += u.Weight
			}
		}
	}
	return load
}

// TestFluidAllToAll compares the all-to-all at flow level with its fluid time. On a
// regular torus of size k in d dimensions, all links can carry the same load: k^(d-1)
// times the k^2/8 of a ring (rounded down for odd k).
func TestFluidAllToAll(t *testing.T) {
	for _, c := range []struct {
		dims []int
		load int
	}{{[]int{4, 4, 4}, 32}, {[]int{3, 3, 3}, 9}, {[]int{5, 5}, 15}} {
		o := newTorus(t, "", c.dims...)
		x := must(AllToAll(o.Nodes(), 1000, nil))(t)
		n := o.Network(nil, engine.Link{Rate: rate})
		w := evenOddPaths(t, o, x.Flows)
		if err := w.Check(t.Context(), n, x.Flows); err != nil {
			t.Fatal(err)
		}
		g := must(x.Graph())(t)
		r := must(engine.RoutesOf(g, n, w, x.Flows))(t)
		seconds := 0.0 // busy time of the most loaded link
		for l, units := range linkLoads(n, r, x) {
			seconds = max(seconds, float64(units)*float64(x.Message)*8/n.Links[l].Rate)
		}
		fluid := must(engine.FromSeconds(seconds))(t)
		trace := must(flow.Run(t.Context(), g, n, r, flow.Options{}))(t)
		if want := engine.Time(c.load) * 1000 * engine.Nanosecond; fluid != want || trace.Makespan != want {
			t.Errorf("%s: makespan %v, fluid %v; want %v", o, trace.Makespan, fluid, want)
		}
	}
}

// evenOddPaths is dimension-order routing on a regular torus. To the opposite node, even
// coordinates route up and odd ones down.
func evenOddPaths(t rapid.TB, o *torus.Torus, flows []engine.Flow) *engine.Paths {
	w := &engine.Paths{}
	w.Degree, w.Link = o.Ports()
	for _, f := range flows {
		var steps []engine.Step
		for d, size := range o.Dims {
			up := (o.Coord(f.Dst, d) - o.Coord(f.Src, d) + size) % size
			port, hops := 2*d, up
			if 2*up > size || 2*up == size && o.Coord(f.Src, d)%2 == 1 {
				port, hops = port+1, size-up
			}
			steps = append(steps, slices.Repeat([]engine.Step{engine.MakeStep(port, 0)}, hops)...)
		}
		w.Add(steps...)
	}
	return w
}

// TestFold checks that the folded all-to-all ends at the same time as the whole one, for
// each class, on regular and twisted tori. Paths load links unevenly and may be split.
func TestFold(t *testing.T) {
	shapes := []*torus.Torus{
		newTorus(t, "", 4, 4), newTorus(t, "", 4, 3), newTorus(t, "", 2, 4, 2), newTorus(t, "tpuv4", 2, 2, 4), newTorus(t, "001000", 4, 2, 2), newTorus(t, "", 5),
	}
	// Ends differ by the rounding of earlier events to a tick.
	const ticks = 64
	rapid.Check(t, func(t *rapid.T) {
		o := rapid.SampledFrom(shapes).Draw(t, "shape")
		maxPaths := rapid.IntRange(1, 3).Draw(t, "paths")
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		x := must(AllToAll(o.Nodes(), rapid.Int64Range(1, 1e6).Draw(t, "message"), nil))(t)
		n := o.Network(nil, engine.Link{Rate: rate})
		for l, link := range o.Links() {
			n.Links[l].Rate *= float64(1 + link.Dim)
		}
		w, orbit := orbitPaths(t, o, x.Flows, maxPaths, func(_ int32, of int) int { return rng.IntN(of) })
		if err := w.Check(t.Context(), n, x.Flows); err != nil {
			t.Fatal(err)
		}
		g := must(x.Graph())(t)
		whole := must(flow.Run(t.Context(), g, n, must(engine.RoutesOf(g, n, w, x.Flows))(t), flow.Options{}))(t)
		small := must(engine.Fold(n, w, x.Flows, nil, x.Message, orbit))(t)
		folded := must(flow.Run(t.Context(), small.Graph, small.Network, small.Routes, flow.Options{}))(t)
		for f := range x.Flows {
			a, b := whole.End[f], folded.End[w.Class[f]]
			if a-b > ticks || b-a > ticks {
				t.Fatalf("%s: flow %d of class %d ends at %v, its class at %v", o, f, w.Class[f], a, b)
			}
		}
	})
}

// TestFoldLarge checks that the all-to-all on 16x16x16, with 16.8 million flows, ends at
// the fluid time of 8192 messages per link.
func TestFoldLarge(t *testing.T) {
	if !*long {
		t.Skip("takes seconds and 500 MB; -long runs it")
	}
	o := newTorus(t, "", 16, 16, 16)
	x := must(AllToAll(o.Nodes(), 1000, nil))(t)
	n := o.Network(nil, engine.Link{Rate: rate})
	orbit, first := translationOrbits(o)
	var canonical []engine.Flow
	for _, a := range first {
		for d := range int32(o.Nodes()) {
			canonical = append(canonical, engine.Flow{Src: a, Dst: o.Plus(a, d)})
		}
	}
	w := evenOddPaths(t, o, canonical)
	w.Class = make([]int32, len(x.Flows))
	for f, flow := range x.Flows {
		w.Class[f] = orbit[flow.Src]*int32(o.Nodes()) + o.Subtract(flow.Dst, flow.Src)
	}
	begin := time.Now()
	small := must(engine.Fold(n, w, x.Flows, nil, x.Message, orbit))(t)
	trace := must(flow.Run(t.Context(), small.Graph, small.Network, small.Routes, flow.Options{}))(t)
	t.Logf("%d flows, %d classes: folded and simulated in %v", len(x.Flows), len(small.Graph.Tasks), time.Since(begin).Round(time.Millisecond))
	if want := 8192 * 1000 * engine.Nanosecond; trace.Makespan != want {
		t.Errorf("makespan %v, want %v", trace.Makespan, want)
	}
}

// BenchmarkAllToAll simulates the whole all-to-all at flow level, BenchmarkFold its
// classes.
func BenchmarkAllToAll(b *testing.B) {
	for _, c := range speeds {
		o := newTorus(b, c.twist, c.dims...)
		b.Run(c.name, func(b *testing.B) {
			x := must(AllToAll(o.Nodes(), 1000, nil))(b)
			n := o.Network(nil, engine.Link{Rate: rate})
			w, _ := orbitPaths(b, o, x.Flows, 1, parityChoice(o))
			for b.Loop() {
				g := must(x.Graph())(b)
				r := must(engine.RoutesOf(g, n, w, x.Flows))(b)
				must(flow.Run(b.Context(), g, n, r, flow.Options{}))(b)
			}
		})
	}
}

func BenchmarkFold(b *testing.B) {
	for _, c := range speeds {
		o := newTorus(b, c.twist, c.dims...)
		b.Run(c.name, func(b *testing.B) {
			x := must(AllToAll(o.Nodes(), 1000, nil))(b)
			n := o.Network(nil, engine.Link{Rate: rate})
			w, orbit := orbitPaths(b, o, x.Flows, 1, parityChoice(o))
			for b.Loop() {
				f := must(engine.Fold(n, w, x.Flows, nil, x.Message, orbit))(b)
				must(flow.Run(b.Context(), f.Graph, f.Network, f.Routes, flow.Options{}))(b)
			}
		})
	}
}

var speeds = []struct {
	name, twist string
	dims        []int
}{
	{"4x4x8", "", []int{4, 4, 8}}, {"4x4x8_tpuv4", torus.TPUv4, []int{4, 4, 8}},
	{"4x8x8_tpuv4", torus.TPUv4, []int{4, 8, 8}}, {"8x8x8", "", []int{8, 8, 8}},
}
