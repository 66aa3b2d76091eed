package torus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// The hardware of a TPU v4 pod (Zu et al., NSDI 24, Sec. 3.4): cubes of 4x4x4 chips are wired inside; each of the 16
// links on each of the 6 faces leads to one of 48 optical circuit switches, that of its dimension and place on the
// face, where any "out" port can be connected to any "in" port.
const (
	Side     = 4           // chips of a cube along each dimension
	Faces    = Side * Side // links on a face of a cube
	Switches = 3 * Faces   // of a pod
	Cubes    = 64          // of a TPU v4 pod: each takes two of the 128 ports of a switch
)

// ErrPorts is wrapped where cubes cannot be connected as a job asks.
var ErrPorts = errors.New("torus: the ports cannot be connected")

// Switch names an optical switch by dimension and place on the face.
type Switch struct{ Dim, Index int }

// Number returns the place of a switch among the 48.
func (s Switch) Number() int { return s.Dim*Faces + s.Index }

// String returns a name such as x3, as scenarios have it.
func (s Switch) String() string { return fmt.Sprintf("%s%d", DimName(s.Dim), s.Index) }

// ParseSwitch reads a name such as x3.
func ParseSwitch(name string) (Switch, error) {
	for d := range 3 {
		for i := range Faces {
			if s := (Switch{d, i}); s.String() == name {
				return s, nil
			}
		}
	}
	return Switch{}, fmt.Errorf("torus: %q names no switch; write x, y or z and 0 to %d, such as x3", name, Faces-1)
}

// Connection joins the out port of one cube with the in port of another, or the same, in a switch.
type Connection struct {
	Switch
	Out, In int // cubes
}

// CubeConnections returns the connections that make a torus of cubes, by switch and cube: steps 1 and 2 of Sec. 3.4.1. Cube i
// of the list takes place i of the torus' cubes, the last dimension fastest. It fails where the torus is not made of
// whole cubes, is a mesh, or twists within a cube's face.
func CubeConnections(t *Torus, cubes []int) ([]Connection, error) {
	if err := CheckCubic(t); err != nil {
		return nil, err
	}
	if want := t.nodes / (Side * Side * Side); len(cubes) != want {
		return nil, fmt.Errorf("%w: %s takes %d cubes, not %d", ErrShape, t, want, len(cubes))
	}
	position := func(node int32) int {
		n := 0
		for d := range t.Dims {
			n = n*(t.Dims[d]/Side) + t.Coord(node, d)/Side
		}
		return n
	}
	var all []Connection
	for _, l := range t.Links() {
		if d := int(l.Dim); l.Up && t.Coord(l.From, d)%Side == Side-1 {
			all = append(all, Connection{t.SwitchOf(l.From, d), cubes[position(l.From)], cubes[position(l.To)]})
		}
	}
	slices.SortFunc(all, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.Number(), b.Number()), cmp.Compare(a.Out, b.Out))
	})
	return all, nil
}

// CheckCubic fails where a torus cannot be made of cubes whose links leave a face where they enter the next.
func CheckCubic(t *Torus) error {
	if len(t.Dims) != 3 || slices.ContainsFunc(t.Dims, func(n int) bool { return n%Side != 0 }) {
		return fmt.Errorf("%w: %s is not made of cubes of %dx%dx%d: give three sizes that are multiples of %d", ErrShape, t, Side, Side, Side, Side)
	}
	if slices.Contains(t.Open, true) {
		return fmt.Errorf("%w: cubes are joined into whole rings, not into meshes", ErrShape)
	}
	for i, v := range t.Shift {
		for j, by := range v {
			if by%Side != 0 {
				return fmt.Errorf("%w: %s links shifted by %d along %s enter cubes at another place of the face, which no switch can connect; shift by multiples of %d",
					ErrShape, DimName(i), by, DimName(j), Side)
			}
		}
	}
	return nil
}

// SwitchOf returns the switch of a node's link that leaves its cube along dim: the node's other two coordinates in the
// cube, the first of them counting by four, are its place on the face.
func (t *Torus) SwitchOf(node int32, dim int) Switch {
	index := 0
	for d := range t.Dims {
		if d != dim {
			index = index*Side + t.Coord(node, d)%Side
		}
	}
	return Switch{dim, index}
}

// Commands are what switches are told, by switch and cube.
type Commands struct {
	Undo, Make []Connection
}

// Reconnect returns what makes t of cubes of a pod that formed another torus, nil for none: steps 3 and 4 of Sec. 3.4.1. A
// connection that is there already is left alone; another of the same out port is undone. What switches that are down
// would connect, both lack (Sec. 4.2). It fails where Adjacent does, and with ErrPorts on cubes that are there twice or
// not at all.
func Reconnect(before, t *Torus, cubes []int, pod int, down []Switch) (*Commands, error) {
	seen := map[int]bool{}
	for _, c := range cubes {
		switch {
		case c < 0 || c >= pod:
			return nil, fmt.Errorf("%w: there is no cube %d; there are 0 to %d", ErrPorts, c, pod-1)
		case seen[c]:
			return nil, fmt.Errorf("%w: cube %d is named twice", ErrPorts, c)
		}
		seen[c] = true
	}
	type port struct {
		Switch
		out int
	}
	in := map[port]int{}
	if before != nil {
		current, err := CubeConnections(before, cubes)
		if err != nil {
			return nil, err
		}
		for _, c := range current {
			in[port{c.Switch, c.Out}] = c.In
		}
	}
	want, err := CubeConnections(t, cubes)
	if err != nil {
		return nil, err
	}
	out := &Commands{}
	for _, w := range want {
		current, connected := in[port{w.Switch, w.Out}]
		if slices.Contains(down, w.Switch) || connected && current == w.In {
			continue
		}
		if connected {
			out.Undo = append(out.Undo, Connection{w.Switch, w.Out, current})
		}
		out.Make = append(out.Make, w)
	}
	return out, nil
}
