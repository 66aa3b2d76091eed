package chart

import (
	"fmt"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// alsoLine is a metric beside that of a chart of lines, the same whatever the series, such as a bound: a line a panel.
type alsoLine struct {
	metric string
	lines  [][]linePoint // by panel
	style  draw.LineStyle
}

// alsoStyles are thin and dark, below the lines of the series.
var alsoStyles = []draw.LineStyle{
	{Color: sheet.Ink, Width: 1.3, Dashes: []vg.Length{5, 3}},
	{Color: sheet.Dim, Width: 1.3, Dashes: []vg.Length{2, 2}},
	{Color: sheet.Dim, Width: 1.3, Dashes: []vg.Length{8, 3, 2, 3}},
}

// beside is v for another metric of the same chart, without what is said of y.
func (v *view) beside(metric string) *view {
	w, spec := *v, *v.spec
	spec.Y, spec.YLabel, spec.Scale, spec.Offset, spec.From, spec.Marks = metric, "", 0, 0, nil, nil
	w.spec, w.notes = &spec, nil
	return &w
}

// linesBeside are the lines of another metric.
func (w *view) linesBeside(t *result.SweepTimings) ([][][]linePoint, error) {
	_, tab, err := w.tableOf(w.spec.Y, t)
	if err != nil {
		return nil, err
	}
	return w.linesOf(tab), nil
}

// addAlso makes the lines of further metrics: scaled as y is.
func (c *lineChart) addAlso(t *result.SweepTimings) error {
	for i, name := range c.v.spec.Also {
		w := c.v.beside(name)
		w.spec.Scale, w.spec.Offset = c.v.spec.Scale, c.v.spec.Offset
		w.series = &none
		panels, err := w.linesBeside(t)
		if err != nil {
			return err
		}
		a := alsoLine{metric: name, style: alsoStyles[i%len(alsoStyles)]}
		for _, lines := range panels {
			a.lines = append(a.lines, lines[0])
		}
		c.also = append(c.also, a)
	}
	return nil
}

// below adds a lower panel to each, with another metric of the series that the plot names, or of all.
func (c *lineChart) below(s *sheet.Sheet, panels []*plot.Plot, g grid, title string, t *result.SweepTimings) error {
	v := c.v
	w := v.beside(v.spec.Below)
	if of := v.spec.BelowOf; of != nil {
		w.cells = slices.DeleteFunc(slices.Clone(v.cells), func(cell *result.Cell) bool {
			return !slices.Contains(of, v.series.labels[v.series.levels[v.place(v.series, cell)]])
		})
		if len(w.cells) == 0 {
			return fmt.Errorf("below_of: no cell is of %s", orList(of))
		}
	}
	lines, err := w.linesBeside(t)
	if err != nil {
		return err
	}
	low := &lineChart{v: w, looks: c.looks, joined: true, lines: lines}
	const few = 20 // points of a line that have room for markers
	low.marked = !slices.ContainsFunc(slices.Concat(low.lines...), func(line []linePoint) bool { return len(line) > few })
	lo, hi := low.extent(-1)
	low.q = w.quantityOf(w.spec.Y, "", lo, hi, true)
	lower := make([]*plot.Plot, len(panels))
	for i := range lower {
		lower[i] = sheet.NewPlot("", "")
	}
	c.across(lower, g.width)
	const share, least = 0.45, 75 // of a panel's height; points
	lg := g
	lg.height = max(g.height*share, least)
	lg.share(lower, func(panel int) (float64, float64) { return low.extent(-1) }, func(a *plot.Axis, lo, hi float64) {
		valueAxis(a, low.q, lo, hi, nil, w.spec.LogY, false, max(3, ticksFor(lg.height)-1))
	})
	s.Blocks = nil
	for i := 0; i < len(panels); i += g.cols {
		end := min(i+g.cols, len(panels))
		upper := sheet.Block{Plots: panels[i:end], Cols: g.cols, Height: g.height, YTitle: c.q.title(v.spec.LogY)}
		under := sheet.Block{Plots: lower[i:end], Cols: g.cols, Height: lg.height, YTitle: low.q.title(w.spec.LogY)}
		if end == len(panels) {
			under.XTitle = title
		}
		s.Blocks = append(s.Blocks, upper, under)
	}
	for i, p := range lower {
		p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(cv draw.Canvas, p *plot.Plot) { low.draw(cv, p, i) }))
		panels[i].X.Tick.Marker = sheet.Unlabelled{Ticker: panels[i].X.Tick.Marker}
		sheet.SameSides(panels[i], p)
	}
	for _, n := range w.notes {
		if !slices.Contains(v.notes, n) {
			v.notes = append(v.notes, n)
		}
	}
	return nil
}
