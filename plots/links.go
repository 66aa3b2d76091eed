// This file draws the links of a torus or a graph with their loads, and routes around
// faults.

package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// Limits of pictures of links.
const (
	// maxRoutes is the maximum number of paths in a picture. More would cover each other.
	maxRoutes      = 6
	maxNodeSpacing = 40 // points between neighbours
	// minNodeSpacing is in points. Links of closer nodes would be indistinguishable.
	minNodeSpacing = 4
	// minRouteSpacing is minNodeSpacing for pictures with several paths side by side.
	minRouteSpacing = 9
)

// stateDown and stateDrained are states of links, as in result.NetworkLayout. Drained links
// still carry traffic that started before; links that are down carry nothing.
const stateDown, stateDrained = "down", "drained"

// routeColors distinguish source-destination pairs. Red is reserved for links that are down.
var routeColors = []color.RGBA{sheet.Blue, sheet.Green, sheet.Orange, sheet.Purple,
	sheet.SkyBlue, sheet.Black}

// Styles of links that are down or drained.
var (
	downLine    = sheet.Line(color.RGBA{0xd0, 0x10, 0x10, 0xff}, 1.1, 2.5, 1.5)
	drainedLine = sheet.Line(sheet.Dim, 1, 1, 2)
)

// networkPicture draws the links of a torus or a graph, either coloured by load, or in grey
// with paths on top.
type networkPicture struct {
	*result.NetworkLayout               // places of nodes and links
	routes                []styledRoute // nil in a picture of loads
	left                  int           // number of omitted paths
	// scale is the number of points per unit of the layout, whose width is 1.
	scale vg.Length
}

// styledRoute is a path with the line style of its pair of source and destination.
type styledRoute struct {
	*result.TorusRoute
	// line is solid, or dotted and lighter for the path without faults.
	line draw.LineStyle
}

// newLinkLoads returns the picture of link loads, or nil if there is no link or too many
// links.
func newLinkLoads(p *result.Simulation) *networkPicture {
	return newNetworkPicture(p, minNodeSpacing)
}

// newNetworkPicture returns a picture of the links, or nil if neighbours would be closer than
// minSpacing points. The scale is the largest one that fits the page.
func newNetworkPicture(p *result.Simulation, minSpacing vg.Length) *networkPicture {
	n := p.Net()
	if n == nil || len(n.Links) == 0 {
		return nil
	}
	k := &networkPicture{
		NetworkLayout: n,
		scale:         min(sheet.ContentWidth, maxNodeSpacing/vg.Length(n.Step)),
	}

	if k.scale*vg.Length(n.Step) < minSpacing {
		return nil
	}
	return k
}

// newRouteMap returns the picture of selected paths around faults, or nil without such paths or
// with too many links. Paths of the same source and destination have the same colour.
func newRouteMap(p *result.Simulation) *networkPicture {
	if p.Torus == nil || len(p.Torus.Routes) == 0 {
		return nil
	}
	k := newNetworkPicture(p, minRouteSpacing)
	if k == nil {
		return nil
	}
	all := p.Torus.Routes
	k.left = max(0, len(all)-maxRoutes)

	// The index of a pair in pairs selects its colour.
	var pairs [][2]int
	for i := range all[:len(all)-k.left] {
		w := styledRoute{TorusRoute: &all[i]}
		pair := slices.Index(pairs, [2]int{w.Src, w.Dst})
		if pair < 0 {
			pair = len(pairs)
			pairs = append(pairs, [2]int{w.Src, w.Dst})
		}

		clr := routeColors[pair%len(routeColors)]
		w.line = sheet.Line(clr, 2.4)
		if w.FaultFree {
			w.line = sheet.Line(sheet.Tint(clr, 0.6), 2, 1.5, 2.5)
		}
		k.routes = append(k.routes, w)
	}

	return k
}

// figure implements policyFigure. It writes the notes and adds the picture.
func (k *networkPicture) figure(policy, _ string) (string, *sheet.Sheet) {
	s := &sheet.Sheet{Title: "Load of every link under " + policy}
	name := "links-"
	if k.routes != nil {
		s.Title = "Routes round what is down under " + policy
		name = "routes-"
		if k.Stubs {
			s.Note("Links round the torus, and between slices, are stubs; a route " +
				"leaves and comes back at stubs of the same number.")
		}

		if k.left > 0 {
			s.Note("%s more left out.", text.Plural(k.left, "route"))
		}
	} else {
		s.Note("%s.", sheet.Capitalise(k.bottleneckText()))
		s.Note("Of the two lines between nodes each is one direction.")
		if k.Stubs {
			s.Note("A link round the torus, or between slices, is a stub at the node that it leaves.")
		}
	}

	k.addLegend(s)
	const minHeight, noHeading = 40, ""
	s.Add(max(k.scale*vg.Length(k.Height), minHeight), sheet.NewPicture(noHeading, k.paint))
	return name + sheet.FileName(policy), s
}

// addLegend explains the colours of loads, or lists the paths with their hops, and then the
// states of links.
func (k *networkPicture) addLegend(s *sheet.Sheet) {
	for _, w := range k.routes {
		words := fmt.Sprintf("%s to %s: %s", k.Names[w.Src], k.Names[w.Dst],
			text.Plural(len(w.Links), "hop"))
		if w.FaultFree {
			words += " if nothing were down"
		}
		s.AddLegend(words, sheet.LineSample(w.line))
	}

	if k.routes == nil {
		if k.MaxLoad > 0 {
			s.AddLegend("load of a link, "+loadText(k.ScaleStart)+" to "+loadText(k.MaxLoad)+" "+k.Unit,
				colorScale(loadColor))
		}
		if n := k.unloaded(); n > 0 {
			s.AddLegend(text.Plural(n, "link")+" without load", sheet.LineSample(sheet.Line(sheet.Faint, 2)))
		}
	}

	// List the states that occur, with the number of links.
	count := map[string]int{}
	for i := range k.Links {
		count[k.Links[i].State]++
	}
	for _, look := range []struct {
		state string
		style draw.LineStyle
	}{{stateDown, downLine}, {stateDrained, drainedLine}} {
		if n := count[look.state]; n > 0 {
			s.AddLegend(text.Plural(n, "link")+" "+look.state,
				sheet.LineSample(look.style))
		}
	}
}

// colorScale returns a legend symbol with all colours of a scale. of returns the colour at a
// share of the scale.
func colorScale(of func(share float64) color.Color) sheet.Sample {
	return func(c draw.Canvas) {
		const parts = 16
		for i := range parts {
			at := float64(i) / parts
			sheet.FillBox(c, of(float64(i)/(parts-1)), c.X(at),
				c.X(at+1.0/parts)+0.2,
				c.Min.Y, c.Max.Y)
		}
	}
}

// loadColor returns the colour of a share of the scale of loads. It is light for small loads, so
// that these links are inconspicuous on white.
func loadColor(share float64) color.Color {
	return sheet.Heat(0.95 * (1 - share))
}

// unloaded returns the number of usable links that carry nothing.
func (k *networkPicture) unloaded() (n int) {
	for i := range k.Links {
		if l := &k.Links[i]; l.State == "" && l.Load <= 0 {
			n++
		}
	}
	return n
}

// loadText formats a load.
func loadText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return text.Thousands(v)
	}
	return sheet.Digits(v, 5)
}

// bottleneckText describes the most loaded links: load, number and up to four names.
func (k *networkPicture) bottleneckText() string {
	var names []string
	for i := range k.Links {
		if l := &k.Links[i]; k.MaxLoad > 0 && sheet.NearlyEqual(l.Load, k.MaxLoad) {
			name := k.Names[l.From] + " to " + k.Names[l.To]
			if k.Idle == nil { // a torus
				name = k.Names[l.From] + " " + l.Label
			}
			names = append(names, name)
		}
	}

	if names == nil {
		return "no link carries anything"
	}
	peak := fmt.Sprintf("most loaded: %s %s on %s of %s", loadText(k.MaxLoad), k.Unit,
		text.Plural(len(names), "link"), text.Count(len(k.Links)))
	// Name up to this many links.
	const maxNamedLinks = 4
	if len(names) > maxNamedLinks {
		return peak + ", among them " + strings.Join(names[:maxNamedLinks], ", ")
	}

	return peak + ": " + strings.Join(names, ", ")
}

// linkPoints returns the polyline of a link on the canvas. The layout stores it as x1, y1, x2,
// y2, and so on.
func (k *networkPicture) linkPoints(c draw.Canvas, link int) []vg.Point {
	l := k.Links[link].Line
	pts := make([]vg.Point, 0, len(l)/2)
	for i := 0; i+1 < len(l); i += 2 {
		pts = append(pts, k.layoutPoint(c, l[i], l[i+1]))
	}
	return pts
}

// layoutPoint converts a point of the layout to the canvas. The layout has its origin at the top
// left, the canvas at the bottom left.
func (k *networkPicture) layoutPoint(c draw.Canvas, x, y float64) vg.Point {
	return sheet.Point(c.Min.X+k.scale*vg.Length(x), c.Max.Y-k.scale*vg.Length(y))
}

// paint draws the links, the nodes with their texts, and the paths. Links are grouped by colour
// before they are drawn, because one path per link would make large files.
func (k *networkPicture) paint(c draw.Canvas) {
	// Group the usable links by load, in numColors steps of the scale, and the others by state.
	const numColors = 64
	var unloaded [][]vg.Point
	var byLoad [numColors + 1][][]vg.Point
	byState := map[string][][]vg.Point{}
	step := k.scale * vg.Length(k.Step)
	for i := range k.Links {
		l, pts := &k.Links[i], k.linkPoints(c, i)
		switch {
		case l.State != "" && (l.State != stateDrained || l.Load <= 0):
			byState[l.State] = append(byState[l.State], pts)
		case l.Load <= 0:
			unloaded = append(unloaded, pts)
		default:
			share := (l.Load - k.ScaleStart) / (k.MaxLoad - k.ScaleStart)
			at := min(int(share*numColors+0.5), numColors)
			byLoad[at] = append(byLoad[at], pts)
		}
	}

	// Draw the links: usable ones by load, the most loaded on top, then drained and failed ones.
	style := sheet.Line(sheet.Faint, min(max(step*0.11, 0.7), 3))
	if k.routes != nil {
		style.Width = 0.6
	}
	c.StrokeLines(style, unloaded...)
	for i, lines := range byLoad {
		if k.routes == nil {
			style.Color = loadColor(float64(i) / numColors)
		}
		c.StrokeLines(style, lines...)
	}

	c.StrokeLines(drainedLine, byState[stateDrained]...)
	c.StrokeLines(downLine, byState[stateDown]...)
	if k.routes == nil {
		for _, pts := range byState[stateDown] {
			drawCross(c, pts[len(pts)-1], min(3, step*0.15))
		}
	}

	// Draw the nodes; nodes that do not send are squares.
	for i, at := range k.Positions {
		p := k.layoutPoint(c, at[0], at[1])
		r := min(3, max(step*0.1, 0.6))
		if k.Idle != nil && k.Idle[i] {
			r *= 1.4
			sheet.FillBox(c, sheet.White, p.X-r, p.X+r, p.Y-r, p.Y+r)
			c.StrokeLines(sheet.Line(sheet.Ink, 0.8),
				sheet.RectanglePath(p.X-r, p.X+r, p.Y-r, p.Y+r))
			continue
		}

		sheet.Disc(c, p, r, sheet.Dim)
	}

	// Print the texts that fit.
	small := sheet.Centered(min(sheet.SmallSize, max(step*0.6, sheet.NumberSize)),
		sheet.Dim)
	for _, t := range k.Texts {
		if t.MaxWidth == 0 || small.Width(t.Text) < k.scale*vg.Length(t.MaxWidth) {
			c.FillText(small, k.layoutPoint(c, t.X, t.Y), sheet.Plain(t.Text))
		}
	}

	k.drawRoutes(c, step)
}

// hopLines returns the lines of one hop. That is the link itself and, if the link is drawn as a
// stub, also the corresponding stub at its other end. step is the distance of neighbouring
// nodes.
func (k *networkPicture) hopLines(c draw.Canvas, link int, step vg.Length) [][]vg.Point {
	pts := k.linkPoints(c, link)
	// The link is a stub if it ends far from its destination.
	to := k.Positions[k.Links[link].To]
	end := k.layoutPoint(c, to[0], to[1])
	last := pts[len(pts)-1]
	if d := end.Sub(last); math.Hypot(float64(d.X),
		float64(d.Y)) > float64(step)/2 {
		return [][]vg.Point{pts, {end.Sub(last.Sub(pts[0])), end}}
	}

	return [][]vg.Point{pts}
}

// drawRoutes draws the paths with an arrow on each hop, those without faults below the others,
// then the endpoints with labels. step is the distance of neighbouring nodes in points.
func (k *networkPicture) drawRoutes(c draw.Canvas, step vg.Length) {
	// Numbers of stubs, indexed by the ends of the link.
	number := map[[2]int]int{}
	bold := sheet.Aligned(sheet.Bold(sheet.SmallSize, sheet.Ink), draw.XCenter,
		draw.YCenter)

	// Draw the paths without faults first.
	for _, usual := range []bool{true, false} {
		for i := range k.routes {
			w := &k.routes[i]
			if w.FaultFree != usual {
				continue
			}

			// offset separates paths on the same link: path i is shifted by its distance from
			// the middle one.
			offset := min(3.2, step*0.12) * (vg.Length(i) - vg.Length(len(k.routes)-1)/2)
			shift := sheet.Point(0.55, -0.8).Scale(offset)
			for _, link := range w.Links {
				parts := k.hopLines(c, link, step)
				for _, pts := range parts {
					for j := range pts {
						pts[j] = pts[j].Add(shift)
					}
					drawHopLine(c, w.line, pts)
				}

				// Cross out links that are down. If the hop consists of two stubs, both get the
				// same number.
				l := &k.Links[link]
				if l.State == stateDown {
					drawCross(c, parts[0][len(parts[0])-1], 3.5)
				}
				if len(parts) < 2 {
					continue
				}

				both := [2]int{min(l.From, l.To), max(l.From, l.To)}
				if number[both] == 0 {
					number[both] = len(number) + 1
					label := fmt.Sprint(number[both])
					out := parts[0][1].Sub(parts[0][0])
					c.FillText(bold, parts[0][1].Add(sheet.WithLength(out, 6)), label)
					c.FillText(bold, parts[1][0].Sub(sheet.WithLength(out, 6)), label)
				}
			}
		}
	}

	// Draw the endpoints of paths on top.
	labelled := map[int]bool{}
	for _, w := range k.routes {
		for _, node := range []int{w.Src, w.Dst} {
			p := k.layoutPoint(c, k.Positions[node][0], k.Positions[node][1])
			sheet.Disc(c, p, 5, sheet.White)
			sheet.Disc(c, p, 3.8, w.line.Color)
			if !labelled[node] {
				labelled[node] = true
				drawBoxedText(c, sheet.Bold(sheet.SmallSize, sheet.Ink),
					sheet.Point(p.X+5, p.Y-sheet.SmallSize-4), k.Names[node])
			}
		}
	}
}

// drawHopLine draws a line of a hop, with an arrow head past its middle unless it is very short.
func drawHopLine(c draw.Canvas, style draw.LineStyle, pts []vg.Point) {
	c.StrokeLines(style, pts)
	a := pts[len(pts)-2]
	b := pts[len(pts)-1]
	d := b.Sub(a)
	if length := vg.Length(math.Hypot(float64(d.X), float64(d.Y))); length >= 3 {
		size := min(7, length*0.5)
		sheet.ArrowHead(c, style.Color,
			a.Add(d.Scale(0.62)).Add(sheet.WithLength(d, size/2)), d,
			size, size*0.42)
	}
}

// drawBoxedText draws text at p on a white background. It moves the text into c if necessary.
func drawBoxedText(c draw.Canvas, style draw.TextStyle, p vg.Point, text string) {
	w := style.Width(text)
	p.X = max(min(p.X, c.Max.X-w-2), c.Min.X+2)
	sheet.FillBox(c, sheet.White, p.X-1.5, p.X+w+1.5, p.Y-0.5, p.Y+style.Font.Size)
	c.FillText(style, p, text)
}

// drawCross marks a link that is down by a cross with radius r at p.
func drawCross(c draw.Canvas, p vg.Point, r vg.Length) {
	c.StrokeLines(sheet.Line(downLine.Color, max(0.8, r*0.55)),
		sheet.Cross(p.X-r, p.X+r, p.Y-r, p.Y+r)...)
}
