package torus

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Numbers of a pod of TPU v4.
const (
	faces    = 16 // links on a face of a cube
	switches = 48
	podCubes = 64
)

// perSwitch counts the connections of each switch.
func perSwitch(all []Connection) [switches]int {
	var n [switches]int
	for _, c := range all {
		n[c.Dim*faces+c.Index]++
	}
	return n
}

// TestReconnect: 8x8x8 takes 384 connections from any cubes, 8 on each of the 48 switches (Zu et
// al., Fig. 7), and 8 fewer if a switch is down. A second request for the same torus takes none.
func TestReconnect(t *testing.T) {
	cubes := rand.New(rand.NewPCG(1, 1)).Perm(podCubes)[:8]
	o := must(t, "", 8, 8, 8)
	c, err := Reconnect(nil, o, cubes, podCubes, nil)
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
	if c, err = Reconnect(nil, o, cubes, podCubes, []Switch{{2, 3}}); err != nil || len(c.Make) != 376 || perSwitch(c.Make)[2*faces+3] != 0 {
		t.Errorf("without z3: %d made, %v", len(c.Make), err)
	}
	if c, err = Reconnect(o, o, cubes, podCubes, nil); err != nil || len(c.Make) != 0 || len(c.Undo) != 0 {
		t.Errorf("the same again: %+v, %v", c, err)
	}
}

// TestTwist: between regular and twisted 4x4x8 only the shifted links change, in both directions.
func TestTwist(t *testing.T) {
	regular, twisted := must(t, "", 4, 4, 8), must(t, TPUv4, 4, 4, 8)
	for _, to := range [][2]*Torus{{regular, twisted}, {twisted, regular}} {
		c, err := Reconnect(to[0], to[1], []int{7, 3}, podCubes, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := perSwitch(c.Make); len(c.Make) != 2*faces*2 || len(c.Undo) != len(c.Make) || slices.Max(n[2*faces:]) != 0 {
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
		pod := max(podCubes, n)
		commands, err := Reconnect(nil, o, rng.Perm(pod)[:n], pod, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(commands.Make) != switches*n {
			t.Errorf("%s %s: %d connections, want %d", o, c.twist, len(commands.Make), switches*n)
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

// TestCubesOfAnyShape compares the connections of tori of cubes with the links between chips: a
// link that leaves the cube at the end of a dimension passes the switch of its position on the
// face, and enters a cube at the same position. Every port is connected once.
func TestCubesOfAnyShape(t *testing.T) {
	for _, cube := range []Box{{4, 4, 4}, {4, 4, 2}, {2, 2, 2}, {8, 8, 8}, {1, 3, 5}, {1, 1, 1}} {
		for _, sides := range []Box{{1, 1, 1}, {2, 1, 1}, {2, 2, 3}, {1, 2, 2}} { // in cubes
			for _, twist := range []string{"", TPUv4} {
				o := must(t, "", sides[0]*cube[0], sides[1]*cube[1], sides[2]*cube[2])
				if o.Cube = cube; twist != "" && (o.Twist(twist) != nil || CheckCubic(o) != nil) {
					continue
				}
				cubes := rand.New(rand.NewPCG(3, 3)).Perm(sides.Chips())
				got, err := CubeConnections(o, cubes)
				if err != nil {
					t.Fatal(err)
				}
				numberOf := func(node int32) int { // of a node's cube
					at := o.At(node)
					return cubes[(at[0]/cube[0]*sides[1]+at[1]/cube[1])*sides[2]+at[2]/cube[2]]
				}
				want := map[Connection]bool{}
				for _, l := range o.Links() {
					from, to := o.At(l.From), o.At(l.To)
					d := int(l.Dim)
					if !l.Up || from[d]%cube[d] != cube[d]-1 {
						continue
					}
					var position [2]int // on the faces that the link leaves and enters
					for e := range 3 {
						if e != d {
							position[0] = position[0]*cube[e] + from[e]%cube[e]
							position[1] = position[1]*cube[e] + to[e]%cube[e]
						}
					}
					if position[0] != position[1] || to[d]%cube[d] != 0 {
						t.Fatalf("%s of %s: link %v to %v changes its position on the face", o, cube, from, to)
					}
					want[Connection{Switch{d, position[0]}, numberOf(l.From), numberOf(l.To)}] = true
				}
				outs, ins := map[Connection]bool{}, map[Connection]bool{}
				for _, c := range got {
					if !want[c] || c.Index >= cube.Face(c.Dim) {
						t.Fatalf("%s of %s: no link needs connection %v", o, cube, c)
					}
					outs[Connection{c.Switch, c.Out, -1}], ins[Connection{c.Switch, -1, c.In}] = true, true
				}
				if n := cube.Switches() * sides.Chips(); len(got) != n || len(want) != n || len(outs) != n || len(ins) != n {
					t.Errorf("%s of %s: %d connections of %d on %d out and %d in ports, want %d",
						o, cube, len(got), len(want), len(outs), len(ins), n)
				}
			}
		}
	}
}

// TestPresets: the pods of TPUs have the chips, switches and largest slices of their
// documentation, and grids that are as cubic as possible.
func TestPresets(t *testing.T) {
	for name, want := range map[string]struct {
		chips, maxSlice int
		grid            Box
	}{
		"tpuv4": {4096, 4096, Box{4, 4, 4}}, "tpuv5p": {8960, 6144, Box{4, 5, 7}}, "ironwood": {9216, 9216, Box{4, 6, 6}},
	} {
		p, ok := FindPreset(name)
		if err := p.Check(); !ok || err != nil || p.Chips() != want.chips || p.MaxSlice != want.maxSlice ||
			p.Cube.Switches() != switches || p.HostsPerCube() != 16 || p.LinksPerCube() != 96 || p.Grid() != want.grid {
			t.Errorf("%s: %+v, %v; want %+v", name, p, err, want)
		}
	}
}

// TestPodRejectsInvalid: pods at their limits are accepted, and others are rejected.
func TestPodRejectsInvalid(t *testing.T) {
	for _, c := range []struct {
		p    Pod
		want string
	}{
		{Pod{1, TPUCube, Box{4, 4, 4}, 64}, ""}, {Pod{2, TPUCube, Box{1, 1, 1}, 128}, ""},
		{Pod{0, TPUCube, Box{2, 2, 1}, 64}, "a pod of 0 cubes"}, {Pod{1, Box{4, 0, 4}, Box{2, 2, 1}, 64}, "4x0x4"},
		{Pod{1, TPUCube, Box{2, 2, 0}, 64}, "2x2x0"}, {Pod{1, TPUCube, Box{2, 3, 1}, 64}, "do not fill a cube"},
		{Pod{2, TPUCube, Box{2, 2, 1}, 63}, "a largest slice of 63"}, {Pod{2, TPUCube, Box{2, 2, 1}, 129}, "to 128"},
	} {
		err := c.p.Check()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}

func TestReconnectRejectsInvalid(t *testing.T) {
	plan := func(o *Torus, cubes ...int) error { return errorOf(Reconnect(nil, o, cubes, podCubes, nil)) }
	o := must(t, "", 4, 4, 8)
	for want, err := range map[string]error{
		"takes 2 cubes, not 3":     plan(o, 1, 2, 3),
		"cube 5 is named twice":    plan(o, 5, 5),
		"there is no cube 64":      plan(o, 5, 64),
		"4x4x6 is not made of":     plan(must(t, "", 4, 4, 6), 5),
		"enter cubes at another":   plan(must(t, "000100", 4, 4, 4), 5),
		`"q9" names no switch`:     errorOf(ParseSwitch("q9", TPUCube)),
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
