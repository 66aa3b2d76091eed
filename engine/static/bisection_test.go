package static_test

import (
	"math"
	"math/bits"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
	"sim/engine/static"
	"sim/fabric/torus"
)

// TestBisection: on small random graphs the returned cut belongs to the returned halves. It lies
// between the spectral bound and the initial cuts, and is at least the minimum over all halves.
func TestBisection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := &engine.Network{Nodes: rapid.Int32Range(2, 10).Draw(t, "nodes")}
		node := rapid.Int32Range(0, n.Nodes-1)
		for range rapid.IntRange(0, 25).Draw(t, "links") {
			n.Links = append(n.Links, engine.Link{From: node.Draw(t, "from"), To: node.Draw(t, "to"), Rate: float64(rapid.IntRange(0, 3).Draw(t, "rate"))})
		}
		minCut := int64(math.MaxInt64)
		for set := range 1 << n.Nodes {
			if bits.OnesCount(uint(set)) != int(n.Nodes)/2 {
				continue
			}
			cut := int64(0)
			for _, l := range n.Links {
				if l.Rate > 0 && set>>l.From&1 != set>>l.To&1 {
					cut++
				}
			}
			minCut = min(minCut, cut)
		}
		cut, side := static.Bisection(n, 1)
		more := 0
		for _, s := range side {
			if s {
				more++
			}
		}
		if 2*more < int(n.Nodes)-1 || 2*more > int(n.Nodes)+1 || static.Cut(n, side) != cut {
			t.Fatalf("%d nodes of %d on one side, cut %d said to be %d", more, n.Nodes, static.Cut(n, side), cut)
		}
		if cut != minCut {
			t.Fatalf("found %d, least %d", cut, minCut)
		}
		bound, err := spectralBound(n)
		if err != nil || bound > minCut {
			t.Fatalf("bound %d, least %d, %v", bound, minCut, err)
		}
	})
}

// TestTorusBisection: the bisection of a regular torus is a pair of planes across its longest
// dimension, with twice 2 N / k directed links. For k = 4 the spectral bound proves this. The
// search finds it without the planes. Twisted tori have larger cuts.
func TestTorusBisection(t *testing.T) {
	for _, c := range []struct {
		dims  []int
		twist string
		cut   int64
	}{{[]int{4, 4}, "", 16}, {[]int{4, 4, 4}, "", 64}, {[]int{4, 4, 8}, "", 64}, {[]int{8, 8, 8}, "", 256}, {[]int{4, 4, 8}, torus.TPUv4, 0}, {[]int{4, 8, 8}, torus.TPUv4, 0}} {
		o, err := torus.New(c.dims...)
		if err != nil {
			t.Fatal(err)
		}
		if c.twist != "" {
			if err := o.Twist(c.twist); err != nil {
				t.Fatal(err)
			}
		}
		n := o.Network(nil, engine.Link{Rate: 1})
		planes := int64(math.MaxInt64)
		for _, side := range static.BoxHalves(c.dims...) {
			planes = min(planes, static.Cut(n, side))
		}
		cut, _ := static.Bisection(n, 1)
		with, _ := static.Bisection(n, 1, static.BoxHalves(c.dims...)...)
		bound, err := spectralBound(n)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s %s: planes %d, found %d and %d, bound %d", o, c.twist, planes, cut, with, bound)
		if with > planes || with < bound || cut < bound || c.cut > 0 && (cut != c.cut || planes != c.cut) {
			t.Errorf("%s %s: planes %d, found %d and %d, want %d", o, c.twist, planes, cut, with, c.cut)
		}
	}
}
