package placement

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"sim/fabric/torus"
	"sim/workloads/fleet"
)

// TestStoredPlaces compares the places of each policy with stored digests. Slices are placed one
// after the other until the pod is full, while others end.
func TestStoredPlaces(t *testing.T) {
	want := map[string]uint64{
		"static-first-fit": 0x89b364c5690f7d0f,
		"static-best-fit":  0xa3384e5814cfc787,
		"static-hilbert":   0x53ba722582bd6f23,
		"folding":          0xa4a1117bed7e8349,
		"reconfigurable":   0x123278b1aeb3547c,
		"best-fit-subcube": 0xb346a9a2fdf7216,
		"aware":            0x63593824fe2e4e1d,
	}
	shapes := mixShapes()
	for _, row := range Table() {
		digest := fnv.New64a()
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 61))
			policy, p := row.New(), NewPod(torus.TPUv4Pod())
			p.Cubes[rng.IntN(64)].Down = 1 << rng.IntN(64)
			p.Cubes[rng.IntN(64)].Unlinked = 1
			p.Cubes[rng.IntN(64)].Closed = 1
			type slice struct {
				shape fleet.Shape
				at    Place
			}
			var held []slice
			for range 120 {
				s := shapes[rng.IntN(len(shapes))]
				at, ok := policy.Place(p, s)
				fmt.Fprintln(digest, s, at.Cubes, at.Chips, ok, p.Free()[0])
				if a, ok := policy.(shapeAware); ok {
					fmt.Fprintln(digest, a.Reshapes(s))
				}
				if ok {
					for _, c := range at.Cubes {
						p.Cubes[c].Used |= chipsOf(s, at)
					}
					held = append(held, slice{s, at})
				}
				if len(held) > 0 && (!ok || rng.IntN(3) == 0) {
					k := rng.IntN(len(held))
					for _, c := range held[k].at.Cubes {
						p.Cubes[c].Used &^= chipsOf(held[k].shape, held[k].at)
					}
					held = slices.Delete(held, k, k+1)
				}
			}
		}
		if got := digest.Sum64(); got != want[row.Name] {
			t.Errorf("%s: digest %#x, want %#x", row.Name, got, want[row.Name])
		}
	}
}

// chipsOf returns the chips of each cube that a placed slice uses.
func chipsOf(s fleet.Shape, at Place) uint64 {
	if s.Cubes() > 0 {
		return ^uint64(0)
	}
	return at.Chips
}

// TestBoxes compares boxes with every corner at a multiple of the step in every rotation, each
// once. A wrapped box as long as the grid has one position along it.
func TestBoxes(t *testing.T) {
	for a := 1; a <= 5; a++ {
		for b := 1; b <= 4; b++ {
			for c := 1; c <= 4; c++ {
				sides := [3]int{a, b, c}
				for _, wrap := range []bool{false, true} {
					want := map[uint64]bool{}
					for _, side := range [][3]int{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
						step := side
						if wrap {
							step = [3]int{1, 1, 1}
						}
						for corner := range 64 {
							at := [3]int{corner / 16, corner / 4 % 4, corner % 4}
							inside := max(a, b, c) <= 4
							for d := range at {
								inside = inside && at[d]%step[d] == 0 && (wrap || at[d]+side[d] <= 4)
							}
							if !inside {
								continue
							}
							m := uint64(0)
							for k := range 64 {
								x := [3]int{k / 16, k / 4 % 4, k % 4}
								in := true
								for d := range x {
									in = in && (x[d]-at[d]+4)%4 < side[d]
								}
								if in {
									m |= 1 << k
								}
							}
							want[m] = true
						}
					}
					step := sides
					if wrap {
						step = [3]int{1, 1, 1}
					}
					grid, cell := torus.Box{4, 4, 4}, torus.Box{1, 1, 1}
					got := boxes(boxKey{grid, cell, sides, step, wrap})
					if len(got) != len(want) {
						t.Errorf("%d boxes of %v, wrapping %v; want %d", len(got), sides, wrap, len(want))
					}
					for _, m := range got {
						if !want[m[0]] {
							t.Errorf("%v, wrapping %v: no box has places %x", sides, wrap, m)
						}
						delete(want, m[0])
					}
				}
			}
		}
	}
}
