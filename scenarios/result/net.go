package result

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// NetworkLayout is a drawing of the links of a torus or a graph. Lengths are fractions of
// the picture's width; y points down.
type NetworkLayout struct {
	Names     []string     `json:"names"`          // indexed by node
	Idle      []bool       `json:"idle,omitempty"` // indexed by node: it neither sends nor receives
	Links     []LayoutLink `json:"links"`          // in the order of the torus or the graph
	Positions [][2]float64 `json:"at"`             // x and y, indexed by node
	Texts     []LayoutText `json:"texts"`
	Height    float64      `json:"high"`  // height of the picture
	Step      float64      `json:"step"`  // distance of neighbouring nodes
	Stubs     bool         `json:"stubs"` // some links are drawn as stubs at their source
	Unit      string       `json:"unit"`  // unit of loads

	MaxLoad float64 `json:"-"` // largest load of a link
}

// LayoutLink is a directed link. Its JSON contains only the geometry, which policies
// share.
type LayoutLink struct {
	From  int       `json:"-"`
	To    int       `json:"-"`
	Load  float64   `json:"-"`
	State string    `json:"-"`             // "down", "drained", or "" for up
	Label string    `json:"way,omitempty"` // label of the link at its source, such as "x+"
	Line  []float64 `json:"line"`          // x and y of its points, from the source on
}

// LayoutText is a text centred at a point. Viewers omit it if it is wider than MaxWidth;
// 0 means no limit.
type LayoutText struct {
	Text     string  `json:"text"`
	X        float64 `json:"x"`
	Y        float64 `json:"y"`
	MaxWidth float64 `json:"wide,omitempty"`
}

// maxLayoutNodes is the largest drawn network. Nodes of larger ones are indistinguishable
// on a screen.
const maxLayoutNodes = 1 << 17

// numNodes returns the number of nodes of a torus.
func (t *Torus) numNodes() int {
	nodes := 1
	for _, d := range t.Dims {
		nodes *= d
	}
	return nodes
}

// maxTorusHeight is the maximum height of a torus's picture, as a fraction of its width.
const maxTorusHeight = 0.8

// Net returns the layout of a simulation's links, or nil if it has neither a torus nor a
// graph, or more than maxLayoutNodes nodes.
func (p *Simulation) Net() *NetworkLayout {
	var n *NetworkLayout
	switch {
	case p.Torus != nil && len(p.Torus.Dims) > 0 && p.Torus.numNodes() <= maxLayoutNodes:
		n = p.Torus.net()
	case p.Graph != nil && len(p.Graph.Nodes) <= maxLayoutNodes:
		n = p.Graph.net()
	default:
		return nil
	}

	// Round coordinates to shorten the text of web pages.
	for i := range n.Links {
		l := &n.Links[i]
		for k := range l.Line {
			l.Line[k] = math.Round(1e4*l.Line[k]) / 1e4 // a tenth of a pixel
		}
		n.MaxLoad = max(n.MaxLoad, l.Load)
	}
	for i, at := range n.Positions {
		n.Positions[i] = [2]float64{math.Round(1e4*at[0]) / 1e4, math.Round(1e4*at[1]) / 1e4}
	}
	return n
}

// Coordinates returns the coordinates of a node, such as "(1,0,3)". Node numbers increase
// fastest along the last dimension.
func Coordinates(dims []int, node int) string {
	coordinates := make([]string, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		coordinates[i] = fmt.Sprint(node % dims[i])
		node /= dims[i]
	}
	return "(" + strings.Join(coordinates, ",") + ")"
}

// net places the slices of the third dimension next to each other, with x to the right
// and y up. The number of columns makes the distance of nodes large and leaves few places
// of the last row empty. A wrap-around link is drawn as a stub at its source, a link of a
// higher dimension as a diagonal stub.
func (t *Torus) net() *NetworkLayout {
	x, y, z := t.Dims[0], 1, 1
	for i, d := range t.Dims[1:] {
		if i == 0 {
			y = d
		} else {
			z *= d
		}
	}
	n := &NetworkLayout{Unit: t.Unit}

	// Choose the number of columns: the largest node distance, weighted by the share of
	// used places.
	columns, rows := 1, 1
	const gapX, gapY = 0.7, 0.9 // gaps between slices, in node distances
	for c, best := 1, 0.0; c <= z; c++ {
		r := (z + c - 1) / c
		step := min(1/(float64(c)*(float64(x)+gapX)), maxTorusHeight/(float64(r)*(float64(y)+gapY)))
		if full := step * float64(z) / float64(c*r); full > best { // prefers full rows
			best, n.Step, columns, rows = full, step, c, r
		}
	}

	// head is the height of the captions above a row of slices.
	head := 0.2 * n.Step
	if z > 1 {
		head = 0.6 * n.Step
	}
	rowHeight := n.Step*(float64(y)+gapY-0.6) + head
	n.Height = float64(rows)*rowHeight + 0.2*n.Step
	for node := range x * y * z {
		i, j, k := node/z/y, node/z%y, node%z
		position := [2]float64{n.Step * (float64(k%columns)*(float64(x)+gapX) + float64(i) + 0.85), float64(k/columns)*rowHeight + head + n.Step*(float64(y-j)-0.35)}
		n.Names, n.Positions = append(n.Names, Coordinates(t.Dims, node)), append(n.Positions, position)
		if z > 1 && i+j == 0 {
			n.Texts = append(n.Texts, LayoutText{Text: fmt.Sprintf("z = %d", k), X: position[0] + n.Step*float64(x-1)/2, Y: float64(k/columns)*rowHeight + head/2, MaxWidth: n.Step * float64(x)})
		}
	}

	// The two directions of a link are offset to both sides of the line between its
	// nodes.
	for _, l := range t.Links {
		// The first two dimensions are horizontal and vertical. Others alternate between the two
		// diagonals, so that stubs of the third and fourth dimension do not overlap.
		const off, stub, slant = 0.075, 0.42, 0.27 // in node distances: offset of a direction from the middle, and lengths of stubs
		position, sign, long := n.Positions[l.From], -1.0, 1.0
		if l.Up {
			sign = 1
		}
		if l.Wrap {
			long = stub
		}
		n.Stubs = n.Stubs || l.Wrap || l.Dim > 1
		var d [4]float64 // x and y of both ends relative to the node, in node distances
		switch {
		case l.Dim == 0:
			d = [4]float64{0, -sign * off, sign * long, -sign * off}
		case l.Dim == 1:
			d = [4]float64{-sign * off, 0, -sign * off, -sign * long}
		case l.Dim%2 == 0:
			d = [4]float64{0, 0, sign * slant, -sign * slant}
		default:
			d = [4]float64{0, 0, -sign * slant, -sign * slant}
		}
		label := fmt.Sprint(l.Dim)
		if l.Dim < len("xyzuvw") {
			label = "xyzuvw"[l.Dim : l.Dim+1]
		}
		label += map[bool]string{true: "+", false: "-"}[l.Up]
		n.Links = append(n.Links, LayoutLink{l.From, l.To, l.Load, l.State, label,
			[]float64{position[0] + d[0]*n.Step, position[1] + d[1]*n.Step, position[0] + d[2]*n.Step, position[1] + d[3]*n.Step}})
	}
	return n
}

// net places nodes in rows by their distance from the sending nodes, which form the
// lowest row. If all nodes send, they are placed on a circle. Each row is sorted by the
// mean position of neighbours in the row below (barycentre heuristic of Sugiyama, Tagawa
// and Toda, 1981).
func (g *Graph) net() *NetworkLayout {
	n := &NetworkLayout{Unit: g.Unit, Positions: make([][2]float64, len(g.Nodes))}
	neighbours := make([][]int, len(g.Nodes))
	for _, l := range g.Links {
		neighbours[l.From], neighbours[l.To] = append(neighbours[l.From], l.To), append(neighbours[l.To], l.From)
	}

	// Breadth-first search from the sending nodes.
	level := make([]int, len(g.Nodes))
	var queue []int
	for i, v := range g.Nodes {
		n.Names, n.Idle = append(n.Names, v.Name), append(n.Idle, v.Switch)
		if level[i] = 0; v.Switch {
			level[i] = -1
			continue
		}
		queue = append(queue, i)
	}
	top := 0
	for ; len(queue) > 0; queue = queue[1:] {
		for _, j := range neighbours[queue[0]] {
			if level[j] < 0 {
				level[j] = level[queue[0]] + 1
				top, queue = max(top, level[j]), append(queue, j)
			}
		}
	}

	// Place the rows from the bottom; across is the horizontal position, indexed by node.
	flat := top == 0
	const rowGap, high = 0.13, 0.55 // distance of rows, and height of the circle
	widest := 1
	across := make([]float64, len(g.Nodes))
	for k := range top + 1 {
		var row []int
		for i, v := range level {
			if max(v, 0) == k {
				row = append(row, i)
			}
		}
		mean := func(i int) float64 {
			sum, count := 0.0, 0.0
			for _, j := range neighbours[i] {
				if level[j] == k-1 {
					sum, count = sum+across[j], count+1
				}
			}
			return sum / max(count, 1)
		}
		if k > 0 {
			slices.SortStableFunc(row, func(a, b int) int { return cmp.Compare(mean(a), mean(b)) })
		}
		widest = max(widest, len(row))
		for j, i := range row {
			across[i] = (float64(j) + 0.5) / float64(len(row))
			n.Positions[i] = [2]float64{0.02 + 0.96*across[i], 0.03 + rowGap*float64(top-k)}
			text := LayoutText{strings.TrimPrefix(g.Nodes[i].Name, "switch "), n.Positions[i][0], n.Positions[i][1] + 0.025, 0.96 / float64(len(row))}
			if k > 0 { // next to a switch, clear of its links
				off := 0.018 + 0.004*float64(len(text.Text))
				if text.X < 0.5 {
					off = -off
				}
				text.X, text.Y, text.MaxWidth = text.X+off, n.Positions[i][1], 0.07
			}
			n.Texts = append(n.Texts, text)
		}
	}

	// The distance of nodes follows from the widest row, the height from the number of rows.
	n.Step, n.Height = min(0.05, 0.96/float64(widest)), 0.09+rowGap*float64(top)

	if flat {
		radius := high/2 - 0.05
		n.Height, n.Step = high, min(0.05, 2*math.Pi*radius/float64(len(g.Nodes)))
		for i := range n.Positions {
			sin, cos := math.Sincos(2*math.Pi*float64(i)/float64(len(g.Nodes)) - math.Pi/2)
			n.Positions[i] = [2]float64{0.5 + radius*cos, high/2 + radius*sin}
			n.Texts[i].X, n.Texts[i].Y, n.Texts[i].MaxWidth = n.Positions[i][0], n.Positions[i][1]+0.025, 0.08
		}
	}

	// Links are lines next to the centre line, one on each side per direction.
	for _, l := range g.Links {
		a, b := n.Positions[l.From], n.Positions[l.To]
		dx, dy := b[0]-a[0], b[1]-a[1]
		d := max(math.Hypot(dx, dy), 1e-9)
		off, bend, parts := min(0.004, n.Step*0.09), 0.0, 1
		if !flat && level[l.From] == level[l.To] { // an arc around the nodes between the two
			bend, parts = min(0.05, d*0.16)+0.006, 12
		}
		var line []float64
		for k := range parts + 1 {
			f := float64(k) / float64(parts)
			line = append(line, a[0]+dx*f-dy/d*off, a[1]+dy*f+dx/d*off-bend*4*f*(1-f))
		}
		label := ""
		if l.Speed != 1 {
			label = fmt.Sprintf("%.6g times the rate", l.Speed)
		}
		n.Links = append(n.Links, LayoutLink{l.From, l.To, l.Load, "", label, line})
	}
	return n
}

// SameLayout reports whether two layouts differ only in loads and states.
func (n *NetworkLayout) SameLayout(other *NetworkLayout) bool {
	return slices.Equal(n.Names, other.Names) && slices.Equal(n.Positions, other.Positions) &&
		slices.EqualFunc(n.Links, other.Links, func(a, b LayoutLink) bool { return a.Label == b.Label && slices.Equal(a.Line, b.Line) })
}
