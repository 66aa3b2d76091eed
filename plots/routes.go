package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// Limits of what a picture of routes shows.
const (
	routesShown = 6
	routesNodes = 512 // of 8x8x8
)

// routeColors tell pairs apart; red is left for links that are down.
var routeColors = []color.RGBA{sheet.Blue, sheet.Green, sheet.Orange, sheet.Purple, sheet.SkyBlue, sheet.Black}

// deadLine is a link that is down, deadInk its colour.
var (
	deadInk  = color.RGBA{0xd0, 0x10, 0x10, 0xff}
	deadLine = draw.LineStyle{Color: deadInk, Width: 1.1, Dashes: []vg.Length{2.5, 1.5}}
)

// routeMap is a torus in an oblique projection, with routes on it.
type routeMap struct {
	torus  *result.Torus
	routes []shownRoute
	axes   [3]vg.Point // a step in each dimension, in units of a step in x
	size   vg.Point    // of the nodes, in such units
	wraps  bool
}

// shownRoute is a route with its pair's colour.
type shownRoute struct {
	*result.TorusRoute
	color color.RGBA
	line  draw.LineStyle // bold, or dotted and lighter for the usual one
}

// newRouteMap returns nil for a torus without routes or too large for lines.
func newRouteMap(l *result.Torus) *routeMap {
	if l == nil || len(l.Routes) == 0 || len(l.Dims) == 0 || len(l.Dims) > 3 || nodesOf(l) > routesNodes {
		return nil
	}
	m := &routeMap{torus: l, axes: [3]vg.Point{sheet.Point(1, 0), sheet.Point(0, 1), sheet.Point(0.37, 0.23)}}
	if len(l.Dims) == 3 && l.Dims[2] > 4 && l.Dims[2] > l.Dims[0] { // the longest goes across
		m.axes[0], m.axes[2] = m.axes[2], m.axes[0]
	}
	for i, n := range l.Dims {
		m.size = m.size.Add(m.axes[i].Scale(vg.Length(n - 1)))
	}
	m.wraps = slices.ContainsFunc(l.Links, func(l result.TorusLink) bool { return l.Wrap })
	var pairs [][2]int
	for i := range l.Routes[:min(routesShown, len(l.Routes))] {
		w := shownRoute{TorusRoute: &l.Routes[i]}
		pair := slices.Index(pairs, [2]int{w.Src, w.Dst})
		if pair < 0 {
			pair = len(pairs)
			pairs = append(pairs, [2]int{w.Src, w.Dst})
		}
		w.color = routeColors[pair%len(routeColors)]
		w.line = draw.LineStyle{Color: w.color, Width: 2.6}
		if w.Usual {
			w.line = draw.LineStyle{Color: sheet.Mix(w.color, 0.6), Width: 2, Dashes: []vg.Length{1.5, 2.5}}
		}
		m.routes = append(m.routes, w)
	}
	return m
}

// Sizes of the picture in points.
const (
	routesBorder = 46 // round the nodes, for stubs and labels
	routesTall   = 470
	routesFlat   = 150
)

func (m *routeMap) figure(policy, subtitle string) sheet.Figure {
	s := sheet.Sheet{Title: "Routes round what is down under " + policy, Subtitle: subtitle, Legend: m.legend()}
	unit := m.unit(sheet.Inside, routesTall)
	s.Blocks = []sheet.Block{{Plots: []*plot.Plot{sheet.Picture("", m.paint)}, Height: max(m.size.Y*unit+2*routesBorder, routesFlat)}}
	if left := len(m.torus.Routes) - len(m.routes); left > 0 {
		s.Notes = append(s.Notes, fmt.Sprintf("%s more left out.", text.Plural(left, "route")))
	}
	if m.wraps {
		s.Notes = append(s.Notes, "Links round the torus are stubs at the border; a route leaves and comes back at stubs of the same number.")
	}
	return s.Figure("routes-" + sheet.FileName(policy))
}

// unit is the length of a step in x that fits.
func (m *routeMap) unit(width, height vg.Length) vg.Length {
	const longest = 110
	u := vg.Length(longest)
	if m.size.X > 0 {
		u = min(u, (width-2*routesBorder)/m.size.X)
	}
	if m.size.Y > 0 {
		u = min(u, (height-2*routesBorder)/m.size.Y)
	}
	return u
}

// legend lists the pairs with the hops of their routes, then what lines mean.
func (m *routeMap) legend() []sheet.Entry {
	var legend []sheet.Entry
	for _, w := range m.routes {
		text := fmt.Sprintf("%s to %s: %s", coordinates(m.torus.Dims, w.Src), coordinates(m.torus.Dims, w.Dst), text.Plural(len(w.Links), "hop"))
		if w.Usual {
			text += " if nothing were down"
		}
		legend = append(legend, sheet.Entry{Text: text, Sample: sheet.Stroke(w.line)})
	}
	for _, k := range []struct {
		state, text string
		style       draw.LineStyle
	}{{down, "link that is down", deadLine}, {drained, "drained link", drainedLine}} {
		if slices.ContainsFunc(m.torus.Links, func(l result.TorusLink) bool { return l.State == k.state }) {
			legend = append(legend, sheet.Entry{Text: k.text, Sample: sheet.Stroke(k.style)})
		}
	}
	return legend
}

var drainedLine = draw.LineStyle{Color: sheet.Dim, Width: 1, Dashes: []vg.Length{1, 2}}

// project returns where nodes stand on c.
func (m *routeMap) project(c draw.Canvas) (at func(node int) vg.Point, unit vg.Length) {
	size := c.Size()
	unit = m.unit(size.X, size.Y)
	from := c.Center().Sub(m.size.Scale(unit / 2))
	return func(node int) vg.Point {
		p := from
		for i := len(m.torus.Dims) - 1; i >= 0; i-- {
			p = p.Add(m.axes[i].Scale(unit * vg.Length(node%m.torus.Dims[i])))
			node /= m.torus.Dims[i]
		}
		return p
	}, unit
}

// stubOf is how far a link round the torus sticks out of the border.
func (m *routeMap) stubOf(l *result.TorusLink, unit vg.Length) vg.Point {
	a := m.axes[l.Dim]
	far := min(16, unit*vg.Length(math.Hypot(float64(a.X), float64(a.Y)))*0.6)
	if !l.Up {
		far = -far
	}
	return sheet.Toward(a, far)
}

func (m *routeMap) paint(c draw.Canvas) {
	at, unit := m.project(c)
	plainLine := draw.LineStyle{Color: color.RGBA{0xc8, 0xc8, 0xc8, 0xff}, Width: 0.6}
	for _, state := range []string{"", drained, down} { // what matters lies on top
		style := map[string]draw.LineStyle{"": plainLine, drained: drainedLine, down: deadLine}[state]
		for i := range m.torus.Links {
			l := &m.torus.Links[i]
			if l.State != state {
				continue
			}
			a, b := at(l.From), at(l.To)
			if l.Wrap {
				out := m.stubOf(l, unit)
				c.StrokeLines(style, []vg.Point{a, a.Add(out)}, []vg.Point{b.Sub(out), b})
				continue
			}
			if l.Up || state != "" { // the other direction covers it
				c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
			}
		}
	}
	for n := range nodesOf(m.torus) {
		sheet.Disc(c, at(n), min(2, unit*0.05), sheet.Dim)
	}
	const long = 26
	from := sheet.Point(c.Min.X+4, c.Min.Y+8)
	for i := range m.torus.Dims { // at the lower left, where the dimensions lead
		to := from.Add(m.axes[i].Scale(long))
		c.StrokeLine2(draw.LineStyle{Color: sheet.Ink, Width: 1}, from.X, from.Y, to.X, to.Y)
		c.FillText(sheet.Aligned(sheet.Sans(sheet.SmallSize, sheet.Ink), draw.XCenter, draw.YCenter), to.Add(sheet.Toward(m.axes[i], 6)), "xyz"[i:i+1])
	}
	m.paintRoutes(c, at, unit)
}

// paintRoutes draws the routes, usual ones below, then the ends and their labels.
func (m *routeMap) paintRoutes(c draw.Canvas, at func(int) vg.Point, unit vg.Length) {
	number := map[cable]int{} // of links round the torus
	for _, usual := range []bool{true, false} {
		for k := range m.routes {
			if m.routes[k].Usual == usual {
				const apart = 3.2 // so that routes on the same links are seen beside each other, on links of all directions
				beside := vg.Length(k) - vg.Length(len(m.routes)-1)/2
				m.paintRoute(c, &m.routes[k], sheet.Point(0.55, -0.8).Scale(apart*beside), at, unit, number)
			}
		}
	}
	labelled := map[int]bool{}
	for _, w := range m.routes {
		for _, end := range []struct {
			node int
			word string
		}{{w.Src, "from "}, {w.Dst, "to "}} {
			p := at(end.node)
			sheet.Disc(c, p, 5.5, sheet.White)
			sheet.Disc(c, p, 4.2, w.color)
			if labelled[end.node] {
				continue
			}
			labelled[end.node] = true
			text := coordinates(m.torus.Dims, end.node)
			style := sheet.Aligned(sheet.Bold(sheet.SmallSize, sheet.Ink), draw.XLeft, draw.YBottom)
			boxed(c, style, sheet.Point(p.X+6, p.Y-sheet.SmallSize-5), text)
		}
	}
}

// boxed writes text on white, inside c.
func boxed(c draw.Canvas, style draw.TextStyle, p vg.Point, text string) {
	w := style.Width(text)
	p.X = max(min(p.X, c.Max.X-w-2), c.Min.X+2)
	sheet.FillBox(c, sheet.White, p.X-1.5, p.X+w+1.5, p.Y-0.5, p.Y+style.Font.Size)
	c.FillText(style, p, text)
}

// paintRoute draws the hops of a route with an arrow on each.
func (m *routeMap) paintRoute(c draw.Canvas, w *shownRoute, shift vg.Point, at func(int) vg.Point, unit vg.Length, number map[cable]int) {
	style := w.line
	hop := func(a, b vg.Point) {
		c.StrokeLine2(style, a.X, a.Y, b.X, b.Y)
		d := b.Sub(a)
		if length := vg.Length(math.Hypot(float64(d.X), float64(d.Y))); length >= 4 { // past the middle
			size := min(8, length*0.5)
			sheet.ArrowHead(c, style.Color, a.Add(d.Scale(0.62)).Add(sheet.Toward(d, size/2)), d, size, size*0.42)
		}
	}
	for _, i := range w.Links {
		l := &m.torus.Links[i]
		a, b := at(l.From).Add(shift), at(l.To).Add(shift)
		if l.State == down {
			mid := sheet.Point((a.X+b.X)/2, (a.Y+b.Y)/2)
			if l.Wrap {
				mid = a.Add(m.stubOf(l, unit))
			}
			defer cross(c, mid)
		}
		if !l.Wrap {
			hop(a, b)
			continue
		}
		out := m.stubOf(l, unit).Scale(1.35)
		hop(a, a.Add(out))
		hop(b.Sub(out), b)
		both := cable{min(l.From, l.To), max(l.From, l.To), l.Dim}
		if number[both] > 0 { // written by a route before
			continue
		}
		number[both] = len(number) + 1
		text := sheet.Aligned(sheet.Bold(sheet.SmallSize, sheet.Ink), draw.XCenter, draw.YCenter)
		beyond := out.Add(sheet.Toward(out, 9))
		c.FillText(text, at(l.From).Add(beyond), fmt.Sprint(number[both]))
		c.FillText(text, at(l.To).Sub(beyond), fmt.Sprint(number[both]))
	}
}

// cable is a link round the torus, the same in both directions.
type cable struct{ low, high, dim int }

// cross marks where a route is cut.
func cross(c draw.Canvas, p vg.Point) {
	const r = 3.5
	c.StrokeLines(draw.LineStyle{Color: deadInk, Width: 2},
		[]vg.Point{sheet.Point(p.X-r, p.Y-r), sheet.Point(p.X+r, p.Y+r)}, []vg.Point{sheet.Point(p.X-r, p.Y+r), sheet.Point(p.X+r, p.Y-r)})
}
