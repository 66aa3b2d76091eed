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

var lineKind = kind{
	name: "lines", draw: (*view).drawLines, takes: []string{"series", "log_x", "log_y", "take", "mark", "also"},
	needs: map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		if _, err := v.find("x", v.spec.X); err != nil && v.spec.X != "" {
			if v.byMetric = v.mayBeMetric(v.spec.X); !v.byMetric {
				return unknownName("x", v.spec.X, append(v.names(), v.metricNames()...))
			}
		}
		return v.usualRoles()
	},
	check: (*view).checkLines,
}

// checkLines fails on options that do not go together in lines.
func (v *view) checkLines() error {
	spec := v.spec
	switch {
	case v.byMetric && v.overAxisAlone():
		return errors.New(missing["also"])
	case v.byMetric && spec.Take != "":
		return errors.New(missing["take"])
	case spec.BelowOf != nil && spec.Below == "":
		return errors.New("below is missing: name the metric that below_of is shown of")
	case !v.byMetric && v.x != &none && v.x.numbers == nil:
		return fmt.Errorf("x: %s has values that are no numbers, so lines cannot go over it; bars can", v.x.name)
	}
	for _, name := range spec.BelowOf {
		at, err := v.series.place("below_of", name)
		if err == nil && at < 0 && len(v.series.labels) > 0 {
			err = fmt.Errorf("below_of: where leaves %s out", name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// linePoint is a point of a line: the mean of the cells at one place.
type linePoint struct {
	x float64
	spread
	gap bool // the line does not lead here: cells before it have no value
	cut bool // a line enters or leaves the panel here: it is no point of its own
}

// at is a point of a single value.
func at(x, y float64) linePoint {
	return linePoint{x: x, spread: spread{n: 1, mean: y, min: y, max: y}}
}

// lineChart is a chart of lines: over an axis or a metric, or a metric's distributions.
type lineChart struct {
	v       *view
	q       quantity        // of the metric
	lines   [][][]linePoint // by panel and series
	joined  bool            // points are in an order that lines may follow
	marked  bool            // points have markers
	styles  []seriesStyle
	also    []alsoLine
	places  [][]*linePoint // by panel and series, where a metric has it marked; nil of none
	title   string
	reading string                                                     // the first note
	across  func(panels []*plot.Plot, width vg.Length) (title string)  // sets the axes
	up      func(panels []*plot.Plot, g grid) (title string, own bool) // that panels may have of their own
}

// alsoLine is a metric beside that of a chart of lines, the same whatever the series, such as a bound: a line a panel.
type alsoLine struct {
	metric string
	lines  [][]linePoint // by panel
	style  draw.LineStyle
}

// alsoStyles are thin and dark, below the lines of the series.
var alsoStyles = []draw.LineStyle{
	sheet.Line(sheet.Ink, 1.3, 5, 3),
	sheet.Line(sheet.Dim, 1.3, 2, 2),
	sheet.Line(sheet.Dim, 1.3, 8, 3, 2, 3),
}

func (v *view) drawLines() (*sheet.Sheet, error) {
	c, err := v.newLines()
	if err != nil {
		return nil, err
	}
	return c.sheet()
}

// newLines collects what a chart of lines shows.
func (v *view) newLines() (*lineChart, error) {
	m, err := v.measure(v.spec.Y)
	if err != nil {
		return nil, err
	}
	c := &lineChart{v: v, styles: v.styles(v.series), joined: true}
	switch {
	case v.kind.across:
		err = c.distribute(m)
	case v.byMetric:
		err = c.overMetric(m)
	default:
		err = c.overAxis(m)
	}
	return c, err
}

// sheet lays the lines out.
func (c *lineChart) sheet() (*sheet.Sheet, error) {
	v := c.v
	panels := v.panelsOf()
	const least = 150 // points, to follow a line
	g := layout(len(panels), least, 0)
	xTitle, yTitle, apart := c.plot(panels, g)
	s := v.page(c.title+v.bySeries(), panels, g, xTitle, yTitle)
	v.legend(s, c.styles, parts{lines: c.joined, markers: c.marked})
	for _, a := range c.also {
		m, _ := result.Find(a.metric)
		if on, is := strings.CutPrefix(a.metric, "bound_"); is {
			if of, known := result.Find(on); known && of.BoundFormula != nil {
				m.Words = "lower bound on " + of.Words
			}
		}
		s.Explain(m.Words, sheet.Stroke(a.style))
	}
	if c.places != nil {
		m, _ := result.Find(v.spec.MarkedAt)
		s.Explain(m.Words, func(c draw.Canvas) { stated(c, placeShape, sheet.Ink, c.Center(), markRadius) })
	}
	if v.spec.Below != "" {
		if err := c.below(s, panels, g); err != nil {
			return nil, err
		}
	}
	c.noteCoincidence()
	if c.reading != "" {
		s.Notes = []string{c.reading}
	}
	s.Notes = append(s.Notes, v.notes...)
	if apart {
		s.Notes = append(s.Notes, apartNote)
	}
	return s, nil
}

// plot puts the lines on panels with their axes.
func (c *lineChart) plot(panels []*plot.Plot, g grid) (xTitle, yTitle string, apart bool) {
	for i, p := range panels {
		p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(cv draw.Canvas, p *plot.Plot) { c.draw(cv, p, i) }))
	}
	xTitle = c.across(panels, g.width)
	yTitle, apart = c.up(panels, g)
	return xTitle, yTitle, apart
}

// valuesUp makes the axes that go up those of a metric.
func (c *lineChart) valuesUp(m measure) {
	const crowded, long = 160, 40 // points of a panel, of a line; more markers would hide the lines
	c.marked = !c.joined || !slices.ContainsFunc(c.lines, func(lines [][]linePoint) bool {
		return len(slices.Concat(lines...)) > crowded || slices.ContainsFunc(lines, func(line []linePoint) bool { return len(line) > long })
	})
	v, spec := c.v, c.v.spec
	lo, hi := c.extent(-1)
	c.q = v.quantityOf(m.name, spec.YLabel, lo, hi, true)
	c.up = func(panels []*plot.Plot, g grid) (string, bool) {
		return c.q.title(spec.LogY), g.share(panels, c.extent, func(a *plot.Axis, lo, hi float64) {
			valueAxis(a, v.near(c.q, lo), lo, hi, spec.From, spec.LogY, false, ticksFor(g.height))
		})
	}
}

// valuesAcross makes the axes across those of a metric.
func (c *lineChart) valuesAcross(m measure, own bool, from *float64) quantity {
	lo, hi := c.width()
	q := c.v.quantityOf(m.name, c.v.spec.XLabel, lo, hi, own)
	const count = 7
	c.across = func(panels []*plot.Plot, width vg.Length) string {
		for _, p := range panels {
			valueAxis(&p.X, c.v.near(q, lo), lo, hi, from, c.v.spec.LogX, false, count)
			sheet.Spaced(p, p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max), width)
		}
		return q.title(c.v.spec.LogX)
	}
	return q
}

// overAxis makes lines over the numbers of an axis.
func (c *lineChart) overAxis(m measure) error {
	v := c.v
	c.across = func(panels []*plot.Plot, width vg.Length) string {
		return v.x.numbered(panels, v.spec.XLabel, v.spec.LogX, width)
	}
	t, err := v.tabulate(m)
	if err != nil {
		return err
	}
	c.lines = v.linesOf(t)
	v.noteSpread(t, "A point is")
	for i, name := range v.spec.Also {
		w := v.beside(name)
		w.spec.Scale, w.spec.Offset, w.series = v.spec.Scale, v.spec.Offset, &none
		_, t, err := w.tableOf(name)
		if err != nil {
			return err
		}
		a := alsoLine{metric: name, style: alsoStyles[i%len(alsoStyles)]}
		for _, lines := range w.linesOf(t) {
			a.lines = append(a.lines, lines[0])
		}
		c.also = append(c.also, a)
	}
	if v.spec.To != nil {
		c.cutAt(*v.spec.To)
	}
	c.valuesUp(m)
	c.title = c.q.words + " over " + v.x.words
	return c.markPlaces()
}

// linesOf are the lines of a table, by panel and series, in the order of the numbers of the axis.
func (v *view) linesOf(t *table) [][][]linePoint {
	numbers := make([]float64, t.width)
	for i, l := range v.x.categories {
		numbers[i] = v.x.numbers[l]
	}
	order := make([]int, t.width)
	floats.ArgsortStable(numbers, order)
	lines := v.noLines()
	for p := range lines {
		for s := range lines[p] {
			gap := false
			for i, x := range order {
				cell := t.cell(p, s, x)
				if gap = gap || cell.n == 0; cell.n > 0 {
					lines[p][s] = append(lines[p][s], linePoint{x: numbers[i], spread: *cell, gap: gap})
					gap = false
				}
			}
		}
	}
	return lines
}

// noLines are lines without points, by panel and series.
func (v *view) noLines() [][][]linePoint {
	lines := make([][][]linePoint, len(v.panels.categories))
	for p := range lines {
		lines[p] = make([][]linePoint, len(v.series.categories))
	}
	return lines
}

// overMetric makes points of two metrics, in the order of the axis that is not drawn where there is one.
func (c *lineChart) overMetric(m measure) error {
	v := c.v
	mx, err := v.measure(v.spec.X)
	if err != nil {
		return err
	}
	hidden := v.hidden()
	c.joined = v.spec.Kind == "lines" && len(hidden) == 1 && hidden[0].numbers != nil
	c.lines = v.noLines()
	both := measure{name: m.name, of: func(c *result.Cell) (float64, bool) {
		if x, ok := mx.of(c); !ok || v.spec.LogX && x <= 0 {
			return 0, false
		}
		return m.of(c)
	}}
	var bad error
	err = v.each(both, func(cell *result.Cell, y float64) {
		x, _ := mx.of(cell)
		bad = cmp.Or(bad, v.checkDrawable(mx, cell, x))
		line := &c.lines[v.panels.at(cell)][v.series.at(cell)]
		*line = append(*line, at(x, y))
	})
	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	if c.joined {
		h := hidden[0]
		v.notes = append(v.notes, fmt.Sprintf("Lines follow %s, from %s to %s.", h.words, sheet.Plain(h.labels[h.categories[0]]), sheet.Plain(h.labels[h.categories[len(h.categories)-1]])))
	}
	q := c.valuesAcross(mx, false, nil)
	c.valuesUp(m)
	c.title = c.q.words + " over " + q.words
	return nil
}

// extent is the range of a panel's points and marks, of all for -1; lo > hi where there are none.
func (c *lineChart) extent(panel int) (lo, hi float64) {
	values := c.v.markValues(panel)
	for p, lines := range c.lines {
		if panel >= 0 && p != panel {
			continue
		}
		for _, a := range c.also {
			lines = append(slices.Clip(lines), a.lines[p])
		}
		for _, pt := range slices.Concat(lines...) {
			values = append(values, pt.min, pt.max)
		}
	}
	return rangeOf(values)
}

// width is the range of all points and marks across.
func (c *lineChart) width() (lo, hi float64) {
	var values []float64
	for _, pt := range slices.Concat(slices.Concat(c.lines...)...) {
		values = append(values, pt.x)
	}
	if c.v.kind.across {
		values = append(values, c.v.markValues(-1)...)
	}
	for _, m := range c.v.marks {
		if m.x >= 0 && !c.v.kind.across {
			values = append(values, m.number)
		}
	}
	return rangeOf(values)
}
