package routing

import (
	"context"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/engine"
	"sim/engine/packet"
)

// digraph returns a network of links with one channel, and flows between nodes.
func digraph(nodes int32, rate func(k int) float64, links, flows [][2]int32) *Problem {
	p := &Problem{Network: &engine.Network{Nodes: nodes}}
	for k, l := range links {
		p.Network.Links = append(p.Network.Links, engine.Link{From: l[0], To: l[1], Rate: rate(k), Channels: 1})
	}
	for _, f := range flows {
		p.Flows = append(p.Flows, engine.Flow{Src: f[0], Dst: f[1]})
	}
	return p
}

func equalRate(int) float64 { return 1e9 }

// TestOptimisedDirected verifies a directed ring with one channel. Its up*/down* paths do not join
// all pairs. The chosen paths may deadlock, and the label says so. Pairs without any path are still
// rejected with their reason.
func TestOptimisedDirected(t *testing.T) {
	const n = 7
	var links, flows [][2]int32
	for a := range int32(n) {
		links = append(links, [2]int32{a, (a + 1) % n})
		for b := range int32(n) {
			if a != b {
				flows = append(flows, [2]int32{a, b})
			}
		}
	}
	for name, rate := range map[string]func(int) float64{"equal": equalRate, "unequal": func(k int) float64 { return float64(1+k%2) * 1e9 }} {
		p := digraph(n, rate, links, flows)
		d, err := OptimisedRouter{Budget: 10_000}.Route(t.Context(), p, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if z := linkLoads(p, d.Paths); z.Max != n*(n-1)/2 || d.Metrics["gap"] != 0 {
			t.Errorf("%s: load %d, gap %g, want the only paths", name, z.Max, d.Metrics["gap"])
		}
		cycle, err := packet.CheckChannels(t.Context(), p.Network, d.Paths, p.Flows)
		if err != nil || cycle == nil || !strings.HasPrefix(d.Labels["deadlock"], "possible: ") || !strings.Contains(d.Labels["ways"], "may deadlock") {
			t.Errorf("%s: %v, cycle %v, labels %v", name, err, cycle, d.Labels)
		}
	}
	_, err := OptimisedRouter{}.Route(t.Context(), digraph(n, equalRate, links[:n-1], flows), Options{Seed: 1})
	if err == nil || !strings.Contains(err.Error(), reasonDisconnected) {
		t.Errorf("an open row: %v", err)
	}
}

// TestOptimisedCapDefault verifies that neighbour traffic has no cap by default if rates differ.
// Slow direct links are then avoided in favour of three units on a fast one.
func TestOptimisedCapDefault(t *testing.T) {
	// Node 0 sends to 1, 2 and 3, over slow direct links or via node 1 over a fast link.
	links := [][2]int32{{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {1, 0}, {2, 0}, {3, 0}}
	rate := func(k int) float64 {
		if k == 1 || k == 2 {
			return 1e8
		}
		return 1e9
	}
	p := digraph(4, rate, links, [][2]int32{{0, 1}, {0, 2}, {0, 3}})
	for _, c := range []struct {
		cap       int
		own, over float64
	}{{0, 3, 3}, {-1, 3, 3}, {1, 1, 10}} {
		d, err := OptimisedRouter{NeighbourCap: c.cap, Budget: 10_000}.Route(t.Context(), p, Options{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		if d.Metrics["nearest_neighbour_max_load"] != c.own || math.Abs(d.Metrics["max_load_over_rate"]-c.over) > 1e-9 {
			t.Errorf("cap %d: %v, want %g units and %g", c.cap, d.Metrics, c.own, c.over)
		}
	}
}

// TestBreadth compares breadth-first trees with shortest-path trees for links of length 1.
func TestBreadth(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Int32Range(2, 12).Draw(t, "nodes")
		node := rapid.Int32Range(0, n-1)
		links := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) [2]int32 { return [2]int32{node.Draw(t, "from"), node.Draw(t, "to")} }), 1, 40).Draw(t, "links")
		in, err := newRouteInstance(digraph(n, equalRate, links, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		ones := make([]float64, in.numOrbits)
		for o := range ones {
			ones[o] = 1
		}
		for _, w := range []*stateGraph{in.unrestricted(), in.upDownGraph(in.breadthOrder(0), 2)} {
			a, b := newStateTree(w), newStateTree(w)
			a.grow(n-1, ones)
			b.Breadth((n - 1) * int32(w.states))
			for s, d := range a.Dist {
				if b.Dist[s] != d || d >= 0 && len(b.Path(int32(s), nil)) != int(d) {
					t.Fatalf("state %d: %g hops, want %g", s, b.Dist[s], d)
				}
			}
		}
	})
}

// countingContext is a context that ends after a number of calls of Err.
type countingContext struct {
	context.Context
	left int
}

func (c *countingContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestOptimisedTree verifies that nothing is searched on a tree, where pairs have one path each:
// the first bound is met. The end of a context is noticed between sources.
func TestOptimisedTree(t *testing.T) {
	const n = 300
	var links, flows [][2]int32
	for a := int32(1); a < n; a++ {
		links = append(links, [2]int32{(a - 1) / 3, a}, [2]int32{a, (a - 1) / 3})
	}
	for a := range int32(n) {
		flows = append(flows, [2]int32{a, (a + 101) % n})
	}
	p := digraph(n, func(k int) float64 { return float64(1+k%3) * 1e9 }, links, flows)
	ctx := &countingContext{t.Context(), 20 * n}
	d, err := OptimisedRouter{}.Route(ctx, p, Options{Seed: 1})
	if err != nil || d.Metrics["gap"] != 0 {
		t.Fatalf("%v, %v", err, d)
	}
	used := 20*n - ctx.left
	if used < 3*n {
		t.Errorf("the context was asked %d times by searches from %d sources", used, n)
	}
	for left := n / 2; left < used; left += n {
		ctx.left = left
		if _, err := (OptimisedRouter{}).Route(ctx, p, Options{Seed: 1}); err != context.Canceled || ctx.left < -20 {
			t.Errorf("asked %d times: %v, and %d times after that", left, err, -ctx.left)
		}
	}
}

// TestLongPaths verifies that long paths use the budget in proportion to their length.
func TestLongPaths(t *testing.T) {
	c := newCandidatePaths(2)
	for _, n := range []int{15, 250} {
		c.orbits, c.steps = append(c.orbits, make([]int32, n)...), append(c.steps, make([]engine.Step, n)...)
		c.add(0)
	}
	if a, b := c.evaluationCost(0), c.evaluationCost(1); a != 1 || b != 16 {
		t.Errorf("work %d and %d, want 1 and 16", a, b)
	}
}
