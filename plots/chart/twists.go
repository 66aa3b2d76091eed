package chart

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var twistKind = kind{
	name: "twists", draw: (*view).twists, takes: []string{"take"}, tiles: true,
	needs: map[string]string{"z": "the metric that colours the twists"},
	without: map[string]string{
		"x":      "twists have no x, y or series: the place of a tile is its pattern in " + twistKey,
		"y":      "twists have no x, y or series: the place of a tile is its pattern in " + twistKey,
		"series": "twists have no x, y or series: the place of a tile is its pattern in " + twistKey,
		"log_x":  "twists have a tile for each pattern, so log_x and log_y mean nothing there",
		"log_y":  "twists have a tile for each pattern, so log_x and log_y mean nothing there",
	},
	roles: func(v *view) error {
		if err := v.findTwists(); err != nil {
			return err
		}
		return v.panelRole()
	},
}

// twistKey is the key whose values are twist patterns.
const twistKey = "fabric.twist"

// A pattern has twistBits bits; the map has a column for each value of the
// first half of them and a row for each of the second.
const (
	twistBits = 6
	twistSide = 1 << (twistBits / 2)
)

// twistCell is the cell of a pattern in the heat maps of Figs. 8 and 9 of the
// twisted-tori paper (Sec. III-B): row by row from the top left, counting up in
// binary with the lowest bit written first. It fails on other texts.
func twistCell(pattern string) (int, error) {
	if len(pattern) != twistBits || strings.Trim(pattern, "01") != "" {
		return 0, fmt.Errorf("%q is no twist pattern of six bits, such as 001010", pattern)
	}
	cell := 0
	for i, bit := range pattern {
		if bit == '1' {
			cell |= 1 << i
		}
	}
	return cell, nil
}

// bitsOf writes the n lowest bits of v, the lowest first.
func bitsOf(v, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = '0' + byte(v>>i&1)
	}
	return string(b)
}

// findTwists makes the axis of twist patterns what goes across.
func (v *view) findTwists() (err error) {
	if v.x, err = v.find("twists", twistKey); err != nil {
		return fmt.Errorf("twists need a sweep over %s: %w", twistKey, err)
	}
	for _, l := range v.x.labels {
		if _, err := twistCell(l); err != nil {
			return fmt.Errorf("twists: axis %s: %w", v.x.name, err)
		}
	}
	return nil
}

// twistMap is a map of the 64 patterns, or several.
type twistMap struct {
	*heatChart
	cells [][]spread // by panel and cell of the map
	ends  [][2]float64
	own   bool // panels have colours by ends of their own
}

// Outlines of the least and the greatest.
var (
	leastLine    = draw.LineStyle{Color: sheet.Vermillion, Width: 2.2}
	greatestLine = draw.LineStyle{Color: sheet.Black, Width: 1.8, Dashes: []vg.Length{3, 2}}
)

func (v *view) twists(t *result.SweepTimings) (*sheet.Sheet, error) {
	m, err := v.measure(v.spec.Z, t)
	if err != nil {
		return nil, err
	}
	tab, err := v.tabulate(m)
	if err != nil {
		return nil, err
	}
	tm := &twistMap{heatChart: &heatChart{table: tab, lo: math.Inf(1), hi: math.Inf(-1)}}
	blank := tm.place(v)
	widest := 0.0
	for _, ends := range tm.ends {
		tm.lo, tm.hi, widest = min(tm.lo, ends[0]), max(tm.hi, ends[1]), max(widest, ends[1]-ends[0])
	}
	if from := v.spec.From; from != nil {
		tm.lo, tm.hi = min(tm.lo, *from), max(tm.hi, *from)
	}
	const unlike = 2 // times what the widest panel spans
	tm.own = v.spec.From == nil && tm.hi-tm.lo > unlike*widest && widest > 0
	tm.q = v.quantityOf(m.name, v.spec.YLabel, tm.lo, tm.hi, true)
	bar := tm.bar(sheet.BarLength)
	if tm.own { // panels may have units of their own
		bar = sheet.ColorBar(tm.q.words, sheet.Plainly, 0, 1, sheet.BarLength)
		bar.Y.Tick.Marker = sheet.Marks([]float64{0, 1}, []string{"least", "greatest"})
	}
	for i := range v.panels.levels {
		v.after = append(v.after, tm.extremes(i, v.panels.index < 0))
	}
	panels := v.panelsOf()
	const least, low, high = 215, 26, 40 // points: of a map, of a tile
	g := layout(len(panels), least, sheet.ColorRoom(bar))
	g.height = min(max(g.width/twistSide*0.7, low), high) * twistSide
	var columns, rows []string
	for i := range twistSide {
		columns = append(columns, bitsOf(i, twistBits/2))
		rows = append(rows, bitsOf(twistSide-1-i, twistBits/2))
	}
	for i, p := range panels {
		tileAxes(p, g, i, columns, rows)
		p.Add(sheet.PlotFunc(func(c draw.Canvas, _ *plot.Plot) { tm.draw(c, i) }))
	}
	s := v.page(tm.q.words+" under every twist", panels, g, "first three bits of the twist", "last three bits")
	s.Blocks[0].AddColors(bar)
	s.Legend = tm.legend(m.name)
	v.noteSpread(tab, "A tile is")
	s.Notes = v.notes
	if tm.own {
		s.Notes = append(s.Notes, "Values of the panels lie far apart: each panel has colours of its own, from its least value to its greatest.")
	}
	if blank {
		s.Notes = append(s.Notes, "Blank tiles are patterns that the sweep lacks or that have no value.")
	}
	return s, nil
}

// place puts the values of the patterns into the cells of the maps; it reports whether some are blank.
func (tm *twistMap) place(v *view) (blank bool) {
	for p := range v.panels.levels {
		cells, ends := make([]spread, twistSide*twistSide), [2]float64{math.Inf(1), math.Inf(-1)}
		for x, level := range v.x.levels {
			at, _ := twistCell(v.x.labels[level]) // findTwists has looked at all
			cells[at] = *tm.cell(p, 0, x)
			if s := cells[at]; s.n > 0 {
				ends = [2]float64{min(ends[0], s.mean), max(ends[1], s.mean)}
			}
		}
		blank = blank || slices.ContainsFunc(cells, func(s spread) bool { return s.n == 0 })
		tm.cells, tm.ends = append(tm.cells, cells), append(tm.ends, ends)
	}
	return blank
}

// legend explains the outlines: best and worst, where the metric has a good side.
func (tm *twistMap) legend(metric string) []sheet.Entry {
	low, high := "least", "greatest"
	switch m, _ := result.Find(metric); m.Better {
	case result.Lower:
		low, high = "best", "worst"
	case result.Higher:
		low, high = "worst", "best"
	}
	outline := func(style draw.LineStyle) func(c draw.Canvas, lo, hi vg.Point) {
		return func(c draw.Canvas, lo, hi vg.Point) {
			c.StrokeLines(style, sheet.Ring4(lo.X+5, hi.X-5, lo.Y-1, hi.Y+1))
		}
	}
	suffix := ""
	if len(tm.cells) > 1 {
		suffix = " of a panel"
	}
	return []sheet.Entry{{Text: low + suffix + " (lowest)", Sample: outline(leastLine)}, {Text: high + suffix + " (highest)", Sample: outline(greatestLine)}}
}

// quantity is that of a panel, which may have a unit of its own.
func (tm *twistMap) quantity(panel int) quantity {
	q := tm.q
	if q.named && tm.own {
		q.unit = sheet.TimeUnit(tm.ends[panel][1])
	}
	return q
}

// extremes words a panel's least and greatest value for its heading.
func (tm *twistMap) extremes(panel int, only bool) string {
	ends, u := tm.ends[panel], tm.quantity(panel).unit
	if !(ends[0] < ends[1]) {
		return ""
	}
	text := strings.TrimSpace(fmt.Sprintf(": %s to %s %s", sheet.Digits(ends[0]*u.Per, 4), sheet.Digits(ends[1]*u.Per, 4), u.Name))
	if only {
		return sheet.Sentence(tm.q.words) + text
	}
	return text
}

// draw draws the tiles of a panel, the first at the top left, then the outlines.
func (tm *twistMap) draw(c draw.Canvas, panel int) {
	w, h := (c.Max.X-c.Min.X)/twistSide, (c.Max.Y-c.Min.Y)/twistSide
	ends, q := tm.ends[panel], tm.quantity(panel)
	colors := *tm.heatChart
	if tm.own {
		colors.lo, colors.hi = ends[0], ends[1]
	}
	var values []float64
	for _, s := range tm.cells[panel] {
		if s.n > 0 {
			values = append(values, s.mean)
		}
	}
	note := tileNumber(q, values, ends[1]-ends[0], w-7, h*0.57)
	var outlines [2][][]vg.Point
	for i, s := range tm.cells[panel] {
		x0, y1 := c.Min.X+w*vg.Length(i%twistSide), c.Max.Y-h*vg.Length(i/twistSide)
		x1, y0 := x0+w, y1-h
		if s.n == 0 {
			c.StrokeLines(draw.LineStyle{Color: sheet.Faint, Width: 0.6}, sheet.Ring4(x0+1, x1-1, y0+1, y1-1))
			continue
		}
		clr := colors.color(s.mean)
		sheet.FillBox(c, clr, x0+0.4, x1-0.4, y0+0.4, y1-0.4)
		note.write(c, clr, sheet.Point((x0+x1)/2, y1-h*0.36), q, s.mean)
		small := sheet.Aligned(sheet.Sans(min(sheet.NumberSize, w*0.24, h*0.3), sheet.Legible(clr)), draw.XCenter, draw.YCenter)
		c.FillText(small, sheet.Point((x0+x1)/2, y0+h*0.24), bitsOf(i, twistBits))
		for e := range outlines {
			if sheet.Near(s.mean, ends[e]) && !sheet.Near(ends[0], ends[1]) {
				outlines[e] = append(outlines[e], sheet.Ring4(x0+1.2, x1-1.2, y0+1.2, y1-1.2))
			}
		}
	}
	halo := draw.LineStyle{Color: sheet.White, Width: 3.4} // the outline is seen on any colour
	for e, style := range []draw.LineStyle{leastLine, greatestLine} {
		c.StrokeLines(halo, outlines[e]...)
		c.StrokeLines(style, outlines[e]...)
	}
}
