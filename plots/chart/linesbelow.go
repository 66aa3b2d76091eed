package chart

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// cutAt cuts lines off above a value.
func (c *lineChart) cutAt(top float64) {
	for _, lines := range c.lines {
		for s := range lines {
			lines[s] = c.cut(lines[s], top)
		}
	}
	for _, a := range c.also {
		for p := range a.lines {
			a.lines[p] = c.cut(a.lines[p], top)
		}
	}
}

// cut is what of a line is no higher than top.
func (c *lineChart) cut(line []linePoint, top float64) []linePoint {
	across, up := axisPlace(c.v.spec.LogX), axisPlace(c.v.spec.LogY)
	var out []linePoint
	for i, q := range line {
		if i > 0 && !q.gap && (line[i-1].mean > top) != (q.mean > top) {
			a := line[i-1]
			part := (up(top) - up(a.mean)) / (up(q.mean) - up(a.mean))
			edge := a.x + part*(q.x-a.x)
			if c.v.spec.LogX {
				edge = math.Exp(across(a.x) + part*(across(q.x)-across(a.x)))
			}
			p := at(edge, top)
			p.cut, p.gap = true, q.mean <= top
			out = append(out, p)
		}
		if q.mean <= top {
			out = append(out, q)
		}
	}
	return out
}

// axisPlace is where a number is on an axis.
func axisPlace(log bool) func(float64) float64 {
	if log {
		return math.Log
	}
	return func(x float64) float64 { return x }
}

// markPlaces finds where lines are at the metric that the plot has marked on them, the largest of a line's cells.
func (c *lineChart) markPlaces() error {
	v := c.v
	if v.spec.MarkedAt == "" {
		return nil
	}
	w := v.beside(v.spec.MarkedAt)
	_, t, err := w.tableOf(v.spec.MarkedAt)
	if err != nil {
		return err
	}
	c.places = make([][]*linePoint, len(c.lines))
	for p, lines := range w.linesOf(t) {
		c.places[p] = make([]*linePoint, len(lines))
		for s, line := range lines {
			x := math.Inf(-1)
			for _, q := range line {
				x = max(x, q.max)
			}
			c.places[p][s] = onLine(c.lines[p][s], x, v.spec.LogX)
		}
	}
	return nil
}

// onLine is the point of a line at x, nil where the line has none there.
func onLine(line []linePoint, x float64, log bool) *linePoint {
	place := axisPlace(log)
	for i := 1; i < len(line); i++ {
		if a, b := line[i-1], line[i]; !b.gap && a.x <= x && x <= b.x && a.x < b.x {
			q := at(x, a.mean+(b.mean-a.mean)*(place(x)-place(a.x))/(place(b.x)-place(a.x)))
			return &q
		}
	}
	return nil
}

// beside is v for another metric of the same chart, without what is said of y.
func (v *view) beside(metric string) *view {
	w, spec := *v, *v.spec
	spec.Y, spec.YLabel, spec.Scale, spec.Offset, spec.From, spec.Marks, spec.Also, spec.MarkedAt, spec.To = metric, "", 0, 0, nil, nil, nil, "", nil
	w.spec, w.notes, w.marks = &spec, nil, nil
	return &w
}

// below adds a lower panel to each, with another metric of the series that the plot names, or of all.
func (c *lineChart) below(s *sheet.Sheet, panels []*plot.Plot, g grid) error {
	v := c.v
	w := v.beside(v.spec.Below)
	if of := v.spec.BelowOf; of != nil {
		w.cells = slices.DeleteFunc(slices.Clone(v.cells), func(cell *result.Cell) bool {
			return !slices.Contains(of, v.series.labels[v.series.categories[v.series.at(cell)]])
		})
		if len(w.cells) == 0 {
			return fmt.Errorf("below_of: no cell is of %s", orList(of))
		}
	}
	low, err := w.newLines()
	if err != nil {
		return err
	}
	lower := make([]*plot.Plot, len(panels))
	for i := range lower {
		lower[i] = sheet.NewPlot("", "")
	}
	const share, least = 0.45, 75 // of a panel's height; points
	lg := g
	lg.height = max(g.height*share, least)
	xTitle, yTitle, _ := low.plot(lower, lg)
	above := s.Blocks[0].YTitle
	s.Blocks = nil
	for i := 0; i < len(panels); i += g.cols {
		end := min(i+g.cols, len(panels))
		s.Blocks = append(s.Blocks, sheet.Block{Plots: panels[i:end], Cols: g.cols, Height: g.height, YTitle: above},
			sheet.Block{Plots: lower[i:end], Cols: g.cols, Height: lg.height, YTitle: yTitle})
	}
	s.Blocks[len(s.Blocks)-1].XTitle = xTitle
	for i, p := range panels {
		p.X.Tick.Marker = sheet.Unlabelled{Ticker: p.X.Tick.Marker}
		sheet.SameSides(p, lower[i])
	}
	for _, n := range w.notes {
		if !slices.Contains(v.notes, n) {
			v.notes = append(v.notes, n)
		}
	}
	return nil
}
