package torus

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/engine/units"
	"sim/internal/numbers"
)

// Box is the number of chips along each dimension of a block of chips: a cube or a host.
type Box [3]int

// TPUCube is the cube of TPU v4, v5p and Ironwood (Zu et al., NSDI 24, Sec. 3.4).
var TPUCube = Box{4, 4, 4}

// Chips returns the number of chips of a box.
func (b Box) Chips() int { return b[0] * b[1] * b[2] }

// String returns the sides of a box, such as 4x4x4.
func (b Box) String() string { return fmt.Sprintf("%dx%dx%d", b[0], b[1], b[2]) }

// Face returns the number of links on each of the two faces of a cube across dimension dim.
func (b Box) Face(dim int) int { return b[(dim+1)%3] * b[(dim+2)%3] }

// Switches returns the number of optical switches that join cubes: one per pair of links at the
// same position of opposite faces. Cubes of 4x4x4 chips have 48.
func (b Box) Switches() int { return b.Face(0) + b.Face(1) + b.Face(2) }

// Pod describes cubes of chips that optical circuit switches join. Chips of a cube are wired. A
// link on the face of a cube leads to the switch of its dimension and position on the face. Each
// cube uses an "out" port and an "in" port of every switch, and a switch can connect any out
// port to any in port.
type Pod struct {
	Cubes    int // number of cubes
	Cube     Box // chips of a cube
	Host     Box // chips of a host, in a cube
	MaxSlice int // chips of the largest slice
}

// Chips returns the number of chips of a pod.
func (p *Pod) Chips() int { return p.Cubes * p.Cube.Chips() }

// HostsPerCube returns the number of hosts of a cube.
func (p *Pod) HostsPerCube() int { return p.Cube.Chips() / p.Host.Chips() }

// LinksPerCube returns the number of optical links of a cube: one from each face to each switch.
func (p *Pod) LinksPerCube() int { return 2 * p.Cube.Switches() }

// Check returns an error if a number is not positive, if a host does not divide a cube, or if
// the largest slice is smaller than a cube or larger than the pod.
func (p *Pod) Check() error {
	if slices.Min(p.Cube[:]) < 1 || slices.Min(p.Host[:]) < 1 || p.Cubes < 1 {
		return fmt.Errorf("%w: a pod of %d cubes of %s chips with hosts of %s; write at least 1",
			ErrShape, p.Cubes, p.Cube, p.Host)
	}
	for d, n := range p.Cube {
		if n%p.Host[d] != 0 {
			return fmt.Errorf("%w: hosts of %s chips do not fill a cube of %s; write sides that divide the cube's",
				ErrShape, p.Host, p.Cube)
		}
	}
	if p.MaxSlice < p.Cube.Chips() || p.MaxSlice > p.Chips() {
		return fmt.Errorf("%w: a largest slice of %d chips; write %d, the chips of a cube, to %d, the chips of the pod",
			ErrShape, p.MaxSlice, p.Cube.Chips(), p.Chips())
	}
	return nil
}

// Grid returns the sides of the grid that the cubes form without optical switches: the most
// cubic box of as many cubes.
func (p *Pod) Grid() Box { return numbers.Factors(p.Cubes) }

// Preset is a pod of a known machine.
type Preset struct {
	Name string
	Pod
	LinkRate units.Rate // of a link between chips, in each direction
}

// Presets returns the pods of TPUs that optical switches join.
//
//   - tpuv4: Zu et al., "Resiliency at Scale: Managing Google's TPUv4 Machine Learning
//     Supercomputer", NSDI 24, Sec. 3.
//   - tpuv5p: cloud.google.com/tpu/docs/v5p. The largest job that can be scheduled has 96 cubes.
//   - ironwood: cloud.google.com/tpu/docs/tpu7x, also named TPU7x.
//
// The last two pages give 1200 GB/s per chip, in both directions of six links.
func Presets() []Preset {
	host := Box{2, 2, 1}
	pod := func(cubes, maxSlice int) Pod {
		return Pod{Cubes: cubes, Cube: TPUCube, Host: host, MaxSlice: maxSlice}
	}
	return []Preset{
		{"tpuv4", pod(64, 64*64), 400e9},
		{"tpuv5p", pod(140, 16*16*24), 800e9},
		{"ironwood", pod(144, 144*64), 800e9},
	}
}

// Doc describes a preset in a line.
func (p *Preset) Doc() string {
	return fmt.Sprintf("%d chips: %d cubes of %s on %d optical switches, hosts of %s, slices of up to %d chips, links of %s",
		p.Chips(), p.Cubes, p.Cube, p.Cube.Switches(), p.Host, p.MaxSlice, p.LinkRate)
}

// TPUv4Pod returns the pod of TPU v4.
func TPUv4Pod() *Pod { return &Presets()[0].Pod }

// FindPreset returns the preset with a name, and false for unknown names.
func FindPreset(name string) (Preset, bool) {
	for _, p := range Presets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

// AxisOrders lists the orders of three dimensions.
var AxisOrders = [][3]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}

// ErrPorts is wrapped if the requested cubes cannot be connected.
var ErrPorts = errors.New("torus: the ports cannot be connected")

// Switch identifies an optical switch by dimension and position on the face.
type Switch struct{ Dim, Index int }

// String returns the name of a switch in scenarios, such as x3.
func (s Switch) String() string { return fmt.Sprintf("%s%d", DimName(s.Dim), s.Index) }

// ParseSwitch parses a name such as x3 of a switch that joins the given cubes.
func ParseSwitch(name string, cube Box) (Switch, error) {
	faces := make([]string, 0, 3)
	for d := range 3 {
		for i := range cube.Face(d) {
			if s := (Switch{d, i}); s.String() == name {
				return s, nil
			}
		}
		faces = append(faces, fmt.Sprintf("%s0 to %s%d", DimName(d), DimName(d), cube.Face(d)-1))
	}
	return Switch{}, fmt.Errorf("torus: %q names no switch; write %s",
		name, strings.Join(faces, ", "))
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
	if want := t.nodes / t.Cube.Chips(); len(cubes) != want {
		return nil, fmt.Errorf("%w: %s takes %d cubes, not %d", ErrShape, t, want, len(cubes))
	}
	position := func(node int32) int { // of its cube in the torus
		n := 0
		for d := range t.Dims {
			n = n*(t.Dims[d]/t.Cube[d]) + t.Coord(node, d)/t.Cube[d]
		}
		return n
	}

	var all []Connection
	for _, l := range t.Links() {
		if d := int(l.Dim); l.Up && t.leavesCube(l.From, d) {
			all = append(all, Connection{
				Switch: t.SwitchOf(l.From, d), Out: cubes[position(l.From)], In: cubes[position(l.To)],
			})
		}
	}
	slices.SortFunc(all, func(a, b Connection) int {
		return cmp.Or(cmp.Compare(a.Dim, b.Dim), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Out, b.Out))
	})
	return all, nil
}

// CheckCubic returns an error if a torus cannot be made of cubes whose links keep their position
// on the face.
func CheckCubic(t *Torus) error {
	isMultiple := len(t.Dims) == 3
	for d := 0; isMultiple && d < 3; d++ {
		isMultiple = t.Dims[d]%t.Cube[d] == 0
	}
	if !isMultiple {
		return fmt.Errorf("%w: %s is not made of cubes of %s: give three sizes that are multiples of %s",
			ErrShape, t, t.Cube, t.Cube.Sides())
	}
	if slices.Contains(t.Open, true) {
		return fmt.Errorf("%w: cubes are joined into whole rings, not into meshes", ErrShape)
	}

	for i, v := range t.Shift {
		for j, delta := range v {
			if delta%t.Cube[j] != 0 {
				return fmt.Errorf("%w: %s links shifted by %d along %s enter cubes at another place of the face, which no switch can connect; shift by multiples of %d",
					ErrShape, DimName(i), delta, DimName(j), t.Cube[j])
			}
		}
	}
	return nil
}

// Sides returns the sides of a box in words: a number if they are equal.
func (b Box) Sides() string {
	if b[0] == b[1] && b[1] == b[2] {
		return strconv.Itoa(b[0])
	}
	return fmt.Sprintf("%d, %d and %d", b[0], b[1], b[2])
}

// leavesCube reports whether the upward link of a node along dim leaves its cube.
func (t *Torus) leavesCube(node int32, dim int) bool {
	return t.Coord(node, dim)%t.Cube[dim] == t.Cube[dim]-1
}

// SwitchOf returns the switch of a node's link that leaves its cube along dim. The node's other
// two coordinates in the cube determine the position on the face; the last of them is the
// fastest.
func (t *Torus) SwitchOf(node int32, dim int) Switch {
	index := 0
	for d := range t.Dims {
		if d != dim {
			index = index*t.Cube[d] + t.Coord(node, d)%t.Cube[d]
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
