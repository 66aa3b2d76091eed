package collective

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"sim/policies/routing"
)

// TestStrength: the strength of a small graph equals the minimum over all partitions.
func TestStrength(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 7).Draw(t, "nodes")
		var edges []edge
		for a := range int32(n) {
			for b := range a {
				if c := rapid.IntRange(0, 4).Draw(t, "capacity"); c > 0 {
					edges = append(edges, edge{a, b, float64(c) / 4})
				}
			}
		}
		minimum, minCut, part := math.Inf(1), math.Inf(1), make([]int32, n)
		var try func(k, parts int32)
		try = func(k, parts int32) {
			if int(k) == n {
				ratio := partitionRatio(n, part, edges)
				minimum = min(minimum, ratio)
				if parts == 2 {
					minCut = min(minCut, ratio)
				}
				return
			}
			for q := range parts + 1 {
				part[k] = q
				try(k+1, max(parts, q+1))
			}
		}
		try(0, 0)
		for _, known := range []float64{0, minCut} {
			value, p := strength(t.Context(), n, edges, known)
			if math.Abs(value-minimum) > 1e-7 || math.Abs(partitionRatio(n, p, edges)-value) > 1e-9 {
				t.Fatalf("strength %g by %v, want %g", value, p, minimum)
			}
		}
	})
}

// TestBound: no algorithm ends before the bound. Packed trees of all nodes with much data end
// within 1.25 times the bound.
func TestBound(t *testing.T) {
	var maxRatio [len(kindNames)]float64
	rapid.Check(t, func(t *rapid.T) {
		p := drawProblem(t)
		packets := int32(1000)
		if rapid.Bool().Draw(t, "fluid") {
			p.Bytes, packets = 1e9, 0

			// The flow level adds one latency per transfer, whatever the path.
			for i := range p.Network.Links {
				p.Network.Links[i].Latency = 0
			}
		}
		if rapid.Bool().Draw(t, "domains") {
			p.Domain = rapid.SliceOfN(rapid.IntRange(3, 5), len(p.Group), len(p.Group)).Draw(t, "domain")
		}
		bound, err := p.Bound(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range Table {
			s, err := r.Expand(t.Context(), p, Options{Hierarchical: Hierarchical{Domain: 2, Inner: "direct", Outer: "ring"}})
			if errors.Is(err, ErrUnserved) || len(p.Group) > 32 && r.Name != "tree-packing" {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			end, err := simulate(t.Context(), p, s, packets)
			if errors.Is(err, routing.ErrUnserved) {
				continue // links that are down part the network
			}
			if err != nil {
				t.Fatal(err)
			}
			if end.Seconds() < bound.Seconds*(1-1e-6)-1e-9 {
				t.Fatalf("%s ends after %v, before the bound of %g s: %s", r.Name, end, bound.Seconds, bound.Reason)
			}
			if r.Name == "tree-packing" && packets == 0 && p.Teams == nil && len(p.Group) == int(p.Network.Nodes) {
				maxRatio[p.Kind] = max(maxRatio[p.Kind], end.Seconds()/bound.Seconds)
			}
		}
	})
	for k, x := range maxRatio {
		if t.Log(Kind(k), "by trees, over its bound:", x); x > 1.25 {
			t.Errorf("%s by trees takes %.3f times its bound", Kind(k), x)
		}
	}
}
