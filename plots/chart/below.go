package chart

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// alsoLine is a metric beside that of a chart of lines, the same whatever the
// series, such as a bound: a line a panel.
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

// extraOptions fails on options that the kind of a plot does not have.
func (v *view) extraOptions() error {
	spec := v.spec
	gain, lines := spec.Kind == "gain", spec.Kind == "lines" && !v.byMetric
	takes := lines || spec.Kind == "bars" || spec.Kind == "heatmap" || spec.Kind == "twists"
	if _, ok := takeWords[spec.Take]; !ok {
		return unknownName("take", spec.Take, []string{"mean", "min", "max"})
	}
	switch {
	case !gain && (spec.Over != "" || spec.Policy != "" || spec.Against != nil || spec.Truncate != 0):
		return fmt.Errorf("over, policy, against and truncate are for a gain, not for the kind %s", spec.Kind)
	case !takes && spec.Take != "":
		return errors.New("take is for bars, heat maps, twists, and lines over an axis, which have one value for several cells")
	case !lines && (spec.Also != nil || spec.Below != "" || spec.BelowOf != nil):
		return errors.New("also, below and below_of are for lines over an axis")
	case spec.BelowOf != nil && spec.Below == "":
		return errors.New("below is missing: name the metric that below_of is shown of")
	}
	for _, name := range spec.BelowOf {
		if at := slices.Index(v.series.labels, name); at < 0 && len(v.series.labels) > 0 || v.series.index < 0 {
			return unknownName("below_of", name, v.series.labels)
		} else if at >= 0 && v.series.slot[at] < 0 {
			return fmt.Errorf("below_of: where leaves %s out", name)
		}
	}
	return nil
}

// beside is v for another metric of the same chart, without what is said of y.
func (v *view) beside(metric string) *view {
	w, spec := *v, *v.spec
	spec.Y, spec.YLabel, spec.Scale, spec.Offset, spec.From, spec.Marks = metric, "", 0, 0, nil, nil
	w.spec, w.notes = &spec, nil
	return &w
}

// addAlso makes the lines of further metrics: scaled as y is.
func (c *lineChart) addAlso(t *result.SweepTimings) error {
	for i, name := range c.v.spec.Also {
		w := c.v.beside(name)
		w.spec.Scale, w.spec.Offset = c.v.spec.Scale, c.v.spec.Offset
		w.series = &none
		m, err := w.measure(name, t)
		if err != nil {
			return err
		}
		tab, err := w.tabulate(m)
		if err != nil {
			return err
		}
		a := alsoLine{metric: m.name, style: alsoStyles[i%len(alsoStyles)]}
		for _, lines := range w.linesOf(tab) {
			a.lines = append(a.lines, lines[0])
		}
		c.also = append(c.also, a)
	}
	return nil
}

func (c *lineChart) alsoLegend(s *sheet.Sheet) {
	for _, a := range c.also {
		s.Legend = append(s.Legend, sheet.Entry{Text: metricWords(a.metric), Sample: sheet.Stroke(a.style)})
	}
}

func (c *lineChart) drawAlso(cv draw.Canvas, panel int, x, y func(float64) vg.Length) {
	for _, a := range c.also {
		line := a.lines[panel]
		strokeLine(cv, a.style, line, x, y)
		for _, p := range line {
			if p.max > p.min { // it is not the same for all series
				c.whisker(cv, &look{line: a.style}, x(p.x), y(p.min), y(p.max))
			}
		}
	}
}

// below adds a lower pane to each, with another metric of the series that the
// plot names, or of all.
func (c *lineChart) below(l *lattice, t *result.SweepTimings) error {
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
	m, err := w.measure(v.spec.Below, t)
	if err != nil {
		return err
	}
	tab, err := w.tabulate(m)
	if err != nil {
		return err
	}
	low := &lineChart{v: w, looks: c.looks, joined: true, lines: w.linesOf(tab)}
	const few = 20 // points of a line that have room for markers
	low.marked = !slices.ContainsFunc(slices.Concat(low.lines...), func(line []linePoint) bool { return len(line) > few })
	lo, hi := low.extent(-1)
	low.q = w.quantityOf(m.name, "", lo, hi, true)
	l.lowTitle = low.q.Label
	if w.spec.LogY && low.q.named {
		l.lowTitle = low.q.words
	}
	for i := range l.panes {
		l.low = append(l.low, pane{draw: func(cv draw.Canvas, x, y func(float64) vg.Length) { low.draw(cv, i, x, y) }})
	}
	if !(lo <= hi) || math.IsInf(lo, 0) {
		lo, hi = 0, 1
	}
	l.shareLow(values(low.q, lo, hi, nil, w.spec.LogY, false))
	for _, n := range w.notes {
		if !slices.Contains(v.notes, n) {
			v.notes = append(v.notes, n)
		}
	}
	return nil
}
