package chart

import (
	"errors"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

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

// twistOptions fails on options that twists do not have.
func (v *view) twistOptions() error {
	spec := v.spec
	switch {
	case spec.Z == "":
		return errors.New("z is missing: name the metric that colours the twists")
	case spec.X != "" || spec.Y != "" || spec.Series != "":
		return fmt.Errorf("twists have no x, y or series: the place of a tile is its pattern in %s", twistKey)
	case spec.LogX || spec.LogY:
		return errors.New("twists have a tile for each pattern, so log_x and log_y mean nothing there")
	case len(spec.Marks) > 0:
		return errors.New("twists have no place for marks")
	case v.panels == v.x:
		return fmt.Errorf("%s is named twice: give panels another axis", v.x.name)
	case !(math.Abs(spec.Scale) <= sheet.DrawableLimit && math.Abs(spec.Offset) <= sheet.DrawableLimit):
		return errors.New("scale and offset must be numbers that a figure can show")
	case spec.From != nil && !(math.Abs(*spec.From) <= sheet.DrawableLimit):
		return errors.New("from must be a number that a figure can show")
	}
	return v.limits()
}

// twistMap is a map of the 64 patterns, or several.
type twistMap struct {
	*HeatChart
	cells [][]spread // by panel and cell of the map
	ends  [][2]float64
	own   bool // panels have colours by ends of their own
	dark  string
	light string
}

// Outlines of the least and the greatest.
var (
	leastLine    = draw.LineStyle{Color: sheet.Vermillion, Width: 2.2}
	greatestLine = draw.LineStyle{Color: sheet.Black, Width: 1.8, Dashes: []vg.Length{3, 2}}
)

func (v *view) twists(t *result.SweepTimings) (*lattice, error) {
	m, err := v.measure(v.spec.Z, t)
	if err != nil {
		return nil, err
	}
	tab, err := v.tabulate(m)
	if err != nil {
		return nil, err
	}
	tm := &twistMap{HeatChart: &HeatChart{table: tab, v: v}}
	lo, hi := math.Inf(1), math.Inf(-1)
	widest, blank := 0.0, false
	for p := range v.panels.levels {
		cells, ends := make([]spread, twistSide*twistSide), [2]float64{math.Inf(1), math.Inf(-1)}
		for x, level := range v.x.levels {
			at, _ := twistCell(v.x.labels[level]) // findTwists has looked at all
			s := *tab.cell(p, 0, x)
			cells[at] = s
			if s.n > 0 {
				ends = [2]float64{min(ends[0], s.mean), max(ends[1], s.mean)}
			}
		}
		blank = blank || slices.ContainsFunc(cells, func(s spread) bool { return s.n == 0 })
		if ends[0] <= ends[1] {
			lo, hi, widest = min(lo, ends[0]), max(hi, ends[1]), max(widest, ends[1]-ends[0])
		}
		tm.cells, tm.ends = append(tm.cells, cells), append(tm.ends, ends)
	}
	if from := v.spec.From; from != nil {
		lo, hi = min(lo, *from), max(hi, *from)
	}
	const unlike = 2 // times what the widest panel spans
	tm.own = v.spec.From == nil && hi-lo > unlike*widest && widest > 0
	tm.Q = v.quantityOf(m.name, v.spec.YLabel, lo, hi, true)
	tm.Colors, tm.least, tm.Most = &Scale{Lo: lo, Hi: hi, Unit: tm.Q.Unit}, lo, hi
	l := &lattice{across: twistAxis("first three bits of the twist"), up: twistAxis("last three bits")}
	slices.Reverse(l.up.labels)
	l.yTitle = l.up.title
	l.Title, l.Subtitle = v.headings(tm.Q.words + " under every twist")
	l.Legend = tm.legend(m.name)
	for i := range v.panels.levels {
		l.panes = append(l.panes, pane{head: v.panels.head(v.panels.levels[i]) + tm.extremes(i), draw: func(c draw.Canvas, x, y func(float64) vg.Length) { tm.draw(c, i) }})
	}
	l.aside = tm.bar
	tm.size(l)
	v.noteSpread(tab, "A tile is")
	l.Notes = v.notes
	if tm.own {
		l.Notes = append(l.Notes, "Values of the panels lie far apart: each panel has colours of its own, from its least value to its greatest.")
	}
	if blank {
		l.Notes = append(l.Notes, "Blank tiles are patterns that the sweep lacks or that have no value.")
	}
	return l, nil
}

// twistAxis labels the values of three bits.
func twistAxis(title string) *across {
	a := &across{title: title, category: true, bare: true}
	a.Lo, a.Hi = -0.5, twistSide-0.5
	for i := range twistSide {
		a.at, a.labels = append(a.at, float64(i)), append(a.labels, bitsOf(i, twistBits/2))
	}
	return a
}

// legend explains the outlines: best and worst, where the metric has a good side.
func (tm *twistMap) legend(metric string) []sheet.Entry {
	tm.dark, tm.light = "least", "greatest"
	switch result.Better(metric) {
	case "lower":
		tm.dark, tm.light = "best", "worst"
	case "higher":
		tm.dark, tm.light = "worst", "best"
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
	return []sheet.Entry{{Text: tm.dark + suffix + " (lowest)", Sample: outline(leastLine)}, {Text: tm.light + suffix + " (highest)", Sample: outline(greatestLine)}}
}

// extremes words a panel's least and greatest value for its heading.
func (tm *twistMap) extremes(panel int) string {
	ends := tm.ends[panel]
	if !(ends[0] < ends[1]) {
		return ""
	}
	u := tm.Q.Unit
	if tm.Q.named && tm.own {
		u = sheet.TimeUnit(ends[1])
	}
	text := fmt.Sprintf("%s to %s", sheet.Digits(ends[0]*u.Per, 4), sheet.Digits(ends[1]*u.Per, 4))
	if u.Name != "" {
		text += " " + u.Name
	}
	if tm.v.panels.index >= 0 {
		return ": " + text
	}
	return sheet.Sentence(tm.Q.words) + ": " + text
}

// size sets tiles as wide as fit, and lower, with room for two lines.
func (tm *twistMap) size(l *lattice) {
	const least, low, high = 232, 26, 40 // points: of a map, of a tile
	tm.mark(BarLength)
	l.side = tm.side()
	if tm.own {
		l.side = barGap + barWidth + 8 + sheet.Sans(sheet.TickSize, sheet.Ink).Width("greatest") + sheet.LabelSize*sheet.LineSpacing
	}
	l.setColumns(least)
	l.height = min(max(l.width/twistSide*0.7, low), high) * twistSide
	l.up.fitUp(l.height)
	l.measure()
}

// draw draws the tiles of a panel, the first at the top left, then the outlines.
func (tm *twistMap) draw(c draw.Canvas, panel int) {
	w, h := (c.Max.X-c.Min.X)/twistSide, (c.Max.Y-c.Min.Y)/twistSide
	ends, u := tm.ends[panel], tm.Q.Unit
	if tm.own && tm.Q.named {
		u = sheet.TimeUnit(ends[1])
	}
	q := tm.Q
	q.Unit = u
	note := tm.number(q, panel, w, h/2)
	shade := func(v float64) color.Color {
		if !tm.own {
			return tm.color(v)
		}
		if sheet.Near(ends[0], ends[1]) {
			return sheet.Heat(0)
		}
		return sheet.Heat((v - ends[0]) / (ends[1] - ends[0]))
	}
	var outlines [2][][]vg.Point
	for i, s := range tm.cells[panel] {
		x0, y1 := c.Min.X+w*vg.Length(i%twistSide), c.Max.Y-h*vg.Length(i/twistSide)
		x1, y0 := x0+w, y1-h
		if s.n == 0 {
			c.StrokeLines(draw.LineStyle{Color: sheet.Faint, Width: 0.6}, sheet.Ring4(x0+1, x1-1, y0+1, y1-1))
			continue
		}
		clr := shade(s.mean)
		r := sheet.Bars{}
		r.Add(x0+0.4, x1-0.4, y0+0.4, y1-0.4)
		r.Fill(c, clr)
		if note.shown {
			style := note.style
			style.Color = sheet.Legible(clr)
			c.FillText(style, sheet.Point((x0+x1)/2, y1-h*0.36), q.number(s.mean, note.decimals))
		}
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
		if len(outlines[e]) > 0 {
			c.StrokeLines(halo, outlines[e]...)
			c.StrokeLines(style, outlines[e]...)
		}
	}
}

// number decides how values stand in the tiles of a panel.
func (tm *twistMap) number(q Quantity, panel int, w, height vg.Length) numberNote {
	ends := tm.ends[panel]
	for _, try := range []struct {
		size   vg.Length
		digits int
	}{{sheet.TickSize, 4}, {sheet.TickSize, 3}, {sheet.SmallSize, 3}, {sheet.NumberSize, 3}, {sheet.NumberSize, 2}} {
		n := numberNote{style: sheet.Aligned(sheet.Sans(try.size, sheet.Ink), draw.XCenter, draw.YCenter), decimals: decimals(q, ends[1]-ends[0], try.digits), shown: true}
		fits := height >= try.size
		for _, s := range tm.cells[panel] {
			fits = fits && (s.n == 0 || n.style.Width(q.number(s.mean, n.decimals)) <= w-7)
		}
		if fits {
			return n
		}
	}
	return numberNote{}
}

// bar draws the colour bar; where panels have colours of their own its ends are
// words.
func (tm *twistMap) bar(c draw.Canvas) {
	if tm.own {
		tm.Q.Label = tm.Q.words // panels may have units of their own
		tm.Colors.Lo, tm.Colors.Hi = 0, 1
		tm.Colors.Ticks = sheet.Marks([]float64{0, 1}, []string{"least", "greatest"})
	}
	tm.HeatChart.Bar(c)
}
