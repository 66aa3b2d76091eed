package torus

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	_ "sim/internal/testseed"

	"sim/engine"
)

// TestGroup: translations commute with hops and are undone by their inverses.
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

// TestSwitchFault: a switch that is down takes down two directed links of each cube. Their other
// coordinates are its position on the face.
func TestSwitchFault(t *testing.T) {
	o, err := New(4, 8, 8)
	if err != nil {
		t.Fatal(err)
	}
	for d := range 3 {
		for i := range faces {
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
				if int(l.Dim) != d || o.SwitchOf(l.From, d).Index != i || o.Coord(l.From, d)/4 == o.Coord(l.To, d)/4 && o.Dims[d] > 4 {
					t.Errorf("switch %s takes link %v of %v", Switch{d, i}, l, o.At(l.From))
				}
			}
			if want := 2 * o.Nodes() / 64; down != want {
				t.Errorf("switch %s takes %d links, want %d", Switch{d, i}, down, want)
			}
		}
	}
}

// TestHealth: chips, machines and links are down together with the parts that depend on them.
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

// TestHealthRejectsInvalid: parts just inside the torus are accepted; parts just outside are
// rejected by name.
func TestHealthRejectsInvalid(t *testing.T) {
	cube, flat := must(t, "", 4, 4, 4), must(t, "", 6, 2)
	for _, c := range []struct {
		o    *Torus
		f    Faults
		want string // words of the error; "" if the parts exist
	}{
		{cube, Faults{Chips: []int32{0, 63}, Machines: []int{0, 15}, Switches: []Switch{{0, 0}, {2, faces - 1}}}, ""},
		{flat, Faults{Chips: []int32{0, 11}, Machines: []int{0, 2}, Links: []Hop{{11, 1, true}}, Drained: []Hop{{0, 0, false}}}, ""},
		{cube, Faults{Chips: []int32{-1}}, "chip -1; " + cube.String() + " has 0 to 63"},
		{cube, Faults{Chips: []int32{64}}, "chip 64"},
		{cube, Faults{Machines: []int{-1}}, "machine -1"},
		{cube, Faults{Machines: []int{16}}, "machine 16; " + cube.String() + " has 0 to 15"},
		{flat, Faults{Machines: []int{3}}, "has 0 to 2"},
		{cube, Faults{Switches: []Switch{{-1, 0}}}, "switch"},
		{cube, Faults{Switches: []Switch{{3, 0}}}, "switch d3"},
		{cube, Faults{Switches: []Switch{{0, -1}}}, "switch x-1"},
		{cube, Faults{Switches: []Switch{{0, faces}}}, "switch x16"},
		{flat, Faults{Switches: []Switch{{0, 0}}}, "switch x0: "},
		{cube, Faults{Links: []Hop{{64, 0, true}}}, "link 64 x+ of"},
		{flat, Faults{Drained: []Hop{{0, 2, true}}}, "link 0 z+ of"},
	} {
		_, err := c.o.Health(c.f)
		if c.want == "" && err != nil || c.want != "" && (!errors.Is(err, ErrFault) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v of %s: %v, want %q", c.f, c.o, err, c.want)
		}
	}
	for d := range 3 {
		for i := range faces {
			if s, err := ParseSwitch(Switch{d, i}.String(), TPUCube); err != nil || s != (Switch{d, i}) {
				t.Errorf("%s is read as %v, %v", Switch{d, i}, s, err)
			}
		}
	}
	for _, name := range []string{"", "x", "x16", "w0", "x-1", "x01"} {
		if s, err := ParseSwitch(name, TPUCube); err == nil {
			t.Errorf("%q is read as %v", name, s)
		}
	}
}

// TestNetwork: the network of any torus has its links in their order, and only links that are
// down have rate 0. Port 2*dim of a node leads up and port 2*dim+1 down, as Next does.
func TestNetwork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := anyTorus(t, 5)
		chip := rapid.Int32Range(0, int32(o.Nodes())-1)
		h, err := o.Health(Faults{Chips: []int32{chip.Draw(t, "chip")}})
		if err != nil {
			t.Fatal(err)
		}
		links := o.Links()
		for k, state := range h.Link {
			if state == Works && k%3 == 0 {
				h.Link[k] = Drained
			}
		}
		template := engine.Link{Rate: 3, Latency: 5, Buffer: 7, Channels: 2}
		whole, part := o.Network(nil, template), o.Network(h, template)
		for i, l := range links {
			want := engine.Link{From: l.From, To: l.To, Rate: 3, Latency: 5, Buffer: 7, Channels: 2}
			if whole.Links[i] != want {
				t.Fatalf("link %d is %+v, want %+v", i, whole.Links[i], want)
			}
			if h.Link[i] == Down {
				want.Rate = 0
			}
			if part.Links[i] != want {
				t.Fatalf("link %d with state %d is %+v, want %+v", i, h.Link[i], part.Links[i], want)
			}
			if hop, err := ParseHop(strings.TrimPrefix(whole.ResourceName(int32(i)), "link ")); err != nil || hop != (Hop{l.From, int(l.Dim), l.Up}) {
				t.Fatalf("link %d is named %s", i, whole.ResourceName(int32(i)))
			}
		}
		degree, ports := o.Ports()
		if degree != 2*len(o.Dims) || len(ports) != degree*o.Nodes() || int(whole.Nodes) != o.Nodes() {
			t.Fatalf("%d ports of %d a node, %d nodes", len(ports), degree, whole.Nodes)
		}
		for k, id := range ports {
			node, dim, up := int32(k/degree), k%degree/2, k%2 == 0
			to, ok := o.Next(node, dim, up)
			if ok != (id >= 0) {
				t.Fatalf("port %d of node %d has link %d; another node: %v", k%degree, node, id, ok)
			}
			if ok && (links[id].From != node || links[id].To != to || int(links[id].Dim) != dim || links[id].Up != up) {
				t.Fatalf("port %d of node %d has link %+v, want one to %d", k%degree, node, links[id], to)
			}
		}
	})
}

// TestShiftRejectsInvalid: vectors that do not match the dimensions are rejected. nil removes a
// twist.
func TestShiftRejectsInvalid(t *testing.T) {
	o := must(t, "", 8, 4)
	for want, shift := range map[string][][]int{
		"1 shift vectors for 2 dimensions":             {{0, 1}},
		"shift of y has 3 components for 2 dimensions": {nil, {4, 0, 0}},
		"": {nil, {4, 0}},
	} {
		if err := o.SetShift(shift); want == "" && err != nil || want != "" && (!errors.Is(err, ErrShape) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v: %v, want %q", shift, err, want)
		}
	}
	plain := must(t, "", 8, 4)
	if err := o.SetShift(nil); err != nil || !slices.Equal(o.Links(), plain.Links()) {
		t.Errorf("without shifts the links are %v, %v", o.Links(), err)
	}
}
