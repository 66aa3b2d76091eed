// This file draws the times at which transfers can run, as the search computes them
// (DELTA).

package plots

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// taskBars is a layer of a figure of tasks. It has one bar per task, all with the same colour
// and height.
type taskBars struct {
	color color.RGBA
	// height is relative to the height of a row.
	height float64
	text   string // description in the legend
	// lo and hi are the ends of the bars, indexed by row.
	lo, hi []float64
}

// possibleColor is the colour of possible times. Actual times are vermillion, times that
// remain after pruning blue.
var possibleColor = color.RGBA{0x9f, 0xd3, 0xf2, 0xff}

// windowsFigure shows for each transfer when it can run, and when it ran on the circuits of a
// baseline (DELTA, Fig. 12). It requires the earliest and latest times that the search computes
// before it chooses a topology.
func windowsFigure(_ *result.Document, d *result.Detail, add addFigure) {
	w := &d.Windows
	if len(w.Task) == 0 || len(w.EarliestS) == 0 || len(w.LatestS) == 0 {
		return
	}

	// The first layer has the possible times, the second one the actual times.
	order := byEarliest(w)
	window := taskBars{
		color:  possibleColor,
		height: 0.9,
		text:   "can run (earliest start to latest completion)",
		lo:     reorder(order, w.EarliestS),
		hi:     reorder(order, w.LatestS),
	}

	layers := []taskBars{window}
	if len(w.StartS) > 0 && len(w.EndS) > 0 {
		layers = append(layers, taskBars{
			color:  sheet.Vermillion,
			height: 0.6,
			text:   "ran " + underBaseline(w),
			lo:     reorder(order, w.StartS),
			hi:     reorder(order, w.EndS),
		})
	}

	lo, hi := barsRange(layers)
	lo = min(lo, 0)
	p := taskPlot(w, order, layers, labelled)
	sheet.TimeAxis(&p.X, "time", lo, hi, 10)
	s := &sheet.Sheet{Title: "When each transfer between pods can run, and when it did"}
	explainLayers(s, layers)
	s.Note("When it can run is known before any topology is chosen: on average in "+
		"%s of the time shown.", sheet.Percent(meanWidth(window)/(hi-lo)))
	s.Add(tasksHeight, p)
	add("windows", s)
}

// tasksHeight is the height of the data in points, for any number of tasks.
const tasksHeight = 3.8 * vg.Inch

// indexFigure shows the intervals between events in which each transfer was active on the
// circuits of a baseline, and the intervals that remain possible after pruning (DELTA, Fig.
// 5).
func indexFigure(_ *result.Document, d *result.Detail, add addFigure) {
	w := &d.Windows
	simulated := len(w.FirstK) > 0 && len(w.LastK) > 0
	topo := len(w.TopoMin) > 0 && len(w.TopoMax) > 0
	hasPruned := len(w.MinK) > 0 && len(w.MaxK) > 0
	if len(w.Task) == 0 || !simulated || !topo && !hasPruned {
		return
	}
	order := byEarliest(w)

	// One panel has the intervals in which a transfer was active. The other one has the
	// intervals that remain for the search after each kind of pruning.
	active := []taskBars{{
		color:  sheet.Vermillion,
		height: 0.6,
		text:   "active " + underBaseline(w),
		lo:     intervalEdges(order, w.FirstK, leftEdge),
		hi:     intervalEdges(order, w.LastK, rightEdge),
	}}

	var retained []taskBars
	if topo {
		retained = append(retained, taskBars{
			color:  possibleColor,
			height: 0.9,
			text:   "left by task order",
			lo:     intervalEdges(order, w.TopoMin, leftEdge),
			hi:     intervalEdges(order, w.TopoMax, rightEdge),
		})
	}

	if hasPruned {
		retained = append(retained, taskBars{
			color:  sheet.Blue,
			height: 0.6,
			text:   "left after pruning by time",
			lo:     intervalEdges(order, w.MinK, leftEdge),
			hi:     intervalEdges(order, w.MaxK, rightEdge),
		})
	}

	// Describe how many pairs of transfer and interval each layer contains.
	total := float64(max(1, w.Intervals))
	note := fmt.Sprintf("Of %d × %d pairs of transfer and interval %s are active",
		len(w.Task), w.Intervals, sheet.Percent(meanWidth(active[0])/total))
	for _, l := range retained {
		note += fmt.Sprintf(", %s are %s", sheet.Percent(meanWidth(l)/total), l.text)
	}
	s := &sheet.Sheet{Title: "Intervals between events in which each transfer may be active"}
	s.Note("%s.", note)

	// Both panels share the range of intervals.
	all := slices.Concat(active, retained)
	explainLayers(s, all)
	lo, hi := barsRange(all)
	panel := func(layers []taskBars, head string, hasLabels bool) *plot.Plot {
		p := taskPlot(w, order, layers, hasLabels)
		sheet.SetRange(&p.X, min(lo, 1+leftEdge), max(hi, float64(w.Intervals)+rightEdge))
		p.X.Tick.Marker = sheet.Ticker{
			Unit:         sheet.NoUnit,
			Count:        5,
			IntegersOnly: true,
		}

		sheet.AddHeading(p, head)
		return p
	}

	s.Add(tasksHeight, panel(active, sheet.Capitalise(underBaseline(w)), labelled),
		panel(retained, "Left to the search for the best", unlabelled))
	s.Blocks[0].XTitle = "interval between events"
	add("index", s)
}

// underBaseline names the baseline. Its name is optional in stored runs.
func underBaseline(w *result.Windows) string {
	if w.Baseline == "" {
		return "in the baseline simulation"
	}
	return "on the circuits of " + sheet.Plain(w.Baseline)
}

// byEarliest returns the tasks in order of their earliest start, so that the bars form a
// diagonal band. Without earliest starts it returns the original order.
func byEarliest(w *result.Windows) []int {
	order := make([]int, len(w.Task))
	start := make([]float64, len(w.Task))
	copy(start, w.EarliestS)
	floats.ArgsortStable(start, order)
	return order
}

// reorder returns the elements of col in the given order.
func reorder[T any](order []int, col []T) []T {
	out := make([]T, len(order))
	for i, k := range order {
		out[i] = col[k]
	}
	return out
}

// leftEdge and rightEdge are the edges of an interval on an axis of interval numbers, from 1,
// relative to its number.
const leftEdge, rightEdge = -0.5, 0.5

// intervalEdges returns interval numbers in the given order, shifted by off to an edge of the
// interval.
func intervalEdges(order, col []int, off float64) []float64 {
	out := make([]float64, len(order))
	for i, k := range reorder(order, col) {
		out[i] = float64(k) + off
	}
	return out
}

// explainLayers adds the layers to the legend.
func explainLayers(s *sheet.Sheet, layers []taskBars) {
	for _, l := range layers {
		s.AddLegend(l.text, sheet.ThinBoxSample(l.color, vg.Length(l.height)))
	}
}

// barsRange returns the range of all bars.
func barsRange(layers []taskBars) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range layers {
		lo = min(lo, slices.Min(l.lo))
		hi = max(hi, slices.Max(l.hi))
	}

	if hi <= lo {
		hi = lo + 1
	}
	return lo, hi
}

// meanWidth returns the mean length of a bar, in the unit of the axis. Bars that end before they
// start count as 0.
func meanWidth(l taskBars) float64 {
	sum := 0.0
	for i := range l.lo {
		sum += max(0, l.hi[i]-l.lo[i])
	}
	return sum / float64(len(l.lo))
}

// Whether a plot of tasks has labels of rows. The right one of two panels has none.
const labelled, unlabelled = true, false

// taskPlot plots one row per task, the first on top. The caller sets the x axis. hasLabels is
// labelled or unlabelled. The labels are the names of tasks if they are few, otherwise an axis
// of row numbers.
func taskPlot(w *result.Windows, order []int, layers []taskBars, hasLabels bool) *plot.Plot {
	const (
		maxNamedTasks = 26 // names of more tasks would overlap
		// nameWidth is in points, for names such as "PP of micro-batch 12 from stage 3 to stage 4".
		nameWidth = 215
	)

	n := len(order)
	t := taskTracks(n, layers)
	p := t.plot(sheet.VerticalGrid())
	switch {
	case n <= maxNamedTasks:
		p.Y.Tick.Label.Font = sheet.Sans(sheet.SmallSize, sheet.Ink).Font
		if hasLabels {
			t.nameTracks(p, nameWidth, func(i int) string {
				return w.Task[order[i]]
			})
		}

	default:
		p.Y.Tick.Length = p.X.Tick.Length
		if hasLabels {
			p.Y.Label.Text = "transfer, in order of earliest start"
		}

		// Row 1 is at the top, so the tick of row k is at n-k+0.5.
		var ticks plot.ConstantTicks
		for _, tick := range (sheet.Ticker{
			Unit:         sheet.NoUnit,
			Count:        6,
			IntegersOnly: true,
		}).Ticks(1, float64(n)) {
			ticks = append(ticks, plot.Tick{
				Value: float64(n) - tick.Value + 0.5,
				Label: tick.Label,
			})
		}

		p.Y.Tick.Marker = ticks
	}

	return p
}

// taskTracks returns the bars of n tasks. If rows are smaller than pixels, the rows that share a
// pixel become one bar that covers all of them. Otherwise a picture of thousands of tasks would
// consist of invisible bars.
func taskTracks(n int, layers []taskBars) *trackChart {
	// merged is the number of rows per pixel.
	row := float64(tasksHeight) / float64(n)
	merged := max(1, int(math.Ceil(sheet.Pixel/row)))
	t := &trackChart{count: n, minBarWidth: 1}
	for _, l := range layers {
		height := l.height
		if row < 4*sheet.Pixel {
			// No gaps between such narrow rows.
			height = 1
		}
		for i := 0; i < n; i += merged {
			end := min(i+merged, n)
			from, to := (1-height)/2, (1+height)/2
			t.bars = append(t.bars, bar{
				track: i,
				lo:    slices.Min(l.lo[i:end]),
				hi:    slices.Max(l.hi[i:end]),
				from:  from - float64(end-i-1),
				to:    to,
				color: l.color,
			})
		}
	}

	return t
}
