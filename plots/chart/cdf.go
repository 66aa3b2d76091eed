package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

var cdfKind = kind{
	name: "cdf", draw: (*view).cdf, takes: []string{"series", "log_x", "mark"}, across: true,
	needs: map[string]string{"y": "a metric, such as nct"},
	without: map[string]string{
		"x":     "a cdf has no x: y names the metric, and series what there is a curve for",
		"log_y": "the height of a cdf is a share, so log_y means nothing there; log_x is for the metric",
	},
}

// Curve is a cumulative distribution: at X ascending, a share of Y has at most that value.
type Curve struct {
	X, Y []float64
	Ends bool // all of it; else the line goes on
}

// Steps is the curve of values, of so many that there would be had all ended.
func Steps(values []float64, of int) Curve {
	var c Curve
	at := 0.0
	for i, v := range slices.Sorted(slices.Values(values)) {
		c.X, c.Y = append(c.X, v, v), append(c.Y, at, float64(i+1)/float64(of))
		at = float64(i+1) / float64(of)
	}
	c.Ends = len(values) == of
	return c
}

// Share is the height of the curve at x, or the highest there of a step.
func (c *Curve) Share(x float64) float64 {
	at, _ := slices.BinarySearchFunc(c.X, x, func(v, x float64) int {
		if v <= x {
			return -1
		}
		return 1
	})
	switch {
	case at == 0:
		return 0
	case at == len(c.X):
		return c.Y[at-1]
	}
	return c.Y[at-1] + (c.Y[at]-c.Y[at-1])*(x-c.X[at-1])/(c.X[at]-c.X[at-1])
}

// cdfChart is a chart of cumulative distributions.
type cdfChart struct {
	v      *view
	curves [][]Curve // by panel and series
	looks  []look
	marks  []placedMark
}

func (v *view) cdf(t *result.SweepTimings) (*sheet.Sheet, error) {
	m, err := v.measure(v.spec.Y, t)
	if err != nil {
		return nil, err
	}
	c := &cdfChart{v: v, looks: v.looks(v.series), marks: v.placeMarks()}
	what, err := c.collect(m)
	if err != nil {
		return nil, err
	}
	lo, hi := c.extent()
	q := v.quantityOf(m.name, v.spec.XLabel, lo, hi, true)
	panels := v.panelsOf()
	const least = 150
	g := layout(len(panels), least, 0)
	title := q.across(panels, q, lo, hi, v.spec.From, v.spec.LogX, g.width)
	up := "share of " + what
	if v.spec.YLabel != "" {
		up = sheet.Plain(v.spec.YLabel)
	}
	for i, p := range panels {
		ShareAxis(p, i%g.cols == 0)
		p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(cv draw.Canvas, p *plot.Plot) { c.draw(cv, p, i) }))
	}
	s := v.page("distribution of "+q.words+v.bySeries(), panels, g, title, up)
	v.legend(s, c.looks, parts{lines: true}, c.marks)
	c.noteCoincidence()
	s.Notes = append([]string{fmt.Sprintf("A curve shows how many of the %s have at most that value.", what)}, v.notes...)
	return s, nil
}

// ShareAxis makes the axis that goes up one of shares, with labels or without.
func ShareAxis(p *plot.Plot, labelled bool) {
	sheet.SetRange(&p.Y, 0, 1.02)
	p.Y.Tick.Marker = sheet.Marks([]float64{0, 0.25, 0.5, 0.75, 1}, []string{"0 %", "25 %", "50 %", "75 %", "100 %"})
	if !labelled {
		p.Y.Tick.Marker = sheet.Unlabelled{Ticker: p.Y.Tick.Marker}
	}
}

// collect makes the curves: from samples where cells hold them, else with a value a cell. It returns what is counted.
func (c *cdfChart) collect(m measure) (what string, err error) {
	v := c.v
	series := len(v.series.levels)
	values, of := make([][]float64, len(v.panels.levels)*series), make([]int, len(v.panels.levels)*series)
	put := func(cell *result.Cell, n int, ys ...float64) {
		at := v.place(v.panels, cell)*series + v.place(v.series, cell)
		values[at], of[at] = append(values[at], ys...), of[at]+n
	}
	sampled := slices.ContainsFunc(v.cells, func(cell *result.Cell) bool { return len(cell.Samples[m.name]) > 0 })
	what = "cells"
	if hidden := v.hidden(); len(hidden) == 1 && hidden[0].words == "seed" {
		what = "seeds"
	}
	if !sampled {
		err = v.each(m, func(cell *result.Cell, y float64) { put(cell, 1, y) })
	} else {
		what = "trials"
		err = c.collectSamples(m, put)
	}
	for p := range v.panels.levels {
		var curves []Curve
		for s := range series {
			curves = append(curves, Steps(values[p*series+s], of[p*series+s]))
		}
		c.curves = append(c.curves, curves)
	}
	return what, err
}

// collectSamples adds the samples of all cells. Plays that never end have no sample, but count: their curve stays below
// 100 %.
func (c *cdfChart) collectSamples(m measure, put func(cell *result.Cell, n int, ys ...float64)) error {
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
		if p := cell.Metrics["replay_plays"]; p > float64(n) && drawable(p) {
			n, short = int(min(p, math.MaxInt32)), true
		}
		put(cell, n)
		for _, x := range cell.Samples[m.name] {
			y := v.scaled(x)
			bad = cmp.Or(bad, v.checkDrawable(m, cell, y))
			if !v.logarithmic() || y > 0 {
				put(cell, 0, y)
			}
		}
	})
	if short {
		v.notes = append(v.notes, "Plays that never end have no value: the curve of such a series stays below 100 %.")
	}
	return cmp.Or(err, bad)
}

// extent is the range of all values and marks.
func (c *cdfChart) extent() (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, k := range slices.Concat(c.curves...) {
		if n := len(k.X); n > 0 {
			lo, hi = min(lo, k.X[0]), max(hi, k.X[n-1])
		}
	}
	return extentOf(c.marks, -1, lo, hi)
}

// Draw draws a curve on p, up to the end of the axis where some of it never ends.
func (k *Curve) Draw(c draw.Canvas, p *plot.Plot, style draw.LineStyle) {
	if len(k.X) == 0 {
		return
	}
	x, y := p.Transforms(&c)
	line := make([]vg.Point, 0, len(k.X)+1)
	for i, v := range k.X {
		line = append(line, sheet.Point(x(v), y(k.Y[i])))
	}
	if !k.Ends {
		line = append(line, sheet.Point(c.Max.X, line[len(line)-1].Y))
	}
	c.StrokeLines(style, sheet.Thin(line))
}

// draw draws a panel's curves and marks: those of a series on its curve.
func (c *cdfChart) draw(cv draw.Canvas, p *plot.Plot, panel int) {
	x, y := p.Transforms(&cv)
	style := func(s int) draw.LineStyle { return c.looks[c.v.series.levels[s]].line }
	for s := range c.curves[panel] {
		c.curves[panel][s].Draw(cv, p, style(s))
	}
	for i := range c.marks {
		switch m := &c.marks[i]; {
		case m.panel >= 0 && m.panel != panel:
		case m.series >= 0:
			share := c.curves[panel][m.series].Share(m.y)
			stated(cv, m.shape, style(m.series).Color, sheet.Point(x(m.y), y(share)), markRadius)
		default:
			cv.StrokeLine2(statedLine, x(m.y), cv.Min.Y, x(m.y), cv.Max.Y)
			stated(cv, m.shape, sheet.Ink, sheet.Point(x(m.y), cv.Max.Y-markRadius-2), markRadius)
		}
	}
}

// noteCoincidence says which curves lie on each other.
func (c *cdfChart) noteCoincidence() {
	lo, hi := c.extent()
	same := sameWithin(lo, hi, c.v.spec.LogX)
	c.v.noteSame("Curves", len(c.v.series.levels), func(a, b int) bool {
		points := 0
		for _, curves := range c.curves {
			k, l := &curves[a], &curves[b]
			points += len(k.X)
			if !slices.Equal(k.Y, l.Y) || !slices.EqualFunc(k.X, l.X, same) {
				return false
			}
		}
		return points > 0
	})
}
