// This file lays out bar charts. File bars_draw.go draws the bars.

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

// barKind is the kind of grouped bar charts. Each x category is a group with one bar per series.
var barKind = kind{
	name:      "bars",
	draw:      (*view).bars,
	hasGroups: true,
	takes:     []string{"series", "log_y", "aggregation", "mark"},
	needs:     map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		err := v.assignRoles()
		if v.series == v.x && v.x != &noDimension {
			// Each bar is its own group.
			v.series = &noDimension
		}
		return err
	},
}

// barChart is a bar chart with one group per x category and one bar per series in each group.
// The bars are the cells of the embedded table.
type barChart struct {
	*table
	v *view
	q quantity
	// styles is indexed by label of the series.
	styles []seriesStyle
	// best is the best value of each panel; nil if the best bar is not highlighted.
	best []float64
	base float64 // value at which bars start
	// label describes how values are printed at the bars.
	label numberLabel
	// hasSeparateAxes reports whether each panel has its own y axis.
	hasSeparateAxes bool
}

// numberLabel describes how values are printed at the ends of bars or in tiles. The zero value
// prints nothing.
type numberLabel struct {
	style    draw.TextStyle
	decimals int  // number of decimals
	shown    bool // false if there is no space
	upright  bool // rotated by 90 degrees
	// length is the maximum extent along the bar.
	length vg.Length
	// across is the required distance between bars.
	across vg.Length
}

// Shares of the width of a group that bars cover, and the maximum width of a bar.
const (
	// groupShare is for several bars per group. The rest separates groups.
	groupShare     = 0.84
	singleBarShare = 0.64 // with one bar per group
	maxBarWidth    = 56   // points
)

// bars draws a bar chart of the metric y.
func (v *view) bars() (*sheet.Sheet, error) {
	m, tab, err := v.tableOf(v.spec.Y)
	if err != nil {
		return nil, err
	}
	// Numbers read better with "over" than with "by".
	what := " by " + v.x.text
	if v.x.numbers != nil {
		what = " over " + v.x.text
	}
	return (&barChart{table: tab, v: v}).sheet(m, what+v.bySeries()), nil
}

// sheet lays out the bars of a table. The title is the name of the metric followed by the
// parameter what, such as " by policy".
func (b *barChart) sheet(m measure, what string) *sheet.Sheet {
	v := b.v

	// Choose units, styles and the arrangement of panels.
	lo, hi := b.extent(allPanels)
	b.q = v.newQuantity(m.name, v.spec.YLabel, lo, hi, plotScale)
	// All numbers on the bars have the same unit.
	b.q.hasTickUnits = false
	b.styles = v.styles(v.series)
	panels := v.newPanels()
	// A panel must be wide enough for upright numbers on all bars. Half a sheet is wide enough for
	// any number of bars.
	const maxPanelWidth, numberGap = 280, 0.5 // points
	g := layoutPanels(len(panels), min(vg.Length(b.columns*b.series)*(sheet.NumberSize+numberGap)/groupShare, maxPanelWidth), noSide)
	b.chooseLabel(g.width)

	// Add axes and bars to each panel.
	labels, title := v.x.tickLabels(v.spec.XLabel)

	// Policies, and a single group of bars, need no axis title.
	if v.x.index < 0 || v.spec.XLabel == "" && v.x.name == policyName {
		title = v.spec.XLabel
	}
	for p, panel := range panels {
		sheet.SetCategories(panel, labels, g.width)
		panel.Add(sheet.HorizontalGrid(),
			sheet.PlotFunc(func(c draw.Canvas, own *plot.Plot) {
				b.draw(c, own, p)
			}))
	}

	b.scales(g, panels)

	// Add the title, the legend and notes.
	s := v.newSheet(b.q.name+what, panels, g, title, b.q.label)
	v.legend(s, b.styles, seriesParts{bars: true})
	b.highlightBest(s, m.name)
	v.noteSpread(b.table, "A bar is")
	s.Notes = append(b.baseNote(), v.notes...)
	if b.hasSeparateAxes {
		s.Notes = append(s.Notes, separateAxesNote)
	}
	return s
}

// separateAxesNote is added if panels have different y axes.
const separateAxesNote = "Each panel has a y axis of its own."

// highlightBest determines the best value of each panel, whose bar is highlighted, and explains
// it in the legend. It does so in charts with one bar per policy, if the metric has a better
// direction.
func (b *barChart) highlightBest(s *sheet.Sheet, metric string) {
	better := result.Better(metric)
	if b.v.series != &noDimension || b.v.x.name != policyName || better == "" ||
		b.columns < 2 || b.v.difference != nil {
		return
	}

	for p := range b.v.panels.categories {
		best, hi := minMax(b.means(p))
		if better == result.Higher {
			best = hi
		}
		b.best = append(b.best, best)
	}

	s.Legend = append([]sheet.Entry{{
		Text:   "best",
		Sample: sheet.BoxSample(sheet.Vermillion),
	}, {
		Text:   "other policies",
		Sample: sheet.BoxSample(sheet.SkyBlue),
	}}, s.Legend...)
}

// extent returns the range of the values and marks of a panel or of allPanels. Without values
// and marks, lo > hi.
func (b *barChart) extent(panel int) (lo, hi float64) {
	values := b.v.markValues(panel)
	for _, s := range b.panelCells(panel) {
		if s.n > 0 {
			values = append(values, s.min, s.max)
		}
	}
	return minMax(values)
}

// pitch returns the width of a bar and the distance between the centres of bars, in points, for
// a panel of the given width. Bars of a group touch each other.
func (b *barChart) pitch(width vg.Length) (bar, spacing vg.Length) {
	slot := width / vg.Length(b.columns)
	if b.series == 1 {
		return min(slot*singleBarShare, maxBarWidth), slot
	}
	bar = min(slot*groupShare/vg.Length(b.series), maxBarWidth)
	return bar, bar
}

// chooseLabel selects the largest text style in which all values fit at the ends of their bars.
// Upright text is the last choice. If no style fits, the bars have no numbers.
func (b *barChart) chooseLabel(width vg.Length) {
	lo, hi := b.extent(allPanels)
	span := hi - lo
	if !(span > relativeRounding*max(math.Abs(lo), math.Abs(hi))) { // all values are equal
		span = max(math.Abs(hi), math.Abs(lo))
	}
	// The number of digits depends on the space and on whether all values are integers.
	_, pitch := b.pitch(width)
	digits, whole := 3, true
	if b.series == 1 { // more space
		digits = 4
	}
	means := b.means(allPanels)
	for _, v := range means {
		whole = whole && v*b.q.unit.Per == math.Trunc(v*b.q.unit.Per)
	}

	for _, try := range []struct {
		size    vg.Length
		upright bool
	}{{sheet.TickSize, false}, {sheet.SmallSize, false}, {sheet.NumberSize, false},
		{sheet.SmallSize, true}, {sheet.NumberSize, true}} {
		n := numberLabel{
			style:    sheet.Sans(try.size, sheet.Ink),
			decimals: decimals(b.q, span, digits),
			upright:  try.upright,
			shown:    true,
		}

		if whole {
			n.decimals = 0
		}

		// Measure the space that the numbers need across and along the bars.
		widest := vg.Length(0)
		for _, v := range means {
			widest = max(widest, n.style.Width(b.text(v, n.decimals)))
		}
		const minGap, digitHeight = 0.8, 0.8 // in points, and as a share of the text size
		n.across, n.length = widest+2, try.size*digitHeight
		if try.upright {
			n.across = try.size * 0.91 // the height of a digit and a gap
			n.length = widest
		}

		if n.across+minGap <= pitch {
			b.label = n
			return
		}
	}
}

// text formats a value with a number of decimals. On a logarithmic axis it uses three
// significant digits instead, because the values differ by orders of magnitude.
func (b *barChart) text(v float64, decimals int) string {
	if b.v.spec.LogY {
		return sheet.ShortNumber(sheet.RoundTo(v*b.q.unit.Per, 3))
	}
	return b.q.format(v, decimals)
}

// scales sets the y axes of the panels, with space for the numbers at the bars, and determines
// the base of the bars.
func (b *barChart) scales(g panelGrid, panels []*plot.Plot) {
	spec := b.v.spec
	b.base = b.q.base
	if spec.YMin != nil {
		b.base = *spec.YMin
	}
	// extent must not merge panels before setSharedAxes has decided.
	b.hasSeparateAxes = true
	b.hasSeparateAxes = g.setSharedAxes(panels, b.extent,
		func(a *plot.Axis, lo, hi float64) {
			valueAxis{q: b.q, from: spec.YMin, log: spec.LogY, bars: true, count: tickCount(g.height)}.set(a, lo, hi)
			b.reserveLabelSpace(a, lo, hi, float64(g.height))
		})

	if spec.LogY {
		// Bars start at the axis.
		b.base = math.Inf(-1)
	}
}

// reserveLabelSpace extends an axis with a height in points so that numbers fit above bars up to
// hi and below bars down to lo. The numbers take at most 45 % of the height.
func (b *barChart) reserveLabelSpace(a *plot.Axis, lo, hi, height float64) {
	if !b.label.shown {
		return
	}
	const gaps = 7 // below and above a number, in points
	space := b.label.length + gaps

	// Marks need space between bars and numbers. At the top this matters if a mark is the highest.
	if _, top := minMax(b.means(allPanels)); len(b.v.marks) > 0 && (lo < b.base || hi > top) {
		space += 2 * markRadius
	}

	// used is the share of the height for bars.
	const maxLabelShare, minUsedTwice = 0.45, 0.1 // minUsedTwice is 1 - 2*maxLabelShare
	used := 1 - min(float64(space)/height, maxLabelShare)
	switch {
	case b.v.spec.LogY:
		// On a logarithmic axis, positions are logarithms: decades, within the range of float64.
		const maxDecades = 300
		foot := math.Log10(a.Min)
		a.Max = max(a.Max, math.Pow(10,
			min(foot+(math.Log10(hi)-foot)/used, maxDecades)))

	case lo < b.base:
		// Bars below the base have their numbers below, so that both ends of the axis need space.
		top, space := max(hi, b.base), 1-used
		a.Max = max(a.Max, top+(top-lo)*space/max(2*used-1, minUsedTwice))
		a.Min = min(a.Min, lo-(a.Max-lo)*space/used)

	default:
		a.Max = max(a.Max, a.Min+(hi-a.Min)/used)
	}
}

// baseNote returns a note about the base of the bars if it is not 0.
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
