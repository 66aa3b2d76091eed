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

// taskBars are a bar for each task, in a colour and of a thickness as a fraction of a row.
type taskBars struct {
	color  color.RGBA
	height float64
	text   string
	lo, hi []float64
}

// possibleColor is the colour of what may be; vermillion is what was, blue what is left.
var possibleColor = color.RGBA{0x9f, 0xd3, 0xf2, 0xff}

// windowsFigure shows for each transfer when it can run at all and when it ran on a baseline's circuits (DELTA, Fig.
// 12).
func windowsFigure(_ *result.Document, d *result.Detail, add addFigure) {
	w := &d.Windows
	if len(w.Task) == 0 || len(w.EarliestS) == 0 || len(w.LatestS) == 0 {
		return
	}
	order := byEarliest(w)
	window := taskBars{possibleColor, 0.9, "can run (earliest start to latest completion)", reorder(order, w.EarliestS), reorder(order, w.LatestS)}
	layers := []taskBars{window}
	if len(w.StartS) > 0 && len(w.EndS) > 0 {
		layers = append(layers, taskBars{sheet.Vermillion, 0.6, "ran " + underBaseline(w), reorder(order, w.StartS), reorder(order, w.EndS)})
	}
	lo, hi := barsRange(layers)
	lo = min(lo, 0)
	p := taskPlot(w, order, layers, true)
	sheet.TimeAxis(&p.X, "time", lo, hi, 10)
	s := &sheet.Sheet{Title: "When each transfer between pods can run, and when it did"}
	explainLayers(s, layers)
	s.Note("When it can run is known before any topology is chosen: on average in %s of the time shown.", sheet.Percent(meanWidth(window)/(hi-lo)))
	s.Add(tasksHeight, p)
	add("windows", s)
}

const tasksHeight = 3.8 * vg.Inch

// indexFigure shows the intervals between events in which each transfer was active on a baseline's circuits, and those
// that pruning leaves to it (DELTA, Fig. 5).
func indexFigure(_ *result.Document, d *result.Detail, add addFigure) {
	w := &d.Windows
	simulated, topo, kept := len(w.FirstK) > 0 && len(w.LastK) > 0, len(w.TopoMin) > 0 && len(w.TopoMax) > 0, len(w.MinK) > 0 && len(w.MaxK) > 0
	if len(w.Task) == 0 || !simulated || !topo && !kept {
		return
	}
	order := byEarliest(w)
	active := []taskBars{{sheet.Vermillion, 0.6, "active " + underBaseline(w), intervalEdges(order, w.FirstK, -0.5), intervalEdges(order, w.LastK, 0.5)}}
	var retained []taskBars
	if topo {
		retained = append(retained, taskBars{possibleColor, 0.9, "left by task order", intervalEdges(order, w.TopoMin, -0.5), intervalEdges(order, w.TopoMax, 0.5)})
	}
	if kept {
		retained = append(retained, taskBars{sheet.Blue, 0.6, "left after pruning by time", intervalEdges(order, w.MinK, -0.5), intervalEdges(order, w.MaxK, 0.5)})
	}
	total := float64(max(1, w.Intervals))
	note := fmt.Sprintf("Of %d × %d pairs of transfer and interval %s are active", len(w.Task), w.Intervals, sheet.Percent(meanWidth(active[0])/total))
	for _, l := range retained {
		note += fmt.Sprintf(", %s are %s", sheet.Percent(meanWidth(l)/total), l.text)
	}
	s := &sheet.Sheet{Title: "Intervals between events in which each transfer may be active"}
	s.Note("%s.", note)
	all := slices.Concat(active, retained)
	explainLayers(s, all)
	lo, hi := barsRange(all)
	panel := func(layers []taskBars, head string, labelled bool) *plot.Plot {
		p := taskPlot(w, order, layers, labelled)
		sheet.SetRange(&p.X, min(lo, 0.5), max(hi, float64(w.Intervals)+0.5))
		p.X.Tick.Marker = sheet.Ticker{Unit: sheet.NoUnit, Count: 5, IntegersOnly: true}
		sheet.AddHeading(p, head)
		return p
	}
	s.Add(tasksHeight, panel(active, sheet.Capitalise(underBaseline(w)), true), panel(retained, "Left to the search for the best", false))
	s.Blocks[0].XTitle = "interval between events"
	add("index", s)
}

// underBaseline says on whose circuits transfers ran; runs of old do not say.
func underBaseline(w *result.Windows) string {
	if w.Baseline == "" {
		return "in the baseline simulation"
	}
	return "on the circuits of " + sheet.Plain(w.Baseline)
}

// byEarliest orders tasks by earliest start, if that is known: the bars then form a band.
func byEarliest(w *result.Windows) []int {
	order := make([]int, len(w.Task))
	start := make([]float64, len(w.Task))
	copy(start, w.EarliestS)
	floats.ArgsortStable(start, order)
	return order
}

func reorder[T any](order []int, col []T) []T {
	out := make([]T, len(order))
	for i, k := range order {
		out[i] = col[k]
	}
	return out
}

// intervalEdges are interval indices as edges of cells, off half a cell.
func intervalEdges(order, col []int, off float64) []float64 {
	out := make([]float64, len(order))
	for i, k := range reorder(order, col) {
		out[i] = float64(k) + off
	}
	return out
}

func explainLayers(s *sheet.Sheet, layers []taskBars) {
	for _, l := range layers {
		s.AddLegend(l.text, sheet.BoxSample(l.color, vg.Length(l.height)))
	}
}

// barsRange is what the bars cover.
func barsRange(layers []taskBars) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, l := range layers {
		lo, hi = min(lo, slices.Min(l.lo)), max(hi, slices.Max(l.hi))
	}
	if hi <= lo {
		hi = lo + 1
	}
	return lo, hi
}

// meanWidth is the mean width of a bar; one that ends before it starts has none.
func meanWidth(l taskBars) float64 {
	sum := 0.0
	for i := range l.lo {
		sum += max(0, l.hi[i]-l.lo[i])
	}
	return sum / float64(len(l.lo))
}

// taskPlot is a plot of a row a task, the first on top, without its x axis. Names of tasks stand beside it where they
// are few, and numbers where it is the first.
func taskPlot(w *result.Windows, order []int, layers []taskBars, labelled bool) *plot.Plot {
	const (
		namedTasks = 26
		nameRoom   = 215 // points: of "PP of micro-batch 12 from stage 3 to stage 4", and a little
	)
	n := len(order)
	t := taskTracks(n, layers)
	p := t.plot(sheet.Grid(false, true))
	switch {
	case n <= namedTasks:
		p.Y.Tick.Label.Font = sheet.Sans(sheet.SmallSize, sheet.Ink).Font
		if labelled {
			t.nameTracks(p, nameRoom, func(i int) string { return w.Task[order[i]] })
		}
	default:
		p.Y.Tick.Length = p.X.Tick.Length
		if labelled {
			p.Y.Label.Text = "transfer, in order of earliest start"
		}
		var ticks plot.ConstantTicks
		for _, tick := range (sheet.Ticker{Unit: sheet.NoUnit, Count: 6, IntegersOnly: true}).Ticks(1, float64(n)) {
			ticks = append(ticks, plot.Tick{Value: float64(n) - tick.Value + 0.5, Label: tick.Label})
		}
		p.Y.Tick.Marker = ticks
	}
	return p
}

// taskTracks has the bars of n tasks. Where rows are finer than pixels, as many as share a pixel become one bar over
// all their intervals.
func taskTracks(n int, layers []taskBars) *trackChart {
	row := float64(tasksHeight) / float64(n)
	merged := max(1, int(math.Ceil(sheet.Pixel/row)))
	t := &trackChart{count: n, minBarWidth: 1}
	for _, l := range layers {
		height := l.height
		if row < 4*sheet.Pixel {
			height = 1 // no gaps between rows that fine
		}
		for i := 0; i < n; i += merged {
			end := min(i+merged, n)
			from, to := (1-height)/2, (1+height)/2
			t.bars = append(t.bars, bar{i, slices.Min(l.lo[i:end]), slices.Max(l.hi[i:end]), from - float64(end-i-1), to, l.color, ""})
		}
	}
	return t
}
