package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

var barKind = kind{
	name: "bars", draw: (*view).bars, beside: true, takes: []string{"series", "log_y", "take", "mark"},
	needs: map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		err := v.assignRoles()
		if v.series == v.x && v.x != &noDimension {
			v.series = &noDimension // each bar stands for itself
		}
		return err
	},
}

// barChart is a chart of bars, in groups by x with a bar a series.
type barChart struct {
	*table
	v               *view
	q               quantity
	styles          []seriesStyle // by category of the series
	best            []float64     // values of the best policies, by panel; nil if none stands out
	base            float64
	label           numberLabel
	hasSeparateAxes bool
}

// numberLabel is how values stand on bars.
type numberLabel struct {
	style    draw.TextStyle
	decimals int
	shown    bool
	upright  bool
	length   vg.Length // the longest, along its bar
	across   vg.Length // what it needs of the distance between bars
}

// Shares of a group's width.
const (
	groupShare     = 0.84 // of several bars
	singleBarShare = 0.64
	maxBarWidth    = 56 // points
)

func (v *view) bars() (*sheet.Sheet, error) {
	m, tab, err := v.tableOf(v.spec.Y)
	if err != nil {
		return nil, err
	}
	what := " by " + v.x.text
	if v.x.numbers != nil {
		what = " over " + v.x.text
	}
	return (&barChart{table: tab, v: v}).sheet(m, what+v.bySeries()), nil
}

// sheet lays bars of a table out. What ends the title after the metric.
func (b *barChart) sheet(m measure, what string) *sheet.Sheet {
	v := b.v
	lo, hi := b.extent(-1)
	b.q = v.newQuantity(m.name, v.spec.YLabel, lo, hi, true)
	b.q.hasTickUnits = false // numbers on the bars have one unit
	b.styles = v.styles(v.series)
	panels := v.newPanels()
	const widest = 280 // half a sheet serves any number of bars
	g := layoutPanels(len(panels), min(vg.Length(b.columns*b.series)*(sheet.NumberSize+0.5)/groupShare, widest), 0)
	b.chooseLabel(g.width)
	labels, title := v.x.tickLabels(v.spec.XLabel)
	if v.x.index < 0 || v.spec.XLabel == "" && v.x.name == policyName { // which need none
		title = v.spec.XLabel
	}
	for p, panel := range panels {
		sheet.SetCategories(panel, labels, g.width)
		panel.Add(sheet.Grid(true, false), sheet.PlotFunc(func(c draw.Canvas, own *plot.Plot) { b.draw(c, own, p) }))
	}
	b.scales(g, panels)
	s := v.newSheet(b.q.name+what, panels, g, title, b.q.label)
	v.legend(s, b.styles, seriesParts{bars: true})
	b.legend(s, m.name)
	v.noteSpread(b.table, "A bar is")
	s.Notes = append(b.baseNote(), v.notes...)
	if b.hasSeparateAxes {
		s.Notes = append(s.Notes, separateAxesNote)
	}
	return s
}

const separateAxesNote = "Each panel has a y axis of its own."

// legend explains the best of policies side by side, where the metric has a good side.
func (b *barChart) legend(s *sheet.Sheet, metric string) {
	better := result.Better(metric)
	if b.v.series != &noDimension || b.v.x.name != policyName || better == "" || b.columns < 2 {
		return
	}
	for p := range b.v.panels.categories {
		best, hi := minMax(b.means(p))
		if better == result.Higher {
			best = hi
		}
		b.best = append(b.best, best)
	}
	s.Legend = append([]sheet.Entry{{Text: "best", Sample: sheet.BoxSample(sheet.Vermillion, 1)}, {Text: "other policies", Sample: sheet.BoxSample(sheet.SkyBlue, 1)}}, s.Legend...)
}

// extent is the range of a panel's values and marks, of all for -1; lo > hi where there are none.
func (b *barChart) extent(panel int) (lo, hi float64) {
	values := b.v.markValues(panel)
	for _, s := range b.panelCells(panel) {
		if s.n > 0 {
			values = append(values, s.min, s.max)
		}
	}
	return minMax(values)
}

// pitch returns the width of a bar, and the distance between the middles of bars, in points.
func (b *barChart) pitch(width vg.Length) (bar, apart vg.Length) {
	slot := width / vg.Length(b.columns)
	if b.series == 1 {
		return min(slot*singleBarShare, maxBarWidth), slot
	}
	bar = min(slot*groupShare/vg.Length(b.series), maxBarWidth)
	return bar, bar
}

// chooseLabel decides how values stand on bars, if at all.
func (b *barChart) chooseLabel(width vg.Length) {
	lo, hi := b.extent(-1)
	span := hi - lo
	if !(span > 1e-9*max(math.Abs(lo), math.Abs(hi))) { // all identical
		span = max(math.Abs(hi), math.Abs(lo))
	}
	_, pitch := b.pitch(width)
	digits, whole := 3, true
	if b.series == 1 { // there is room
		digits = 4
	}
	means := b.means(-1)
	for _, v := range means {
		whole = whole && v*b.q.unit.Per == math.Trunc(v*b.q.unit.Per)
	}
	for _, try := range []struct {
		size    vg.Length
		upright bool
	}{{sheet.TickSize, false}, {sheet.SmallSize, false}, {sheet.NumberSize, false}, {sheet.SmallSize, true}, {sheet.NumberSize, true}} {
		n := numberLabel{style: sheet.Sans(try.size, sheet.Ink), decimals: decimals(b.q, span, digits), upright: try.upright, shown: true}
		if whole {
			n.decimals = 0
		}
		widest := vg.Length(0)
		for _, v := range means {
			widest = max(widest, n.style.Width(b.text(v, n.decimals)))
		}
		const apart = 0.8
		n.across, n.length = widest+2, try.size*0.8
		if try.upright {
			n.across, n.length = try.size*0.91, widest
		}
		if n.across+apart <= pitch {
			b.label = n
			return
		}
	}
}

// text words a value: to so many decimals, or on a logarithmic axis to three digits.
func (b *barChart) text(v float64, decimals int) string {
	if b.v.spec.LogY {
		return sheet.ShortNumber(sheet.RoundTo(v*b.q.unit.Per, 3))
	}
	return b.q.format(v, decimals)
}

// scales sets the y axes of the panels, with room for the values on the bars.
func (b *barChart) scales(g panelGrid, panels []*plot.Plot) {
	spec := b.v.spec
	b.base = b.q.base
	if spec.From != nil {
		b.base = *spec.From
	}
	b.hasSeparateAxes = true // until it is known
	b.hasSeparateAxes = g.setSharedAxes(panels, b.extent, func(a *plot.Axis, lo, hi float64) {
		setValueAxis(a, b.q, lo, hi, spec.From, spec.LogY, true, tickCount(g.height))
		b.reserveLabelSpace(a, lo, hi, float64(g.height))
	})
	if spec.LogY {
		b.base = math.Inf(-1) // bars stand on the axis
	}
}

// reserveLabelSpace widens an axis of a height so that values stand above what reaches up to hi, and below what hangs to lo.
func (b *barChart) reserveLabelSpace(a *plot.Axis, lo, hi, height float64) {
	if !b.label.shown {
		return
	}
	room := b.label.length + 7
	if lo < b.base && len(b.v.marks) > 0 { // numbers stand off those, too
		room += 2 * markRadius
	}
	used := 1 - min(float64(room)/height, 0.45) // of the height, by bars
	switch {
	case b.v.spec.LogY:
		const most = 300 // decades that numbers have
		foot := math.Log10(a.Min)
		a.Max = max(a.Max, math.Pow(10, min(foot+(math.Log10(hi)-foot)/used, most)))
	case lo < b.base: // bars that hang have their numbers below
		top, room := max(hi, b.base), 1-used
		a.Max = max(a.Max, top+(top-lo)*room/max(2*used-1, 0.1))
		a.Min = min(a.Min, lo-(a.Max-lo)*room/used)
	default:
		a.Max = max(a.Max, a.Min+(hi-a.Min)/used)
	}
}

// baseNote says where bars start, where that is not 0.
func (b *barChart) baseNote() []string {
	switch {
	case b.v.spec.LogY:
		return []string{"The axis is logarithmic: bars show by their ends, not by their lengths."}
	case b.base != 0:
		at := sheet.ShortNumber(sheet.RoundTo(b.base*b.q.unit.Per, 6))
		if b.q.unit.Name != "" {
			at += " " + b.q.unit.Name
		}
		return []string{fmt.Sprintf("Bars start at %s, not at 0: their length is what lies beyond it.", at)}
	}
	return nil
}

// barCanvas is where the bars of a panel are drawn.
type barCanvas struct {
	draw.Canvas
	*barChart
	panel       int
	x, y        func(float64) vg.Length
	pitch, foot vg.Length // width of a bar; where bars stand
}

// draw draws a panel's bars, then their numbers and marks.
func (b *barChart) draw(c draw.Canvas, p *plot.Plot, panel int) {
	x, y := p.Transforms(&c)
	pitch, apart := b.pitch(c.Size().X)
	foot := c.Min.Y
	if !math.IsInf(b.base, -1) {
		foot = min(max(y(b.base), c.Min.Y), c.Max.Y)
	}
	cv := &barCanvas{c, b, panel, x, y, pitch, foot}
	cv.forEachBar(cv.drawBar)
	if foot < c.Max.Y {
		sheet.HLine(c, sheet.Line(sheet.Ink, 0.75), foot)
	}
	if b.label.shown && apart > b.label.across {
		cv.forEachBar(cv.drawNumber)
	}
	for _, m := range b.v.panelMarks(panel) {
		cv.drawMark(&m)
	}
}

// forEachBar calls do with every bar, by its series and group.
func (b *barCanvas) forEachBar(do func(cell *cellSummary, series, group int)) {
	for s := range b.series {
		for g := range b.columns {
			if cell := b.cell(b.panel, s, g); cell.n > 0 {
				do(cell, s, g)
			}
		}
	}
}

// barLeft is the left end of the place of a bar.
func (b *barCanvas) barLeft(series, group int) vg.Length {
	return b.x(float64(group)) + b.pitch*(vg.Length(series)-vg.Length(b.series)/2)
}

// drawBar draws a bar and its whisker.
func (b *barCanvas) drawBar(cell *cellSummary, series, group int) {
	gap, left, end := min(b.pitch*0.1, 1.5), b.barLeft(series, group), b.y(cell.mean)
	low, high := min(end, b.foot), max(end, b.foot)
	if high-low < 1 { // a bar of no length is seen
		low, high = b.foot, b.foot+1
	}
	clr := b.styles[b.v.series.categories[series]].color
	if b.best != nil && sheet.NearlyEqual(cell.mean, b.best[b.panel]) {
		clr = sheet.Vermillion
	}
	sheet.FillBox(b.Canvas, clr, left+gap/2, left+b.pitch-gap/2, low, high)
	if cell.max > cell.min {
		lines := whiskerLines(left+b.pitch/2, b.y(cell.min), b.y(cell.max), min(3, b.pitch/4))
		b.StrokeLines(sheet.Line(sheet.White, 2.6), lines...)
		b.StrokeLines(sheet.Line(sheet.Ink, 1), lines...)
	}
}

// drawNumber writes a bar's value at its end, off whiskers and marks.
func (b *barCanvas) drawNumber(cell *cellSummary, series, group int) {
	const off, beside = 3, 5
	style, mid := sheet.Aligned(b.label.style, draw.XCenter, draw.YBottom), b.barLeft(series, group)+b.pitch/2
	text := b.text(cell.mean, b.label.decimals)
	if cell.max > cell.min && !b.label.upright && style.Width(text)+beside <= b.pitch/2+6 {
		style.XAlign = draw.XLeft // beside the whisker, at what it is the value of
		b.FillText(style, sheet.Point(mid+beside, max(b.y(cell.mean), b.foot+1)+off), text)
		return
	}
	at, sign := max(b.y(cell.max), b.foot+1)+off, vg.Length(1)
	down := cell.mean < b.base
	if down {
		at, sign = min(b.y(cell.min), b.foot)-off, -1
		style.YAlign = draw.YTop
	}
	for _, m := range b.v.panelMarks(b.panel) { // in order of height
		if m.x == group && (m.ofGroup() || m.series == series) {
			if d := (b.y(m.y) - at) * sign; d > -markRadius-off && d < b.label.length+markRadius {
				at = b.y(m.y) + sign*(markRadius+off)
			}
		}
	}
	if b.label.upright {
		style.XAlign, style.YAlign, style.Rotation = draw.XLeft, draw.YCenter, math.Pi/2
		if down {
			style.XAlign = draw.XRight
		}
		mid -= 0.6 // figures have no descent
	}
	b.FillText(style, sheet.Point(mid, at), text)
}

// drawMark draws a stated figure on its bar, its group or across the panel.
func (b *barCanvas) drawMark(m *placedMark) {
	y := b.y(m.y)
	switch {
	case m.ofGroup():
		drawBeam(b.Canvas, b.barLeft(0, m.x)-3, b.barLeft(b.series-1, m.x)+b.pitch+3, y)
	case m.x >= 0:
		drawStatedMark(b.Canvas, m.shape, sheet.Ink, sheet.Point(b.barLeft(m.series, m.x)+b.pitch/2, y), min(markRadius, max(b.pitch*0.45, 3)))
	default:
		sheet.HLine(b.Canvas, statedLine, y)
		drawStatedMark(b.Canvas, m.shape, sheet.Ink, sheet.Point(b.Max.X-markRadius-2, y), markRadius)
	}
}

// whiskerLines is a line from lo to hi, with ends.
func whiskerLines(x, lo, hi, half vg.Length) [][]vg.Point {
	return [][]vg.Point{
		{sheet.Point(x, lo), sheet.Point(x, hi)},
		{sheet.Point(x-half, lo), sheet.Point(x+half, lo)},
		{sheet.Point(x-half, hi), sheet.Point(x+half, hi)},
	}
}

// drawBeam is a line with ends.
func drawBeam(c draw.Canvas, x0, x1, y vg.Length) {
	const end = 4
	c.StrokeLines(sheet.Line(sheet.Black, 2.2), []vg.Point{sheet.Point(x0, y), sheet.Point(x1, y)},
		[]vg.Point{sheet.Point(x0, y-end), sheet.Point(x0, y+end)}, []vg.Point{sheet.Point(x1, y-end), sheet.Point(x1, y+end)})
}
