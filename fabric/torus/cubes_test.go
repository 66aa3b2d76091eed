package torus

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"sim/engine"
)

func newPod(t testing.TB) *Pod {
	t.Helper()
	p, err := NewPod(Cubes, 10*engine.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// perSwitch counts connections by switch.
func perSwitch(all []Connection) [Switches]int {
	var n [Switches]int
	for _, c := range all {
		n[c.Number()]++
	}
	return n
}

// TestConnect: 8x8x8 is 384 connections, 8 on each of the 48 switches (Zu et al., Fig. 7), from any cubes; asked for
// again it is none.
func TestConnect(t *testing.T) {
	p := newPod(t)
	cubes := rand.New(rand.NewPCG(1, 1)).Perm(Cubes)[:8]
	o := must(t, "", 8, 8, 8)
	c, took, err := p.Connect("a", o, cubes)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Make) != 384 || len(c.Undo) != 0 || took != 10*engine.Millisecond {
		t.Errorf("%d made, %d undone, %v; want 384, 0, 10 ms", len(c.Make), len(c.Undo), took)
	}
	for s, n := range perSwitch(c.Make) {
		if n != 8 {
			t.Errorf("switch %d makes %d connections, want 8", s, n)
		}
	}
	if c, took, err = p.Connect("a", o, cubes); err != nil || len(c.Make) != 0 || len(c.Undo) != 0 || took != 0 {
		t.Errorf("the same again: %+v, %v, %v", c, took, err)
	}
}

// TestTwist: from regular to twisted 4x4x8 only the shifted links move, and back.
func TestTwist(t *testing.T) {
	p := newPod(t)
	cubes := []int{7, 3}
	if _, _, err := p.Connect("a", must(t, "", 4, 4, 8), cubes); err != nil {
		t.Fatal(err)
	}
	for _, twist := range []string{TPUv4, "000000"} {
		c, _, err := p.Connect("a", must(t, twist, 4, 4, 8), cubes)
		if err != nil {
			t.Fatal(err)
		}
		if n := perSwitch(c.Make); len(c.Make) != 2*Faces*2 || len(c.Undo) != len(c.Make) || slices.Max(n[2*Faces:]) != 0 {
			t.Errorf("to %s: %d made, %d undone, %v; want 64 of x and y", twist, len(c.Make), len(c.Undo), n)
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
	} {
		p, o := newPod(t), must(t, c.twist, c.dims...)
		n := o.Nodes() / 64
		cubes := rng.Perm(Cubes)[:n]
		made, _, err := p.Connect("a", o, cubes)
		if err != nil {
			t.Fatal(err)
		}
		if len(made.Make) != Switches*n {
			t.Errorf("%s %s: %d connections, want %d", o, c.twist, len(made.Make), Switches*n)
		}
		ports := map[Connection]bool{} // of each switch and cube: once out, once in
		for _, m := range made.Make {
			for _, port := range []Connection{{m.Switch, m.Out, -1}, {m.Switch, -1, m.In}} {
				if ports[port] {
					t.Errorf("%s %s: a port of %v is connected twice", o, c.twist, m)
				}
				ports[port] = true
			}
		}
	}
}

// TestOthersKeepTheirs: jobs take free cubes only, and their connections with them; those of cubes that are asked for
// otherwise are undone.
func TestOthersKeepTheirs(t *testing.T) {
	p := newPod(t)
	connect := func(job string, cubes ...int) (*Commands, error) {
		c, _, err := p.Connect(job, must(t, "", 4, 4, 4*len(cubes)), cubes)
		return c, err
	}
	if _, err := connect("a", 0, 1, 2, 3); err != nil {
		t.Fatal(err)
	}
	if _, err := connect("b", 4, 3); !errors.Is(err, ErrPorts) || !strings.Contains(err.Error(), "cube 3 belongs to job a") {
		t.Errorf("cube of another job: %v", err)
	}
	if free := p.Free(); len(free) != Cubes-4 {
		t.Errorf("%d cubes are free", len(free))
	}
}

func TestCannotConnect(t *testing.T) {
	p := newPod(t)
	plan := func(o *Torus, cubes ...int) error {
		_, _, err := p.Connect("a", o, cubes)
		return err
	}
	o := must(t, "", 4, 4, 8)
	for want, err := range map[string]error{
		"takes 2 cubes, not 3":     plan(o, 1, 2, 3),
		"cube 5 is named twice":    plan(o, 5, 5),
		"there is no cube 64":      plan(o, 5, 64),
		"4x4x6 is not made of":     plan(must(t, "", 4, 4, 6), 5),
		"enter cubes at another":   plan(must(t, "000100", 4, 4, 4), 5),
		`"q9" names no switch`:     second(ParseSwitch("q9")),
		"want 1 to 64 cubes":       second(NewPod(65, 0)),
		"into whole rings, not in": plan(mesh(t, 4, 4, 4), 5),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func mesh(t *testing.T, dims ...int) *Torus {
	o := must(t, "", dims...)
	if err := o.Mesh(0); err != nil {
		t.Fatal(err)
	}
	return o
}
