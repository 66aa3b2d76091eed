package torus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// Hardware of a TPU v4 pod (Zu et al., NSDI 24, Sec. 3.4). Cubes of 4x4x4 chips are wired
// inside. Each of the 6 faces of a cube has 16 links. A link leads to one of 48 optical
// circuit switches, given by its dimension and its position on the face. A switch can connect
// any "out" port to any "in" port.
const (
	Side     = 4           // chips of a cube along each dimension
	Faces    = Side * Side // links on a face of a cube
	Switches = 3 * Faces   // optical switches of a pod
	Cubes    = 64          // cubes of a TPU v4 pod; each uses two of the 128 ports of a switch
)

// ErrPorts is wrapped if the requested cubes cannot be connected.
var ErrPorts = errors.New("torus: the ports cannot be connected")

// Switch identifies an optical switch by dimension and position on the face.
type Switch struct{ Dim, Index int }

// Number returns the number of a switch, from 0 to 47.
func (s Switch) Number() int { return s.Dim*Faces + s.Index }

// String returns the name of a switch in scenarios, such as x3.
func (s Switch) String() string { return fmt.Sprintf("%s%d", DimName(s.Dim), s.Index) }

// ParseSwitch parses a name such as x3.
func ParseSwitch(name string) (Switch, error) {
	for d := range 3 {
		for i := range Faces {
			if s := (Switch{d, i}); s.String() == name {
				return s, nil
			}
		}
	}
	return Switch{}, fmt.Errorf("torus: %q names no switch; write x, y or z and 0 to %d, such as x3",
		name, Faces-1)
}

// Connection is a connection in a switch from the out port of a cube to the in port of a cube,
// possibly the same.
type Connection struct {
	Switch
	Out, In int // indices of cubes in the pod
}

// CubeConnections returns the connections that form a torus from cubes, in order of switch and
// cube: steps 1 and 2 of Sec. 3.4.1. cubes[i] is the cube at position i of the torus, the last
// dimension fastest. It returns an error if the torus does not consist of whole cubes, is a
// mesh, or is twisted within a cube's face.
func CubeConnections(t *Torus, cubes []int) ([]Connection, error) {
	if err := CheckCubic(t); err != nil {
		return nil, err
	}
	if want := t.nodes / (Side * Side * Side); len(cubes) != want {
		return nil, fmt.Errorf("%w: %s takes %d cubes, not %d", ErrShape, t, want, len(cubes))
	}
	position := func(node int32) int { // of its cube in the torus
		n := 0
		for d := range t.Dims {
			n = n*(t.Dims[d]/Side) + t.Coord(node, d)/Side
		}
		return n
	}

	var all []Connection
	for _, l := range t.Links() {
		if d := int(l.Dim); l.Up && t.Coord(l.From, d)%Side == Side-1 {
			all = append(all, Connection{
				Switch: t.SwitchOf(l.From, d), Out: cubes[position(l.From)], In: cubes[position(l.To)],
			})
		}
	}
	slices.SortFunc(all, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.Number(), b.Number()), cmp.Compare(a.Out, b.Out))
	})
	return all, nil
}

// CheckCubic returns an error if a torus cannot be made of cubes whose links keep their position
// on the face.
func CheckCubic(t *Torus) error {
	if len(t.Dims) != 3 || slices.ContainsFunc(t.Dims, func(n int) bool { return n%Side != 0 }) {
		return fmt.Errorf("%w: %s is not made of cubes of %dx%dx%d: give three sizes that are multiples of %d",
			ErrShape, t, Side, Side, Side, Side)
	}
	if slices.Contains(t.Open, true) {
		return fmt.Errorf("%w: cubes are joined into whole rings, not into meshes", ErrShape)
	}

	for i, v := range t.Shift {
		for j, delta := range v {
			if delta%Side != 0 {
				return fmt.Errorf("%w: %s links shifted by %d along %s enter cubes at another place of the face, which no switch can connect; shift by multiples of %d",
					ErrShape, DimName(i), delta, DimName(j), Side)
			}
		}
	}
	return nil
}

// SwitchOf returns the switch of a node's link that leaves its cube along dim. The node's other
// two coordinates in the cube determine the position on the face; the first of them is
// multiplied by four.
func (t *Torus) SwitchOf(node int32, dim int) Switch {
	index := 0
	for d := range t.Dims {
		if d != dim {
			index = index*Side + t.Coord(node, d)%Side
		}
	}
	return Switch{dim, index}
}

// Commands are the commands to the switches, in order of switch and cube.
type Commands struct {
	Undo, Make []Connection // connections to remove, and connections to make
}

// Reconnect returns the commands that turn cubes of a pod of podCubes from the torus before into t:
// steps 3 and 4 of Sec. 3.4.1. before is nil if the cubes are not connected yet. Existing
// connections stay, and other connections of the same out port are undone. Connections in switches
// that are down are omitted (Sec. 4.2). It returns an error if CubeConnections does, and ErrPorts if
// a cube is named twice or does not exist.
func Reconnect(before, t *Torus, cubes []int, podCubes int, down []Switch) (*Commands, error) {
	seen := map[int]bool{}
	for _, c := range cubes {
		switch {
		case c < 0 || c >= podCubes:
			return nil, fmt.Errorf("%w: there is no cube %d; there are 0 to %d", ErrPorts, c, podCubes-1)
		case seen[c]:
			return nil, fmt.Errorf("%w: cube %d is named twice", ErrPorts, c)
		}
		seen[c] = true
	}

	type port struct {
		Switch
		out int
	}
	in := map[port]int{} // the present connection of each out port
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
			out.Undo = append(out.Undo, Connection{Switch: w.Switch, Out: w.Out, In: current})
		}
		out.Make = append(out.Make, w)
	}
	return out, nil
}
