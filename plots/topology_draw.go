// This file draws the pods and circuits of a topology, in one of three forms.

package plots

import (
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// Colours of bundles between pods, and of bundles to DP peers.
var (
	circuitColor = sheet.Blue
	peerColor    = sheet.Vermillion
)

// Sizes in points.
const (
	minLineWidth = 1.0 // width of a bundle with few circuits
	maxLineWidth = 9.0 // width of the largest bundle in the figure
	nodeHeight   = 28  // height of a pod
)

// explainTopology adds the legend of topologies. form is the form of the charts, peers reports
// whether there are bundles to DP peers, and maxCircuits is the size of the largest bundle.
func explainTopology(s *sheet.Sheet, form int, peers bool, maxCircuits int) {
	if form == result.MatrixForm {
		s.AddLegend("1 circuit between two pods",
			sheet.BoxSample(sheet.Tint(circuitColor,
				1/float64(max(1, maxCircuits)))))
		s.AddLegend(text.Plural(maxCircuits, "circuit"),
			sheet.BoxSample(circuitColor))
		return
	}

	s.AddLegend("circuits between two pods (number; width to scale)",
		sheet.LineSample(sheet.Line(circuitColor, 5)))
	if peers {
		s.AddLegend("to the same pod of each neighbouring replica",
			func(c draw.Canvas) {
				mid := c.Center().Y
				stub(c, sheet.Point(c.Min.X, mid), sheet.Point(c.Max.X-4, mid), 3)
			})
	}
}

// paint draws the topology in one of three forms: pods in rows with bundles to DP peers above,
// pods on an ellipse, or a matrix.
func (c *topologyChart) paint(cv draw.Canvas, form int) {
	n := len(c.topology.Pods)
	mid := cv.Center()
	size := cv.Size()
	switch form {
	case result.RowForm:
		dx := size.X / vg.Length(c.Columns)
		dy := size.Y / vg.Length(c.Rows)
		c.paintPods(cv, min(dx*0.6, 62), func(i int) (vg.Point, float64) {
			return sheet.Point(cv.Min.X+dx*(vg.Length(c.Places[i][0])+0.5),
				cv.Max.Y-dy*(vg.Length(c.Places[i][1])+0.6)), math.Pi / 2
		})

	case result.RingForm:
		rx := min(size.X*0.29, 190)
		ry := size.Y * 0.31
		c.paintPods(cv, min(56, 2*math.Pi*ry/vg.Length(n)*0.8),
			func(i int) (vg.Point, float64) {
				angle := math.Pi/2 - 2*math.Pi*float64(i)/float64(n)
				sin, cos := math.Sincos(angle)
				return sheet.Point(mid.X+rx*vg.Length(cos),
						mid.Y+ry*vg.Length(sin)),
					angle
			})

	default:
		c.paintMatrix(cv)
	}
}

// width returns the line width of a bundle in points, proportional to its circuits within the
// limits.
func (c *topologyChart) width(circuits int) vg.Length {
	w := maxLineWidth * float64(circuits) / float64(max(1, c.maxCircuits))
	return vg.Length(min(max(w, minLineWidth), maxLineWidth))
}

// pairs returns the connected pairs of pods in order.
func (c *topologyChart) pairs() [][2]int {
	return slices.SortedFunc(maps.Keys(c.count), func(a, b [2]int) int {
		return slices.Compare(a[:], b[:])
	})
}

// paintPods draws pods of a width and the bundles between them. at returns the position of a pod
// and the direction outwards as an angle. Pairs without circuits get a faint line, because the
// pods would otherwise seem unrelated.
func (c *topologyChart) paintPods(cv draw.Canvas, wide vg.Length, at func(i int) (vg.Point, float64)) {
	n := len(c.topology.Pods)
	for _, pair := range c.pairs() {
		a, _ := at(pair[0])
		b, _ := at(pair[1])
		style := sheet.Line(circuitColor, c.width(c.count[pair]))
		if c.count[pair] <= 0 {
			style = sheet.Line(sheet.Dim, minLineWidth, 2, 3)
		}
		cv.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
	}

	// Label the bundles with their numbers of circuits: above the bundles of a row, and else on a
	// white background on the bundle, far from other bundles and labels.
	style := sheet.Aligned(sheet.Bold(sheet.SmallSize, circuitColor), draw.XCenter,
		draw.YCenter)
	var labels []vg.Point
	for _, pair := range c.pairs() {
		a, angle := at(pair[0])
		b, other := at(pair[1])
		label := strconv.Itoa(c.count[pair])
		if angle == other && a.Y == b.Y {
			above := c.width(c.count[pair])/2 + sheet.SmallSize/2 + 1
			cv.FillText(style, sheet.Point((a.X+b.X)/2, a.Y+above), label)
			continue
		}

		// clearance returns the distance from p to the nearest other bundle or label.
		clearance := func(p vg.Point) float64 {
			nearest := math.Inf(1)
			for _, l := range labels {
				nearest = min(nearest, distance(p, l, l))
			}
			for _, q := range c.pairs() {
				if q != pair {
					from, _ := at(q[0])
					to, _ := at(q[1])
					nearest = min(nearest, distance(p, from, to))
				}
			}
			return nearest
		}

		// The first of these shares of the bundle with the largest clearance.
		p := a.Add(b).Scale(0.5)
		for _, f := range []vg.Length{0.44, 0.56, 0.38, 0.62, 0.32, 0.68} {
			if q := a.Scale(1 - f).Add(b.Scale(f)); clearance(q) > clearance(p)+1 {
				p = q
			}
		}
		labels = append(labels, p)
		w := style.Width(label)/2 + 1.5
		sheet.FillBox(cv, sheet.White, p.X-w, p.X+w, p.Y-sheet.SmallSize/2-0.5,
			p.Y+sheet.SmallSize/2+0.5)
		cv.FillText(style, sheet.Point(p.X, p.Y+1), label)
	}

	// Draw the pods on top, with their bundles to DP peers.
	for i := range n {
		p, angle := at(i)
		if t, ok := c.peer[i]; ok {
			sin, cos := math.Sincos(angle)
			c.peers(cv, sheet.Point(p.X+vg.Length(cos)*wide/2,
				p.Y+vg.Length(sin)*nodeHeight/2), angle, t)
		}
		c.node(cv, p, wide, i)
	}
}

// distance returns the distance from p to the line from a to b in points.
func distance(p, a, b vg.Point) float64 {
	d := b.Sub(a)
	share := vg.Length(0)
	if length := d.Dot(d); length > 0 {
		share = min(max(p.Sub(a).Dot(d)/length, 0), 1)
	}
	d = p.Sub(a.Add(d.Scale(share)))
	return math.Hypot(float64(d.X), float64(d.Y))
}

// names returns the names of the pods as plain text.
func (c *topologyChart) names() (names []string) {
	for _, p := range c.topology.Pods {
		names = append(names, sheet.Plain(p.Name))
	}
	return names
}

// node draws pod i with its name and its used and total ports. wide is its width in points.
func (c *topologyChart) node(cv draw.Canvas, at vg.Point, wide vg.Length, i int) {
	x0 := at.X - wide/2
	x1 := at.X + wide/2
	y0 := at.Y - nodeHeight/2
	y1 := at.Y + nodeHeight/2
	sheet.FillBox(cv, sheet.BlueTint, x0, x1, y0, y1)
	cv.StrokeLines(sheet.Line(sheet.Ink, 1), sheet.RectanglePath(x0, x1, y0, y1))
	p := c.topology.Pods[i]
	small := sheet.Centered(sheet.SmallSize, sheet.Ink)
	style := sheet.Centered(sheet.TickSize, sheet.Ink)
	names := c.names()
	fits := func() bool {
		return !slices.ContainsFunc(names, func(n string) bool { return style.Width(n) > wide-2 })
	}
	// If a name is wider than its pod, all names are smaller, and then without their prefix.
	if !fits() {
		style = small
	}
	if !fits() {
		_, names = sheet.CommonPrefix(names)
	}
	cv.FillText(style, sheet.Point(at.X, at.Y+nodeHeight/4),
		sheet.Fit(style, names[i], wide-2))

	// Print the name above the used and total ports, in a shorter form if the pod is narrow.
	ports := fmt.Sprintf("%d/%d ports", p.Used, p.Total)
	if small.Width(ports) > wide-2 {
		ports = fmt.Sprintf("%d/%d", p.Used, p.Total)
	}
	cv.FillText(small, sheet.Point(at.X, at.Y-nodeHeight/4+1),
		sheet.Fit(small, ports, wide-2))
}

// peers draws the bundles of a pod to its DP peers as stubs, outwards from a point at an angle,
// with a common label.
func (c *topologyChart) peers(cv draw.Canvas, from vg.Point, angle float64, t peerBundles) {
	// long is the length of a stub in points, part the angle between two stubs in radians,
	// halved.
	const long, part = vg.Length(15), 0.6

	// A replica in a ring has at most two neighbours.
	copies := min(t.copies, 2)
	for k := range copies {
		sin, cos := math.Sincos(angle + part*(float64(k)-float64(copies-1)/2)*2)
		stub(cv, from, from.Add(sheet.Point(long*vg.Length(cos),
			long*vg.Length(sin))), c.width(t.circuits)/2+0.5)
	}

	// Label the stubs with copies × circuits, beyond their ends but inside the canvas.
	label := strconv.Itoa(t.circuits)
	if t.copies > 1 {
		label = fmt.Sprintf("%d × %d", t.copies, t.circuits)
	}
	sin, cos := math.Sincos(angle)
	style := sheet.Aligned(sheet.Bold(sheet.TickSize, peerColor), draw.XCenter,
		draw.YCenter)
	half := style.Width(label) / 2

	// Beyond the stubs.
	far := long + 11 + half*vg.Length(math.Abs(cos))
	at := from.Add(sheet.Point(far*vg.Length(cos), far*vg.Length(sin)+1))
	at.X = max(min(at.X, cv.Max.X-half), cv.Min.X+half)
	cv.FillText(style, at, label)
}

// stub draws a line to a pod outside the picture.
func stub(cv draw.Canvas, a, b vg.Point, width vg.Length) {
	cv.StrokeLine2(sheet.Line(peerColor, width), a.X, a.Y, b.X, b.Y)
	sheet.Disc(cv, b, 4, sheet.White)
	cv.SetLineStyle(draw.LineStyle{Width: 1.5})
	cv.DrawGlyphNoClip(draw.GlyphStyle{
		Color:  peerColor,
		Radius: 4,
		Shape:  draw.RingGlyph{},
	}, b)
}

// paintMatrix draws the circuits as a symmetric matrix of pods. Darker cells have more circuits.
// Bundles to DP peers are in an additional column.
func (c *topologyChart) paintMatrix(cv draw.Canvas) {
	_, names := sheet.CommonPrefix(c.names())
	var all []matrixCell
	// put adds a cell whose colour shows the share of the largest bundle.
	put := func(row, column, circuits int) {
		all = append(all, matrixCell{
			row:    row,
			column: column,
			color: sheet.Tint(circuitColor, float64(circuits)/float64(max(1,
				c.maxCircuits))),
			label: strconv.Itoa(circuits),
		})
	}

	for _, pair := range c.pairs() {
		if m := c.count[pair]; m > 0 {
			put(pair[0], pair[1], m)
			put(pair[1], pair[0], m)
		}
	}

	for _, i := range slices.Sorted(maps.Keys(c.peer)) {
		put(i, len(names)+1, c.peer[i].circuits)
	}
	extraColumn := ""
	if len(c.peer) > 0 {
		extraColumn = "DP"
	}
	drawMatrix(cv, names, extraColumn, all)
}

// matrixCell is a filled cell of a matrix.
type matrixCell struct {
	row, column int
	color       color.RGBA
	label       string // printed if it fits
}

// drawMatrix draws a square matrix with the given names of rows and columns. If extraColumn is
// not empty, it is the name of an additional column to the right. As many rows and columns are
// labelled as fit.
func drawMatrix(c draw.Canvas, names []string, extraColumn string, all []matrixCell) {
	const (
		labels       = 18 // space for the names of rows and columns, in points
		largest      = 26 // maximum size of a cell
		minCell      = 2  // minimum visible size of a cell
		minTextCell  = 13 // minimum size of a cell with a label
		maxNameWidth = 30 // longer names are shortened
	)

	n := len(names)
	columns := len(names)
	size := c.Size()
	if extraColumn != "" {
		columns += 2
	}
	cell := min((size.X-labels)/vg.Length(columns), (size.Y-labels)/vg.Length(n),
		largest)
	left, top := c.Min.X+labels, c.Max.Y-labels
	at := func(i int) vg.Length { return cell * vg.Length(i) }

	// Fill the cells, with a gap of a pixel if they have labels, then print the labels.
	var bars sheet.ColoredBars
	for _, s := range all {
		side := max(cell, minCell)
		if cell >= minTextCell {
			side -= sheet.Pixel
		}
		x := left + min(at(s.column), max(at(columns)-side, 0))
		y := top - min(at(s.row), max(at(n)-side, 0))
		bars.Add(s.color, x, x+side, y-side, y)
	}

	bars.Fill(c)
	for _, s := range all {
		if cell >= minTextCell {
			style := sheet.Centered(min(cell*0.5, sheet.TickSize),
				sheet.Legible(s.color))
			c.FillText(style, sheet.Point(left+at(s.column)+cell/2,
				top-at(s.row)-cell/2+1), s.label)
		}
	}

	// Draw the frame and name rows and columns.
	line := sheet.Line(sheet.Dim, 0.75)
	style := sheet.Sans(sheet.SmallSize, sheet.Ink)
	above := sheet.Aligned(style, draw.XCenter, draw.YBottom)
	rowStyle := sheet.Aligned(style, draw.XRight, draw.YCenter)
	c.StrokeLines(line, sheet.RectanglePath(left, left+at(n), top-at(n), top))

	if extraColumn != "" {
		c.StrokeLines(line, sheet.RectanglePath(left+at(n+1), left+at(n+2), top-at(n),
			top))
		c.FillText(above, sheet.Point(left+at(n+1)+cell/2, top+2), extraColumn)
	}

	// Name every step-th row and column, so that names do not overlap. The first and the last
	// name are assumed to be as wide as any.
	widest := vg.Length(0)
	for _, i := range []int{0, n - 1} {
		widest = max(widest, style.Width(sheet.Fit(style, names[i], maxNameWidth)))
	}

	step := max(1, int(math.Ceil(float64((max(widest,
		style.Width("000"))+2)/cell))))
	for i := 0; i < n; i += step {
		label := sheet.Fit(style, names[i], maxNameWidth)
		c.FillText(above, sheet.Point(left+at(i)+cell/2, top+2), label)
		c.FillText(rowStyle, sheet.Point(left-3, top-at(i)-cell/2+1), label)
	}
}
