package collective

import (
	"testing"

	"sim/engine"
	"sim/fabric/torus"
)

// TestRings: rings pass every node once, over links of which none is taken twice; on tori there are half as many as a
// node has links, and two of three where an optical switch is down.
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
					continue // it is not made of cubes
				}
				p := &Problem{Call: Call{Group: places(o.Nodes()), Bytes: 1}, Network: o.Network(h, engine.Link{Rate: 1})}
				b := newBuilder(t.Context(), p, Options{})
				rings := b.mesh(b.call()).rings(t.Context())
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
						if n := len(b.net.links[[2]int32{a, c}]); used[[2]int32{min(a, c), max(a, c)}] > n {
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
