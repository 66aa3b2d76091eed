// This file places the nodes and links of a torus or a graph in a picture, for figures
// of link loads.

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

	// ScaleStart and MaxLoad are the ends of the scale of loads. The scale starts at the smallest
	// load of a link that carries anything, but covers at least a share minScaleSpan of MaxLoad, so
	// that small differences look small.
	ScaleStart float64 `json:"-"`
	MaxLoad    float64 `json:"-"` // largest load of a link
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
// on a screen, and the layout would make web pages too large.
const maxLayoutNodes = 1 << 17

// numNodes returns the number of nodes of a torus.
func (t *Torus) numNodes() int {
	nodes := 1
	for _, d := range t.Dims {
		nodes *= d
	}
	return nodes
}

// minScaleSpan is the smallest span of a scale of loads, as a share of the largest load.
const minScaleSpan = 0.25

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

	for i := range n.Links {
		l := &n.Links[i]
		for k := range l.Line {
			l.Line[k] = rounded(l.Line[k])
		}
		n.MaxLoad = max(n.MaxLoad, l.Load)
	}
	n.ScaleStart = (1 - minScaleSpan) * n.MaxLoad
	for i := range n.Links {
		if load := n.Links[i].Load; load > 0 {
			n.ScaleStart = min(n.ScaleStart, load)
		}
	}
	for i, at := range n.Positions {
		n.Positions[i] = [2]float64{rounded(at[0]), rounded(at[1])}
	}
	return n
}

// rounded rounds a coordinate to a ten-thousandth of the picture's width, about a tenth of a
// pixel. This shortens the text of web pages.
func rounded(x float64) float64 { return math.Round(1e4*x) / 1e4 }

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

// Distances in pictures of a torus, in distances of neighbouring nodes.
const (
	sliceGapX  = 0.7   // gap between slices side by side
	sliceGapY  = 0.9   // gap between rows of slices, including a caption of captionHeight
	linkOffset = 0.075 // distance of a link from the line between its nodes, one side per direction
	stubLength = 0.42  // length of the stub of a wrap-around link
	slant      = 0.27  // width and height of the diagonal stub of a higher dimension

	captionHeight = 0.6 // height of the captions above a row of slices
	topMargin     = 0.2 // height above a single slice, which has no caption; also the margin at the bottom
)

// net places the slices of the third dimension next to each other, with x to the right
// and y up. All dimensions above the second count as the third. A wrap-around link is drawn
// as a stub at its source, a link of a higher dimension as a diagonal stub.
func (t *Torus) net() *NetworkLayout {
	// x and y are the nodes of a slice along both dimensions; z is the number of slices.
	x, y, z := t.Dims[0], 1, 1
	for i, d := range t.Dims[1:] {
		if i == 0 {
			y = d
		} else {
			z *= d
		}
	}
	n := &NetworkLayout{Unit: t.Unit}
	columns, rows, step := arrangeSlices(x, y, z)
	n.Step = step

	// Place the nodes, each slice below a caption.
	head := topMargin * n.Step
	if z > 1 {
		head = captionHeight * n.Step
	}
	rowHeight := n.Step*(float64(y)+sliceGapY-captionHeight) + head
	n.Height = float64(rows)*rowHeight + topMargin*n.Step
	for node := range x * y * z {
		i, j, k := node/z/y, node/z%y, node%z // i to the right and j up in slice k
		// The margins are 0.85 at the left and 0.35 below a slice, in distances of nodes.
		position := [2]float64{n.Step * (float64(k%columns)*(float64(x)+sliceGapX) + float64(i) + 0.85), float64(k/columns)*rowHeight + head + n.Step*(float64(y-j)-0.35)}
		n.Names, n.Positions = append(n.Names, Coordinates(t.Dims, node)), append(n.Positions, position)
		if z > 1 && i+j == 0 {
			n.Texts = append(n.Texts, LayoutText{Text: fmt.Sprintf("z = %d", k), X: position[0] + n.Step*float64(x-1)/2, Y: float64(k/columns)*rowHeight + head/2, MaxWidth: n.Step * float64(x)})
		}
	}
	for _, l := range t.Links {
		n.Stubs = n.Stubs || l.Wrap || l.Dim > 1
		n.Links = append(n.Links, l.layout(n.Positions[l.From], n.Step))
	}
	return n
}

// arrangeSlices chooses the numbers of columns and rows of z slices of x by y nodes, and
// returns them with the distance of neighbouring nodes. Its criterion is the largest distance
// times the share of used places, which prefers full rows.
func arrangeSlices(x, y, z int) (columns, rows int, step float64) {
	columns, rows = 1, 1
	best := 0.0
	for c := 1; c <= z; c++ {
		r := (z + c - 1) / c
		distance := min(1/(float64(c)*(float64(x)+sliceGapX)), maxTorusHeight/(float64(r)*(float64(y)+sliceGapY)))
		if full := distance * float64(z) / float64(c*r); full > best {
			best, step, columns, rows = full, distance, c, r
		}
	}
	return columns, rows, step
}

// layout returns the drawing of a link that leaves a node at position. step is the distance
// of neighbouring nodes.
func (l *TorusLink) layout(position [2]float64, step float64) LayoutLink {
	// The two directions of a link are offset to both sides of the line between its nodes.
	sign, long := -1.0, 1.0
	if l.Up {
		sign = 1
	}
	if l.Wrap {
		long = stubLength
	}

	// The first two dimensions are horizontal and vertical. Others alternate between the two
	// diagonals, so that stubs of the third and fourth dimension do not overlap.
	var d [4]float64 // x and y of the first end, then of the second, relative to the node
	switch {
	case l.Dim == 0:
		d = [4]float64{0, -sign * linkOffset, sign * long, -sign * linkOffset}
	case l.Dim == 1:
		d = [4]float64{-sign * linkOffset, 0, -sign * linkOffset, -sign * long}
	case l.Dim%2 == 0:
		d = [4]float64{0, 0, sign * slant, -sign * slant}
	default:
		d = [4]float64{0, 0, -sign * slant, -sign * slant}
	}

	// The label is the dimension and the direction, such as "x+"; dimensions beyond the letters
	// have numbers.
	const letters = "xyzuvw"
	label := fmt.Sprint(l.Dim)
	if l.Dim < len(letters) {
		label = letters[l.Dim : l.Dim+1]
	}
	label += map[bool]string{true: "+", false: "-"}[l.Up]
	return LayoutLink{From: l.From, To: l.To, Load: l.Load, State: l.State, Label: label,
		Line: []float64{position[0] + d[0]*step, position[1] + d[1]*step, position[0] + d[2]*step, position[1] + d[3]*step}}
}

// Distances in pictures of a graph, as fractions of the picture's width.
const (
	graphWidth   = 0.96  // width of the rows of nodes; the rest is a margin
	rowGap       = 0.13  // distance of rows
	circleHeight = 0.55  // height of a picture with all nodes on a circle
	maxNodeStep  = 0.05  // largest distance of neighbouring nodes: few nodes stay small
	textDrop     = 0.025 // distance from a node down to its name
)

// net places nodes in rows by their distance from the sending nodes, which form the
// lowest row. If all nodes send, they are placed on a circle.
func (g *Graph) net() *NetworkLayout {
	n := &NetworkLayout{Unit: g.Unit, Positions: make([][2]float64, len(g.Nodes))}
	for _, v := range g.Nodes {
		n.Names, n.Idle = append(n.Names, v.Name), append(n.Idle, v.Switch)
	}
	neighbours := make([][]int, len(g.Nodes))
	for _, l := range g.Links {
		neighbours[l.From], neighbours[l.To] = append(neighbours[l.From], l.To), append(neighbours[l.To], l.From)
	}
	level, top := g.levels(neighbours)
	g.placeRows(n, neighbours, level, top)
	onCircle := top == 0
	if onCircle {
		n.placeOnCircle()
	}

	// Links are lines next to the centre line, one on each side per direction.
	for _, l := range g.Links {
		a, b := n.Positions[l.From], n.Positions[l.To]
		dx, dy := b[0]-a[0], b[1]-a[1]
		d := max(math.Hypot(dx, dy), 1e-9)
		off, bend, parts := min(0.004, n.Step*0.09), 0.0, 1
		if !onCircle && level[l.From] == level[l.To] { // an arc of 12 lines around the nodes between the two
			bend, parts = min(0.05, d*0.16)+0.006, 12
		}
		var line []float64
		for k := range parts + 1 {
			f := float64(k) / float64(parts)
			line = append(line, a[0]+dx*f-dy/d*off, a[1]+dy*f+dx/d*off-bend*4*f*(1-f)) // a parabola of height bend
		}
		label := ""
		if l.Speed != 1 {
			label = fmt.Sprintf("%.6g times the rate", l.Speed)
		}
		n.Links = append(n.Links, LayoutLink{From: l.From, To: l.To, Load: l.Load, Label: label, Line: line})
	}
	return n
}

// levels returns the distance of each node from the sending nodes by breadth-first search,
// and the largest distance. The level of a switch that no sending node reaches is -1.
func (g *Graph) levels(neighbours [][]int) (level []int, top int) {
	level = make([]int, len(g.Nodes))
	var queue []int
	for i, v := range g.Nodes {
		if v.Switch {
			level[i] = -1
			continue
		}
		queue = append(queue, i)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		for _, j := range neighbours[queue[0]] {
			if level[j] < 0 {
				level[j] = level[queue[0]] + 1
				top, queue = max(top, level[j]), append(queue, j)
			}
		}
	}
	return level, top
}

// placeRows places the nodes of each level in a row, from the bottom up, with their names.
// Each row is sorted by the mean position of neighbours in the row below (barycentre heuristic
// of Sugiyama, Tagawa and Toda, 1981). Nodes of level -1 are in the lowest row.
func (g *Graph) placeRows(n *NetworkLayout, neighbours [][]int, level []int, top int) {
	widest := 1
	across := make([]float64, len(g.Nodes)) // horizontal position, indexed by node
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

		// The name of a sending node is below the node, the name of a switch next to it.
		for j, i := range row {
			across[i] = (float64(j) + 0.5) / float64(len(row))
			n.Positions[i] = [2]float64{0.02 + graphWidth*across[i], 0.03 + rowGap*float64(top-k)}
			text := LayoutText{Text: strings.TrimPrefix(g.Nodes[i].Name, "switch "), X: n.Positions[i][0], Y: n.Positions[i][1] + textDrop, MaxWidth: graphWidth / float64(len(row))}
			if k > 0 { // clear of the links, which lead up and down
				const gap = 0.012                           // between a node and a name
				off := gap + 0.0035*float64(len(text.Text)) // half the length of the name, and a gap
				text.MaxWidth = max(min(0.07, 2*(text.MaxWidth-off-gap)), 1e-9)
				if text.X < 0.5 {
					off = -off
				}
				text.X, text.Y = text.X+off, n.Positions[i][1]
			}
			n.Texts = append(n.Texts, text)
		}
	}
	n.Step, n.Height = min(maxNodeStep, graphWidth/float64(widest)), 0.09+rowGap*float64(top)
}

// placeOnCircle moves all nodes and their names to a circle, the first one to the top.
func (n *NetworkLayout) placeOnCircle() {
	radius := circleHeight/2 - 0.05
	n.Height, n.Step = circleHeight, min(maxNodeStep, 2*math.Pi*radius/float64(len(n.Positions)))
	for i := range n.Positions {
		sin, cos := math.Sincos(2*math.Pi*float64(i)/float64(len(n.Positions)) - math.Pi/2)
		n.Positions[i] = [2]float64{0.5 + radius*cos, circleHeight/2 + radius*sin}
		n.Texts[i].X, n.Texts[i].Y, n.Texts[i].MaxWidth = n.Positions[i][0], n.Positions[i][1]+textDrop, 0.08
	}
}

// SameLayout reports whether two layouts differ only in loads and states.
func (n *NetworkLayout) SameLayout(other *NetworkLayout) bool {
	return slices.Equal(n.Names, other.Names) && slices.Equal(n.Positions, other.Positions) &&
		slices.EqualFunc(n.Links, other.Links, func(a, b LayoutLink) bool { return a.Label == b.Label && slices.Equal(a.Line, b.Line) })
}
