package plots

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Colours and widths of a topology's parts.
var (
	circuitColor = blue
	twinColor    = vermillion
	podEdge      = draw.LineStyle{Color: ink, Width: 1}
)

const (
	thinnest = 1.0 // width in points of a bundle of few circuits
	thickest = 9.0 // and of the largest in the figure
	nodeHigh = 28
)

func topologyLegend(f form, twins bool, most int) []entry {
	if f == matrix {
		return []entry{
			{"1 circuit between two pods", box(fill{mix(circuitColor, 1/float64(max(1, most))), 1})},
			{plural(most, "circuit"), box(fill{circuitColor, 1})},
		}
	}
	legend := []entry{{"circuits between two pods (number; width to scale)", stroke(draw.LineStyle{Color: circuitColor, Width: 5})}}
	if twins {
		legend = append(legend, entry{"to the same pod of each neighbouring replica", func(c draw.Canvas, lo, hi vg.Point) {
			mid := (lo.Y + hi.Y) / 2
			stub(c, point(lo.X, mid), point(hi.X-4, mid), 3)
		}})
	}
	return legend
}

func (c *chart) paint(cv draw.Canvas, f form) {
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
func (c *chart) width(circuits int) vg.Length {
	w := thickest * float64(circuits) / float64(max(1, c.most))
	return vg.Length(min(max(w, thinnest), thickest))
}

// pairs lists the joined pods in a fixed order.
func (c *chart) pairs() [][2]int {
	return slices.SortedFunc(maps.Keys(c.count), func(a, b [2]int) int { return slices.Compare(a[:], b[:]) })
}

// paintRows draws a row of pods for each replica, twins above.
func (c *chart) paintRows(cv draw.Canvas) {
	places, columns, rows := c.grid()
	size := cv.Size()
	dx, dy := size.X/vg.Length(columns), size.Y/vg.Length(rows)
	wide := min(dx*0.6, 62)
	at := func(i int) vg.Point {
		p := places[i]
		return point(cv.Min.X+dx*(vg.Length(p.column)+0.5), cv.Max.Y-dy*(vg.Length(p.row)+0.6))
	}
	for _, pair := range c.pairs() {
		n := c.count[pair]
		a, b := at(pair[0]), at(pair[1])
		c.bundle(cv, a, b, n)
		style := aligned(bold(tickSize, circuitColor), draw.XCenter, draw.YBottom)
		mid := point((a.X+b.X)/2, (a.Y+b.Y)/2+c.width(n)/2+2)
		if places[pair[0]].row != places[pair[1]].row {
			style = aligned(style, draw.XLeft, draw.YCenter)
			mid = point(a.X+c.width(n)/2+3, (a.Y+b.Y)/2)
		}
		cv.FillText(style, mid, strconv.Itoa(n))
	}
	for i := range c.topology.Pods {
		p := at(i)
		if t, ok := c.twin[i]; ok {
			c.twins(cv, point(p.X, p.Y+nodeHigh/2), math.Pi/2, t)
		}
		c.node(cv, p, wide, i)
	}
}

// paintRing draws the pods on an ellipse.
func (c *chart) paintRing(cv draw.Canvas) {
	n := len(c.topology.Pods)
	mid, size := cv.Center(), cv.Size()
	rx, ry := min(size.X*0.29, 190), size.Y*0.31
	angle := func(i int) float64 { return math.Pi/2 - 2*math.Pi*float64(i)/float64(n) }
	on := func(i int) vg.Point {
		sin, cos := math.Sincos(angle(i))
		return point(mid.X+rx*vg.Length(cos), mid.Y+ry*vg.Length(sin))
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
		style := aligned(bold(smallSize, circuitColor), draw.XCenter, draw.YCenter)
		at := point(a.X+(b.X-a.X)*f, a.Y+(b.Y-a.Y)*f)
		var bg bars
		w := style.Width(text)/2 + 1.5
		bg.add(at.X-w, at.X+w, at.Y-smallSize/2-0.5, at.Y+smallSize/2+0.5)
		bg.fill(cv, white)
		cv.FillText(style, point(at.X, at.Y+1), text)
	}
	for i := range c.topology.Pods {
		if t, ok := c.twin[i]; ok {
			sin, cos := math.Sincos(angle(i))
			p := on(i)
			c.twins(cv, point(p.X+vg.Length(cos)*wide/2, p.Y+vg.Length(sin)*nodeHigh/2), angle(i), t)
		}
		c.node(cv, on(i), wide, i)
	}
}

// bundle draws the line of n circuits; of none a faint one, since the pods
// would otherwise seem unrelated.
func (c *chart) bundle(cv draw.Canvas, a, b vg.Point, n int) {
	style := draw.LineStyle{Color: circuitColor, Width: c.width(n)}
	if n <= 0 {
		style = draw.LineStyle{Color: dim, Width: thinnest, Dashes: []vg.Length{2, 3}}
	}
	cv.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
}

// node draws a pod with the ports it uses, of all it has.
func (c *chart) node(cv draw.Canvas, at vg.Point, wide vg.Length, i int) {
	r := vg.Rectangle{Min: point(at.X-wide/2, at.Y-nodeHigh/2), Max: point(at.X+wide/2, at.Y+nodeHigh/2)}
	cv.SetColor(blueTint)
	cv.Fill(r.Path())
	cv.SetLineStyle(podEdge)
	cv.Stroke(r.Path())
	p := c.topology.Pods[i]
	style := aligned(sans(tickSize, ink), draw.XCenter, draw.YCenter)
	if style.Width(p.Name) > wide-2 {
		style = aligned(sans(smallSize, ink), draw.XCenter, draw.YCenter)
	}
	cv.FillText(style, point(at.X, at.Y+nodeHigh/4), fit(style, p.Name, wide-2))
	style = aligned(sans(smallSize, ink), draw.XCenter, draw.YCenter)
	ports := fmt.Sprintf("%d/%d ports", p.Used, p.Total)
	if style.Width(ports) > wide-2 {
		ports = fmt.Sprintf("%d/%d", p.Used, p.Total)
	}
	cv.FillText(style, point(at.X, at.Y-nodeHigh/4+1), fit(style, ports, wide-2))
}

// twins draws the bundles of a pod to its twins, outward at an angle: one, or
// two that part.
func (c *chart) twins(cv draw.Canvas, from vg.Point, angle float64, t stubs) {
	const long, part = vg.Length(15), 0.6
	copies := min(t.copies, 2) // a replica has two neighbours at most on a ring
	for k := range copies {
		sin, cos := math.Sincos(angle + part*(float64(k)-float64(copies-1)/2)*2)
		to := from.Add(point(long*vg.Length(cos), long*vg.Length(sin)))
		stub(cv, from, to, c.width(t.circuits)/2+0.5)
	}
	text := strconv.Itoa(t.circuits)
	if t.copies > 1 {
		text = fmt.Sprintf("%d × %d", t.copies, t.circuits)
	}
	sin, cos := math.Sincos(angle)
	style := aligned(bold(tickSize, twinColor), draw.XCenter, draw.YCenter)
	far := long + 11 + style.Width(text)*vg.Length(math.Abs(cos))/2 // beyond the stubs
	at := from.Add(point(far*vg.Length(cos), far*vg.Length(sin)+1))
	half := style.Width(text) / 2
	at.X = max(min(at.X, cv.Max.X-half), cv.Min.X+half)
	cv.FillText(style, at, text)
}

// stub draws a line to a pod that is not in the picture.
func stub(cv draw.Canvas, a, b vg.Point, width vg.Length) {
	cv.StrokeLine2(draw.LineStyle{Color: twinColor, Width: width}, a.X, a.Y, b.X, b.Y)
	cv.DrawGlyphNoClip(draw.GlyphStyle{Color: white, Radius: 4, Shape: draw.CircleGlyph{}}, b)
	cv.SetLineStyle(draw.LineStyle{Width: 1.5})
	cv.DrawGlyphNoClip(draw.GlyphStyle{Color: twinColor, Radius: 4, Shape: draw.RingGlyph{}}, b)
}
