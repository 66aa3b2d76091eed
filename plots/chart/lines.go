// This file builds line charts over an axis or a metric. File lines_draw.go draws
// them.

package chart

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

// lineKind is the kind of line charts over a numeric axis of the sweep or over a metric.
var lineKind = kind{
	name:  "lines",
	draw:  (*view).drawLines,
	takes: []string{"series", "log_x", "log_y", "aggregation", "mark", "extra_y"},
	needs: map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		// x is a metric if it is no dimension.
		if _, err := v.find("x", v.spec.X); err != nil && v.spec.X != "" {
			if v.isXMetric = v.mayBeMetric(v.spec.X); !v.isXMetric {
				return unknownName("x", v.spec.X,
					append(v.dimensionNames(), v.metricNames()...))
			}
		}
		return v.assignRoles()
	},
	check: (*view).checkLines,
}

// checkLines checks the options of line charts that depend on the resolved names.
func (v *view) checkLines() error {
	spec := v.spec
	switch {
	case v.isXMetric && v.hasAxisOnlyOptions():
		return errors.New(optionErrors["extra_y"])
	case v.isXMetric && spec.Aggregation != "":
		return errors.New(optionErrors["aggregation"])
	case spec.LowerSeries != nil && spec.LowerY == "":
		return errors.New("lower_y is missing: name the metric that is shown of lower_series")
	case !v.isXMetric && v.x != &noDimension && v.x.numbers == nil:
		return fmt.Errorf("x: %s has values that are no numbers, so lines cannot "+
			"go over it; bars can", v.x.name)
	}

	for _, name := range spec.LowerSeries {
		at, err := v.series.categoryIndex("lower_series", name)
		if err == nil && at < 0 && len(v.series.labels) > 0 {
			err = fmt.Errorf("lower_series: where leaves %s out", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// linePoint is a point of a line: the summary of the cells of a series with one x value.
type linePoint struct {
	x float64
	cellSummary
	// afterGap reports whether the line is interrupted before this point, because cells before
	// it have no value.
	afterGap bool
	// isEdge reports whether the point is the intersection of the line with the limit of the
	// panel. It is then not a value.
	isEdge bool
}

// pointAt returns a point with a single value.
func pointAt(x, y float64) linePoint {
	return linePoint{x: x, cellSummary: cellSummary{
		n:    1,
		mean: y,
		min:  y,
		max:  y,
	}}
}

// lineChart is a chart with lines: over an axis, over a metric, or cumulative distributions. The
// functions buildOverAxis, buildOverMetric and buildDistribution collect the points; sheet draws
// all three.
type lineChart struct {
	v *view
	q quantity // the metric
	// lines is indexed by panel and series; the points of a line are sorted.
	lines [][][]linePoint
	// isJoined reports whether consecutive points are joined by lines.
	isJoined   bool
	hasMarkers bool // points have markers
	// styles is indexed by label of the series.
	styles []seriesStyle
	// references has further lines, without series.
	references []referenceLine
	// markedPoints has the points that x_mark selects, indexed by panel and series; nil without
	// that option.
	markedPoints [][]*linePoint
	title        string
	// readingNote is the first note: how to read the chart. It may be empty.
	readingNote string
	// setXAxes sets the x axes of panels with a width in points and returns their title.
	setXAxes func(panels []*plot.Plot, width vg.Length) (title string)
	// setYAxes sets the y axes and returns their title. own reports whether each panel has its own
	// axis.
	setYAxes func(panels []*plot.Plot, g panelGrid) (title string, own bool)
}

// referenceLine is the line of a further metric that does not depend on the series, such as a
// bound. It has one line per panel.
type referenceLine struct {
	metric string        // name of the metric
	lines  [][]linePoint // indexed by panel
	style  draw.LineStyle
}

// referenceStyles are thin and dark. Reference lines are drawn below the lines of the series.
var referenceStyles = []draw.LineStyle{
	sheet.Line(sheet.Ink, 1.3, 5, 3),
	sheet.Line(sheet.Dim, 1.3, 2, 2),
	sheet.Line(sheet.Dim, 1.3, 8, 3, 2, 3),
}

// drawLines draws a chart with lines.
func (v *view) drawLines() (*sheet.Sheet, error) {
	c, err := v.newLines()
	if err != nil {
		return nil, err
	}
	return c.sheet()
}

// newLines collects the points of a chart with lines. Its caller draws it with sheet, or uses
// it as the lower panels of another chart.
func (v *view) newLines() (*lineChart, error) {
	m, err := v.measure(v.spec.Y)
	if err != nil {
		return nil, err
	}
	c := &lineChart{
		v:        v,
		styles:   v.styles(v.series),
		isJoined: true,
	}

	switch {
	case v.kind.across:
		err = c.buildDistribution(m)
	case v.isXMetric:
		err = c.buildOverMetric(m)
	default:
		err = c.buildOverAxis(m)
	}
	return c, err
}

// sheet lays out the chart.
func (c *lineChart) sheet() (*sheet.Sheet, error) {
	v := c.v
	panels := v.newPanels()
	// Panels narrower than minWidth points hide the course of a line.
	const minWidth = 150
	g := layoutPanels(len(panels), minWidth, noSide)
	xTitle, yTitle, separate := c.plot(panels, g)

	// Add the title, the legend and notes.
	s := v.newSheet(c.title+v.bySeries(), panels, g, xTitle, yTitle)
	v.legend(s, c.styles, seriesParts{lines: c.isJoined, markers: c.hasMarkers})

	// Name the further metrics in the legend. Bounds are named by their metric.
	for _, a := range c.references {
		m, _ := result.Find(a.metric)
		if on, is := strings.CutPrefix(a.metric, "bound_"); is {
			if of, known := result.Find(on); known && of.BoundFormula != nil {
				m.Words = "lower bound on " + of.Words
			}
		}
		s.AddLegend(m.Words, sheet.LineSample(a.style))
	}

	if c.markedPoints != nil {
		m, _ := result.Find(v.spec.XMark)
		s.AddLegend(m.Words, func(c draw.Canvas) {
			drawStatedMark(c, markedPointShape, sheet.Ink, c.Center(), markRadius)
		})
	}

	if v.spec.LowerY != "" {
		if err := c.addLowerPanels(s, panels, g); err != nil {
			return nil, err
		}
	}

	c.noteCoincidence()
	if c.readingNote != "" {
		s.Notes = []string{c.readingNote}
	}
	s.Notes = append(s.Notes, v.notes...)
	if separate {
		s.Notes = append(s.Notes, separateAxesNote)
	}
	return s, nil
}

// plot adds the lines and the axes to the panels. It returns the axis titles, and whether panels
// have separate y axes.
func (c *lineChart) plot(panels []*plot.Plot, g panelGrid) (xTitle, yTitle string, separate bool) {
	for i, p := range panels {
		p.Add(sheet.FullGrid(), sheet.PlotFunc(func(cv draw.Canvas, p *plot.Plot) {
			c.draw(cv, p, i)
		}))
	}

	xTitle = c.setXAxes(panels, g.width)
	yTitle, separate = c.setYAxes(panels, g)
	return xTitle, yTitle, separate
}

// setYMetric makes the y axes show a metric and decides whether points have markers. The points
// must be complete.
func (c *lineChart) setYMetric(m measure) {
	// With more points per panel or per line, markers would hide the lines.
	const maxPointsPerPanel, maxPointsPerLine = 160, 40
	c.hasMarkers = !c.isJoined || !slices.ContainsFunc(c.lines,
		func(lines [][]linePoint) bool {
			return len(slices.Concat(lines...)) > maxPointsPerPanel ||
				slices.ContainsFunc(lines, func(line []linePoint) bool {
					return len(line) > maxPointsPerLine
				})
		})

	v, spec := c.v, c.v.spec
	lo, hi := c.yRange(allPanels)
	c.q = v.newQuantity(m.name, spec.YLabel, lo, hi, plotScale)
	c.setYAxes = func(panels []*plot.Plot, g panelGrid) (string, bool) {
		return c.q.axisTitle(spec.LogY),
			g.setSharedAxes(panels, c.yRange, func(a *plot.Axis, lo, hi float64) {
				valueAxis{q: v.near(c.q, lo), from: spec.YMin, log: spec.LogY, count: tickCount(g.height)}.set(a, lo, hi)
			})
	}
}

// setXMetric makes the x axes show a metric and returns its quantity. usesScale is plotScale or
// noScale; from is the start of the axis, or nil.
func (c *lineChart) setXMetric(m measure, usesScale bool, from *float64) quantity {
	lo, hi := c.xRange()
	q := c.v.newQuantity(m.name, c.v.spec.XLabel, lo, hi, usesScale)
	const count = 7 // ticks whose labels do not overlap
	c.setXAxes = func(panels []*plot.Plot, width vg.Length) string {
		for _, p := range panels {
			valueAxis{q: c.v.near(q, lo), from: from, log: c.v.spec.LogX, count: count}.set(&p.X, lo, hi)
			sheet.SetTicks(p, p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max), width)
		}
		return q.axisTitle(c.v.spec.LogX)
	}
	return q
}

// buildOverAxis builds lines over a numeric axis of the sweep, and the lines of the metrics in
// the option extra_y.
func (c *lineChart) buildOverAxis(m measure) error {
	v := c.v
	c.setXAxes = func(panels []*plot.Plot, width vg.Length) string {
		return v.x.setNumberedAxes(panels, v.spec.XLabel, v.spec.LogX, width)
	}
	t, err := v.tabulate(m)
	if err != nil {
		return err
	}
	c.lines = v.tableLines(t)
	v.noteSpread(t, "A point is")

	// Further metrics have one line per panel, averaged over the series.
	for i, name := range v.spec.ExtraY {
		w := v.withMetric(name)
		w.spec.Scale, w.spec.Offset, w.series = v.spec.Scale, v.spec.Offset, &noDimension
		_, t, err := w.tableOf(name)
		if err != nil {
			return err
		}
		a := referenceLine{
			metric: name,
			style:  referenceStyles[i%len(referenceStyles)],
		}

		for _, lines := range w.tableLines(t) {
			a.lines = append(a.lines, lines[0])
		}
		c.references = append(c.references, a)
	}

	// Clip before the range of the y axis is determined.
	if v.spec.YMax != nil {
		c.clipLines(*v.spec.YMax)
	}
	c.setYMetric(m)
	c.title = c.q.name + " over " + v.x.text

	return c.findMarkedPoints()
}

// tableLines returns the lines of a table, indexed by panel and series. Points are in order of
// their x values. A point that follows an empty position has no line to its predecessor.
func (v *view) tableLines(t *table) [][][]linePoint {
	// Sort the x values; order has their columns.
	numbers := make([]float64, t.columns)
	for i, l := range v.x.categories {
		numbers[i] = v.x.numbers[l]
	}
	order := make([]int, t.columns)
	floats.ArgsortStable(numbers, order)

	lines := v.emptyLines()
	for p := range lines {
		for s := range lines[p] {
			// A column without cells interrupts the line.
			gap := false
			for i, x := range order {
				cell := t.cell(p, s, x)
				if gap = gap || cell.n == 0; cell.n > 0 {
					lines[p][s] = append(lines[p][s], linePoint{
						x:           numbers[i],
						cellSummary: *cell,
						afterGap:    gap,
					})
					gap = false
				}
			}
		}
	}
	return lines
}

// emptyLines returns lines without points, indexed by panel and series.
func (v *view) emptyLines() [][][]linePoint {
	lines := make([][][]linePoint, len(v.panels.categories))
	for p := range lines {
		lines[p] = make([][]linePoint, len(v.series.categories))
	}
	return lines
}

// buildOverMetric builds points from two metrics, one per cell. They are joined in the order of
// the only numeric axis without a role, if there is exactly one such dimension and the kind is
// lines.
func (c *lineChart) buildOverMetric(m measure) error {
	v := c.v
	mx, err := v.measure(v.spec.X)
	if err != nil {
		return err
	}
	hidden := v.averagedDimensions()
	c.isJoined = v.spec.Kind == "lines" && len(hidden) == 1 &&
		hidden[0].numbers != nil
	c.lines = v.emptyLines()

	// A cell has a point if it has both metrics.
	both := measure{
		name: m.name,
		value: func(c *result.Cell) (float64, bool) {
			if x, ok := mx.value(c); !ok || v.spec.LogX && x <= 0 {
				return 0, false
			}
			return m.value(c)
		},
	}

	var bad error
	err = v.forEachValue(both, func(cell *result.Cell, y float64) {
		x, _ := mx.value(cell)
		bad = cmp.Or(bad, v.checkDrawable(mx, cell, x))
		line := &c.lines[v.panels.indexOf(cell)][v.series.indexOf(cell)]
		*line = append(*line, pointAt(x, y))
	})

	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	if c.isJoined {
		h := hidden[0]
		v.notes = append(v.notes, fmt.Sprintf("Lines follow %s, from %s to %s.",
			h.text, sheet.Plain(h.labels[h.categories[0]]),
			sheet.Plain(h.labels[h.categories[len(h.categories)-1]])))
	}

	var automatic *float64 // start of the x axis
	q := c.setXMetric(mx, noScale, automatic)
	c.setYMetric(m)
	c.title = c.q.name + " over " + q.name
	return nil
}

// yRange returns the range of the points and marks of a panel, or of allPanels, in y. Without
// points and marks, lo > hi.
func (c *lineChart) yRange(panel int) (lo, hi float64) {
	values := c.v.markValues(panel)
	for p, lines := range c.lines {
		if panel != allPanels && p != panel {
			continue
		}
		for _, a := range c.references {
			lines = append(slices.Clip(lines), a.lines[p])
		}
		for _, pt := range slices.Concat(lines...) {
			values = append(values, pt.min, pt.max)
		}
	}

	return minMax(values)
}

// xRange returns the range of all points and marks in x.
func (c *lineChart) xRange() (lo, hi float64) {
	var values []float64
	for _, pt := range slices.Concat(slices.Concat(c.lines...)...) {
		values = append(values, pt.x)
	}
	if c.v.kind.across {
		values = append(values, c.v.markValues(allPanels)...)
	}

	for _, m := range c.v.marks {
		if m.x >= 0 && !c.v.kind.across {
			values = append(values, m.number)
		}
	}
	return minMax(values)
}
