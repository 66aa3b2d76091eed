// This file arranges panels and sets the ranges and ticks of their axes.

package chart

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
)

// panelGrid describes the arrangement of panels in columns.
type panelGrid struct {
	cols int // number of columns
	// width and height are the approximate size of the data area of a panel in points.
	width, height vg.Length
}

// dataHeights is the height of the data area in points, indexed by the number of columns, from
// 1. More columns make panels narrower, so they are also lower.
var dataHeights = [...]vg.Length{0, 250, 175, 150, 130}

// noSide is the argument side of layoutPanels if the sheet has nothing next to the panels.
const noSide = 0

// layoutPanels arranges n panels. It uses fewer columns if panels would otherwise be narrower
// than minWidth points. side is the width in points that other parts of the sheet need, such as
// a colour bar.
func layoutPanels(n int, minWidth, side vg.Length) panelGrid {
	// axisWidth is the space for the labels of the first column. panelGap is the space between
	// columns. Both are in points.
	const axisWidth, panelGap = 50, 18

	// Avoid a last row with a single panel.
	g := panelGrid{cols: min(n, 4)}
	switch {
	case n == 4:
		g.cols = 2
	case n == 5, n == 6, n == 9:
		g.cols = 3
	}

	for ; ; g.cols-- {
		g.width = (sheet.ContentWidth-side-axisWidth)/vg.Length(g.cols) - panelGap
		if g.cols == 1 || g.width >= minWidth {
			g.height = dataHeights[g.cols]
			return g
		}
	}
}

// newPanels returns an empty plot with a heading for each panel.
func (v *view) newPanels() []*plot.Plot {
	var out []*plot.Plot
	for i, l := range v.panels.categories {
		p := sheet.NewPlot()
		head := v.panels.heading(l)
		if v.headingSuffixes != nil {
			head += v.headingSuffixes[i]
		}
		sheet.AddHeading(p, strings.TrimPrefix(head, ": "))
		out = append(out, p)
	}
	return out
}

// newSheet returns a sheet with the panels. The title is the parameter what, unless the plot has
// its own.
func (v *view) newSheet(what string, panels []*plot.Plot, g panelGrid, xTitle, yTitle string) *sheet.Sheet {
	s := &sheet.Sheet{Blocks: []sheet.Block{{
		Plots:  panels,
		Cols:   g.cols,
		Height: g.height,
		XTitle: xTitle,
		YTitle: yTitle,
	}}}

	s.Title, s.Subtitle = v.headings(what)
	return s
}

// setNumberedAxes sets the x axes of panels to the categories of f, at the positions of their
// numbers, and returns the axis title. If there are many categories, round values get ticks
// instead. label is the title of the plot for this axis, or "". width is the width of a panel in
// points.
func (f *dimension) setNumberedAxes(
	panels []*plot.Plot,
	label string,
	log bool,
	width vg.Length,
) (title string) {
	labels, title := f.tickLabels(label)
	var numbers []float64
	for _, l := range f.categories {
		numbers = append(numbers, f.numbers[l])
	}
	lo, hi := padRange(slices.Min(numbers), slices.Max(numbers), log)
	ticks := []plot.Tick(sheet.FixedTicks(numbers, labels))

	// Up to maxLabels categories have a tick each; more share about numTicks ticks.
	const maxLabels, numTicks = 14, 8
	switch per, ok := labelFactor(numbers, labels); {
	// Every category has its tick.
	case len(labels) <= maxLabels:
	case ok && log:
		ticks = sheet.LogTicker{Unit: sheet.Unit{Per: per}, Count: numTicks}.Ticks(lo, hi)
	case ok:
		ticks = sheet.Ticker{Unit: sheet.Unit{Per: per}, Count: numTicks}.Ticks(lo, hi)
	case log && label == "" && f.isTime():
		// Each tick has its own unit.
		ticks = sheet.LogTicker{UnitPerTick: true, Count: numTicks}.Ticks(lo, hi)
	}

	for _, p := range panels {
		setScale(&p.X, lo, hi, log)
		sheet.SetTicks(p, slices.Clone(ticks), width)
	}
	return title
}

// padRange extends a range by a margin at both ends, so that markers at the ends are whole. On a
// logarithmic axis the margin is a share of the decades.
func padRange(lo, hi float64, log bool) (float64, float64) {
	const margin = 0.04
	if log {
		lo, hi = math.Log10(lo), math.Log10(hi)
	}
	padding := margin * (hi - lo)
	if flat := constantRangeWidth(lo, hi); flat > 0 {
		padding = flat
	}
	if log {
		return max(math.Pow(10, lo-padding), math.SmallestNonzeroFloat64),
			math.Pow(10, hi+padding)
	}
	return lo - padding, hi + padding
}

// relativeRounding is the relative difference up to which numbers count as equal.
const relativeRounding = 1e-9

// constantRangeWidth returns a width for the axis of a range that is empty up to rounding, or 0
// for all other ranges.
func constantRangeWidth(lo, hi float64) float64 {
	switch {
	case hi-lo > relativeRounding*max(math.Abs(lo), math.Abs(hi)):
		return 0
	case hi == 0:
		return 1
	}
	const share, minWidth = 0.1, 1e-9 // of the value; a positive width even for tiny values
	return max(math.Abs(hi)*share, minWidth)
}

// setScale sets the range of an axis and makes it logarithmic if log is set.
func setScale(a *plot.Axis, lo, hi float64, log bool) {
	a.Min, a.Max = lo, hi
	if log {
		a.Scale = plot.LogScale{}
	}
}

// labelFactor returns the common factor from numbers to the numbers in their labels, such as
// 1e-9 if labels are in Gb/s and numbers in b/s. ok is false without a common factor, for
// example because labels have units.
func labelFactor(numbers []float64, labels []string) (per float64, ok bool) {
	for i, n := range numbers {
		v, err := strconv.ParseFloat(labels[i], 64)
		switch {
		case err != nil, (n == 0) != (v == 0):
			return 0, false
		case n == 0:
		case per == 0:
			per = v / n
		case math.Abs(v/n-per) > relativeRounding*math.Abs(per):
			return 0, false
		}
	}

	return per, per > 0
}

// minMax returns the minimum and maximum of values. Without values, lo > hi.
func minMax(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// valueAxis describes an axis for the values of a metric.
type valueAxis struct {
	q quantity
	// from is the lowest value of the axis unless a value is lower; nil selects it automatically.
	// Axes of bars begin at the base of q, and so do other axes if the values are near the base.
	from  *float64
	log   bool // logarithmic axis
	bars  bool // axis for bars
	count int  // approximate number of ticks
}

// set makes a an axis for values in [lo, hi].
func (v valueAxis) set(a *plot.Axis, lo, hi float64) {
	q, from := v.q, v.from
	if v.log {
		if from != nil {
			lo = min(lo, *from)
		}
		down, up := logRange(lo, hi)
		if from != nil && *from <= lo {
			down = *from
		}
		setScale(a, down, up, v.log)
		a.Tick.Marker = sheet.LogTicker{
			Unit:        q.unit,
			UnitPerTick: q.hasTickUnits,
			Count:       v.count,
		}
		return
	}

	// Extend the range to the base.
	base := q.base
	if from != nil {
		base = *from
	}

	// maxBaseDistance is relative to the distance of the highest value from the base.
	const maxBaseDistance = 0.6
	if from != nil || v.bars || lo >= base && lo-base <= maxBaseDistance*(hi-base) {
		lo, hi = min(lo, base), max(hi, base)
	}

	// Values that nearly equal the base should look like it.
	if v.bars && q.base != 0 {
		const minShare = 0.02
		hi = max(hi, q.base+minShare*math.Abs(q.base))
	}

	// Add margins.
	width := cmp.Or(constantRangeWidth(lo, hi), hi-lo)
	const margin = 0.06
	setScale(a, lo, hi+margin*width, v.log)
	switch {
	case lo != base:
		a.Min -= margin * width
	case from == nil && !v.bars:
		// Values at the base remain visible next to the axis.
		a.Min -= margin / 2 * width
	}

	a.Tick.Marker = sheet.Ticker{Unit: q.unit, Count: v.count}
	// Without round ticks in a very narrow range, the ends get ticks with enough digits to
	// differ.
	const endDigits = 6
	if len(a.Tick.Marker.Ticks(a.Min, a.Max)) < 2 {
		a.Tick.Marker = sheet.FixedTicks([]float64{a.Min, a.Max},
			[]string{sheet.Digits(a.Min*q.unit.Per, endDigits),
				sheet.Digits(a.Max*q.unit.Per, endDigits)})
	}
}

// logRange extends [lo, hi] to the nearest powers of ten or their multiples by 2 or 5, which are
// the labelled ticks of a logarithmic axis.
func logRange(lo, hi float64) (float64, float64) {
	// padding is in decades. It leaves space for the marker at a value.
	const padding = 0.04
	down := math.Log10(lo) - padding
	up := math.Log10(hi) + padding

	// a and b are the decades of the ends.
	a, b := math.Floor(down), math.Floor(up)

	from, to := a, b+1
	for _, m := range []float64{1, 2, 5, 10} {
		step := math.Log10(m)
		if a+step <= down {
			from = a + step
		}
		if b+step >= up {
			to = min(to, b+step)
		}
	}

	return max(math.Pow(10, from), math.SmallestNonzeroFloat64), math.Pow(10, to)
}

// setSharedAxes sets the y axes of panels with the function set. All panels get the same axis,
// unless some of them would look flat because the ranges differ too much; then separate is true.
// extent returns the range of a panel or of allPanels, with lo > hi if there are no values.
func (g panelGrid) setSharedAxes(
	panels []*plot.Plot,
	extent func(panel int) (lo, hi float64),
	set func(a *plot.Axis, lo, hi float64),
) (separate bool) {
	// maxSpanRatio is the ratio of the common range to the smallest range.
	const maxSpanRatio = 6
	all := panels[0].Y
	lo, hi := extent(allPanels)
	set(&all, lo, hi)

	// First give each panel its own axis, to find the smallest range.
	minSpan := all.Max - all.Min
	for i, p := range panels {
		if lo, hi := extent(i); lo <= hi {
			set(&p.Y, lo, hi)
			minSpan = min(minSpan, p.Y.Max-p.Y.Min)
		} else {
			p.Y = all
		}
	}

	// Share the axis unless a panel would look flat. Only the first panel of a row has labels.
	_, log := all.Scale.(plot.LogScale)
	if separate = !log && all.Max-all.Min > maxSpanRatio*minSpan; separate {
		return true
	}
	for i, p := range panels {
		p.Y = all
		if i%g.cols > 0 {
			p.Y.Tick.Marker = sheet.UnlabelledTicker{Ticker: all.Tick.Marker}
		}
	}
	return false
}

// tickCount returns a suitable number of ticks for the height of an axis in points.
func tickCount(height vg.Length) int {
	// pointsPerTick is the number of points per tick: three lines of text.
	const pointsPerTick, minTicks = 36, 4
	return max(minTicks, int(height/pointsPerTick))
}

// decimals returns the number of decimals with which values of q, within a range of the given
// span, show the given number of significant digits of the span.
func decimals(q quantity, span float64, digits int) int {
	span = math.Abs(span) * q.unit.Per
	if !(span > 0) {
		return digits
	}
	const maxDecimals = 6
	return min(max(digits-1-int(math.Floor(math.Log10(span))), 0), maxDecimals)
}
