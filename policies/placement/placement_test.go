package placement

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"sim/fabric/torus"
	"sim/internal/numbers"
	_ "sim/internal/testseed"
	"sim/workloads/fleet"
)

// pods are pods of several sizes and cubes: TPU v4, v5p and Ironwood, a prime number of cubes, the
// maximum number, and other cubes.
func pods() []*torus.Pod {
	list := []*torus.Pod{}
	for _, p := range torus.Presets() {
		list = append(list, &p.Pod)
	}
	host := torus.Box{1, 2, 1}
	for _, p := range []torus.Pod{
		{Cubes: 7, Cube: torus.TPUCube}, {Cubes: 256, Cube: torus.Box{2, 2, 2}}, {Cubes: 30, Cube: torus.Box{4, 4, 2}},
		{Cubes: 24, Cube: torus.Box{1, 2, 4}}, {Cubes: 8, Cube: torus.Box{3, 2, 3}},
	} {
		p.Host, p.MaxSlice = host, p.Chips()
		list = append(list, &p)
	}
	return list
}

// shapesOf returns slices of a pod: parts of a cube, and boxes of up to 30 cubes, also twisted.
func shapesOf(pod *torus.Pod) []fleet.Shape {
	var list []fleet.Shape
	for _, part := range []string{"1x1x1", "1x1x2", "1x2x2", "2x2x2", "1x2x4", "2x4x4"} {
		if s, err := fleet.ParseShape(part, pod); err == nil && s.Cubes() == 0 {
			list = append(list, s)
		}
	}
	for n := 1; n <= min(30, pod.Cubes); n++ {
		for _, s := range fleet.SlicesOf(pod.Cube, n) {
			list = append(list, s)
			if s.CanTwist() {
				s.Twisted = true
				list = append(list, s)
			}
		}
	}
	return list
}

func mixShapes() []fleet.Shape {
	var list []fleet.Shape
	for _, s := range fleet.Mixes()["tpuv4-2022"] {
		list = append(list, s.Shape)
	}
	return list
}

// randomPod draws a pod in which some chips and cubes are in use, and a slice for it.
func randomPod(t *rapid.T) (*Pod, fleet.Shape) {
	pod := rapid.SampledFrom(pods()).Draw(t, "pod")
	p := NewPod(pod)
	maxTaken := rapid.SampledFrom([]int{0, 8, 30, 60}).Draw(t, "taken")
	for _, c := range rapid.SliceOfN(rapid.IntRange(0, pod.Cubes-1), 0, maxTaken).Draw(t, "cubes") {
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0:
			p.Cubes[c].Used = p.layout.chips
		case 1:
			p.Cubes[c].Used = rapid.Uint64().Draw(t, "chips") & p.layout.chips
		case 2:
			p.Cubes[c].Down = p.Machine(0)
		case 3:
			p.Cubes[c].Unlinked = 1
		case 4:
			p.Cubes[c].Closed = 1
		}
	}
	return p, rapid.SampledFrom(shapesOf(pod)).Draw(t, "slice")
}

// TestPlacesAreFree verifies that every place is free, has the right size, and is repeatable.
// Static placements give a box.
func TestPlacesAreFree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := randomPod(t)
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
				if bits.OnesCount64(at.Chips) != s.Chips() || at.Chips&^p.layout.chips != 0 || (c.Used|c.Down)&at.Chips != 0 || c.Closed > 0 {
					t.Fatalf("%s: %s on chips %x of %+v", row.Name, s, at.Chips, c)
				}
				continue
			}
			var seen CubeSet
			for _, c := range at.Cubes {
				if !p.Cubes[c].IsFree() || seen.Has(int(c)) {
					t.Fatalf("%s: %s on cube %d: %+v", row.Name, s, c, p.Cubes[c])
				}
				seen.add(int(c))
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
	rapid.Check(t, func(t *rapid.T) {
		p, s := randomPod(t)
		table := map[string]Policy{} // a policy serves pods of one kind
		for _, row := range Table() {
			table[row.Name] = row.New()
		}
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

// boxFits tries every corner and every order of the sides, cube by cube.
func boxFits(p *Pod, s fleet.Shape) bool {
	grid, cube := p.layout.Grid(), p.layout.Cube
	for _, o := range [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var side [3]int
		exists := true
		for d := range side {
			side[d] = s.Dims[o[d]] / cube[d]
			exists = exists && s.Dims[o[d]]%cube[d] == 0 && side[d] <= grid[d]
		}
		if !exists {
			continue
		}
		for corner := range len(p.Cubes) {
			at := [3]int{corner / (grid[1] * grid[2]), corner / grid[2] % grid[1], corner % grid[2]}
			free := true
			for i := range side[0] * side[1] * side[2] {
				x := (at[0] + i/(side[1]*side[2])) % grid[0]
				y := (at[1] + i/side[2]%side[1]) % grid[1]
				z := (at[2] + i%side[2]) % grid[2]
				free = free && p.Cubes[x*grid[1]*grid[2]+y*grid[2]+z].IsFree()
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
		p, s := randomPod(t)
		of := &fixedGrid{bestFit: true}
		at, ok := of.Place(p, s)
		if !ok || s.Cubes() == 0 {
			return
		}
		var took CubeSet
		for _, c := range at.Cubes {
			took.add(int(c))
		}
		free := p.Free()
		rest := free.without(&took)
		left := largestBox(p.layout, &rest, -1)
		for _, m := range of.places(p.layout, s) {
			if rest := free.without(&m); free.Contains(&m) && largestBox(p.layout, &rest, -1) > left {
				t.Fatalf("%s on %x leaves %d cubes, on %x more", s, took, left, m)
			}
		}
	})
}

// TestCurve verifies that the Hilbert curve visits each cube once, and that consecutive cubes are
// adjacent.
func TestCurve(t *testing.T) {
	seen, curve := uint64(0), layoutOf(torus.TPUv4Pod()).curve
	for i, c := range curve {
		seen |= 1 << c
		if i == 0 {
			continue
		}
		d := 0
		for _, by := range []int16{16, 4, 1} {
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

// TestCurves verifies that the curve of any grid visits each cube once. The machines of a cube are
// disjoint blocks that fill it, and so are the locations of a part of a cube with as many chips.
func TestCurves(t *testing.T) {
	for _, pod := range pods() {
		l := layoutOf(pod)
		if sorted := slices.Sorted(slices.Values(l.curve)); !slices.Equal(sorted, numbers.Below(int16(pod.Cubes))) {
			t.Errorf("%d cubes: the curve is %v", pod.Cubes, l.curve)
		}
		all := uint64(0)
		for _, chips := range l.machines {
			if all&chips != 0 || bits.OnesCount64(chips) != pod.Host.Chips() {
				t.Errorf("hosts of %s in cubes of %s: %x", pod.Host, pod.Cube, l.machines)
			}
			all |= chips
		}
		if all != l.chips || bits.OnesCount64(all) != pod.Cube.Chips() {
			t.Errorf("hosts of %s in cubes of %s: %x", pod.Host, pod.Cube, l.machines)
		}
	}
}

// TestWiring compares the connections of slices with the links of their torus: position i leads
// along a dimension to the cube that the links of its last chips enter.
func TestWiring(t *testing.T) {
	for _, pod := range pods() {
		for _, s := range append(shapesOf(pod), fleet.SlicesOf(pod.Cube, pod.Cubes)...) {
			if s.Cubes() == 0 {
				continue
			}
			var w Wiring
			next, err := w.Neighbours(s)
			if err != nil {
				t.Fatalf("cubes of %s: %v", pod.Cube, err)
			}
			o, err := s.Torus()
			if err != nil {
				t.Fatal(err)
			}
			numberOf := func(node int32) (n int) {
				for d, side := range o.Dims {
					n = n*(side/pod.Cube[d]) + o.Coord(node, d)/pod.Cube[d]
				}
				return n
			}
			for _, l := range o.Links() {
				from, to := numberOf(l.From), numberOf(l.To)
				if d := int(l.Dim); l.Up && o.Coord(l.From, d)%pod.Cube[d] == pod.Cube[d]-1 && int(next[d][from]) != to {
					t.Fatalf("%s of cubes of %s: cube %d leads along %d to %d, want %d", s, pod.Cube, from, d, next[d][from], to)
				}
			}
		}
	}
}

// TestFolded verifies that a slice of 8 cubes in a row is folded into boxes that do not hold it
// otherwise.
func TestFolded(t *testing.T) {
	cube := torus.TPUCube
	got := foldedShapes([3]int{1, 1, 8}, cube)
	for _, want := range [][3]int{{8, 8, 8}, {4, 8, 16}} {
		if !slices.Contains(got, fleet.NewShape(cube, want)) {
			t.Errorf("1x1x8 cubes fold into %v, not %v", got, want)
		}
	}
	if got := foldedShapes([3]int{2, 2, 2}, cube); len(got) != 0 {
		t.Errorf("2x2x2 folds into %v", got)
	}
	if _, ok := (&fixedGrid{canFold: true}).Place(NewPod(torus.TPUv4Pod()), fleet.Shape{Dims: [3]int{4, 4, 32}}); !ok {
		t.Error("4x4x32 does not fit a pod that is empty when it may be folded")
	}
}

// TestConnect verifies that the connections of a slice are made once, and again only after
// another slice has taken its ports.
func TestConnect(t *testing.T) {
	var w Wiring
	p := NewPod(torus.TPUv4Pod())
	one, two := fleet.Shape{Dims: [3]int{4, 4, 8}}, fleet.Shape{Dims: [3]int{4, 4, 8}, Twisted: true}
	connect := func(s fleet.Shape, cubes ...int16) int {
		t.Helper()
		changes, err := w.Connect(p, s, cubes)
		if err != nil {
			t.Fatal(err)
		}
		for d := range 3 {
			for i := range int16(64) {
				if n := p.Next[d][i]; n >= 0 && p.Prev[d][n] != i {
					t.Fatalf("dimension %d: %d leads to %d, which is entered from %d", d, i, n, p.Prev[d][n])
				}
			}
		}
		return changes
	}
	for _, step := range []struct {
		s       fleet.Shape
		at      [2]int16
		changes int
	}{
		{one, [2]int16{3, 5}, 96}, {one, [2]int16{3, 5}, 0}, {one, [2]int16{5, 3}, 0},
		{two, [2]int16{3, 5}, 64}, // the links of both short dimensions enter the other cube
		{one, [2]int16{5, 9}, 96 - 0},
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
		p, free := NewPod(torus.TPUv4Pod()), uint64(0)
		for range rapid.IntRange(0, 40).Draw(t, "cubes") {
			free |= 1 << rapid.IntRange(0, 63).Draw(t, "cube")
		}
		for i := range p.Cubes {
			p.Cubes[i].Used = ^(free >> i & 1 * p.layout.chips)
		}
		sides := rapid.SampledFrom([][3]int{{1, 1, 2}, {1, 2, 2}, {2, 2, 2}, {1, 1, 4}, {2, 2, 4}}).Draw(t, "sides")
		s := fleet.NewShape(torus.TPUCube, [3]int{4 * sides[0], 4 * sides[1], 4 * sides[2]})
		if sides[2] == 2 && sides[1] < 2 && bits.OnesCount64(free) > 14 || sides == [3]int{1, 2, 2} && bits.OnesCount64(free) > 24 {
			t.Skip("too many sets to try")
		}
		var in []uint64
		for _, m := range p.layout.sliceBoxes(s) {
			if m[0]&^free == 0 {
				in = append(in, m[0])
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
		if got, want := p.MaxBoxes(s), all(0, free); got != want {
			t.Fatalf("%d boxes of %v in %x, want %d", got, sides, free, want)
		}
	})
}

// TestMaxBoxesOfPods compares MaxBoxes of other pods with the boxes that a greedy search finds, and
// with the number of free cubes.
func TestMaxBoxesOfPods(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := randomPod(t)
		if s.Cubes() == 0 {
			return
		}
		greedy, policy, trial := 0, &fixedGrid{}, p.Trial()
		for at, ok := policy.Place(trial, s); ok; at, ok = policy.Place(trial, s) {
			for _, c := range at.Cubes {
				trial.Cubes[c].Used = p.layout.chips
			}
			greedy++
		}
		free := p.Free()
		if got := p.MaxBoxes(s); got < greedy || got > free.Len()/s.Cubes() {
			t.Fatalf("%s of %s: at most %d boxes, want %d to %d", s, p.layout.Cube, got, greedy, free.Len()/s.Cubes())
		}
	})
}

// BenchmarkMaxBoxes packs slices of 8 cubes into pods in which some cubes are not free.
func BenchmarkMaxBoxes(b *testing.B) {
	for _, taken := range []int{0, 4, 8, 16, 32} {
		b.Run(fmt.Sprint(taken), func(b *testing.B) {
			for i := range b.N {
				r := fleet.RandomStream(uint64(i), fleet.FirstFreeStream, 0)
				p := NewPod(torus.TPUv4Pod())
				for range taken {
					p.Cubes[r.IntN(64)].Closed = 1
				}
				p.MaxBoxes(fleet.NewShape(torus.TPUCube, [3]int{8, 8, 8}))
			}
		})
	}
}

// TestReshapes verifies the slices that the aware placement offers: the requested slice, then all
// boxes of as many cubes with ordered sides, each also twisted if possible.
func TestReshapes(t *testing.T) {
	for _, want := range append(mixShapes(), fleet.SlicesOf(torus.TPUCube, 96)[7]) {
		n, list := want.Cubes(), shapeAware{}.Reshapes(want)
		if list[0] != want {
			t.Errorf("the first slice for %s is %s", want, list[0])
		}
		all := map[fleet.Shape]bool{}
		for a := 1; a <= n; a++ {
			for b := a; b <= n; b++ {
				for c := b; c <= n; c++ {
					s := fleet.Shape{Dims: [3]int{4 * a, 4 * b, 4 * c}}
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
	full := NewPod(torus.TPUv4Pod())
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
		p, s := randomPod(t)
		if s.Cubes() == 0 {
			return
		}
		of := &fixedGrid{}
		at, ok := of.Place(p, s)
		list, free := of.places(p.layout, s), p.Free()
		i := slices.IndexFunc(list, func(m CubeSet) bool { return free.Contains(&m) })
		if ok != (i >= 0) || ok && !slices.Equal(at.Cubes, list[i].list()) {
			t.Fatalf("%s is at %v (%v), want place %d", s, at.Cubes, ok, i)
		}
	})
}
