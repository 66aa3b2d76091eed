package static_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/static"
)

// TestBisectionSteps: cuts and sides of seeded graphs of up to 60 nodes are as stored, so that a change of the order of
// moves or of what is kept shows, and sides that are halves are begun from while others are left out.
func TestBisectionSteps(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 81))
	digest := fnv.New64a()
	for k := range 40 {
		n := &engine.Network{Nodes: int32(2 + rng.IntN(2+3*k/2))}
		for range int(n.Nodes) * (1 + rng.IntN(3)) {
			n.Links = append(n.Links, engine.Link{From: rng.Int32N(n.Nodes), To: rng.Int32N(n.Nodes), Rate: float64(rng.IntN(4))})
		}
		cut, side := static.Bisection(n, uint64(k))
		fmt.Fprintln(digest, cut, side)
		given := make([]bool, n.Nodes)
		for a := range given {
			given[a] = a%2 == 0
		}
		if better, _ := static.Bisection(n, uint64(k), side); better > cut {
			t.Errorf("a cut of %d from one of %d", better, cut)
		}
		whole := slices.Repeat([]bool{true}, int(n.Nodes))
		again, same := static.Bisection(n, uint64(k), whole, whole[1:])
		if n.Nodes > 2 && (again != cut || !slices.Equal(same, side)) {
			t.Errorf("sides that are no halves change the cut of %d to %d", cut, again)
		}
		cut, side = static.Bisection(n, uint64(k), given)
		fmt.Fprintln(digest, cut, side)
	}
	if got, want := digest.Sum64(), uint64(0x34bd87fefd60cab7); got != want {
		t.Errorf("halves: digest %#x, want %#x", got, want)
	}
}

// TestPlanes: the halves of a box are those of nodes whose coordinate is in a window of half of an even size, by
// dimension and from the window's beginning.
func TestPlanes(t *testing.T) {
	want := [][]bool{
		{true, true, true, true, true, true, false, false, false, false, false, false},
		{false, false, false, true, true, true, true, true, true, false, false, false},
	}
	if got := static.BoxHalves(4, 3); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("planes of 4x3 are %v, want %v", got, want)
	}
	if got := static.BoxHalves(3, 2); fmt.Sprint(got) != fmt.Sprint([][]bool{{true, false, true, false, true, false}}) {
		t.Errorf("planes of 3x2 are %v", got)
	}
}
