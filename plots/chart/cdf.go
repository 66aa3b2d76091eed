package chart

import (
	"fmt"
	"math"
	"slices"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// curve is the distribution of the values of one series.
type curve struct {
	values []float64 // ascending
	of     int       // how many there would be, had all plays ended
}

// share is the part of all that values up to the i-th make.
func (c *curve) share(i int) float64 { return float64(i+1) / float64(c.of) }

// cdfChart is a chart of cumulative distributions.
type cdfChart struct {
	v      *view
	curves [][]curve // by panel and series
	looks  []look
	marks  []placedMark
}

func (v *view) cdf(t *result.SweepTimings) (*lattice, error) {
	m, err := v.measure(v.spec.Y, t)
	if err != nil {
		return nil, err
	}
	c := &cdfChart{v: v, looks: v.looks(v.series), marks: v.placeMarks()}
	c.curves = make([][]curve, len(v.panels.levels))
	for p := range c.curves {
		c.curves[p] = make([]curve, len(v.series.levels))
	}
	what, err := c.collect(m)
	if err != nil {
		return nil, err
	}
	lo, hi := c.extent()
	q := v.quantityOf(m.name, v.spec.XLabel, lo, hi, true)
	l := &lattice{across: measured(q, lo, hi, v.spec.From, v.spec.LogX), yTitle: "share of " + what + ", %"}
	if v.spec.YLabel != "" {
		l.yTitle = sheet.Plain(v.spec.YLabel)
	}
	l.Title, l.Subtitle = v.headings("distribution of " + q.words + v.bySeries())
	v.legend(&l.Sheet, c.looks, parts{lines: true}, c.marks)
	for i := range v.panels.levels {
		y := &Scale{Hi: 1.02, Unit: sheet.Unit{Name: "%", Per: 100}}
		for k := range 5 {
			at := float64(k) / 4
			y.Ticks = append(y.Ticks, plot.Tick{Value: at, Label: sheet.Digits(100*at, 3)})
		}
		l.panes = append(l.panes, pane{head: v.panels.head(v.panels.levels[i]), y: y, draw: func(cv draw.Canvas, x, y func(float64) vg.Length) { c.draw(cv, i, l.across, x, y) }})
	}
	const least = 150
	l.setColumns(least)
	c.noteCoincidence()
	l.Notes = append([]string{fmt.Sprintf("A curve shows how many of the %s have at most that value.", what)}, v.notes...)
	return l, nil
}

// collect fills the curves: from samples where cells hold them, else with a
// value a cell. It returns what is counted.
func (c *cdfChart) collect(m measure) (what string, err error) {
	v := c.v
	at := func(cell *result.Cell) *curve { return &c.curves[v.place(v.panels, cell)][v.place(v.series, cell)] }
	sampled := slices.ContainsFunc(v.cells, func(cell *result.Cell) bool { return len(cell.Samples[m.name]) > 0 })
	what = "cells"
	if hidden := v.hidden(); len(hidden) == 1 {
		if words := hidden[0].words; words == "seed" {
			what = "seeds"
		}
	}
	if !sampled {
		err = v.each(m, func(cell *result.Cell, y float64) {
			at(cell).values = append(at(cell).values, y)
			at(cell).of++
		})
	} else {
		what = "plays"
		err = c.collectSamples(m, at)
	}
	for _, curves := range c.curves {
		for i := range curves {
			slices.Sort(curves[i].values)
		}
	}
	return what, err
}

// collectSamples adds the samples of all cells. Plays that never end have no
// sample, but count: their curve stays below 100 %.
func (c *cdfChart) collectSamples(m measure, at func(*result.Cell) *curve) error {
	v, first, short := c.v, measure{name: m.name}, false
	first.of = func(cell *result.Cell) (float64, bool) {
		for _, x := range cell.Samples[m.name] {
			if y := v.scaled(x); !v.logarithmic() || y > 0 {
				return x, true
			}
		}
		return 0, false
	}
	var bad error
	err := v.each(first, func(cell *result.Cell, _ float64) {
		n := len(cell.Samples[m.name])
		plays := n
		if p := cell.Metrics["replay_plays"]; p > float64(n) && p <= sheet.DrawableLimit {
			plays, short = int(min(p, math.MaxInt32)), true
		}
		at(cell).of += plays
		for _, x := range cell.Samples[m.name] {
			y := v.scaled(x)
			if e := v.drawable(m, cell, y); e != nil && bad == nil {
				bad = e
			}
			if !v.logarithmic() || y > 0 {
				at(cell).values = append(at(cell).values, y)
			}
		}
	})
	if short {
		v.notes = append(v.notes, "Plays that never end have no value: the curve of such a series stays below 100 %.")
	}
	if err == nil {
		err = bad
	}
	return err
}

// extent is the range of all values and marks.
func (c *cdfChart) extent() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, curves := range c.curves {
		for _, k := range curves {
			if n := len(k.values); n > 0 {
				lo, hi = min(lo, k.values[0]), max(hi, k.values[n-1])
			}
		}
	}
	for _, m := range c.marks {
		lo, hi = min(lo, m.y), max(hi, m.y)
	}
	return lo, hi
}

// draw draws a panel's curves, as steps.
func (c *cdfChart) draw(cv draw.Canvas, panel int, a *across, x, y func(float64) vg.Length) {
	for s, k := range c.curves[panel] {
		if len(k.values) == 0 {
			continue
		}
		line := []vg.Point{sheet.Point(x(k.values[0]), y(0))}
		at := 0.0
		for i, v := range k.values {
			line = append(line, sheet.Point(x(v), y(at)))
			at = k.share(i)
			line = append(line, sheet.Point(x(v), y(at)))
		}
		if len(k.values) < k.of { // the rest never ends
			line = append(line, sheet.Point(cv.Max.X, y(at)))
		}
		cv.StrokeLines(c.looks[c.v.series.levels[s]].line, sheet.Thin(line))
	}
	for i := range c.marks {
		m := &c.marks[i]
		if m.panel >= 0 && m.panel != panel {
			continue
		}
		style := statedLine
		if m.series >= 0 {
			style.Color = c.looks[c.v.series.levels[m.series]].line.Color
		}
		cv.StrokeLine2(style, x(m.y), cv.Min.Y, x(m.y), cv.Max.Y)
		stated(cv, m.shape, style.Color, sheet.Point(x(m.y), cv.Max.Y-markRadius-2), markRadius)
	}
}

// noteCoincidence says which curves lie on each other.
func (c *cdfChart) noteCoincidence() {
	place := (&Scale{Log: c.v.spec.LogX}).place
	lo, hi := c.extent()
	near := hairline * (place(hi) - place(lo))
	c.v.noteSame("Curves", len(c.v.series.levels), func(a, b int) bool {
		points := 0
		for _, curves := range c.curves {
			k, l := &curves[a], &curves[b]
			if len(k.values) != len(l.values) || k.of != l.of {
				return false
			}
			for i := range k.values {
				if !(math.Abs(place(k.values[i])-place(l.values[i])) <= near) {
					return false
				}
				points++
			}
		}
		return points > 0
	})
}
