package plots

import (
	"fmt"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// linkLoads is what every link of a torus carries, by dimension and direction.
type linkLoads struct {
	torus *result.Torus
	dims  [3]int  // with 1 for those that the torus lacks
	at    [][]int // by dimension and direction: the link that leaves a node, or -1
	most  float64 // of links that are up
	peaks []int   // the links that carry it
	tile  tileGrid
}

// tileGrid places the slices of a panel.
type tileGrid struct {
	tile    vg.Length // a side
	columns int       // slices side by side
	panels  int       // panels side by side
	height  vg.Length // of a panel's tiles and labels
}

// Parts of a panel of tiles, in points.
const (
	sliceGap    = 0.7  // between slices, in tiles
	sliceLabel  = 12   // below a slice
	goodTile    = 5.5  // of which single ones are seen
	mostTile    = 15   // a tile of a small torus
	leastTile   = 1.0  // a smaller one could not be seen
	loadsHeight = 1000 // of all panels
	loadsSide   = 94   // for the colour bar
	loadsGap    = 16   // between panels, and for their headings
)

// newLinkLoads sorts the links of a torus; nil for one that cannot be shown.
func newLinkLoads(l *result.Torus) *linkLoads {
	if l == nil || len(l.Links) == 0 || len(l.Dims) == 0 || len(l.Dims) > 3 {
		return nil
	}
	k := &linkLoads{torus: l, dims: [3]int{1, 1, 1}}
	copy(k.dims[:], l.Dims)
	k.at = make([][]int, 2*len(l.Dims))
	if k.tile = layTiles(k.dims, len(k.at)); k.tile.tile < leastTile {
		return nil
	}
	for i := range k.at {
		k.at[i] = make([]int, nodesOf(l))
		for n := range k.at[i] {
			k.at[i][n] = -1
		}
	}
	for i, link := range l.Links {
		place := &k.at[direction(&link)][link.From]
		if *place < 0 || l.Links[*place].Load < link.Load { // of parallel links the one that carries more
			*place = i
		}
		k.most = max(k.most, link.Load)
	}
	for i, link := range l.Links {
		if k.most > 0 && sheet.Near(link.Load, k.most) {
			k.peaks = append(k.peaks, i)
		}
	}
	return k
}

func nodesOf(l *result.Torus) int {
	nodes := 1
	for _, n := range l.Dims {
		nodes *= n
	}
	return nodes
}

// direction numbers x+, x-, y+, y- and so on.
func direction(l *result.TorusLink) int {
	if l.Up {
		return 2 * l.Dim
	}
	return 2*l.Dim + 1
}

// directionName is "x+" of 0, "x-" of 1 and so on.
func directionName(i int) string { return string("xyz"[i/2]) + string("+-"[i%2]) }

// layTiles lays out so many panels, two side by side, and their slices in full rows: the widest rows with tiles of a
// good size, or the largest tiles.
func layTiles(dims [3]int, n int) (best tileGrid) {
	for panels := 2; panels >= 1; panels-- {
		for columns := dims[2]; columns >= 1; columns-- {
			if dims[2]%columns != 0 {
				continue
			}
			width := (sheet.Inside - loadsSide - vg.Length(panels-1)*loadsGap - 2) / vg.Length(panels)
			wide := vg.Length(columns*dims[0]) + sliceGap*vg.Length(columns-1)
			rows := vg.Length(dims[2] / columns)
			room := loadsHeight/vg.Length(n/panels) - rows*sliceLabel - loadsGap
			g := tileGrid{columns: columns, panels: panels}
			g.tile = min(width/wide, room/(rows*vg.Length(dims[1])), mostTile)
			g.height = rows * (g.tile*vg.Length(dims[1]) + sliceLabel)
			if g.tile > best.tile {
				best = g
			}
			if best.tile >= goodTile {
				return best
			}
		}
	}
	return best
}

func (k *linkLoads) figure(policy, subtitle string) sheet.Figure {
	s := sheet.Sheet{Title: "Load of every link under " + policy, Subtitle: subtitle, Legend: k.legend()}
	reading := []string{"x to the right", "y up", "a block a slice of z"}[:len(k.torus.Dims)]
	s.Notes = []string{"A tile is a node, its colour the load of the link that leaves it that way; " + strings.Join(reading, ", ") + ".", sheet.Sentence(k.peak()) + "."}
	const least = 90 // points, for the colour bar
	rows := vg.Length(len(k.at) / k.tile.panels)
	block := sheet.Block{Cols: k.tile.panels, Height: max(k.tile.height, least/rows)}
	for i := range k.at {
		block.Plots = append(block.Plots, sheet.Picture(directionName(i)+k.carried(i), func(c draw.Canvas) { k.paint(c, i) }))
	}
	block.AddColors(k.bar(block.Height * rows))
	block.Side = loadsSide
	s.Blocks = []sheet.Block{block}
	return s.Figure("links-" + sheet.FileName(policy))
}

// carried words the largest load of a direction.
func (k *linkLoads) carried(dir int) string {
	most := -1.0
	for _, i := range k.at[dir] {
		if i >= 0 {
			most = max(most, k.torus.Links[i].Load)
		}
	}
	if most < 0 {
		return ": no links"
	}
	return ": up to " + loadText(most)
}

// loadText words a load.
func loadText(v float64) string {
	if v == math.Trunc(v) && math.Abs(v) < 1e7 {
		return text.Thousands(v)
	}
	return sheet.Digits(v, 5)
}

// peak says which links carry the most.
func (k *linkLoads) peak() string {
	if len(k.peaks) == 0 {
		return "no link carries anything"
	}
	peak := fmt.Sprintf("most loaded: %s %s on %s of %s", loadText(k.most), k.torus.Unit, text.Plural(len(k.peaks), "link"), text.Count(len(k.torus.Links)))
	const named = 4
	if !k.outlined() {
		return peak + ", too many to outline"
	}
	var names []string
	for _, i := range k.peaks[:min(named, len(k.peaks))] {
		l := &k.torus.Links[i]
		names = append(names, coordinates(k.torus.Dims, l.From)+" "+directionName(direction(l)))
	}
	if len(k.peaks) > named {
		return peak + ", among them " + strings.Join(names, ", ")
	}
	return peak + ": " + strings.Join(names, ", ")
}

// outlined tells whether so few links carry the most that outlines help.
func (k *linkLoads) outlined() bool {
	const most = 0.2 // of all links
	return len(k.peaks) > 0 && float64(len(k.peaks)) <= most*float64(len(k.torus.Links))
}

// coordinates writes a node as "(1,0,3)"; the last dimension is the fastest.
func coordinates(dims []int, node int) string {
	at := make([]string, len(dims))
	for i := len(dims) - 1; i >= 0; i-- {
		at[i] = fmt.Sprint(node % dims[i])
		node /= dims[i]
	}
	return "(" + strings.Join(at, ",") + ")"
}

func (k *linkLoads) legend() []sheet.Entry {
	var legend []sheet.Entry
	add := func(text, state string) {
		const side = 10
		legend = append(legend, sheet.Entry{Text: text, Sample: func(c draw.Canvas, lo, hi vg.Point) {
			at := sheet.Point((lo.X+hi.X-side)/2, (lo.Y+hi.Y-side)/2)
			sheet.FillBox(c, sheet.Heat(1), at.X, at.X+side, at.Y, at.Y+side)
			markTile(c, state, at, side)
		}})
	}
	count := map[string]int{}
	for i := range k.torus.Links {
		count[k.torus.Links[i].State]++
	}
	if k.outlined() {
		add("most loaded", mostLoaded)
	}
	for _, state := range []string{down, drained} {
		if n := count[state]; n > 0 {
			add(text.Plural(n, "link")+" "+state, state)
		}
	}
	return legend
}

// bar is the scale of the colours, up to the largest load.
func (k *linkLoads) bar(height vg.Length) *plot.Plot {
	u, words := sheet.Plainly, ""
	const million, billion = 1e6, 1e9
	switch {
	case k.most >= billion:
		u.Per, words = 1/billion, "billion "
	case k.most >= million:
		u.Per, words = 1/million, "million "
	}
	bar := sheet.ColorBar("load, "+words+sheet.Plain(k.torus.Unit), u, 0, max(k.most, math.SmallestNonzeroFloat64), min(height, sheet.BarLength))
	const apart = 0.07 // of the largest load, from which other ticks keep clear
	ticks := plot.ConstantTicks{{Value: k.most, Label: loadText(sheet.RoundTo(k.most*u.Per, 5))}}
	for _, t := range bar.Y.Tick.Marker.Ticks(0, k.most) {
		if k.most-t.Value > apart*k.most {
			ticks = append(ticks, plot.Tick{Value: t.Value, Label: loadText(sheet.RoundTo(t.Value*u.Per, 4))})
		}
	}
	bar.Y.Tick.Marker = ticks
	return bar
}

// corner is the lower left corner of a node's tile.
func (k *linkLoads) corner(c draw.Canvas, node int) vg.Point {
	x, y, z := node/k.dims[2]/k.dims[1], node/k.dims[2]%k.dims[1], node%k.dims[2]
	g := &k.tile
	slice := sheet.Point(g.tile*(vg.Length(k.dims[0])+sliceGap), g.tile*vg.Length(k.dims[1])+sliceLabel)
	return sheet.Point(c.Min.X+vg.Length(z%g.columns)*slice.X+g.tile*vg.Length(x),
		c.Max.Y-vg.Length(z/g.columns+1)*slice.Y+sliceLabel+g.tile*vg.Length(y))
}

// paint draws the panel of a direction, and the names of the slices.
func (k *linkLoads) paint(c draw.Canvas, dir int) {
	const shades = 128
	var tiles [shades + 1]sheet.Bars // tiles of one colour are drawn at once
	var absent sheet.Bars
	side := k.tile.tile
	add := func(b *sheet.Bars, p vg.Point) {
		x0, x1, y0, y1 := p.X+0.35, p.X+side-0.35, p.Y+0.35, p.Y+side-0.35
		if side < 2.5 { // no room for gaps; whole pixels, or tiles would have seams
			x0, x1, y0, y1 = sheet.Snap(p.X), sheet.Snap(p.X+side), sheet.Snap(p.Y), sheet.Snap(p.Y+side)
		}
		b.Add(x0, x1, y0, y1)
	}
	marked := map[string][]vg.Point{}
	for node, i := range k.at[dir] {
		p := k.corner(c, node)
		if i < 0 {
			add(&absent, p)
			continue
		}
		l := &k.torus.Links[i]
		if l.State == "" || l.State == drained && l.Load > 0 {
			add(&tiles[int(l.Load/max(k.most, math.SmallestNonzeroFloat64)*shades+0.5)], p)
		}
		marked[l.State] = append(marked[l.State], p)
		if k.outlined() && sheet.Near(l.Load, k.most) {
			marked[mostLoaded] = append(marked[mostLoaded], p)
		}
	}
	absent.Fill(c, sheet.Band)
	for i := range tiles {
		tiles[i].Fill(c, sheet.Heat(float64(i)/shades))
	}
	for _, state := range []string{drained, down, mostLoaded} {
		for _, p := range marked[state] {
			markTile(c, state, p, side)
		}
	}
	wide := side * vg.Length(k.dims[0])
	style := sheet.Aligned(sheet.Sans(min(sheet.SmallSize, max(wide*0.45, 5)), sheet.Dim), draw.XCenter, draw.YTop)
	for z := range k.dims[2] {
		name := fmt.Sprintf("z = %d", z)
		if style.Width(name) > wide {
			name = fmt.Sprint(z)
		}
		if p := k.corner(c, z); len(k.torus.Dims) == 3 { // of the node at x = y = 0
			c.FillText(style, sheet.Point(p.X+wide/2, p.Y-1), name)
		}
	}
}

// States of links, and what the most loaded are marked as.
const (
	down, drained = "down", "drained"
	mostLoaded    = "most"
)

// markTile draws a tile of a state at its lower left corner: black with a cross, grey with stripes, or an outline.
func markTile(c draw.Canvas, state string, p vg.Point, side vg.Length) {
	line := func(clr color.Color, width vg.Length, x0, y0, x1, y1 vg.Length) {
		if side >= 3 { // points, or lines are not seen
			c.StrokeLine2(draw.LineStyle{Color: clr, Width: width}, p.X+x0*side, p.Y+y0*side, p.X+x1*side, p.Y+y1*side)
		}
	}
	switch state {
	case mostLoaded:
		half := min(max(side*0.16, 0.5), 1.6) / 2
		c.StrokeLines(draw.LineStyle{Color: sheet.Vermillion, Width: 2 * half}, sheet.Ring4(p.X+half, p.X+side-half, p.Y+half, p.Y+side-half))
	case down:
		sheet.FillBox(c, sheet.Black, p.X, p.X+side, p.Y, p.Y+side)
		line(sheet.White, max(0.5, side*0.08), 0.22, 0.22, 0.78, 0.78)
		line(sheet.White, max(0.5, side*0.08), 0.22, 0.78, 0.78, 0.22)
	case drained:
		sheet.FillBox(c, goesOn, p.X, p.X+side, p.Y, p.Y+side)
		for _, from := range []vg.Length{-0.5, 0, 0.5} {
			line(sheet.Ink, max(0.4, side*0.06), max(-from, 0), max(from, 0), 1-max(from, 0), 1-max(-from, 0))
		}
	}
}
