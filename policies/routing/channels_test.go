package routing

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"sim/engine"
	"sim/engine/packet"
	"sim/fabric/torus"
)

// shapes lists tori of at most 512 nodes whose paths the paper describes.
var shapes = []struct {
	dims  []int
	twist string
}{
	{[]int{4, 4, 4}, ""}, {[]int{4, 4, 8}, ""}, {[]int{4, 8, 8}, ""}, {[]int{8, 8, 8}, ""},
	{[]int{4, 4, 8}, torus.TPUv4}, {[]int{4, 8, 8}, torus.TPUv4},
}

// wholeSet returns a cycle among the channels of all candidates of all pairs, by the segment rule
// or the dateline rule. It also returns the number of pairs without candidates.
func wholeSet(t testing.TB, p *Problem, w WildRule, segments bool) (cycle packet.Cycle, unreachable int) {
	t.Helper()
	c, err := NewCandidates(p, w)
	if err != nil {
		t.Fatal(err)
	}
	degree, link := p.Torus.Ports()
	d := packet.NewDependencies(p.Network, degree, link, 2)
	for _, f := range p.Flows {
		all := c.Paths(f)
		if len(all) == 0 {
			unreachable++
		}
		for _, path := range all {
			c.geometry.setChannels(f.Src, path, segments)
			if err := d.Add(f.Src, path); err != nil {
				t.Fatal(err)
			}
		}
	}
	return d.Cycle(), unreachable
}

// TestDimensionOrderIsAcyclic verifies that dimension-order routing with datelines has no cycle
// of channels, for any order, on regular tori, all twist patterns and the twisted forms of TPU
// v4. With one channel it has cycles.
func TestDimensionOrderIsAcyclic(t *testing.T) {
	check := func(p *Problem, order []int) packet.Cycle {
		t.Helper()
		d, _ := route(t, DimensionOrder{Order: named(order...)}, p, Options{})
		cycle, err := packet.CheckChannels(t.Context(), p.Network, d.Paths, p.Flows)
		if err != nil {
			t.Fatal(err)
		}
		return cycle
	}
	for _, s := range shapes {
		if p := torusProblem(t, torus.Faults{}, s.twist, s.dims...); p.Torus.Nodes() <= 256 || *long {
			for _, order := range [][]int{nil, {0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
				if cycle := check(p, order); cycle != nil {
					t.Errorf("%s %s in order %v: %s", p.Torus, s.twist, order, cycle.Names(p.Network))
				}
			}
		}
	}
	cyclic := 0
	for _, pattern := range patterns() {
		p := torusProblem(t, torus.Faults{}, pattern, 4, 4, 8)
		if cycle := check(p, nil); cycle != nil {
			cyclic++
			if p.Torus.Symmetric() {
				t.Errorf("%s: %s", pattern, cycle.Names(p.Network))
			}
		}
	}
	t.Logf("%d of 64 twist patterns on 4x4x8 are cyclic", cyclic)
	p := torusProblem(t, torus.Faults{}, "", 4, 4, 8)
	for i := range p.Network.Links {
		p.Network.Links[i].Channels = 1
	}
	if cycle := check(p, nil); len(cycle) == 0 {
		t.Error("rings of 8 on one channel have no cycle")
	}
}

// TestWildFirstIsAcyclic verifies that all candidates together have no cycle of channels, if wild
// hops are in reverse dimension order with the segment rule. This holds for every fault of one
// switch that the sandwich rule allows: xyZYX on regular tori, and the default orders on the
// twisted forms of TPU v4. The exception is a fault in the one dimension of 4x8x8 with shifted
// wrap-around links. Wild hops in the other order (yxZYX), and datelines with either order, have
// cycles.
func TestWildFirstIsAcyclic(t *testing.T) {
	for _, s := range shapes {
		for d := -1; d < 3; d++ {
			var f torus.Faults
			if d >= 0 {
				f.Switches = []torus.Switch{{Dim: d, Index: 5}}
			}
			p := torusProblem(t, f, s.twist, s.dims...)
			if hard := s.twist != "" && d == 0; p.Torus.Nodes() > 128 && !hard && !*long {
				continue
			}
			cycle, unreachable := wholeSet(t, p, WildRule{}, true)
			if unreachable > 0 {
				t.Errorf("%s %s, fault %d: %d pairs have no candidate", p.Torus, s.twist, d, unreachable)
			}
			if hard := s.twist != "" && s.dims[1] == 8 && d == 0; (cycle != nil) != hard {
				t.Errorf("%s %s, fault %d: cycle %s", p.Torus, s.twist, d, cycle.Names(p.Network))
			} else if hard {
				t.Logf("%s %s, fault in x: %s", p.Torus, s.twist, cycle.Names(p.Network))
			}
		}
	}
	for _, dims := range [][]int{{4, 4, 4}, {4, 4, 8}, {8, 8, 8}} {
		if dims[2] == 8 && !*long {
			continue
		}
		for d := range 3 {
			p := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: d, Index: 9}}}, "", dims...)
			order := []int{2, 1, 0} // ZYX, unless the dimension of the fault would be last
			if d == 0 {
				order = []int{0, 2, 1}
			}
			wild := []int{order[2], order[1]}
			if cycle, unreachable := wholeSet(t, p, WildRule{WildFirst{Wild: named(wild...)}, named(order...), false}, true); cycle != nil || unreachable > 0 {
				t.Errorf("%v, fault %d: %d pairs without candidates, %s", dims, d, unreachable, cycle.Names(p.Network))
			}
			if cycle, _ := wholeSet(t, p, WildRule{WildFirst{Wild: named(wild...)}, named(order...), false}, false); cycle == nil {
				t.Errorf("%v, fault %d: a plain dateline has no cycle", dims, d)
			}
			slices.Reverse(wild)
			if cycle, _ := wholeSet(t, p, WildRule{WildFirst{Wild: named(wild...)}, named(order...), false}, false); cycle == nil {
				t.Errorf("%v, fault %d: a plain dateline, other order, has no cycle", dims, d)
			}
			cycle, _ := wholeSet(t, p, WildRule{WildFirst{Wild: named(wild...)}, named(order...), false}, true)
			if cycle == nil {
				t.Errorf("%v, fault %d: wild hops %v before %v have no cycle", dims, d, wild, order)
			} else if d == 2 {
				t.Logf("%v: yxZYX: %s", dims, cycle.Names(p.Network))
			}
		}
	}
}

// TestTwistedRestrictions verifies the restrictions of WildRule.Free on twisted tori. Wild hops
// along a dimension of size 4 with shifted wrap-around links take only the links 2 to 3, 1 to 0
// and wrap-around. Without the restrictions, all candidates together have a cycle. On larger tori
// with a fault, they would leave pairs without candidates, so they are lifted there.
func TestTwistedRestrictions(t *testing.T) {
	p := torusProblem(t, torus.Faults{}, torus.TPUv4, 4, 4, 8)
	c, err := NewCandidates(p, WildRule{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range p.Flows {
		for _, path := range c.Paths(f) {
			at := f.Src
			for _, s := range path[:c.geometry.countWild(path)] {
				d := s.Port() / 2
				if x := p.Torus.Coord(at, d); d < 2 && (s.Port()%2 == 0 && x < 2 || s.Port()%2 == 1 && x > 1) {
					t.Fatalf("flow %v takes %v, with a wild hop along %s from %d", f, path, torus.DimName(d), x)
				}
				at, _ = p.Torus.Next(at, d, s.Port()%2 == 0)
			}
		}
	}
	if *long {
		for d := range 3 {
			big := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: d, Index: 7}}}, torus.TPUv4, 8, 8, 16)
			cycle, unreachable := wholeSet(t, big, WildRule{}, true)
			if unreachable > 0 {
				t.Errorf("8x8x16, fault in %s: %d pairs without candidates", torus.DimName(d), unreachable)
			}
			t.Logf("8x8x16, fault in %s: %s", torus.DimName(d), cycle.Names(big.Network))
		}
	}
	if cycle, _ := wholeSet(t, p, WildRule{Free: true}, true); cycle == nil {
		t.Error("free wild hops have no cycle")
	}
	if cycle, _ := wholeSet(t, p, WildRule{Order: named(0, 1, 2)}, true); cycle == nil {
		t.Error("shifted dimensions first have no cycle")
	}
}

// TestCandidates compares the candidates with an independent enumeration of wild hops followed by
// shortest dimension-ordered ends: the live ones, each once.
func TestCandidates(t *testing.T) {
	p := torusProblem(t, torus.Faults{Switches: []torus.Switch{{Dim: 0, Index: 3}}}, torus.TPUv4, 4, 4, 8)
	o, dims := p.Torus, 3
	order, wild := []int{2, 0, 1}, []int{1, 0}
	distance := func(a, b int32) int {
		v, err := o.Vectors()
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, c := range v[o.Subtract(b, a)][0] {
			sum += max(c, -c)
		}
		return sum
	}
	vectors, err := o.Vectors()
	if err != nil {
		t.Fatal(err)
	}
	dead := map[string]bool{}
	for i, l := range o.Links() {
		if p.Network.Links[i].Rate == 0 {
			dead[fmt.Sprint(l.From, l.Dim, l.Up)] = true
		}
	}
	// follow returns the ports of hops (dimension, sign); "" if they meet a failed link, or a
	// node twice
	follow := func(src, dst int32, hops [][2]int) string {
		text, at, seen := "", src, []int32{src}
		for _, h := range hops {
			if dead[fmt.Sprint(at, h[0], h[1] > 0)] {
				return ""
			}
			to, _ := o.Next(at, h[0], h[1] > 0)
			if slices.Contains(seen, to) {
				return ""
			}
			port := 2 * h[0]
			if h[1] < 0 {
				port++
			}
			text += fmt.Sprint(port, " ")
			at = to
			seen = append(seen, to)
		}
		if at != dst {
			t.Fatalf("%v from %d ends at %d, not %d", hops, src, at, dst)
		}
		return text
	}
	for _, use := range []string{UseNeeded, UseAnyDead, UseAll} {
		c, err := NewCandidates(p, WildRule{WildFirst{Wild: named(wild...), Use: use}, named(order...), true})
		if err != nil {
			t.Fatal(err)
		}
		for dst := range int32(o.Nodes()) {
			src := int32(37)
			if src == dst {
				continue
			}
			want := map[string]bool{}
			ties, live := 0, 0
			for _, first := range []int{0, 1, -1} {
				for _, second := range []int{0, 1, -1} {
					if (first != 0 || second != 0) && (use == UseNeeded && live > 0 || use == UseAnyDead && live == ties) {
						continue
					}
					var hops [][2]int
					at := src
					for i, sign := range []int{first, second} {
						if sign != 0 {
							hops = append(hops, [2]int{wild[i], sign})
							at, _ = o.Next(at, wild[i], sign > 0)
						}
					}
					for _, v := range vectors[o.Subtract(dst, at)] {
						path := slices.Clone(hops)
						for _, d := range order {
							for range max(v[d], -v[d]) {
								path = append(path, [2]int{d, v[d]})
							}
						}
						text := follow(src, dst, path)
						if first == 0 && second == 0 {
							if ties++; text != "" {
								live++
							}
						}
						if text != "" {
							want[text] = true
						}
					}
				}
			}
			got := c.Paths(engine.Flow{Src: src, Dst: dst})
			last := 0
			for _, path := range got {
				text := ""
				for _, s := range path {
					text += fmt.Sprint(s.Port(), " ")
				}
				if !want[text] || len(path) < last {
					t.Fatalf("%s, %d to %d: %s is no candidate, or out of order", use, src, dst, text)
				}
				last = len(path)
				delete(want, text)
			}
			if len(want) > 0 {
				t.Fatalf("%s, %d to %d (%d hops, %d dims): %d candidates, without %v", use, src, dst, distance(src, dst), dims, len(got), want)
			}
		}
	}
}

// TestSegments verifies the channels of paths that were derived by hand on a ring of 8 in z of
// 4x4x8.
func TestSegments(t *testing.T) {
	p := torusProblem(t, torus.Faults{}, "", 4, 4, 8)
	c, err := NewCandidates(p, WildRule{Order: named(2, 1, 0)})
	if err != nil {
		t.Fatal(err)
	}
	at := p.Torus.Node
	for _, w := range []struct {
		from int32
		path []engine.Step // ports
		want []int         // channels
	}{
		{at(0, 0, 0), []engine.Step{4, 4}, []int{1, 1}},                         // no wrap-around link
		{at(0, 0, 6), []engine.Step{4, 4, 4}, []int{0, 0, 1}},                   // crosses after z 7
		{at(0, 0, 1), []engine.Step{5, 5, 5}, []int{0, 0, 1}},                   // crosses after z 0
		{at(1, 0, 6), []engine.Step{0, 4, 4, 1, 1}, []int{0, 0, 0, 1, 1}},       // wild x, Z crosses, X does not
		{at(3, 0, 0), []engine.Step{0, 4, 1}, []int{1, 1, 0}},                   // wild over the wrap-around link
		{at(2, 1, 0), []engine.Step{0, 3, 4, 2, 2}, []int{0, 0, 1, 1, 1}},       // two wild hops
		{at(2, 1, 0), []engine.Step{4, 2, 2, 0, 0}, []int{1, 1, 1, 0, 0}},       // ends on the wrap-around link
		{at(2, 0, 0), []engine.Step{0, 0, 0}, []int{0, 0, 1}},                   // no wild hop
		{at(0, 3, 7), []engine.Step{3, 4, 4, 2, 2, 2}, []int{0, 0, 1, 0, 0, 1}}, // wild y, Z and Y cross
	} {
		path := slices.Clone(w.path)
		c.SetChannels(w.from, path)
		for i, s := range path {
			if s.Channel() != w.want[i] || s.Port() != w.path[i].Port() {
				t.Errorf("ports %v from %v take channel %d on hop %d, want %v", w.path, p.Torus.At(w.from), s.Channel(), i, w.want)
			}
		}
	}
}

func BenchmarkCheckChannels(b *testing.B) {
	for _, dims := range [][]int{{8, 8, 8}, {16, 16, 16}} {
		b.Run(fmt.Sprint(dims), func(b *testing.B) {
			p := torusProblem(b, torus.Faults{}, "", dims...)
			d, err := DimensionOrder{}.Route(context.Background(), p, Options{})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if cycle, err := packet.CheckChannels(context.Background(), p.Network, d.Paths, p.Flows); err != nil || cycle != nil {
					b.Fatal(cycle, err)
				}
			}
		})
	}
}
