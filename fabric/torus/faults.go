package torus

// This file determines which links and nodes of a torus are up, from the parts that are down.

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
)

// Faults lists the parts of a torus that must not be used.
type Faults struct {
	Switches []Switch // all links between cubes through them are down, in both directions
	Links    []Hop    // links that are down in both directions
	Machines []int    // numbers of machines (see MachineOf) whose chips are down
	Chips    []int32  // nodes that are down, with their links
	Drained  []Hop    // working links that must not be used, in both directions
}

// Hop identifies a link by node, dimension and direction.
type Hop struct {
	Node int32
	Dim  int
	Up   bool
}

// String returns the name of the hop in scenarios, such as 17 x+.
func (h Hop) String() string {
	sign := "-"
	if h.Up {
		sign = "+"
	}
	return fmt.Sprintf("%d %s%s", h.Node, DimName(h.Dim), sign)
}

// maxNamedDims is the number of dimensions that ParseHop knows by name, more than any torus that
// is useful.
const maxNamedDims = 1 << 10

// ParseHop parses the name of a link such as "17 x+".
func ParseHop(text string) (Hop, error) {
	node, sign, ok := strings.Cut(text, " ")
	n, err := strconv.ParseInt(node, 10, 32)
	if ok && err == nil && n >= 0 && len(sign) > 1 {
		for d := range maxNamedDims {
			if name := DimName(d); sign == name+"+" || sign == name+"-" {
				return Hop{Node: int32(n), Dim: d, Up: sign == name+"+"}, nil
			}
			if d > 2 && len(sign) < len(DimName(d)) { // the names become longer
				break
			}
		}
	}
	return Hop{}, fmt.Errorf("torus: %q names no link; write a node, a dimension and + or -, such as \"17 x+\"",
		text)
}

// ErrFault is wrapped if a fault refers to a part that the torus does not have.
var ErrFault = errors.New("torus: no such part")

// State is the state of a node or link.
type State uint8

// States in increasing order of severity.
const (
	Works State = iota
	Drained
	Down
)

// Health holds the state of every part of a torus.
type Health struct {
	Link []State // indexed by link number; see Links
	Node []State // indexed by node
}

// MachineOf returns the number of a node's machine. A machine is a block of 2x2 chips in the
// first two dimensions, the host of TPUs (Zu et al., NSDI 24, Sec. 2.2). Machines are numbered like the nodes of a torus of machines.
func (t *Torus) MachineOf(node int32) int {
	n := 0
	for d := range t.Dims {
		c, size := t.Coord(node, d), t.Dims[d]
		if d < 2 {
			c, size = c/2, (size+1)/2
		}
		n = n*size + c
	}
	return n
}

// Health returns the state of every part under the given faults. It returns ErrFault if a part
// does not exist.
func (t *Torus) Health(f Faults) (*Health, error) {
	links := t.Links()
	h := &Health{Link: make([]State, len(links)), Node: make([]State, t.nodes)}
	for _, s := range f.Switches {
		if err := CheckCubic(t); err != nil {
			return nil, fmt.Errorf("%w: switch %s: %w", ErrFault, s, err)
		}
		if s.Dim < 0 || s.Dim > 2 || s.Index < 0 || s.Index >= t.Cube.Face(s.Dim) {
			return nil, fmt.Errorf("%w: switch %s", ErrFault, s)
		}
	}

	// Nodes that are down, by themselves or with their machine.
	last := t.MachineOf(int32(t.nodes) - 1)
	for _, m := range f.Machines {
		if m < 0 || m > last {
			return nil, fmt.Errorf("%w: machine %d; %s has 0 to %d", ErrFault, m, t, last)
		}
	}

	for _, c := range f.Chips {
		if c < 0 || int(c) >= t.nodes {
			return nil, fmt.Errorf("%w: chip %d; %s has 0 to %d", ErrFault, c, t, t.nodes-1)
		}
		h.Node[c] = Down
	}

	for n := range int32(t.nodes) {
		if len(f.Machines) > 0 && slices.Contains(f.Machines, t.MachineOf(n)) {
			h.Node[n] = Down
		}
	}

	// Links are down with their nodes or their switch; then come the links given by name.
	id := make(map[Hop]int)
	named := len(f.Links)+len(f.Drained) > 0
	for i, l := range links {
		if named {
			id[Hop{Node: l.From, Dim: int(l.Dim), Up: l.Up}] = i
		}
		if h.Node[l.From] == Down || h.Node[l.To] == Down || slices.Contains(f.Switches, t.switchOfLink(l)) {
			h.Link[i] = Down
		}
	}

	for _, k := range []struct {
		hops  []Hop
		state State
	}{{f.Links, Down}, {f.Drained, Drained}} {
		for _, hop := range k.hops {
			i, ok := id[hop]
			if !ok {
				return nil, fmt.Errorf("%w: link %s of %s", ErrFault, hop, t)
			}
			reverse := i ^ 1 // links 2k and 2k+1 of Links are the two directions
			for _, l := range []int{i, reverse} {
				h.Link[l] = max(h.Link[l], k.state)
			}
		}
	}
	return h, nil
}

// switchOfLink returns the switch that a link passes. Dim is -1 for links inside a cube.
func (t *Torus) switchOfLink(l Link) Switch {
	from := l.From
	if !l.Up {
		from = l.To
	}
	if d := int(l.Dim); len(t.Dims) == 3 && t.leavesCube(from, d) {
		return t.SwitchOf(from, d)
	}
	return Switch{-1, 0}
}

// Network converts the torus to an engine.Network with links like template. They are numbered as
// in Links and named by Hop in messages. Links that are down have rate 0; h may be nil.
func (t *Torus) Network(h *Health, template engine.Link) *engine.Network {
	links := t.Links()
	n := &engine.Network{Nodes: int32(t.nodes), Links: make([]engine.Link, len(links))}
	for i, l := range links {
		template.From, template.To = l.From, l.To
		n.Links[i] = template
		if h != nil && h.Link[i] == Down {
			n.Links[i].Rate = 0
		}
	}
	n.ResourceNamer = func(r int32) string {
		l := links[r]
		return "link " + Hop{Node: l.From, Dim: int(l.Dim), Up: l.Up}.String()
	}
	return n
}

// Ports returns the link of each port for engine.Paths, indexed by node*degree+port. Port 2*dim
// leads up and port 2*dim+1 down. -1 marks a missing link.
func (t *Torus) Ports() (degree int, link []int32) {
	degree = 2 * len(t.Dims)
	link = slices.Repeat([]int32{-1}, degree*t.nodes)
	for id, l := range t.Links() {
		k := int(l.From)*degree + 2*int(l.Dim)
		if !l.Up {
			k++
		}
		link[k] = int32(id)
	}
	return degree, link
}

// Subtract returns the image of node a under the translation by -b. The nodes form a group with
// node 0 as zero. All nodes must be identical; see Symmetric.
func (t *Torus) Subtract(a, b int32) int32 { return t.translate(a, b, -1) }

// Plus returns the image of node a under the translation by b; see Subtract.
func (t *Torus) Plus(a, b int32) int32 { return t.translate(a, b, 1) }

// translate returns the image of node a under the translation by sign*b.
func (t *Torus) translate(a, b int32, sign int) int32 {
	var buffer [4]int // avoids an allocation for up to four dimensions
	coords := buffer[:0]
	for d := range t.Dims {
		coords = append(coords, t.Coord(a, d)+sign*t.Coord(b, d))
	}
	return t.wrappedNode(coords)
}
