// This file builds cumulative distributions. They are drawn as line charts.

package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// cdfKind is the kind of cumulative distributions of a metric (empirical distribution
// functions).
var cdfKind = kind{
	name:   "cdf",
	draw:   (*view).drawLines,
	takes:  []string{"series", "log_x", "mark"},
	across: true,
	needs:  map[string]string{"y": "a metric, such as nct"},
	without: map[string]string{
		"x":     "a cdf has no x: y names the metric, and series what there is a curve for",
		"log_y": "the height of a cdf is a share, so log_y means nothing there; log_x is for the metric",
	},
}

// stepCurve returns the empirical distribution function of values as a polyline: two points per
// value, before and after its step. of is the number of samples including those without a value,
// so the curve may end below 1.
func stepCurve(values []float64, of int) (line []linePoint) {
	share := 0.0
	for i, v := range slices.Sorted(slices.Values(values)) {
		line = append(line, pointAt(v, share))
		share = float64(i+1) / float64(of)
		line = append(line, pointAt(v, share))
	}
	return line
}

// shareAt returns the value of a distribution function at x. At a step it returns the upper
// value.
func shareAt(line []linePoint, x float64) float64 {
	i, _ := slices.BinarySearchFunc(line, math.Nextafter(x, math.Inf(1)),
		func(p linePoint, x float64) int {
			return cmp.Compare(p.x, x)
		})

	if i == 0 {
		return 0
	}
	return line[i-1].mean
}

// buildDistribution builds one curve per series from the samples of cells, or from one value per
// cell if there are no samples.
//
// Trials that do not finish have no sample, but count in the total. Their curve therefore ends
// below 100 %.
func (c *lineChart) buildDistribution(m measure) error {
	v := c.v
	// what names the population in the note. short reports whether some trial has no sample.
	what, short := "cells", false
	pooled := v.newPooledDimensions()

	// Use the samples if any cell has some. A cell has a value if one of its samples has a place
	// on the axis.
	first := m
	sampled := slices.ContainsFunc(v.cells, func(cell *result.Cell) bool {
		return len(cell.Samples[m.name]) > 0
	})
	if sampled {
		what = "trials"
		first.value = func(cell *result.Cell) (float64, bool) {
			for _, x := range cell.Samples[m.name] {
				if !v.logarithmic() || v.applyScale(x) > 0 {
					return x, true
				}
			}
			return 0, false
		}
	}

	// Collect the values of each curve, and the number of samples including those without a
	// value, both indexed by panel and series.
	values := map[[2]int][]float64{}
	of := map[[2]int]int{}
	var bad error
	err := v.forEachValue(first, func(cell *result.Cell, y float64) {
		place := [2]int{v.panels.indexOf(cell), v.series.indexOf(cell)}
		pooled.add(place[0]*len(v.series.categories)+place[1], cell)
		if !sampled {
			values[place], of[place] = append(values[place], y), of[place]+1
			return
		}

		// n is the number of trials. Trials that never end have no sample.
		n := len(cell.Samples[m.name])
		if p := cell.Metrics[result.TrialCount]; p > float64(n) && drawable(p) {
			n = int(min(p, math.MaxInt32))
			short = true
		}

		of[place] += n
		for _, x := range cell.Samples[m.name] {
			y := v.applyScale(x)
			bad = cmp.Or(bad, v.checkDrawable(m, cell, y))
			if !v.logarithmic() || y > 0 {
				values[place] = append(values[place], y)
			}
		}
	})

	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	if short {
		v.notes = append(v.notes, "Trials that never end have no value: the curve "+
			"of such a series stays below 100 %.")
	}

	// Build the curves and the axes.
	c.lines = v.emptyLines()
	for p, lines := range c.lines {
		for s := range lines {
			lines[s] = stepCurve(values[[2]int{p, s}], of[[2]int{p, s}])
		}
	}

	// The metric is on the x axis, and the y axes show shares.
	c.q = c.setXMetric(m, plotScale, v.spec.YMin)
	c.title = "distribution of " + c.q.name
	note := "A curve shows how many of the %s have at most that value"
	switch names := pooled.texts(); {
	case !sampled && slices.Equal(names, []string{"seed"}):
		what = "seeds"
	case len(names) > 0:
		note += "; it pools all values of " + andList(names)
	}
	c.readingNote = fmt.Sprintf(note+".", what)
	c.setYAxes = func(panels []*plot.Plot, g panelGrid) (string, bool) {
		for i, p := range panels {
			const top = 1.02 // leaves space for the width of the line at 100 %
			sheet.SetRange(&p.Y, 0, top)
			p.Y.Tick.Marker = sheet.FixedTicks([]float64{0, 0.25, 0.5, 0.75, 1},
				[]string{"0 %", "25 %", "50 %", "75 %", "100 %"})
			if i%g.cols > 0 {
				p.Y.Tick.Marker = sheet.UnlabelledTicker{Ticker: p.Y.Tick.Marker}
			}
		}

		return cmp.Or(sheet.Plain(v.spec.YLabel), "share of "+what), false
	}
	return nil
}
