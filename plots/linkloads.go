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
	lattice *result.Lattice
	dims    [3]int   // with 1 for those that the lattice lacks
	at      [][]int  // by dimension and direction: the link that leaves a node, or -1
	most    float64  // of links that are up
	peaks   []int    // the links that carry it
	tile    tileGrid // how a panel is laid out
}

// tileGrid places the slices of a panel.
type tileGrid struct {
	tile    vg.Length // a side
	columns int       // slices side by side
	rows    int
	panels  int // panels side by side
}

// Parts of a panel of tiles, in points.
const (
	sliceGap    = 0.7  // between slices, in tiles
	sliceLabel  = 12   // below a slice
	mostTile    = 15   // a tile of a small torus
	leastTile   = 1.0  // a smaller one could not be seen
	loadsHeight = 1000 // of all panels
)

// linkLoadFigures shows for each policy what the links of its torus carry.
func linkLoadFigures(_ *result.Document, d *result.Detail) []sheet.Figure {
	var out []sheet.Figure
	for i := range d.Policies {
		p := &d.Policies[i]
		if l := newLinkLoads(p.Lattice); l != nil {
			out = append(out, l.figure(p.Policy, d.Title))
		}
	}
	return out
}

// newLinkLoads sorts the links of a lattice; nil for one that cannot be shown.
func newLinkLoads(l *result.Lattice) *linkLoads {
	if l == nil || len(l.Links) == 0 || len(l.Dims) == 0 || len(l.Dims) > 3 {
		return nil
	}
	k := &linkLoads{lattice: l, dims: [3]int{1, 1, 1}}
	nodes := 1
	for i, n := range l.Dims {
		k.dims[i] = n
		nodes *= n
	}
	k.tile = layTiles(k.dims, len(l.Dims))
	if k.tile.tile < leastTile {
		return nil
	}
	k.at = make([][]int, 2*len(l.Dims))
	for i := range k.at {
		k.at[i] = make([]int, nodes)
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

// direction numbers x+, x-, y+, y- and so on.
func direction(l *result.LatticeLink) int {
	if l.Up {
		return 2 * l.Dim
	}
	return 2*l.Dim + 1
}

// directionName is "x+" of 0, "x-" of 1 and so on.
func directionName(i int) string { return string("xyz"[i/2]) + string("+-"[i%2]) }

// layTiles lays panels out in one column or two and slices in rows: as low as tiles of a good size allow, with full
// rows where that costs little.
func layTiles(dims [3]int, n int) tileGrid {
	const good, ragged = 6.5, 2 // points; what a height counts where the last row is not full
	var all []tileGrid
	largest := vg.Length(0)
	for panels := 1; panels <= 2; panels++ {
		width := (sheet.Inside - loadsSide - vg.Length(panels-1)*loadsGap - 2) / vg.Length(panels)
		for columns := 1; columns <= dims[2]; columns++ {
			g := tileGrid{columns: columns, rows: (dims[2] + columns - 1) / columns, panels: panels}
			wide := vg.Length(columns*dims[0]) + sliceGap*vg.Length(columns-1)
			high := vg.Length(g.rows * dims[1])
			room := loadsHeight/vg.Length(2*n/panels) - vg.Length(g.rows)*sliceLabel - loadsGap
			g.tile = min(width/wide, room/high, mostTile)
			largest = max(largest, g.tile)
			all = append(all, g)
		}
	}
	best, least := tileGrid{}, vg.Length(math.Inf(1))
	for _, g := range all {
		height := (g.height(dims) + loadsGap + loadsGap) * vg.Length(2*n/g.panels)
		if dims[2]%g.columns != 0 {
			height *= ragged
		}
		if g.tile >= min(good, largest*0.9) && height < least {
			best, least = g, height
		}
	}
	return best
}

// height of a panel's tiles and labels.
func (g *tileGrid) height(dims [3]int) vg.Length {
	return vg.Length(g.rows) * (g.tile*vg.Length(dims[1]) + sliceLabel)
}

// loadsSide is the room for the colour bar, loadsGap that between panels and for their headings.
const (
	loadsSide = 94
	loadsGap  = 16
)

func (k *linkLoads) figure(policy, subtitle string) sheet.Figure {
	s := sheet.Sheet{Title: "Load of every link under " + policy, Subtitle: strings.TrimPrefix(subtitle+"; "+k.peak(), "; "), Legend: k.legend()}
	s.Notes = []string{k.reading()}
	const least = 90 // points, for the colour bar
	rows := vg.Length(len(k.at) / k.tile.panels)
	block := sheet.Block{Cols: k.tile.panels, Height: max(k.tile.height(k.dims), least/rows)}
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
			most = max(most, k.lattice.Links[i].Load)
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
	peak := fmt.Sprintf("most loaded: %s %s on %s of %s", loadText(k.most), k.lattice.Unit, text.Plural(len(k.peaks), "link"), text.Count(len(k.lattice.Links)))
	const named = 4
	if !k.outlined() {
		return peak + ", too many to outline"
	}
	var names []string
	for _, i := range k.peaks[:min(named, len(k.peaks))] {
		l := &k.lattice.Links[i]
		names = append(names, coordinates(k.lattice.Dims, l.From)+" "+directionName(direction(l)))
	}
	if len(k.peaks) > named {
		return peak + ", among them " + strings.Join(names, ", ")
	}
	return peak + ": " + strings.Join(names, ", ")
}

// outlined tells whether so few links carry the most that outlines help.
func (k *linkLoads) outlined() bool {
	const most = 0.2 // of all links
	return len(k.peaks) > 0 && float64(len(k.peaks)) <= most*float64(len(k.lattice.Links))
}

// reading says how to read the tiles.
func (k *linkLoads) reading() string {
	ways := []string{"x to the right", "y up", "a block a slice of z"}
	shown := 1
	for i := 1; i < len(k.dims) && k.dims[i] > 1; i++ {
		shown++
	}
	return "A tile is a node, its colour the load of the link that leaves it that way; " + strings.Join(ways[:shown], ", ") + "."
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
	add := func(text, state string, shown bool) {
		const side = 10
		if shown {
			legend = append(legend, sheet.Entry{Text: text, Sample: func(c draw.Canvas, lo, hi vg.Point) {
				at := sheet.Point((lo.X+hi.X-side)/2, (lo.Y+hi.Y-side)/2)
				sheet.FillBox(c, sheet.Heat(1), at.X, at.X+side, at.Y, at.Y+side)
				markTile(c, state, at, side)
			}})
		}
	}
	add("most loaded", mostLoaded, k.outlined())
	for _, state := range []string{down, drained} {
		n := 0
		for i := range k.lattice.Links {
			if k.lattice.Links[i].State == state {
				n++
			}
		}
		add(text.Plural(n, "link")+" "+state, state, n > 0)
	}
	return legend
}

// bar is the colour bar from 0 to the largest load, which is always named.
func (k *linkLoads) bar(height vg.Length) *plot.Plot {
	u, words := sheet.Plainly, ""
	const million, billion = 1e6, 1e9
	switch {
	case k.most >= billion:
		u.Per, words = 1/billion, "billion "
	case k.most >= million:
		u.Per, words = 1/million, "million "
	}
	most := k.most
	if !(most > 0) {
		most = 1
	}
	bar := sheet.ColorBar("load, "+words+sheet.Plain(k.lattice.Unit), u, 0, most, min(height, sheet.BarLength))
	const apart = 0.07 // of the largest load, from which other ticks keep clear
	ticks := plot.ConstantTicks{}
	for _, t := range bar.Y.Tick.Marker.Ticks(0, most) {
		if k.most-t.Value > apart*k.most {
			ticks = append(ticks, plot.Tick{Value: t.Value, Label: loadText(sheet.RoundTo(t.Value*u.Per, 4))})
		}
	}
	if k.most > 0 {
		ticks = append(ticks, plot.Tick{Value: k.most, Label: loadText(sheet.RoundTo(k.most*u.Per, 5))})
	}
	bar.Y.Tick.Marker = ticks
	return bar
}

// corner is the lower left corner of a node's tile.
func (k *linkLoads) corner(c draw.Canvas, node int) vg.Point {
	dims := k.dims
	z := node % dims[2]
	y := node / dims[2] % dims[1]
	x := node / dims[2] / dims[1]
	g := &k.tile
	block := sheet.Point(
		c.Min.X+vg.Length(z%g.columns)*g.tile*(vg.Length(dims[0])+sliceGap),
		c.Max.Y-vg.Length(z/g.columns)*(g.tile*vg.Length(dims[1])+sliceLabel)-g.tile*vg.Length(dims[1]))
	return sheet.Point(block.X+g.tile*vg.Length(x), block.Y+g.tile*vg.Length(y))
}

// paint draws the panel of a direction.
func (k *linkLoads) paint(c draw.Canvas, dir int) {
	const shades = 128
	var tiles [shades + 1]sheet.Bars // tiles of one colour are drawn at once
	side := k.tile.tile
	edge := func(v vg.Length) (lo, hi vg.Length) { return v + 0.35, v + side - 0.35 }
	if side < 2.5 { // no room for gaps; whole pixels, or tiles would have seams
		edge = func(v vg.Length) (lo, hi vg.Length) { return sheet.Snap(v), sheet.Snap(v + side) }
	}
	add := func(b *sheet.Bars, p vg.Point) {
		x0, x1 := edge(p.X)
		y0, y1 := edge(p.Y)
		b.Add(x0, x1, y0, y1)
	}
	var absent sheet.Bars
	marked := map[string][]vg.Point{}
	for node, i := range k.at[dir] {
		p := k.corner(c, node)
		if i < 0 {
			add(&absent, p)
			continue
		}
		l := &k.lattice.Links[i]
		if l.State == "" || l.State == drained && l.Load > 0 {
			share := 0.0
			if k.most > 0 {
				share = l.Load / k.most
			}
			add(&tiles[int(share*shades+0.5)], p)
		}
		marked[l.State] = append(marked[l.State], p)
		if sheet.Near(l.Load, k.most) && k.outlined() {
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
	k.slices(c)
}

// slices labels the blocks.
func (k *linkLoads) slices(c draw.Canvas) {
	if len(k.lattice.Dims) < 3 {
		return
	}
	wide := k.tile.tile * vg.Length(k.dims[0])
	style := sheet.Aligned(sheet.Sans(min(sheet.SmallSize, max(wide*0.45, 5)), sheet.Dim), draw.XCenter, draw.YTop)
	for z := range k.dims[2] {
		text := fmt.Sprintf("z = %d", z)
		if style.Width(text) > wide {
			text = fmt.Sprint(z)
		}
		p := k.corner(c, z) // of the node at x = y = 0
		c.FillText(style, sheet.Point(p.X+wide/2, p.Y-1), text)
	}
}

// States of links, and what the most loaded are marked as.
const (
	down, drained = "down", "drained"
	mostLoaded    = "most"
)

// markTile draws a tile of a state at its lower left corner: black with a cross, grey with stripes, or an outline.
func markTile(c draw.Canvas, state string, p vg.Point, side vg.Length) {
	at := func(x, y vg.Length) vg.Point { return sheet.Point(p.X+x*side, p.Y+y*side) }
	const visible = 3 // points of a side, of lines
	switch state {
	case mostLoaded:
		half := min(max(side*0.16, 0.5), 1.6) / 2
		c.StrokeLines(draw.LineStyle{Color: sheet.Vermillion, Width: 2 * half}, sheet.Ring4(p.X+half, p.X+side-half, p.Y+half, p.Y+side-half))
	case down:
		sheet.FillBox(c, sheet.Black, p.X, p.X+side, p.Y, p.Y+side)
		if side >= visible {
			c.StrokeLines(draw.LineStyle{Color: sheet.White, Width: max(0.5, side*0.08)}, []vg.Point{at(0.22, 0.22), at(0.78, 0.78)}, []vg.Point{at(0.22, 0.78), at(0.78, 0.22)})
		}
	case drained:
		sheet.FillBox(c, color.RGBA{0xbb, 0xbb, 0xbb, 0xff}, p.X, p.X+side, p.Y, p.Y+side)
		if side >= visible {
			c.StrokeLines(draw.LineStyle{Color: sheet.Ink, Width: max(0.4, side*0.06)},
				[]vg.Point{at(0, 0.5), at(0.5, 1)}, []vg.Point{at(0, 0), at(1, 1)}, []vg.Point{at(0.5, 0), at(1, 0.5)})
		}
	}
}
