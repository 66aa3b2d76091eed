package torus

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sim/engine"
)

// Faults are what of a torus cannot be used.
type Faults struct {
	Switches []Switch // every link between cubes that passes one is down, in both directions
	Links    []Hop    // down in both directions
	Machines []int    // their chips are down; numbered by MachineOf
	Chips    []int32  // nodes that are down, with their links
	Drained  []Hop    // links that work and are kept free, in both directions
}

// Hop names the link of a node along a dimension, up or down.
type Hop struct {
	Node int32
	Dim  int
	Up   bool
}

// String returns the hop as scenarios have it, such as 17 x+.
func (h Hop) String() string {
	sign := "-"
	if h.Up {
		sign = "+"
	}
	return fmt.Sprintf("%d %s%s", h.Node, DimName(h.Dim), sign)
}

// ParseHop reads the link of a node such as "17 x+".
func ParseHop(text string) (Hop, error) {
	node, sign, ok := strings.Cut(text, " ")
	n, err := strconv.ParseInt(node, 10, 32)
	if ok && err == nil && n >= 0 && len(sign) > 1 {
		for d := range 1 << 10 {
			if name := DimName(d); sign == name+"+" || sign == name+"-" {
				return Hop{int32(n), d, sign == name+"+"}, nil
			}
			if d > 2 && len(sign) < len(DimName(d)) {
				break
			}
		}
	}
	return Hop{}, fmt.Errorf("torus: %q names no link; write a node, a dimension and + or -, such as \"17 x+\"", text)
}

// ErrFault is wrapped where faults are of what a torus does not have.
var ErrFault = errors.New("torus: no such part")

// State says whether a part can be used.
type State uint8

// States of nodes and links.
const (
	Works State = iota
	Drained
	Down
)

// Health is the state of every part of a torus.
type Health struct {
	Link []State // by number, as Links has them
	Node []State
}

// MachineChips is how many chips share a machine: 2x2 of one z in a cube (TPU v4, Sec. 2.2, has 16 machines of 4 chips
// a cube).
const MachineChips = 4

// MachineOf returns the machine of a node: machines are blocks of 2x2 chips in the first two dimensions, numbered by
// node of their first chip's order.
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

// Health returns the state of every part under faults. It fails, with ErrFault, on parts that there are not.
func (t *Torus) Health(f Faults) (*Health, error) {
	links := t.Links()
	h := &Health{Link: make([]State, len(links)), Node: make([]State, t.nodes)}
	for _, s := range f.Switches {
		if err := CheckCubic(t); err != nil {
			return nil, fmt.Errorf("%w: switch %s: %w", ErrFault, s, err)
		}
		if s.Dim < 0 || s.Dim > 2 || s.Index < 0 || s.Index >= Faces {
			return nil, fmt.Errorf("%w: switch %s", ErrFault, s)
		}
	}
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
	id := make(map[Hop]int)
	named := len(f.Links)+len(f.Drained) > 0
	for i, l := range links {
		if named {
			id[Hop{l.From, int(l.Dim), l.Up}] = i
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
			for _, both := range []int{i, i ^ 1} { // Links has opposite ones side by side
				h.Link[both] = max(h.Link[both], k.state)
			}
		}
	}
	return h, nil
}

// switchOfLink returns the switch that a link passes, Dim -1 for one inside a cube.
func (t *Torus) switchOfLink(l Link) Switch {
	from := l.From
	if !l.Up {
		from = l.To
	}
	if d := int(l.Dim); len(t.Dims) == 3 && t.Coord(from, d)%Side == Side-1 {
		return t.SwitchOf(from, d)
	}
	return Switch{-1, 0}
}

// Network returns the torus as links of one rate in bits per second, latency, buffer in bytes and number of virtual
// channels, numbered as Links has them and named in messages by Hop. Links that are down have no rate; h may be nil.
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
		return "link " + Hop{l.From, int(l.Dim), l.Up}.String()
	}
	return n
}

// Ports returns the links out of every node, by node and port as engine.Paths has them: port 2*dim leads up and 2*dim+1
// down; -1 where there is no link.
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

// Subtract returns the node that a translation of the torus by -b takes a to: nodes are the elements of a group, with
// node 0 as zero. All nodes must be identical (Symmetric).
func (t *Torus) Subtract(a, b int32) int32 { return t.translate(a, b, -1) }

// Plus returns the node that a translation by b takes a to; see Subtract.
func (t *Torus) Plus(a, b int32) int32 { return t.translate(a, b, 1) }

func (t *Torus) translate(a, b int32, sign int) int32 {
	var buffer [4]int
	coords := buffer[:0]
	for d := range t.Dims {
		coords = append(coords, t.Coord(a, d)+sign*t.Coord(b, d))
	}
	return t.wrappedNode(coords)
}
