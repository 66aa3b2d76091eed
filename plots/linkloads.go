package plots

import (
	"fmt"
	"math"
	"strings"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// linkLoads is what every link of a torus carries, by dimension and direction.
type linkLoads struct {
	lattice *result.Lattice
	dims    [3]int   // with 1 for those that the lattice lacks
	at      [][]int  // by dimension and direction: the link that leaves a node, or -1
	most    float64  // of links that are up
	peaks   []int    // the links that carry it
	down    int      // links
	drained int      // links
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
		switch link.State {
		case "down":
			k.down++
		case "drained":
			k.drained++
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

// layTiles lays panels out in one column or two and slices in rows: as low as
// tiles of a good size allow, with full rows where that costs little.
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
	most, some := 0.0, false
	for _, i := range k.at[dir] {
		if i >= 0 {
			most, some = max(most, k.lattice.Links[i].Load), true
		}
	}
	if !some {
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
	text := fmt.Sprintf("most loaded: %s %s on %s of %s", loadText(k.most), k.lattice.Unit, sheet.Plural(len(k.peaks), "link"), text.Thousands(float64(len(k.lattice.Links))))
	const named = 4
	if !k.outlined() {
		return text + ", too many to outline"
	}
	var names []string
	for _, i := range k.peaks[:min(named, len(k.peaks))] {
		l := &k.lattice.Links[i]
		names = append(names, coordinates(k.lattice.Dims, l.From)+" "+directionName(direction(l)))
	}
	if len(k.peaks) > named {
		return text + ", among them " + strings.Join(names, ", ")
	}
	return text + ": " + strings.Join(names, ", ")
}

// outlined tells whether so few links carry the most that outlines help.
func (k *linkLoads) outlined() bool {
	const most = 0.2 // of all links
	return len(k.peaks) > 0 && float64(len(k.peaks)) <= most*float64(len(k.lattice.Links))
}

// reading says how to read the tiles.
func (k *linkLoads) reading() string {
	switch {
	case k.dims[2] > 1:
		return "A tile is a node, its colour the load of the link that leaves it that way; x to the right, y up, a block a slice of z."
	case k.dims[1] > 1:
		return "A tile is a node, its colour the load of the link that leaves it that way; x to the right, y up."
	}
	return "A tile is a node, its colour the load of the link that leaves it that way; x to the right."
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
	if k.outlined() {
		legend = append(legend, sheet.Entry{Text: "most loaded", Sample: func(c draw.Canvas, lo, hi vg.Point) {
			x := (lo.X + hi.X) / 2
			paintTile(c, x-5, (lo.Y+hi.Y)/2-5, 10, sheet.Heat(1))
			outlineTile(c, x-5, (lo.Y+hi.Y)/2-5, 10)
		}})
	}
	if k.down > 0 {
		legend = append(legend, sheet.Entry{Text: sheet.Plural(k.down, "link") + " down", Sample: func(c draw.Canvas, lo, hi vg.Point) {
			deadTile(c, (lo.X+hi.X)/2-5, (lo.Y+hi.Y)/2-5, 10)
		}})
	}
	if k.drained > 0 {
		legend = append(legend, sheet.Entry{Text: sheet.Plural(k.drained, "link") + " drained", Sample: func(c draw.Canvas, lo, hi vg.Point) {
			drainedTile(c, (lo.X+hi.X)/2-5, (lo.Y+hi.Y)/2-5, 10)
		}})
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
