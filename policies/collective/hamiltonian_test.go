package collective

import (
	"math"
	"sim/internal/numbers"
	"slices"
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// TestRings: rings pass every node once and use no link twice. A torus has half as many rings as
// a node has links, and one less if an optical switch is down.
func TestRings(t *testing.T) {
	for _, dims := range [][]int{{4, 4}, {3, 5}, {2, 4, 4}, {3, 3, 3}, {4, 4, 4}, {4, 4, 8}, {4, 8, 8}, {8, 8, 8}} {
		for _, twist := range []string{"", torus.TPUv4} {
			for _, faults := range []torus.Faults{{}, {Switches: []torus.Switch{{Dim: 0, Index: 3}}}} {
				o, err := torus.New(dims...)
				if err != nil {
					t.Fatal(err)
				}
				if twist != "" && o.Twist(twist) != nil {
					continue
				}
				h, err := o.Health(faults)
				if err != nil {
					continue // the torus is not made of cubes
				}
				p := &Problem{Call: Call{Group: numbers.Below(int32(o.Nodes())), Bytes: 1}, Network: o.Network(h, engine.Link{Rate: 1})}
				b := newBuilder(t.Context(), p, Options{})
				rings, _ := b.newMesh(b.teamCall(0, len(b.Group))).findRings(t.Context(), 1)
				want := len(dims)
				if faults.Switches != nil {
					want--
				}
				if len(rings) != want {
					t.Errorf("%v %q %v: %d rings, want %d", dims, twist, faults, len(rings), want)
				}
				used := map[[2]int32]int{}
				for _, ring := range rings {
					seen := make([]bool, o.Nodes())
					for i, a := range ring {
						c := ring[(i+1)%len(ring)]
						used[[2]int32{min(a, c), max(a, c)}]++
						seen[a] = true
						if n := len(b.rankLinks.links[[2]int32{a, c}]); used[[2]int32{min(a, c), max(a, c)}] > n {
							t.Fatalf("%v %q: more rings than the %d links go from %d to %d", dims, twist, n, a, c)
						}
					}
					for a, ok := range seen {
						if !ok || len(ring) != len(seen) {
							t.Fatalf("%v %q: a ring of %d misses node %d", dims, twist, len(ring), a)
						}
					}
				}
			}
		}
	}
}

// TestSharedRings: a 2x2x2 torus is a cube with double edges. Trying all triples shows that no
// three rings use each edge at most twice. The search finds six rings that use each edge at most
// four times. They use all links, so that an all-reduce by multi-ring takes the time of the
// bound, like bucket.
func TestSharedRings(t *testing.T) {
	var cycles [][]int32
	var visit func(path []int32)
	visit = func(path []int32) {
		if len(path) == 8 {
			if d := path[7] ^ path[0]; d&(d-1) == 0 && path[1] < path[7] {
				cycles = append(cycles, slices.Clone(path))
			}
			return
		}
		for _, d := range []int32{1, 2, 4} {
			if v := path[len(path)-1] ^ d; !slices.Contains(path, v) {
				visit(append(path, v))
			}
		}
	}
	visit([]int32{0})
	maxUses := func(rings ...[]int32) (maxUses int) {
		used := map[[2]int32]int{}
		for _, ring := range rings {
			for i, a := range ring {
				c := ring[(i+1)%len(ring)]
				k := [2]int32{min(a, c), max(a, c)}
				used[k]++
				maxUses = max(maxUses, used[k])
			}
		}
		return maxUses
	}
	for i, a := range cycles {
		for k, c := range cycles[i:] {
			for _, d := range cycles[i+k:] {
				if maxUses(a, c, d) <= 2 {
					t.Errorf("three disjoint rings: %v, %v, %v", a, c, d)
				}
			}
		}
	}
	o, err := torus.New(2, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	p := &Problem{Call: Call{Group: numbers.Below(int32(8)), Bytes: 40320000}, Network: o.Network(nil, engine.Link{Rate: 400e9}), Torus: o}
	b := newBuilder(t.Context(), p, Options{})
	rings, limit := b.newMesh(b.teamCall(0, len(b.Group))).findRings(t.Context(), 2)
	if len(rings) != 6 || limit != 6 || maxUses(rings...) != 4 {
		t.Errorf("%d rings of at most %d take an edge up to %d times, want 6 and 4: %v", len(rings), limit, maxUses(rings...), rings)
	}
	for _, name := range []string{"multi-ring", "bucket"} {
		row, err := ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		s, err := row.Expand(t.Context(), p, Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, packets := range []int32{0, 4096} {
			got, err := simulate(t.Context(), p, s, packets)
			if want := 2 * 40320000 * 7.0 / 8 / 6 * 8 / 400e9; err != nil || math.Abs(got.Seconds()-want) > 0.05*want {
				t.Errorf("%s, packets of %d B: %g s and %v, want %g", name, packets, got.Seconds(), err, want)
			}
		}
	}
}

// TestNoRingsWithoutLinks: a million ranks without links have no rings, and no memory is
// allocated per pair (137 GB).
func TestNoRingsWithoutLinks(t *testing.T) {
	const ranks = 1 << 20
	m := &mesh{arcs: [2][][]meshArc{make([][]meshArc, ranks), make([][]meshArc, ranks)}}
	for _, share := range []int{1, 2} {
		if rings, limit := m.findRings(t.Context(), share); rings != nil || limit != 0 {
			t.Errorf("%d rings of at most %d, want none", len(rings), limit)
		}
	}
}
