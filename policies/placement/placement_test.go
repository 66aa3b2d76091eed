package placement

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
	"sim/workloads/fleet"
)

func mixShapes() []fleet.Shape {
	var list []fleet.Shape
	for _, s := range fleet.Mixes()["tpuv4-2022"] {
		list = append(list, s.Shape)
	}
	return list
}

// randomPod draws a pod in which some chips and cubes are in use.
func randomPod(t *rapid.T) *Pod {
	p := NewPod()
	maxTaken := rapid.SampledFrom([]int{0, 8, 30, 60}).Draw(t, "taken")
	for _, c := range rapid.SliceOfN(rapid.IntRange(0, 63), 0, maxTaken).Draw(t, "cubes") {
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0:
			p.Cubes[c].Used = ^uint64(0)
		case 1:
			p.Cubes[c].Used = rapid.Uint64().Draw(t, "chips")
		case 2:
			p.Cubes[c].Down = 0xf
		case 3:
			p.Cubes[c].Unlinked = 1
		case 4:
			p.Cubes[c].Closed = 1
		}
	}
	return p
}

// TestPlacesAreFree verifies that every place is free, has the right size, and is repeatable.
// Static placements give a box.
func TestPlacesAreFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPod(t)
		s := rapid.SampledFrom(mixShapes()).Draw(t, "slice")
		for _, row := range Table() {
			policy := row.New()
			at, ok := policy.Place(p, s)
			again, also := policy.Place(p, s)
			if ok != also || !slices.Equal(at.Cubes, again.Cubes) || at.Chips != again.Chips {
				t.Fatalf("%s: %v and then %v", row.Name, at, again)
			}
			if !ok {
				continue
			}
			if s.Cubes() == 0 {
				c := &p.Cubes[at.Cubes[0]]
				if bits.OnesCount64(at.Chips) != s.Chips() || (c.Used|c.Down)&at.Chips != 0 || c.Closed > 0 {
					t.Fatalf("%s: %s on chips %x of %+v", row.Name, s, at.Chips, c)
				}
				continue
			}
			seen := uint64(0)
			for _, c := range at.Cubes {
				if !p.Cubes[c].IsFree() || seen>>c&1 == 1 {
					t.Fatalf("%s: %s on cube %d: %+v", row.Name, s, c, p.Cubes[c])
				}
				seen |= 1 << c
			}
			if len(at.Cubes) != s.Cubes() {
				t.Fatalf("%s: %s on %d cubes", row.Name, s, len(at.Cubes))
			}
		}
	})
}

// TestFits verifies which slices fit. reconfigurable fits if any other placement does. First fit
// and best fit agree with a brute-force search for a box. folding fits if these do.
func TestFits(t *testing.T) {
	table := map[string]Policy{}
	for _, row := range Table() {
		table[row.Name] = row.New()
	}
	rapid.Check(t, func(t *rapid.T) {
		p := randomPod(t)
		s := rapid.SampledFrom(mixShapes()).Draw(t, "slice")
		fits := map[string]bool{}
		for name, policy := range table {
			_, fits[name] = policy.Place(p, s)
		}
		any := fits["static-first-fit"] || fits["folding"] || fits["static-hilbert"]
		if any && !fits["reconfigurable"] || fits["static-first-fit"] != fits["static-best-fit"] || fits["static-first-fit"] && !fits["folding"] {
			t.Fatalf("%s: %v", s, fits)
		}
		if s.Cubes() > 0 && fits["static-first-fit"] != boxFits(p, s) {
			t.Fatalf("%s: static-first-fit %v, by brute force %v", s, fits["static-first-fit"], boxFits(p, s))
		}
	})
}

// boxFits tries every corner and rotation, cube by cube.
func boxFits(p *Pod, s fleet.Shape) bool {
	a, b, c := s.Dims[0]/4, s.Dims[1]/4, s.Dims[2]/4
	for _, side := range [][3]int{{a, b, c}, {a, c, b}, {b, a, c}, {b, c, a}, {c, a, b}, {c, b, a}} {
		if max(side[0], side[1], side[2]) > 4 {
			continue
		}
		for corner := range 64 {
			free := true
			for i := range side[0] * side[1] * side[2] {
				x, y, z := i/(side[1]*side[2]), i/side[2]%side[1], i%side[2]
				at := (corner/16+x)%4*16 + (corner/4%4+y)%4*4 + (corner%4+z)%4
				free = free && p.Cubes[at].IsFree()
			}
			if free {
				return true
			}
		}
	}
	return false
}

// TestBestFit verifies that no other box leaves a larger free box.
func TestBestFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPod(t)
		s := rapid.SampledFrom(mixShapes()).Draw(t, "slice")
		of := &fixedGrid{bestFit: true}
		at, ok := of.Place(p, s)
		if !ok || s.Cubes() == 0 {
			return
		}
		took := uint64(0)
		for _, c := range at.Cubes {
			took |= 1 << c
		}
		left := of.largestBox(p.Free()&^took, -1)
		for _, m := range of.places(s) {
			if m&^p.Free() == 0 && of.largestBox(p.Free()&^m, -1) > left {
				t.Fatalf("%s on %x leaves %d cubes, on %x more", s, took, left, m)
			}
		}
	})
}

// TestCurve verifies that the Hilbert curve visits each cube once, and that consecutive cubes are
// adjacent.
func TestCurve(t *testing.T) {
	seen := uint64(0)
	for i, c := range curve {
		seen |= 1 << c
		if i == 0 {
			continue
		}
		d := 0
		for _, by := range []int8{16, 4, 1} {
			x := c/by%4 - curve[i-1]/by%4
			d += int(x * x)
		}
		if d != 1 {
			t.Errorf("cubes %d and %d are %d apart", curve[i-1], c, d)
		}
	}
	if seen != ^uint64(0) {
		t.Errorf("the curve meets %d cubes", bits.OnesCount64(seen))
	}
}

// TestFolded verifies that a slice of 8 cubes in a row is folded into boxes that do not hold it
// otherwise.
func TestFolded(t *testing.T) {
	if got := foldedShapes([3]int{1, 1, 8}); !slices.Contains(got, [3]int{2, 2, 2}) || !slices.Contains(got, [3]int{1, 2, 4}) {
		t.Errorf("1x1x8 folds into %v", got)
	}
	if got := foldedShapes([3]int{2, 2, 2}); len(got) != 0 {
		t.Errorf("2x2x2 folds into %v", got)
	}
	if _, ok := (&fixedGrid{canFold: true}).Place(NewPod(), fleet.Shape{Dims: [3]int{4, 4, 32}}); !ok {
		t.Error("4x4x32 does not fit a pod that is empty when it may be folded")
	}
}

// TestConnect verifies that the connections of a slice are made once, and again only after
// another slice has taken its ports.
func TestConnect(t *testing.T) {
	var w Wiring
	p := NewPod()
	one, two := fleet.Shape{Dims: [3]int{4, 4, 8}}, fleet.Shape{Dims: [3]int{4, 4, 8}, Twisted: true}
	connect := func(s fleet.Shape, cubes ...int8) int {
		t.Helper()
		changes, err := w.Connect(p, s, cubes)
		if err != nil {
			t.Fatal(err)
		}
		for d := range 3 {
			for i := range int8(fleet.PodCubes) {
				if n := p.Next[d][i]; n >= 0 && p.Prev[d][n] != i {
					t.Fatalf("dimension %d: %d leads to %d, which is entered from %d", d, i, n, p.Prev[d][n])
				}
			}
		}
		return changes
	}
	for _, step := range []struct {
		s       fleet.Shape
		at      [2]int8
		changes int
	}{
		{one, [2]int8{3, 5}, 96}, {one, [2]int8{3, 5}, 0}, {one, [2]int8{5, 3}, 0},
		{two, [2]int8{3, 5}, 64}, // the links of both short dimensions enter the other cube
		{one, [2]int8{5, 9}, 96 - 0},
	} {
		if changes := connect(step.s, step.at[:]...); changes != step.changes {
			t.Errorf("%s on %v: %d connections made, want %d", step.s, step.at, changes, step.changes)
		}
	}
}

// TestMaxBoxes compares MaxBoxes with a search over all sets of boxes. No static placement
// exceeds it.
func TestMaxBoxes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		free := uint64(0)
		for range rapid.IntRange(0, 40).Draw(t, "cubes") {
			free |= 1 << rapid.IntRange(0, 63).Draw(t, "cube")
		}
		sides := rapid.SampledFrom([][3]int{{1, 1, 2}, {1, 2, 2}, {2, 2, 2}, {1, 1, 4}, {2, 2, 4}}).Draw(t, "sides")
		if sides[2] == 2 && sides[1] < 2 && bits.OnesCount64(free) > 14 || sides == [3]int{1, 2, 2} && bits.OnesCount64(free) > 24 {
			t.Skip("too many sets to try")
		}
		var in []uint64
		for _, m := range boxes(sides, [3]int{1, 1, 1}, true) {
			if m&^free == 0 {
				in = append(in, m)
			}
		}
		var all func(i int, free uint64) int
		all = func(i int, free uint64) int {
			best := 0
			for ; i < len(in); i++ {
				if in[i]&^free == 0 {
					best = max(best, 1+all(i+1, free&^in[i]))
				}
			}
			return best
		}
		if got, want := MaxBoxes(free, sides), all(0, free); got != want {
			t.Fatalf("%d boxes of %v in %x, want %d", got, sides, free, want)
		}
	})
}

// BenchmarkMaxBoxes packs slices of 8 cubes into pods in which some cubes are not free.
func BenchmarkMaxBoxes(b *testing.B) {
	for _, taken := range []int{0, 4, 8, 16, 32} {
		b.Run(fmt.Sprint(taken), func(b *testing.B) {
			for i := range b.N {
				r := fleet.RandomStream(uint64(i), fleet.FirstFreeStream, 0)
				free := ^uint64(0)
				for range taken {
					free &^= 1 << r.IntN(64)
				}
				MaxBoxes(free, [3]int{2, 2, 2})
			}
		})
	}
}

// TestReshapes verifies the slices that the aware placement offers: the requested slice, then all
// boxes of as many cubes with ordered sides, each also twisted if possible.
func TestReshapes(t *testing.T) {
	for _, want := range mixShapes() {
		n, list := want.Cubes(), shapeAware{}.Reshapes(want)
		if list[0] != want {
			t.Errorf("the first slice for %s is %s", want, list[0])
		}
		all := map[fleet.Shape]bool{}
		for a := 1; a <= n; a++ {
			for b := a; b <= n; b++ {
				for c := b; c <= n; c++ {
					s := fleet.Shape{Dims: [3]int{fleet.Side * a, fleet.Side * b, fleet.Side * c}}
					if a*b*c == n {
						all[s] = true
						if twisted := (fleet.Shape{Dims: s.Dims, Twisted: true}); s.CanTwist() {
							all[twisted] = true
						}
					}
				}
			}
		}
		for _, s := range list[1:] {
			if !all[s] {
				t.Errorf("%s for %s is no box of %d cubes, or is there twice", s, want, n)
			}
			delete(all, s)
		}
		if len(all) > 0 {
			t.Errorf("for %s are missing %v", want, all)
		}
	}
}

// TestRewires verifies which placements use optical switches, and that a pod without free cubes
// has no place.
func TestRewires(t *testing.T) {
	full := NewPod()
	for i := range full.Cubes {
		full.Cubes[i].Used = ^uint64(0)
	}
	for _, row := range Table() {
		policy := row.New()
		if got, want := policy.Rewires(), !strings.HasPrefix(row.Name, "static") && row.Name != "folding"; got != want {
			t.Errorf("%s rewires: %v", row.Name, got)
		}
		for _, s := range mixShapes() {
			if at, ok := policy.Place(full, s); ok {
				t.Errorf("%s: %s in a full pod at %+v", row.Name, s, at)
			}
		}
	}
	var w Wiring
	flat := fleet.Shape{Dims: [3]int{2, 2, 1}}
	if _, err := w.Neighbours(flat); err == nil || !strings.Contains(err.Error(), "placement: slice") {
		t.Errorf("links between cubes of %s: %v", flat, err)
	}
	if connections, err := w.Connect(full, flat, nil); err == nil {
		t.Errorf("%d connections for %s", connections, flat)
	}
}

// TestFirstFit verifies that the first free place is taken.
func TestFirstFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPod(t)
		s := rapid.SampledFrom(mixShapes()).Draw(t, "slice")
		if s.Cubes() == 0 {
			return
		}
		of := &fixedGrid{}
		at, ok := of.Place(p, s)
		i := slices.IndexFunc(of.places(s), func(m uint64) bool { return m&^p.Free() == 0 })
		if ok != (i >= 0) || ok && !slices.Equal(at.Cubes, cubeList(of.places(s)[i])) {
			t.Fatalf("%s is at %v (%v), want place %d", s, at.Cubes, ok, i)
		}
	})
}
