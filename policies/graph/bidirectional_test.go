package graph

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

// TestBidirectionalSearch compares bidirectional searches with trees: path lengths are equal,
// paths join both ends, and paths as long as the limit are not reported.
func TestBidirectionalSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		length := rapid.SliceOfN(rapid.SampledFrom([]float64{0, 1, 1, 2, 0.75, 5}), len(g.To), len(g.To)).Draw(t, "length")
		tree, b, n := NewTree(g), NewBidirectionalSearch(g), int32(g.Nodes())
		for root := range n {
			tree.Grow(root, length)
			for from := range n {
				until := min(n, from+rapid.Int32Range(1, 2).Draw(t, "ends"))
				if from <= root && root < until {
					continue
				}
				want := math.Inf(1)
				for a := from; a < until; a++ {
					if d := tree.Dist[a]; d >= 0 {
						want = min(want, d)
					}
				}
				if d := b.Find(root, from, until, length, want); d != want {
					t.Fatalf("from %d to %d..%d: %g below the limit of %g", root, from, until-1, d, want)
				}
				d := b.Find(root, from, until, length, math.Inf(1))
				if math.Abs(d-want) > 1e-12 {
					t.Fatalf("from %d to %d..%d: %g, want %g", root, from, until-1, d, want)
				}
				if math.IsInf(want, 1) {
					continue
				}
				at, sum := root, 0.0
				for _, k := range b.Path(nil) {
					if g.From[k] != at {
						t.Fatalf("the path from %d to %d jumps from %d to %d", root, from, at, g.From[k])
					}
					at, sum = g.To[k], sum+length[k]
				}
				if at < from || at >= until || math.Abs(sum-d) > 1e-12 {
					t.Fatalf("the path from %d ends at %d, not %d..%d; it is %g, told as %g", root, at, from, until-1, sum, d)
				}
			}
		}
	})
}

// TestComponents verifies that two nodes are in one component if accepted arcs lead in both
// directions between them, and that arcs lead to components with lower numbers.
func TestComponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := drawGraph(t)
		keep := rapid.SliceOfN(rapid.Bool(), len(g.To), len(g.To)).Draw(t, "keep")
		of, n := g.Components(func(class int32) bool { return keep[class] })
		nodes := g.Nodes()
		leads := make([]bool, nodes*nodes)
		for a := range nodes {
			leads[a*nodes+a] = true
		}
		for range nodes {
			for a := range nodes {
				for k := range g.To {
					if keep[k] && leads[a*nodes+int(g.From[k])] {
						leads[a*nodes+int(g.To[k])] = true
					}
				}
			}
		}
		seen := make([]bool, n)
		for a := range nodes {
			seen[of[a]] = true
			for b := range nodes {
				if both := leads[a*nodes+b] && leads[b*nodes+a]; both != (of[a] == of[b]) || leads[a*nodes+b] && of[a] < of[b] {
					t.Fatalf("%d and %d are in %d and %d", a, b, of[a], of[b])
				}
			}
		}
		for i, any := range seen {
			if !any {
				t.Fatalf("nothing is in %d of %d", i, n)
			}
		}
	})
}
