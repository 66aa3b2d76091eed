package chart

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// barChart is a chart of bars, in groups by x with a bar a series.
type barChart struct {
	*table
	v      *view
	q      Quantity
	looks  []look // by level of the series, or of x where x has the colours
	byX    bool
	marks  []placedMark
	base   float64
	note   numberNote
	caps   []float64 // by panel: where higher bars are cut off; nil nowhere
	cap    float64   // the highest of them where panels share an axis, else 0
	low    vg.Length // height of panels in more than two rows; 0 is as of others
	digits bool      // values may lie far apart: each has three digits
}

// numberNote is how values stand on bars.
type numberNote struct {
	style    draw.TextStyle
	decimals int
	shown    bool
	upright  bool
	length   vg.Length // the longest, along its bar
}

// Shares of a group's width.
const (
	groupShare = 0.84 // of several bars
	singleBar  = 0.64
	widestBar  = 56 // points
)

func (v *view) bars(t *result.SweepTimings) (*lattice, error) {
	m, err := v.measure(v.spec.Y, t)
	if err != nil {
		return nil, err
	}
	tab, err := v.tabulate(m)
	if err != nil {
		return nil, err
	}
	what := " by " + v.x.words
	if v.x.numbers != nil {
		what = " over " + v.x.words
	}
	return v.barLattice(&barChart{table: tab, v: v}, m, what+v.bySeries()), nil
}

// barLattice lays bars of a table out. What ends the title after the metric.
func (v *view) barLattice(b *barChart, m measure, what string) *lattice {
	b.marks = v.placeMarks()
	lo, hi := b.extent(-1)
	most := hi
	if b.digits && lo > 0 {
		most = math.Sqrt(lo * hi) // a unit in which most values read well
	}
	b.q = v.quantityOf(m.name, v.spec.YLabel, min(lo, most), most, true)
	b.q.named = false // numbers on the bars have one unit
	b.looks = v.looks(v.series)
	if v.series == &none {
		if b.byX = v.x.name == policyName; b.byX {
			b.looks = v.looks(v.x)
		}
	}
	l := &lattice{across: categories(v.x, v.spec.XLabel), yTitle: b.q.Label}
	if v.spec.XLabel == "" && v.x.name == policyName {
		l.across.title = ""
	}
	l.Title, l.Subtitle = v.headings(b.q.words + what)
	v.legend(&l.Sheet, b.looks, parts{bars: true}, b.marks)
	for i := range v.panels.levels {
		l.panes = append(l.panes, pane{head: v.panels.head(v.panels.levels[i]), draw: func(c draw.Canvas, x, y func(float64) vg.Length) { b.draw(c, i, x, y) }})
	}
	b.scales(l)
	l.setColumns(b.leastWidth())
	if b.low > 0 && l.rows() > 2 { // to stay on a page
		l.height = min(l.height, b.low)
	}
	b.chooseNote(l)
	b.scales(l)
	v.noteSpread(b.table, "A bar is")
	l.Notes = append(b.baseNote(), v.notes...)
	return l
}

// extent is the range of a panel's values and marks, of all for -1; lo > hi
// where there are none.
func (b *barChart) extent(panel int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	each := b.at
	if size := b.series * b.width; panel >= 0 {
		each = b.at[panel*size : (panel+1)*size]
	}
	top := b.limit(panel)
	for _, s := range each {
		if s.n > 0 {
			lo, hi = min(lo, s.min, top), max(hi, min(s.max, top))
		}
	}
	for _, m := range b.marks {
		if panel < 0 || m.panel < 0 || m.panel == panel {
			lo, hi = min(lo, m.y), max(hi, m.y)
		}
	}
	return lo, hi
}

// leastWidth is what a pane needs so that values can stand on its bars.
func (b *barChart) leastWidth() vg.Length {
	const perBar = sheet.NumberSize + 0.5
	const widest = 280 // half a sheet serves any number of bars
	return min(vg.Length(b.width*b.series)*perBar/groupShare, widest)
}

// pitch is the distance of bars in a group, in points.
func (b *barChart) pitch(width vg.Length) vg.Length {
	slot := width / vg.Length(b.width)
	if b.series == 1 {
		return min(slot*singleBar, widestBar)
	}
	return min(slot*groupShare/vg.Length(b.series), widestBar)
}

// chooseNote decides how values stand on bars, if at all.
func (b *barChart) chooseNote(l *lattice) {
	lo, hi := b.extent(-1)
	span := hi - lo
	if !(span > 1e-9*max(math.Abs(lo), math.Abs(hi))) { // all alike
		span = max(math.Abs(hi), math.Abs(lo))
	}
	pitch := b.pitch(l.width)
	if b.series == 1 {
		pitch /= singleBar // the next bar is further
	}
	for _, try := range []struct {
		size    vg.Length
		digits  int
		upright bool
	}{{sheet.TickSize, 3, false}, {sheet.SmallSize, 3, false}, {sheet.NumberSize, 3, false}, {sheet.SmallSize, 3, true}, {sheet.NumberSize, 3, true}} {
		n := numberNote{style: sheet.Sans(try.size, sheet.Ink), decimals: decimals(b.q, span, try.digits), upright: try.upright, shown: true}
		widest := vg.Length(0)
		for _, s := range b.at {
			if s.n > 0 {
				widest = max(widest, n.style.Width(b.text(s.mean, n.decimals)))
			}
		}
		across := widest + 3
		n.length = try.size * 0.8
		if try.upright {
			across, n.length = try.size+0.5, widest
		}
		if across <= pitch {
			b.note = n
			return
		}
	}
}

// text words a value: to so many decimals, or on a logarithmic axis to three
// digits.
func (b *barChart) text(v float64, decimals int) string {
	if b.v.spec.LogY || b.digits {
		return sheet.Short(sheet.RoundTo(v*b.q.Unit.Per, 3))
	}
	return b.q.number(v, decimals)
}

// scales sets the y axes of the panes, with room for the values on the bars.
func (b *barChart) scales(l *lattice) {
	spec := b.v.spec
	b.base = b.q.base
	if spec.From != nil {
		b.base = *spec.From
	}
	l.share(b.extent, func(lo, hi float64) *Scale {
		s := values(b.q, lo, hi, spec.From, spec.LogY, true)
		if b.note.shown && l.height > 0 {
			room := float64(min((b.note.length+7)/l.height, 0.45))
			above, below := room, 0.0
			top, foot := s.place(hi), s.Lo
			if !spec.LogY && lo < b.base { // bars that hang have their numbers below
				top, foot, below = max(hi, b.base), lo, room
			}
			whole := (top - foot) / (1 - above - below)
			s.Hi = max(s.Hi, top+above*whole)
			s.Lo = min(s.Lo, foot-below*whole)
		}
		return s
	})
	b.cap = 0
	if b.caps != nil && !l.apart {
		b.cap = slices.Max(b.caps)
	}
	if spec.LogY {
		b.base = math.Inf(-1) // bars stand on the axis
	}
}

// baseNote says where bars start, where that is not 0.
func (b *barChart) baseNote() []string {
	switch {
	case b.v.spec.LogY:
		return []string{"The axis is logarithmic: bars show by their ends, not by their lengths."}
	case b.base != 0:
		at := sheet.Short(sheet.RoundTo(b.base*b.q.Unit.Per, 6))
		if b.q.Unit.Name != "" {
			at += " " + b.q.Unit.Name
		}
		return []string{fmt.Sprintf("Bars start at %s, not at 0: their length is what lies beyond it.", at)}
	}
	return nil
}

// draw draws a panel's bars.
func (b *barChart) draw(c draw.Canvas, panel int, x, y func(float64) vg.Length) {
	pitch := b.pitch(c.Max.X - c.Min.X)
	gap := min(pitch*0.1, 1.5)
	foot := c.Min.Y
	if !math.IsInf(b.base, -1) {
		foot = min(max(y(b.base), c.Min.Y), c.Max.Y)
	}
	left := func(g, s int) vg.Length {
		return x(float64(g)) + pitch*(vg.Length(s)-vg.Length(b.series)/2)
	}
	for s := range b.series {
		for g := range b.width {
			cell := b.cell(panel, s, g)
			if cell.n == 0 {
				continue
			}
			clr := b.color(s, g)
			top := b.cut(panel)
			x0, end := left(g, s), y(min(cell.mean, top))
			x1 := x0 + pitch
			if b.series > 1 {
				x0, x1 = x0+gap/2, x1-gap/2
			}
			var r sheet.Bars
			if end < foot {
				r.Add(x0, x1, end, foot)
			} else {
				r.Add(x0, x1, foot, max(end, foot+1)) // a bar of no length is seen
			}
			r.Fill(c, clr)
			if cell.mean > top {
				breakMark(c, x0, x1, end)
			} else if cell.max > cell.min {
				whisker(c, clr, (x0+x1)/2, y(cell.min), y(min(cell.max, top)), min(3, pitch/4))
			}
		}
	}
	if foot < c.Max.Y {
		c.StrokeLine2(draw.LineStyle{Color: sheet.Ink, Width: 0.75}, c.Min.X, foot, c.Max.X, foot)
	}
	for s := range b.series {
		for g := range b.width {
			if cell := b.cell(panel, s, g); cell.n > 0 && b.note.shown {
				b.number(c, panel, s, g, left(g, s)+pitch/2, foot, y)
			}
		}
	}
	for i := range b.marks {
		if m := &b.marks[i]; m.panel < 0 || m.panel == panel {
			b.mark(c, m, x, y, left, pitch)
		}
	}
}

func (b *barChart) color(series, x int) color.Color {
	if b.byX {
		return b.looks[b.v.x.levels[x]].color
	}
	return b.looks[b.v.series.levels[series]].color
}

// number writes a bar's value at its end, off whiskers and marks.
func (b *barChart) number(c draw.Canvas, panel, series, group int, mid, foot vg.Length, y func(float64) vg.Length) {
	cell, style := b.cell(panel, series, group), b.note.style
	text := b.text(cell.mean, b.note.decimals)
	const off = 3
	down := !math.IsInf(b.base, -1) && cell.mean < b.base
	at, sign := max(y(min(cell.max, b.cut(panel))), foot+1)+off, vg.Length(1)
	if down {
		at, sign = min(y(cell.min), foot)-off, -1
	}
	for _, m := range b.marks { // in order of height
		if m.at(panel, series, group) {
			if d := (y(m.y) - at) * sign; d > -markRadius-off && d < b.note.length+markRadius {
				at = y(m.y) + sign*(markRadius+off)
			}
		}
	}
	switch {
	case b.note.upright && down:
		style = sheet.Aligned(style, draw.XRight, draw.YCenter)
	case b.note.upright:
		style = sheet.Aligned(style, draw.XLeft, draw.YCenter)
	case down:
		style = sheet.Aligned(style, draw.XCenter, draw.YTop)
	default:
		style = sheet.Aligned(style, draw.XCenter, draw.YBottom)
	}
	if b.note.upright {
		style.Rotation = math.Pi / 2
		mid -= 0.6 // figures have no descent
	}
	c.FillText(style, sheet.Point(mid, at), text)
}

// limit is the highest value of a panel, or of all for -1, that is drawn in full.
func (b *barChart) limit(panel int) float64 {
	switch {
	case b.caps == nil:
		return math.Inf(1)
	case panel < 0:
		return slices.Max(b.caps)
	}
	return b.caps[panel]
}

// cut is where the bars of a panel are cut off.
func (b *barChart) cut(panel int) float64 {
	if b.caps != nil && b.cap > 0 {
		return b.cap
	}
	return b.limit(panel)
}

// breakMark cuts a bar below its top: it goes on beyond.
func breakMark(c draw.Canvas, x0, x1, top vg.Length) {
	const below, rise, thick = 7, 3, 2.2
	mid := (x0 + x1) / 2
	c.StrokeLines(draw.LineStyle{Color: sheet.White, Width: thick},
		[]vg.Point{sheet.Point(x0-0.5, top-below-rise/2), sheet.Point(mid, top-below+rise/2), sheet.Point(mid, top-below-rise/2), sheet.Point(x1+0.5, top-below+rise/2)})
}

// whisker is a line from the least to the greatest, with ends.
func whisker(c draw.Canvas, clr color.Color, x, lo, hi, half vg.Length) {
	lines := [][]vg.Point{
		{sheet.Point(x, lo), sheet.Point(x, hi)},
		{sheet.Point(x-half, lo), sheet.Point(x+half, lo)},
		{sheet.Point(x-half, hi), sheet.Point(x+half, hi)},
	}
	c.StrokeLines(draw.LineStyle{Color: sheet.White, Width: 2.6}, lines...)
	c.StrokeLines(draw.LineStyle{Color: sheet.Ink, Width: 1}, lines...)
}

// mark draws a stated figure on its bar, its group or across the panel.
func (b *barChart) mark(c draw.Canvas, m *placedMark, x, y func(float64) vg.Length, left func(g, s int) vg.Length, pitch vg.Length) {
	radius := min(markRadius, max(pitch*0.45, 3))
	switch {
	case m.x < 0:
		c.StrokeLine2(statedLine, c.Min.X, y(m.y), c.Max.X, y(m.y))
		stated(c, m.shape, sheet.Ink, sheet.Point(c.Max.X-markRadius-2, y(m.y)), markRadius)
	case m.series < 0:
		x0, x1 := left(m.x, 0), left(m.x, b.series-1)+pitch
		c.StrokeLine2(statedLine, x0, y(m.y), x1, y(m.y))
		stated(c, m.shape, sheet.Ink, sheet.Point((x0+x1)/2, y(m.y)), markRadius)
	default:
		stated(c, m.shape, sheet.Ink, sheet.Point(left(m.x, m.series)+pitch/2, y(m.y)), radius)
	}
}
