package torus

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// TestSwappedFibre: two cables exchanged, at any ports, are found and named
// together with those whose exchange would look the same.
func TestSwappedFibre(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	cubes := []int{9, 2, 5, 7}
	ends := map[string]int{}
	for range 300 {
		p, o := newPod(t), must(t, TPUv4, 4, 8, 8)
		if _, _, err := p.Connect("a", o, cubes); err != nil {
			t.Fatal(err)
		}
		any := func() Port {
			return Port{cubes[rng.IntN(4)], Switch{rng.IntN(3), rng.IntN(Faces)}, rng.IntN(2) > 0}
		}
		a, b := any(), any()
		p.Swap(a, b)
		w, err := p.Wire(o, cubes)
		if err != nil {
			t.Fatal(err)
		}
		faults := w.Discover()
		if far, _ := p.partner(a); a == b || far == b {
			// the two ends of one link: it is the same turned round
			if len(faults) != 0 {
				t.Fatalf("%s and %s: %v", a, b, faults)
			}
			ends["none"]++
			continue
		}
		if len(faults) != 1 || !faults[0].Swapped {
			t.Fatalf("%s and %s: %v", a, b, faults)
		}
		text := faults[0].String()
		if pair := a.String() + " and " + b.String(); !strings.Contains(text, pair) && !strings.Contains(text, b.String()+" and "+a.String()) {
			t.Fatalf("%s is not named in: %s", pair, text)
		}
		ends["one"]++
	}
	if ends["one"] < 200 {
		t.Errorf("%v", ends)
	}
}

// TestDarkSwitch: a switch that goes down leaves its links dark, and no other.
func TestDarkSwitch(t *testing.T) {
	p, o := newPod(t), must(t, "", 4, 4, 8)
	if _, _, err := p.Connect("a", o, []int{1, 0}); err != nil {
		t.Fatal(err)
	}
	p.BreakSwitch(Switch{2, 6})
	w, err := p.Wire(o, []int{1, 0})
	if err != nil {
		t.Fatal(err)
	}
	faults := w.Discover()
	if len(faults) != 2 {
		t.Fatalf("%d links are dark, want one a cube: %v", len(faults), faults)
	}
	for _, f := range faults {
		if !f.Dark || f.Port.Switch != (Switch{2, 6}) || !strings.Contains(f.String(), "nothing is there") {
			t.Errorf("%v", f)
		}
	}
	// to another job's cube
	p = newPod(t)
	if _, _, err := p.Connect("a", o, []int{1, 0}); err != nil {
		t.Fatal(err)
	}
	p.Swap(Port{0, Switch{0, 0}, true}, Port{8, Switch{0, 0}, true})
	if _, _, err := p.Connect("b", must(t, "", 4, 4, 4), []int{8}); err != nil {
		t.Fatal(err)
	}
	if w, err = p.Wire(o, []int{1, 0}); err != nil {
		t.Fatal(err)
	}
	if faults = w.Discover(); len(faults) != 1 || !faults[0].Foreign {
		t.Errorf("%v", faults)
	}
}
