// This file adds the options of line charts over an axis: clipped lines, marked points
// and lower panels.

package chart

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// clipLines reduces all lines to the parts that are not above top.
func (c *lineChart) clipLines(top float64) {
	for _, lines := range c.lines {
		for s := range lines {
			lines[s] = c.clip(lines[s], top)
		}
	}

	for _, a := range c.references {
		for p := range a.lines {
			a.lines[p] = c.clip(a.lines[p], top)
		}
	}
}

// clip returns the parts of a line that are not above top, with edge points where the line
// crosses top.
func (c *lineChart) clip(line []linePoint, top float64) []linePoint {
	across := axisTransform(c.v.spec.LogX)
	up := axisTransform(c.v.spec.LogY)
	var out []linePoint
	for i, q := range line {
		// If the line crosses top, interpolate the crossing on the scales of the axes.
		if i > 0 && !q.afterGap && (line[i-1].mean > top) != (q.mean > top) {
			a := line[i-1]
			part := (up(top) - up(a.mean)) / (up(q.mean) - up(a.mean))
			edge := a.x + part*(q.x-a.x)
			if c.v.spec.LogX {
				edge = math.Exp(across(a.x) + part*(across(q.x)-across(a.x)))
			}
			p := pointAt(edge, top)
			p.isEdge = true
			p.afterGap = q.mean <= top
			out = append(out, p)
		}

		if q.mean <= top {
			out = append(out, q)
		}
	}
	return out
}

// axisTransform returns the function from values to positions on a linear or logarithmic axis,
// up to a linear map.
func axisTransform(log bool) func(float64) float64 {
	if log {
		return math.Log
	}
	return func(x float64) float64 { return x }
}

// findMarkedPoints finds the point of each line that the option x_mark selects. The option
// names a metric whose values are on the x axis. The point is where x equals the largest value
// of that metric among the cells of the line.
func (c *lineChart) findMarkedPoints() error {
	v := c.v
	if v.spec.XMark == "" {
		return nil
	}
	w := v.withMetric(v.spec.XMark)
	_, t, err := w.tableOf(v.spec.XMark)
	if err != nil {
		return err
	}
	c.markedPoints = make([][]*linePoint, len(c.lines))

	for p, lines := range w.tableLines(t) {
		c.markedPoints[p] = make([]*linePoint, len(lines))
		for s, line := range lines {
			x := math.Inf(-1)
			for _, q := range line {
				x = max(x, q.max)
			}
			c.markedPoints[p][s] = interpolate(c.lines[p][s], x, v.spec.LogX)
		}
	}
	return nil
}

// interpolate returns the point of a line at x, or nil if x is outside the line or in a gap. log
// selects a logarithmic x axis.
func interpolate(line []linePoint, x float64, log bool) *linePoint {
	place := axisTransform(log)
	for i := 1; i < len(line); i++ {
		if a, b := line[i-1], line[i]; !b.afterGap && a.x <= x && x <= b.x &&
			a.x < b.x {
			q := pointAt(x, a.mean+(b.mean-a.mean)*(place(x)-place(a.x))/(place(b.x)-place(a.x)))
			return &q
		}
	}
	return nil
}

// withMetric returns a copy of v for another metric. Roles and cells are the same. Options that
// apply to the original metric are removed.
func (v *view) withMetric(metric string) *view {
	w, spec := *v, *v.spec
	spec.Y = metric
	spec.YLabel = ""
	spec.Scale = 0
	spec.Offset = 0
	spec.YMin = nil
	spec.Marks = nil
	spec.ExtraY = nil
	spec.XMark = ""
	spec.YMax = nil
	w.spec, w.notes, w.marks = &spec, nil, nil
	return &w
}

// addLowerPanels adds a panel below each panel, with the metric of the option lower_y. It shows
// the series listed in lower_series, by default all.
func (c *lineChart) addLowerPanels(s *sheet.Sheet, panels []*plot.Plot, g panelGrid) error {
	v := c.v
	w := v.withMetric(v.spec.LowerY)
	if of := v.spec.LowerSeries; of != nil {
		// Keep the cells of the series in lower_series.
		w.cells = slices.DeleteFunc(slices.Clone(v.cells),
			func(cell *result.Cell) bool {
				return !slices.Contains(of,
					v.series.labels[v.series.categories[v.series.indexOf(cell)]])
			})

		if len(w.cells) == 0 {
			return fmt.Errorf("lower_series: no cell is of %s", orList(of))
		}
	}

	// Build the lower panels as a chart of their own, with the same columns.
	low, err := w.newLines()
	if err != nil {
		return err
	}
	lower := make([]*plot.Plot, len(panels))
	for i := range lower {
		lower[i] = sheet.NewPlot()
	}
	// Lower panels have a share of the height of the upper ones, and at least minHeight points.
	const share, minHeight = 0.45, 75
	lg := g
	lg.height = max(g.height*share, minHeight)
	xTitle, yTitle, _ := low.plot(lower, lg)

	// Alternate rows of upper and lower panels.
	above := s.Blocks[0].YTitle
	s.Blocks = nil

	for i := 0; i < len(panels); i += g.cols {
		end := min(i+g.cols, len(panels))
		s.Blocks = append(s.Blocks, sheet.Block{
			Plots:  panels[i:end],
			Cols:   g.cols,
			Height: g.height,
			YTitle: above,
		},
			sheet.Block{
				Plots:  lower[i:end],
				Cols:   g.cols,
				Height: lg.height,
				YTitle: yTitle,
			})
	}

	// Only the lowest panels have labels on the x axis.
	s.Blocks[len(s.Blocks)-1].XTitle = xTitle
	for i, p := range panels {
		p.X.Tick.Marker = sheet.UnlabelledTicker{Ticker: p.X.Tick.Marker}
		sheet.AlignSides(p, lower[i])
	}

	// Both charts may have the same notes about cells.
	for _, n := range w.notes {
		if !slices.Contains(v.notes, n) {
			v.notes = append(v.notes, n)
		}
	}
	return nil
}
