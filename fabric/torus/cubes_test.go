package torus

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// perSwitch counts the connections of each switch.
func perSwitch(all []Connection) [Switches]int {
	var n [Switches]int
	for _, c := range all {
		n[c.Number()]++
	}
	return n
}

// TestReconnect: 8x8x8 takes 384 connections from any cubes, 8 on each of the 48 switches (Zu et
// al., Fig. 7), and 8 fewer if a switch is down. A second request for the same torus takes none.
func TestReconnect(t *testing.T) {
	cubes := rand.New(rand.NewPCG(1, 1)).Perm(Cubes)[:8]
	o := must(t, "", 8, 8, 8)
	c, err := Reconnect(nil, o, cubes, Cubes, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Make) != 384 || len(c.Undo) != 0 {
		t.Errorf("%d made, %d undone; want 384, 0", len(c.Make), len(c.Undo))
	}
	for s, n := range perSwitch(c.Make) {
		if n != 8 {
			t.Errorf("switch %d makes %d connections, want 8", s, n)
		}
	}
	if c, err = Reconnect(nil, o, cubes, Cubes, []Switch{{2, 3}}); err != nil || len(c.Make) != 376 || perSwitch(c.Make)[2*Faces+3] != 0 {
		t.Errorf("without z3: %d made, %v", len(c.Make), err)
	}
	if c, err = Reconnect(o, o, cubes, Cubes, nil); err != nil || len(c.Make) != 0 || len(c.Undo) != 0 {
		t.Errorf("the same again: %+v, %v", c, err)
	}
}

// TestTwist: between regular and twisted 4x4x8 only the shifted links change, in both directions.
func TestTwist(t *testing.T) {
	regular, twisted := must(t, "", 4, 4, 8), must(t, TPUv4, 4, 4, 8)
	for _, to := range [][2]*Torus{{regular, twisted}, {twisted, regular}} {
		c, err := Reconnect(to[0], to[1], []int{7, 3}, Cubes, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := perSwitch(c.Make); len(c.Make) != 2*Faces*2 || len(c.Undo) != len(c.Make) || slices.Max(n[2*Faces:]) != 0 {
			t.Errorf("%d made, %d undone, %v; want 64 of x and y", len(c.Make), len(c.Undo), n)
		}
	}
}

// TestShapes: each shape of a pod, regular or twisted, connects every port of its cubes once.
func TestShapes(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		dims  []int
		twist string
	}{
		{[]int{4, 4, 4}, ""}, {[]int{4, 4, 8}, ""}, {[]int{4, 4, 8}, TPUv4}, {[]int{4, 8, 8}, ""}, {[]int{4, 8, 8}, TPUv4},
		{[]int{8, 4, 12}, ""}, {[]int{8, 8, 16}, TPUv4}, {[]int{4, 4, 256}, ""}, {[]int{16, 16, 16}, ""},
		{[]int{16, 16, 36}, ""}, {[]int{4, 4, 264}, ""}, {[]int{16, 16, 32}, TPUv4},
	} {
		o := must(t, c.twist, c.dims...)
		n := o.Nodes() / 64
		pod := max(Cubes, n)
		commands, err := Reconnect(nil, o, rng.Perm(pod)[:n], pod, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(commands.Make) != Switches*n {
			t.Errorf("%s %s: %d connections, want %d", o, c.twist, len(commands.Make), Switches*n)
		}
		ports := map[Connection]bool{} // of each switch and cube: once out, once in
		for _, m := range commands.Make {
			for _, port := range []Connection{{m.Switch, m.Out, -1}, {m.Switch, -1, m.In}} {
				if ports[port] {
					t.Errorf("%s %s: a port of %v is connected twice", o, c.twist, m)
				}
				ports[port] = true
			}
		}
	}
}

func TestReconnectRejectsInvalid(t *testing.T) {
	plan := func(o *Torus, cubes ...int) error { return errorOf(Reconnect(nil, o, cubes, Cubes, nil)) }
	o := must(t, "", 4, 4, 8)
	for want, err := range map[string]error{
		"takes 2 cubes, not 3":     plan(o, 1, 2, 3),
		"cube 5 is named twice":    plan(o, 5, 5),
		"there is no cube 64":      plan(o, 5, 64),
		"4x4x6 is not made of":     plan(must(t, "", 4, 4, 6), 5),
		"enter cubes at another":   plan(must(t, "000100", 4, 4, 4), 5),
		`"q9" names no switch`:     errorOf(ParseSwitch("q9")),
		"into whole rings, not in": plan(mesh(t, 4, 4, 4), 5),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func errorOf[T any](_ T, err error) error { return err }

func mesh(t *testing.T, dims ...int) *Torus {
	o := must(t, "", dims...)
	if err := o.Mesh(0); err != nil {
		t.Fatal(err)
	}
	return o
}
