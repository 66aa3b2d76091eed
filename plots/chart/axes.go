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

// panelGrid is how panels stand: so many side by side, each with data of about this size in points.
type panelGrid struct {
	cols          int
	width, height vg.Length
}

// dataHeights are heights of data by the number of panels side by side.
var dataHeights = [...]vg.Length{0, 250, 175, 150, 130}

// layoutPanels places n panels, fewer side by side where the data of each would be narrower than least. Side is the room that
// is taken beside them.
func layoutPanels(n int, least, side vg.Length) panelGrid {
	const axis, between = 50, 18 // points: titles and labels of the first, and what the others need
	g := panelGrid{cols: min(n, 4)}
	switch {
	case n == 4:
		g.cols = 2
	case n == 5, n == 6, n == 9:
		g.cols = 3
	}
	for ; ; g.cols-- {
		g.width = (sheet.ContentWidth-side-axis)/vg.Length(g.cols) - between
		if g.cols == 1 || g.width >= least {
			g.height = dataHeights[g.cols]
			return g
		}
	}
}

// newPanels makes a plot for each category of the panels, with its heading.
func (v *view) newPanels() []*plot.Plot {
	var out []*plot.Plot
	for i, l := range v.panels.categories {
		p := sheet.NewPlot("", "")
		head := v.panels.heading(l)
		if v.headingSuffixes != nil {
			head += v.headingSuffixes[i]
		}
		sheet.AddHeading(p, strings.TrimPrefix(head, ": "))
		out = append(out, p)
	}
	return out
}

// newSheet puts panels on a sheet whose title is about what.
func (v *view) newSheet(what string, panels []*plot.Plot, g panelGrid, xTitle, yTitle string) *sheet.Sheet {
	s := &sheet.Sheet{Blocks: []sheet.Block{{Plots: panels, Cols: g.cols, Height: g.height, XTitle: xTitle, YTitle: yTitle}}}
	s.Title, s.Subtitle = v.headings(what)
	return s
}

// setNumberedAxes makes the axes across panels that of the drawn categories of f, each at its number, and returns its title;
// of many that are numbers or times, round ones have ticks.
func (f *dimension) setNumberedAxes(panels []*plot.Plot, label string, log bool, width vg.Length) (title string) {
	labels, title := f.tickLabels(label)
	var numbers []float64
	for _, l := range f.categories {
		numbers = append(numbers, f.numbers[l])
	}
	lo, hi := padRange(slices.Min(numbers), slices.Max(numbers), log)
	ticks := []plot.Tick(sheet.FixedTicks(numbers, labels))
	const many, few = 14, 8 // values that are not each worth a tick; ticks instead
	switch per, ok := labelFactor(numbers, labels); {
	case len(labels) <= many:
	case ok && log:
		ticks = sheet.LogTicker{Unit: sheet.Unit{Per: per}, Count: few}.Ticks(lo, hi)
	case ok:
		ticks = sheet.Ticker{Unit: sheet.Unit{Per: per}, Count: few}.Ticks(lo, hi)
	case log && label == "" && f.isTime(): // each in a unit of its own
		ticks = sheet.LogTicker{UnitPerTick: true, Count: few}.Ticks(lo, hi)
	}
	for _, p := range panels {
		setScale(&p.X, lo, hi, log)
		sheet.SetTicks(p, slices.Clone(ticks), width)
	}
	return title
}

// padRange keeps what is drawn off the ends.
func padRange(lo, hi float64, log bool) (float64, float64) {
	const margin = 0.04
	if log {
		lo, hi = math.Log10(lo), math.Log10(hi)
	}
	room := margin * (hi - lo)
	if flat := constantRangeWidth(lo, hi); flat > 0 {
		room = flat
	}
	if log {
		return max(math.Pow(10, lo-room), math.SmallestNonzeroFloat64), math.Pow(10, hi+room)
	}
	return lo - room, hi + room
}

// constantRangeWidth is what an axis shows of values that are all identical, 0 of others.
func constantRangeWidth(lo, hi float64) float64 {
	const nearlyEqual = 1e-9 // of the greater
	switch {
	case hi-lo > nearlyEqual*max(math.Abs(lo), math.Abs(hi)):
		return 0
	case hi == 0:
		return 1
	}
	return max(math.Abs(hi)*0.1, 1e-9)
}

func setScale(a *plot.Axis, lo, hi float64, log bool) {
	a.Min, a.Max = lo, hi
	if log {
		a.Scale = plot.LogScale{}
	}
}

// labelFactor returns the factor from numbers to their labels. ok is false if there is none, as if labels have units.
func labelFactor(numbers []float64, labels []string) (per float64, ok bool) {
	for i, n := range numbers {
		v, err := strconv.ParseFloat(labels[i], 64)
		switch {
		case err != nil, (n == 0) != (v == 0):
			return 0, false
		case n == 0:
		case per == 0:
			per = v / n
		case math.Abs(v/n-per) > 1e-9*math.Abs(per):
			return 0, false
		}
	}
	return per, per > 0
}

// minMax returns the least and the largest of values; lo > hi if there are none.
func minMax(values []float64) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// setValueAxis makes a show values of q within [lo, hi] with about count ticks. From is the value that it begins at,
// unless values lie below; nil leaves that open, bars begin at q's base.
func setValueAxis(a *plot.Axis, q quantity, lo, hi float64, from *float64, log, bars bool, count int) {
	if log {
		if from != nil {
			lo = min(lo, *from)
		}
		down, up := logRange(lo, hi)
		if from != nil && *from <= lo {
			down = *from
		}
		setScale(a, down, up, true)
		a.Tick.Marker = sheet.LogTicker{Unit: q.unit, UnitPerTick: q.hasTickUnits, Count: count}
		return
	}
	base := q.base
	if from != nil {
		base = *from
	}
	const near = 0.6 // of what lies above the base
	if from != nil || bars || lo >= base && lo-base <= near*(hi-base) {
		lo, hi = min(lo, base), max(hi, base)
	}
	if bars && q.base != 0 { // what is as good as the base should look so
		const least = 0.02
		hi = max(hi, q.base+least*math.Abs(q.base))
	}
	room := cmp.Or(constantRangeWidth(lo, hi), hi-lo)
	const margin = 0.06
	setScale(a, lo, hi+margin*room, false)
	switch {
	case lo != base:
		a.Min -= margin * room
	case from == nil && !bars: // what lies on the base is seen beside the axis
		a.Min -= margin / 2 * room
	}
	a.Tick.Marker = sheet.Ticker{Unit: q.unit, Count: count}
	if len(a.Tick.Marker.Ticks(a.Min, a.Max)) < 2 { // too narrow for its distance from 0
		a.Tick.Marker = sheet.FixedTicks([]float64{a.Min, a.Max}, []string{sheet.Digits(a.Min*q.unit.Per, 6), sheet.Digits(a.Max*q.unit.Per, 6)})
	}
}

// logRange widens [lo, hi] to powers of ten, or to 2 or 5 of them where that is nearer.
func logRange(lo, hi float64) (float64, float64) {
	const room = 0.04 // of a decade, for what is drawn round a value
	down, up := math.Log10(lo)-room, math.Log10(hi)+room
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

// setSharedAxes sets the y axes of panels by set: one for all, unless their values span such different ranges that some would
// be flat; then it reports true. Extent is the range of a panel, or of all for -1, with lo > hi where there is nothing.
func (g panelGrid) setSharedAxes(panels []*plot.Plot, extent func(panel int) (lo, hi float64), set func(a *plot.Axis, lo, hi float64)) (apart bool) {
	const apartFrom = 6 // times as wide
	all := panels[0].Y
	lo, hi := extent(-1)
	set(&all, lo, hi)
	least := all.Max - all.Min
	for i, p := range panels {
		if lo, hi := extent(i); lo <= hi {
			set(&p.Y, lo, hi)
			least = min(least, p.Y.Max-p.Y.Min)
		} else {
			p.Y = all
		}
	}
	_, log := all.Scale.(plot.LogScale)
	if apart = !log && all.Max-all.Min > apartFrom*least; apart {
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

// tickCount is how many ticks serve an axis of a height.
func tickCount(height vg.Length) int {
	const each = 36
	return max(4, int(height/each))
}

// decimals is how many decimals tell values of q that span so much apart.
func decimals(q quantity, span float64, digits int) int {
	span = math.Abs(span) * q.unit.Per
	if !(span > 0) {
		return digits
	}
	return min(max(digits-1-int(math.Floor(math.Log10(span))), 0), 6)
}
