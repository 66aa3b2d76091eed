package routing

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/fabric/torus"
)

// drawGraph draws a small graph with parallel links and links that are down.
func drawGraph(t *rapid.T) *Problem {
	n := &engine.Network{Nodes: rapid.Int32Range(1, 8).Draw(t, "nodes")}
	node := rapid.Int32Range(0, n.Nodes-1)
	if rapid.Bool().Draw(t, "joined") {
		for a := range n.Nodes {
			n.Links = append(n.Links, engine.Link{From: a, To: (a + 1) % n.Nodes, Rate: 1})
		}
	}
	for range rapid.IntRange(0, 30).Draw(t, "links") {
		n.Links = append(n.Links, engine.Link{From: node.Draw(t, "from"), To: node.Draw(t, "to"), Rate: float64(min(1, rapid.IntRange(0, 5).Draw(t, "rate")))})
	}
	return &Problem{Network: n, Flows: everyPair(int(n.Nodes))}
}

// shortestHops returns the hops of shortest paths by the algorithm of Floyd and Warshall; far if
// there is no path.
func shortestHops(n *engine.Network) [][]int {
	d := make([][]int, n.Nodes)
	for a := range d {
		d[a] = make([]int, n.Nodes)
		for b := range d[a] {
			if a != b {
				d[a][b] = far
			}
		}
	}
	for _, l := range n.Links {
		if l.Rate > 0 && l.From != l.To {
			d[l.From][l.To] = 1
		}
	}
	for k := range d {
		for a := range d {
			for b := range d {
				d[a][b] = min(d[a][b], d[a][k]+d[k][b])
			}
		}
	}
	return d
}

const far = 1 << 20

// TestShortest verifies the routers of shortest paths on random graphs. Paths are as short as the
// algorithm of Floyd and Warshall finds. "shortest" takes at each node the first link that leads
// one hop closer, or a link parallel to it. Pairs without a path are counted and named. No
// parallel link carries more than another by more than the smallest traffic to one destination on
// it, so no destination would gain by changing links.
func TestShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawGraph(t)
		d := shortestHops(p.Network)
		unreachable := 0
		var first engine.Flow
		for dst := range p.Network.Nodes {
			for src := range p.Network.Nodes {
				if d[src][dst] >= far {
					if unreachable++; unreachable == 1 {
						first = engine.Flow{Src: src, Dst: dst}
					}
				}
			}
		}
		for name, r := range map[string]Router{"shortest": Shortest{}, "ecmp": ECMP{}, "random": RandomShortest{}, "multipath": Multipath{Routes: 3}, "per-hop": Multipath{Routes: 2, Split: PerHop}} {
			got, err := r.Route(context.Background(), p, Options{Seed: 3})
			if unreachable > 0 {
				if !errors.Is(err, ErrUnserved) || !strings.Contains(err.Error(), fmt.Sprintf("no path from node %d to %d", first.Src, first.Dst)) ||
					unreachable > 3 && !strings.Contains(err.Error(), fmt.Sprintf("(and %d more pairs)", unreachable-3)) {
					t.Fatalf("%s: %d pairs are apart, the first %v: %v", name, unreachable, first, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Paths.Check(t.Context(), p.Network, p.Flows); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for i, f := range p.Flows {
				from, end := got.Paths.Of(got.Paths.ClassOf(int32(i)))
				sum := 0.0
				for k := from; k < end; k++ {
					sum += got.Paths.ShareOf(got.Paths.ClassOf(int32(i)), k)
					if hops := len(got.Paths.Steps(k)); hops != d[f.Src][f.Dst] {
						t.Fatalf("%s: flow %v takes %d hops, shortest is %d", name, f, hops, d[f.Src][f.Dst])
					}
				}
				if math.Abs(sum-1) > 1e-9 {
					t.Fatalf("%s: shares of flow %v are %g in all", name, f, sum)
				}
			}
		}
		if unreachable > 0 {
			return
		}
		got, err := Shortest{}.Route(context.Background(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		traffic := make([]map[int32]int, len(p.Network.Links)) // indexed by link, then destination
		load := make([]int, len(p.Network.Links))
		for i, f := range p.Flows {
			node := f.Src
			for _, s := range got.Paths.Steps(got.Paths.ClassOf(int32(i))) {
				want := int32(-1)
				for id, l := range p.Network.Links {
					if l.From == node && l.Rate > 0 && d[l.To][f.Dst] == d[node][f.Dst]-1 {
						want = int32(id)
						break
					}
				}
				l := got.Paths.Out(node, s)
				if p.Network.Links[l].To != p.Network.Links[want].To {
					t.Fatalf("flow %v takes link %d at node %d, want %d or a parallel one", f, l, node, want)
				}
				if traffic[l] == nil {
					traffic[l] = map[int32]int{}
				}
				traffic[l][f.Dst]++
				load[l]++
				node = p.Network.Links[want].To
			}
		}
		for a, x := range p.Network.Links {
			for b, y := range p.Network.Links {
				if x.From != y.From || x.To != y.To || a == b || x.Rate == 0 || y.Rate == 0 {
					continue
				}
				for dst, amount := range traffic[a] {
					if load[a]-load[b] > amount {
						t.Fatalf("links %d and %d from node %d to %d carry %d and %d flows; %d of those to node %d fit the other", a, b, x.From, x.To, load[a], load[b], amount, dst)
					}
					if traffic[b][dst] > 0 {
						t.Fatalf("paths to node %d part over links %d and %d", dst, a, b)
					}
				}
			}
		}
	})
}

// grid returns a mesh of 3x3 and the flow between opposite corners. It has 6 shortest paths. With
// a choice per hop, the two paths along the border have probability 1/4 each.
func grid(t testing.TB) *Problem {
	o, err := torus.New(3, 3)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Mesh(0, 1); err != nil {
		t.Fatal(err)
	}
	return &Problem{Network: o.Network(nil, engine.Link{Rate: 1}), Torus: o, Flows: []engine.Flow{{Src: 0, Dst: 8}}}
}

// TestChance verifies path probabilities: random-shortest draws all paths equally often, and ecmp
// as choices per hop imply. Another seed gives other choices.
func TestChance(t *testing.T) {
	p := grid(t)
	const runs = 6000
	for _, c := range []struct {
		r      Router
		border float64
	}{{RandomShortest{}, 1. / 6}, {ECMP{}, 1. / 4}} {
		count := map[string]int{}
		for seed := range uint64(runs) {
			d, err := c.r.Route(context.Background(), p, Options{Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			count[fmt.Sprint(d.Paths.Steps(0))]++
		}
		if len(count) != 6 {
			t.Errorf("%T takes %d routes of 6", c.r, len(count))
		}
		for path, n := range count {
			want := (1 - 2*c.border) / 4
			if path == "[0 0 2 2]" || path == "[2 2 0 0]" {
				want = c.border
			}
			if sigma := math.Sqrt(runs * want * (1 - want)); math.Abs(float64(n)-runs*want) > 4*sigma {
				t.Errorf("%T takes %s %d times of %d, want %g", c.r, path, n, runs, runs*want)
			}
		}
	}
}

// TestMultipath verifies that all paths with their shares give the loads of splitting per hop,
// and that a smaller number of paths is drawn at random.
func TestMultipath(t *testing.T) {
	p := grid(t)
	d, z := route(t, Multipath{Routes: 6, Split: PerHop}, p, Options{})
	split, err := splitLoads(p.Network, p.Flows, nil)
	if err != nil {
		t.Fatal(err)
	}
	for l := range split.Weighted {
		if math.Abs(split.Weighted[l]-z.Weighted[l]) > 1e-12 {
			t.Errorf("link %d carries %g, split %g", l, z.Weighted[l], split.Weighted[l])
		}
	}
	if _, end := d.Paths.Of(0); end != 6 {
		t.Errorf("%d routes of 6", end)
	}
	d, _ = route(t, Multipath{Routes: 4}, p, Options{})
	if _, end := d.Paths.Of(0); end != 4 || d.Paths.Share[0] != 0.25 {
		t.Errorf("%d routes of 4, shares %v", end, d.Paths.Share)
	}
	whole := torusProblem(t, torus.Faults{}, torus.TPUv4, 2, 2, 4)
	d, z = route(t, Multipath{Routes: 1 << 12, Split: PerHop}, whole, Options{})
	if want := float64(whole.Torus.Distances().Sum) / float64(len(whole.Network.Links)); d.Bound != want || z.MaxWeighted < want {
		t.Errorf("bound %g, want %g; load %g", d.Bound, want, z.MaxWeighted)
	}
	if split, err = splitLoads(whole.Network, whole.Flows, nil); err != nil || math.Abs(split.MaxWeighted-z.MaxWeighted) > 1e-9 {
		t.Errorf("all-to-all loads %g, split %g, %v", z.MaxWeighted, split.MaxWeighted, err)
	}
	graph := *p
	graph.Torus = nil
	for want, m := range map[string]wildMultipath{"is for tori": {}, "not distinct dimensions": {rule: WildRule{Order: named(1, 1)}}} {
		q := p
		if want == "is for tori" {
			q = &graph
		}
		if _, err := m.Route(context.Background(), q, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNearestNeighbour verifies nearest-neighbour traffic around one failed switch. On single
// paths it loses half its rate (Zu et al., Sec. 5.3). If four detours of three hops share the
// traffic of each failed link, with its dimension routed first, it loses a fifth.
func TestNearestNeighbour(t *testing.T) {
	for d := range 3 {
		p := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: d, Index: 6}}}, "", 4, 4, 4)
		p.Flows = nil
		for _, l := range p.Torus.Links() {
			p.Flows = append(p.Flows, engine.Flow{Src: l.From, Dst: l.To})
		}
		w := WildRule{Order: named(d, (d+1)%3, (d+2)%3)}
		_, one := route(t, w, p, Options{})
		_, many := route(t, wildMultipath{Multipath{Routes: 4}, w}, p, Options{})
		if one.Max < 2 || math.Abs(many.MaxWeighted-1.25) > 1e-9 {
			t.Errorf("fault in %s: load %d on single routes, %g on several; want 2 or more, and 1.25", torus.DimName(d), one.Max, many.MaxWeighted)
		}
	}
}

func BenchmarkShortest(b *testing.B) {
	for _, r := range []Router{Shortest{}, ECMP{}, RandomShortest{}, Multipath{Routes: 4}, WildRule{}} {
		for _, dims := range [][]int{{8, 8, 8}, {16, 16, 16}} {
			b.Run(fmt.Sprintf("%T/%v", r, dims), func(b *testing.B) {
				p := torusProblem(b, torus.Faults{}, "", dims...)
				for b.Loop() {
					if _, err := r.Route(context.Background(), p, Options{Seed: 1}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
