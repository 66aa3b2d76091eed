package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"sim/plots/sheet"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours and widths of a topology's parts.
var (
	circuitColor = sheet.Blue
	twinColor    = sheet.Vermillion
	podEdge      = draw.LineStyle{Color: sheet.Ink, Width: 1}
)

const (
	thinnest = 1.0 // width in points of a bundle of few circuits
	thickest = 9.0 // and of the largest in the figure
	nodeHigh = 28
)

func topologyLegend(f form, twins bool, most int) []sheet.Entry {
	if f == matrix {
		return []sheet.Entry{
			{Text: "1 circuit between two pods", Sample: sheet.Box(sheet.Mix(circuitColor, 1/float64(max(1, most))), 1)},
			{Text: sheet.Plural(most, "circuit"), Sample: sheet.Box(circuitColor, 1)},
		}
	}
	legend := []sheet.Entry{{Text: "circuits between two pods (number; width to scale)", Sample: sheet.Stroke(draw.LineStyle{Color: circuitColor, Width: 5})}}
	if twins {
		legend = append(legend, sheet.Entry{Text: "to the same pod of each neighbouring replica", Sample: func(c draw.Canvas, lo, hi vg.Point) {
			mid := (lo.Y + hi.Y) / 2
			stub(c, sheet.Point(lo.X, mid), sheet.Point(hi.X-4, mid), 3)
		}})
	}
	return legend
}

func (c *wiring) paint(cv draw.Canvas, f form) {
	switch f {
	case row:
		c.paintRows(cv)
	case ring:
		c.paintRing(cv)
	default:
		c.paintMatrix(cv)
	}
}

// width is that of a bundle's line.
func (c *wiring) width(circuits int) vg.Length {
	w := thickest * float64(circuits) / float64(max(1, c.most))
	return vg.Length(min(max(w, thinnest), thickest))
}

// pairs lists the joined pods in a fixed order.
func (c *wiring) pairs() [][2]int {
	return slices.SortedFunc(maps.Keys(c.count), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
}

// paintRows draws a row of pods for each replica, twins above.
func (c *wiring) paintRows(cv draw.Canvas) {
	places, columns, rows := c.grid()
	size := cv.Size()
	dx, dy := size.X/vg.Length(columns), size.Y/vg.Length(rows)
	wide := min(dx*0.6, 62)
	at := func(i int) vg.Point {
		p := places[i]
		return sheet.Point(cv.Min.X+dx*(vg.Length(p.column)+0.5), cv.Max.Y-dy*(vg.Length(p.row)+0.6))
	}
	for _, pair := range c.pairs() {
		n := c.count[pair]
		a, b := at(pair[0]), at(pair[1])
		c.bundle(cv, a, b, n)
		style := sheet.Aligned(sheet.Bold(sheet.TickSize, circuitColor), draw.XCenter, draw.YBottom)
		mid := sheet.Point((a.X+b.X)/2, (a.Y+b.Y)/2+c.width(n)/2+2)
		if places[pair[0]].row != places[pair[1]].row {
			style = sheet.Aligned(style, draw.XLeft, draw.YCenter)
			mid = sheet.Point(a.X+c.width(n)/2+3, (a.Y+b.Y)/2)
		}
		cv.FillText(style, mid, strconv.Itoa(n))
	}
	for i := range c.topology.Pods {
		p := at(i)
		if t, ok := c.twin[i]; ok {
			c.twins(cv, sheet.Point(p.X, p.Y+nodeHigh/2), math.Pi/2, t)
		}
		c.node(cv, p, wide, i)
	}
}

// paintRing draws the pods on an ellipse.
func (c *wiring) paintRing(cv draw.Canvas) {
	n := len(c.topology.Pods)
	mid, size := cv.Center(), cv.Size()
	rx, ry := min(size.X*0.29, 190), size.Y*0.31
	angle := func(i int) float64 { return math.Pi/2 - 2*math.Pi*float64(i)/float64(n) }
	on := func(i int) vg.Point {
		sin, cos := math.Sincos(angle(i))
		return sheet.Point(mid.X+rx*vg.Length(cos), mid.Y+ry*vg.Length(sin))
	}
	wide := min(56, 2*math.Pi*ry/vg.Length(n)*0.8)
	for _, pair := range c.pairs() {
		c.bundle(cv, on(pair[0]), on(pair[1]), c.count[pair])
	}
	for _, pair := range c.pairs() {
		a, b := on(pair[0]), on(pair[1])
		f := vg.Length(0.32) // off the centre, where lines cross
		if d := pair[1] - pair[0]; d == 1 || d == n-1 {
			f = 0.5
		}
		text := strconv.Itoa(c.count[pair])
		style := sheet.Aligned(sheet.Bold(sheet.SmallSize, circuitColor), draw.XCenter, draw.YCenter)
		at := sheet.Point(a.X+(b.X-a.X)*f, a.Y+(b.Y-a.Y)*f)
		var bg sheet.Bars
		w := style.Width(text)/2 + 1.5
		bg.Add(at.X-w, at.X+w, at.Y-sheet.SmallSize/2-0.5, at.Y+sheet.SmallSize/2+0.5)
		bg.Fill(cv, sheet.White)
		cv.FillText(style, sheet.Point(at.X, at.Y+1), text)
	}
	for i := range c.topology.Pods {
		if t, ok := c.twin[i]; ok {
			sin, cos := math.Sincos(angle(i))
			p := on(i)
			c.twins(cv, sheet.Point(p.X+vg.Length(cos)*wide/2, p.Y+vg.Length(sin)*nodeHigh/2), angle(i), t)
		}
		c.node(cv, on(i), wide, i)
	}
}

// bundle draws the line of n circuits; of none a faint one, since the pods
// would otherwise seem unrelated.
func (c *wiring) bundle(cv draw.Canvas, a, b vg.Point, n int) {
	style := draw.LineStyle{Color: circuitColor, Width: c.width(n)}
	if n <= 0 {
		style = draw.LineStyle{Color: sheet.Dim, Width: thinnest, Dashes: []vg.Length{2, 3}}
	}
	cv.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
}

// node draws a pod with the ports it uses, of all it has.
func (c *wiring) node(cv draw.Canvas, at vg.Point, wide vg.Length, i int) {
	r := vg.Rectangle{Min: sheet.Point(at.X-wide/2, at.Y-nodeHigh/2), Max: sheet.Point(at.X+wide/2, at.Y+nodeHigh/2)}
	cv.SetColor(sheet.BlueTint)
	cv.Fill(r.Path())
	cv.SetLineStyle(podEdge)
	cv.Stroke(r.Path())
	p := c.topology.Pods[i]
	style := sheet.Aligned(sheet.Sans(sheet.TickSize, sheet.Ink), draw.XCenter, draw.YCenter)
	if style.Width(p.Name) > wide-2 {
		style = sheet.Aligned(sheet.Sans(sheet.SmallSize, sheet.Ink), draw.XCenter, draw.YCenter)
	}
	cv.FillText(style, sheet.Point(at.X, at.Y+nodeHigh/4), sheet.Fit(style, p.Name, wide-2))
	style = sheet.Aligned(sheet.Sans(sheet.SmallSize, sheet.Ink), draw.XCenter, draw.YCenter)
	ports := fmt.Sprintf("%d/%d ports", p.Used, p.Total)
	if style.Width(ports) > wide-2 {
		ports = fmt.Sprintf("%d/%d", p.Used, p.Total)
	}
	cv.FillText(style, sheet.Point(at.X, at.Y-nodeHigh/4+1), sheet.Fit(style, ports, wide-2))
}

// twins draws the bundles of a pod to its twins, outward at an angle: one, or
// two that part.
func (c *wiring) twins(cv draw.Canvas, from vg.Point, angle float64, t stubs) {
	const long, part = vg.Length(15), 0.6
	copies := min(t.copies, 2) // a replica has two neighbours at most on a ring
	for k := range copies {
		sin, cos := math.Sincos(angle + part*(float64(k)-float64(copies-1)/2)*2)
		to := from.Add(sheet.Point(long*vg.Length(cos), long*vg.Length(sin)))
		stub(cv, from, to, c.width(t.circuits)/2+0.5)
	}
	text := strconv.Itoa(t.circuits)
	if t.copies > 1 {
		text = fmt.Sprintf("%d × %d", t.copies, t.circuits)
	}
	sin, cos := math.Sincos(angle)
	style := sheet.Aligned(sheet.Bold(sheet.TickSize, twinColor), draw.XCenter, draw.YCenter)
	far := long + 11 + style.Width(text)*vg.Length(math.Abs(cos))/2 // beyond the stubs
	at := from.Add(sheet.Point(far*vg.Length(cos), far*vg.Length(sin)+1))
	half := style.Width(text) / 2
	at.X = max(min(at.X, cv.Max.X-half), cv.Min.X+half)
	cv.FillText(style, at, text)
}

// stub draws a line to a pod that is not in the picture.
func stub(cv draw.Canvas, a, b vg.Point, width vg.Length) {
	cv.StrokeLine2(draw.LineStyle{Color: twinColor, Width: width}, a.X, a.Y, b.X, b.Y)
	cv.DrawGlyphNoClip(draw.GlyphStyle{Color: sheet.White, Radius: 4, Shape: draw.CircleGlyph{}}, b)
	cv.SetLineStyle(draw.LineStyle{Width: 1.5})
	cv.DrawGlyphNoClip(draw.GlyphStyle{Color: twinColor, Radius: 4, Shape: draw.RingGlyph{}}, b)
}
