package torus

import (
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"
)

// TestGroup: translations commute with hops and are undone by their opposites.
func TestGroup(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o, err := New(rapid.SampledFrom([]int{1, 2, 3, 4, 8}).Draw(t, "x"), rapid.SampledFrom([]int{2, 4, 5}).Draw(t, "y"), rapid.SampledFrom([]int{2, 3, 8}).Draw(t, "z"))
		if err != nil {
			t.Fatal(err)
		}
		if err := o.Twist(rapid.SampledFrom(patterns()).Draw(t, "twist")); err != nil {
			t.Fatal(err)
		}
		if !o.Symmetric() {
			t.Skip("nodes are not identical")
		}
		node := rapid.Int32Range(0, int32(o.Nodes())-1)
		a, b := node.Draw(t, "a"), node.Draw(t, "b")
		if got := o.Subtract(o.Plus(a, b), b); got != a {
			t.Fatalf("%d + %d - %d = %d", a, b, b, got)
		}
		if o.Plus(a, b) != o.Plus(b, a) {
			t.Fatal("sums do not commute")
		}
		for d := range o.Dims {
			for _, up := range []bool{true, false} {
				to, _ := o.Next(a, d, up)
				shifted, _ := o.Next(o.Plus(a, b), d, up)
				if o.Plus(to, b) != shifted {
					t.Fatalf("hop %d %v of %d leads to %d, translated by %d to %d", d, up, a, to, b, shifted)
				}
			}
		}
	})
}

// TestSwitchFault: a switch that is down takes two directed links of each cube, those whose other coordinates are its
// place on the face.
func TestSwitchFault(t *testing.T) {
	o, err := New(4, 8, 8)
	if err != nil {
		t.Fatal(err)
	}
	for d := range 3 {
		for i := range Faces {
			h, err := o.Health(Faults{Switches: []Switch{{d, i}}})
			if err != nil {
				t.Fatal(err)
			}
			down := 0
			for k, l := range o.Links() {
				if h.Link[k] == Works {
					continue
				}
				down++
				if int(l.Dim) != d || o.SwitchOf(l.From, d).Index != i || o.Coord(l.From, d)/Side == o.Coord(l.To, d)/Side && o.Dims[d] > Side {
					t.Errorf("switch %s takes link %v of %v", Switch{d, i}, l, o.At(l.From))
				}
			}
			if want := 2 * o.Nodes() / 64; down != want {
				t.Errorf("switch %s takes %d links, want %d", Switch{d, i}, down, want)
			}
		}
	}
}

// TestHealth: chips, machines and links are down with what hangs on them.
func TestHealth(t *testing.T) {
	o, err := New(4, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	count := func(f Faults) (nodes, links, drained int) {
		t.Helper()
		h, err := o.Health(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range h.Node {
			nodes += int(s) / int(Down)
		}
		for _, s := range h.Link {
			links += int(s) / int(Down)
			if s == Drained {
				drained++
			}
		}
		return
	}
	for _, c := range []struct {
		f                     Faults
		nodes, links, drained int
	}{
		{Faults{Chips: []int32{5}}, 1, 12, 0},
		{Faults{Machines: []int{0}}, 4, 40, 0}, // 4*12 less the 4 cables inside, counted once
		{Faults{Links: []Hop{{3, 1, false}, {3, 1, false}}}, 0, 2, 0},
		{Faults{Drained: []Hop{{3, 1, false}, {9, 0, true}}, Links: []Hop{{9, 0, true}}}, 0, 2, 2},
	} {
		if n, l, d := count(c.f); n != c.nodes || l != c.links || d != c.drained {
			t.Errorf("%+v: %d nodes, %d links down and %d drained", c.f, n, l, d)
		}
	}
	for _, f := range []Faults{{Chips: []int32{64}}, {Machines: []int{16}}, {Links: []Hop{{0, 3, true}}}, {Switches: []Switch{{3, 0}}}} {
		if _, err := o.Health(f); err == nil {
			t.Errorf("%+v is accepted", f)
		}
	}
	for _, text := range []string{"17 x+", "0 z-", "3 d3+"} {
		if h, err := ParseHop(text); err != nil || h.String() != text {
			t.Errorf("%q is read as %v, %v", text, h, err)
		}
	}
	for _, text := range []string{"", "x+", "17x+", "17 w+", "17 x", "-1 x+"} {
		if h, err := ParseHop(text); err == nil {
			t.Errorf("%q is read as %v", text, h)
		}
	}
}
