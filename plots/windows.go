package plots

import (
	"cmp"
	"fmt"
	"image/color"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// windowsFigure shows for each transfer when it can run at all and when it ran
// on a baseline's circuits (DELTA, Fig. 12).
func windowsFigure(_ *result.Document, d *result.Detail) []sheet.Figure {
	w := &d.Windows
	if len(w.Task) == 0 || len(w.EarliestS) == 0 || len(w.LatestS) == 0 {
		return nil
	}
	order := byEarliest(w)
	window := intervals{light, "can run (earliest start to latest completion)", pick(order, w.EarliestS), pick(order, w.LatestS)}
	layers := []intervals{window}
	if len(w.StartS) > 0 && len(w.EndS) > 0 {
		layers = append(layers, intervals{dark, "ran " + underBaseline(w), pick(order, w.StartS), pick(order, w.EndS)})
	}
	lo, hi := span(layers)
	lo = min(lo, 0)
	s := sheet.Sheet{
		Title:    "When each transfer between pods can run, and when it did",
		Subtitle: d.Title,
		Notes: []string{fmt.Sprintf("On average a transfer can run in %s of the time shown. Known before any topology is chosen.",
			sheet.Percent(meanWidth(window)/(hi-lo)))},
	}
	s.Legend = layerLegend(layers)
	p := taskPlot(names(order, w.Task), layers)
	sheet.TimeAxis(&p.X, "time", lo, hi, 10)
	s.Panels = []sheet.Panel{{X1: 1, Y1: 1, Plot: p}}
	return []sheet.Figure{s.Figure("windows", 5.4*vg.Inch)}
}

// indexFigure shows the intervals between events in which each transfer was
// active on a baseline's circuits, and those that pruning leaves to it (DELTA, Fig. 5).
func indexFigure(_ *result.Document, d *result.Detail) []sheet.Figure {
	w := &d.Windows
	played, topo, kept := len(w.FirstK) > 0 && len(w.LastK) > 0, len(w.TopoMin) > 0 && len(w.TopoMax) > 0, len(w.MinK) > 0 && len(w.MaxK) > 0
	if len(w.Task) == 0 || !played || !topo && !kept {
		return nil
	}
	order := byEarliest(w)
	active := []intervals{{dark, "active " + underBaseline(w), cells(order, w.FirstK, -0.5), cells(order, w.LastK, 0.5)}}
	var retained []intervals
	if topo {
		retained = append(retained, intervals{light, "left by task order", cells(order, w.TopoMin, -0.5), cells(order, w.TopoMax, 0.5)})
	}
	if kept {
		retained = append(retained, intervals{dark2, "left by Alg. 1", cells(order, w.MinK, -0.5), cells(order, w.MaxK, 0.5)})
	}
	s := sheet.Sheet{Title: "Intervals between events in which each transfer may be active", Subtitle: d.Title}
	s.Legend = append(layerLegend(active), layerLegend(retained)...)
	total := float64(max(1, w.Intervals))
	note := fmt.Sprintf("Of %d × %d pairs of transfer and interval %s are active", len(w.Task), w.Intervals, sheet.Percent(meanWidth(active[0])/total))
	for _, l := range retained {
		note += fmt.Sprintf(", %s are %s", sheet.Percent(meanWidth(l)/total), l.text)
	}
	s.Notes = []string{note + "."}
	lo, hi := span(append(slices.Clone(active), retained...))
	lo, hi = min(lo, 0.5), max(hi, float64(w.Intervals)+0.5)
	named, split := len(w.Task) <= namedTasks, 0.52 // the left has a label more
	if named {
		split = 0.63
	}
	for i, layers := range [][]intervals{active, retained} {
		head := []string{upper(underBaseline(w)), "Left to the search for the best"}[i]
		p := taskPlot(names(order, w.Task), layers)
		sheet.SetRange(&p.X, lo, hi)
		p.X.Label.Text = "interval between events"
		p.X.Tick.Marker = sheet.Ticker{Unit: sheet.Unit{Name: "", Per: 1}, Count: 5, Whole: true}
		if i > 0 {
			p.Y.Label.Text = ""
			if named { // the same rows have their names to the left
				p.Y.Tick.Marker = plot.ConstantTicks{}
			}
		}
		s.Panels = append(s.Panels, sheet.Panel{Head: head, X0: []float64{0, split}[i], X1: []float64{split, 1}[i], Y1: 1, Plot: p})
	}
	return []sheet.Figure{s.Figure("index", 5.2*vg.Inch)}
}

// underBaseline says on whose circuits transfers ran; runs of old do not say.
func underBaseline(w *result.Windows) string {
	if w.Baseline == "" {
		return "in the baseline simulation"
	}
	return "on the circuits of " + sheet.Plain(w.Baseline)
}

// upper begins s with a capital.
func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// How bars look: what may be, what was, what is left.
var (
	light = barLook{color.RGBA{0x9f, 0xd3, 0xf2, 0xff}, 0.9}
	dark  = barLook{sheet.Vermillion, 0.6}
	dark2 = barLook{sheet.Blue, 0.6}
)

// byEarliest orders tasks by earliest start, or by start or first interval
// where that is unknown: the bars then form a band.
func byEarliest(w *result.Windows) []int {
	order := make([]int, len(w.Task))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case len(w.EarliestS) > 0:
			return cmp.Compare(w.EarliestS[a], w.EarliestS[b])
		case len(w.StartS) > 0:
			return cmp.Compare(w.StartS[a], w.StartS[b])
		case len(w.FirstK) > 0:
			return cmp.Compare(w.FirstK[a], w.FirstK[b])
		}
		return 0
	})
	return order
}

func pick(order []int, col []float64) []float64 {
	out := make([]float64, len(order))
	for i, k := range order {
		out[i] = col[k]
	}
	return out
}

// cells are interval indices as edges of cells, off half a cell.
func cells(order, col []int, off float64) []float64 {
	out := make([]float64, len(order))
	for i, k := range order {
		out[i] = float64(col[k]) + off
	}
	return out
}

func names(order []int, tasks []string) []string {
	out := make([]string, len(order))
	for i, k := range order {
		out[i] = sheet.Plain(tasks[k])
	}
	return out
}
