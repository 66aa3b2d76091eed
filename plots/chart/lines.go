package chart

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"sim/plots/sheet"
	"sim/scenarios/result"
)

var lineKind = kind{
	name: "lines", draw: (*view).lines, takes: []string{"series", "log_x", "log_y", "take", "mark", "also"},
	needs: map[string]string{"x": "", "y": "a metric, such as nct"},
	roles: func(v *view) error {
		if _, err := v.find("x", v.spec.X); err != nil && v.spec.X != "" {
			if v.byMetric = v.mayBeMetric(v.spec.X); !v.byMetric {
				return unknownName("x", v.spec.X, append(v.names(), v.metricNames(&result.SweepTimings{})...))
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
	case v.byMetric && (spec.Also != nil || spec.Below != "" || spec.BelowOf != nil):
		return errors.New(missing["also"])
	case v.byMetric && spec.Take != "":
		return errors.New(missing["take"])
	case spec.BelowOf != nil && spec.Below == "":
		return errors.New("below is missing: name the metric that below_of is shown of")
	case !v.byMetric && v.x != &none && v.x.numbers == nil:
		return fmt.Errorf("x: %s has values that are no numbers, so lines cannot go over it; bars can", v.x.name)
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

// linePoint is a point of a line: the mean of the cells at one place.
type linePoint struct {
	x float64
	spread
	gap bool // the line does not lead here: cells before it have no value
}

// lineChart is a chart of lines.
type lineChart struct {
	v      *view
	q      quantity
	lines  [][][]linePoint // by panel and series
	joined bool            // points are in an order that lines may follow
	marked bool            // points have markers
	looks  []look
	marks  []placedMark
	also   []alsoLine
	words  string // of what goes across
	across func(panels []*plot.Plot, width vg.Length) (title string)
}

func (v *view) lines(t *result.SweepTimings) (*sheet.Sheet, error) {
	s, _, err := v.pointsAndLines(t, nil)
	return s, err
}

// pointsAndLines makes a chart of lines, or of points where nothing orders them. Look sees these before they are drawn.
func (v *view) pointsAndLines(t *result.SweepTimings, look func(c *lineChart)) (*sheet.Sheet, *lineChart, error) {
	m, err := v.measure(v.spec.Y, t)
	if err != nil {
		return nil, nil, err
	}
	c := &lineChart{v: v, looks: v.looks(v.series), marks: v.placeMarks(), joined: true, words: v.x.words}
	if v.byMetric {
		err = c.overMetric(m, t)
	} else {
		err = c.overAxis(m)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := c.addAlso(t); err != nil {
		return nil, nil, err
	}
	c.mark()
	if look != nil {
		look(c)
	}
	lo, hi := c.extent(-1)
	c.q = v.quantityOf(m.name, v.spec.YLabel, lo, hi, true)
	panels := v.panelsOf()
	const least = 150 // points, to follow a line
	g := layout(len(panels), least, 0)
	title := c.across(panels, g.width)
	apart := c.plot(panels, g)
	s := v.page(c.q.words+" over "+c.words+v.bySeries(), panels, g, title, c.q.title(v.spec.LogY))
	v.legend(s, c.looks, parts{lines: c.joined, markers: c.marked}, c.marks)
	for _, a := range c.also {
		s.Legend = append(s.Legend, sheet.Entry{Text: metricWords(a.metric), Sample: sheet.Stroke(a.style)})
	}
	if v.spec.Below != "" {
		if err := c.below(s, panels, g, title, t); err != nil {
			return nil, nil, err
		}
	}
	c.noteCoincidence()
	s.Notes = v.notes
	if apart {
		s.Notes = append(s.Notes, apartNote)
	}
	return s, c, nil
}

// plot puts the lines on panels and sets the axes that go up; it reports whether these differ.
func (c *lineChart) plot(panels []*plot.Plot, g grid) (apart bool) {
	spec := c.v.spec
	for i, p := range panels {
		p.Add(sheet.Grid(true, true), sheet.PlotFunc(func(cv draw.Canvas, p *plot.Plot) { c.draw(cv, p, i) }))
	}
	return g.share(panels, c.extent, func(a *plot.Axis, lo, hi float64) {
		valueAxis(a, c.v.near(c.q, lo), lo, hi, spec.From, spec.LogY, false, ticksFor(g.height))
	})
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
	return nil
}

// linesOf are the lines of a table, by panel and series, in the order of the numbers of the axis.
func (v *view) linesOf(t *table) [][][]linePoint {
	order := make([]int, t.width) // numbers need not be in order
	for i := range order {
		order[i] = i
	}
	number := func(i int) float64 { return v.x.numbers[v.x.levels[i]] }
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(number(a), number(b)) })
	lines := make([][][]linePoint, len(v.panels.levels))
	for p := range lines {
		lines[p] = make([][]linePoint, t.series)
		for s := range lines[p] {
			gap := false
			for _, x := range order {
				cell := t.cell(p, s, x)
				if gap = gap || cell.n == 0; cell.n > 0 {
					lines[p][s] = append(lines[p][s], linePoint{number(x), *cell, gap})
					gap = false
				}
			}
		}
	}
	return lines
}

// overMetric makes points of two metrics, in the order of the axis that is not drawn where there is one.
func (c *lineChart) overMetric(m measure, t *result.SweepTimings) error {
	v := c.v
	mx, err := v.measure(v.spec.X, t)
	if err != nil {
		return err
	}
	hidden := v.hidden()
	c.joined = v.spec.Kind == "lines" && len(hidden) == 1 && hidden[0].numbers != nil
	c.lines = make([][][]linePoint, len(v.panels.levels))
	for p := range c.lines {
		c.lines[p] = make([][]linePoint, len(v.series.levels))
	}
	lo, hi := math.Inf(1), math.Inf(-1)
	put := func(x float64) { lo, hi = min(lo, x), max(hi, x) }
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
		put(x)
		line := &c.lines[v.place(v.panels, cell)][v.place(v.series, cell)]
		*line = append(*line, linePoint{x: x, spread: spread{n: 1, mean: y, min: y, max: y}})
	})
	if err = cmp.Or(err, bad); err != nil {
		return err
	}
	for _, mark := range c.marks {
		if mark.x >= 0 {
			put(mark.number)
		}
	}
	if c.joined {
		h := hidden[0]
		v.notes = append(v.notes, fmt.Sprintf("Lines follow %s, from %s to %s.", h.words, sheet.Plain(h.labels[h.levels[0]]), sheet.Plain(h.labels[h.levels[len(h.levels)-1]])))
	}
	q := v.quantityOf(mx.name, v.spec.XLabel, lo, hi, false)
	c.words = q.words
	c.across = func(panels []*plot.Plot, width vg.Length) string {
		return q.across(panels, v.near(q, lo), lo, hi, nil, v.spec.LogX, width)
	}
	return nil
}

// extent is the range of a panel's points and marks, of all for -1; lo > hi where there are none.
func (c *lineChart) extent(panel int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for p, lines := range c.lines {
		if panel >= 0 && p != panel {
			continue
		}
		for _, a := range c.also {
			lines = append(slices.Clip(lines), a.lines[p])
		}
		for _, pt := range slices.Concat(lines...) {
			lo, hi = min(lo, pt.min), max(hi, pt.max)
		}
	}
	return extentOf(c.marks, panel, lo, hi)
}

// mark decides whether points have markers: more would hide the lines.
func (c *lineChart) mark() {
	const crowded = 160 // points of a panel
	c.marked = !c.joined || !slices.ContainsFunc(c.lines, func(lines [][]linePoint) bool { return len(slices.Concat(lines...)) > crowded })
}

// draw draws a panel's lines, the first series lowest.
func (c *lineChart) draw(cv draw.Canvas, p *plot.Plot, panel int) {
	x, y := p.Transforms(&cv)
	of := func(s int) *look { return &c.looks[c.v.series.levels[s]] }
	strokeWhisker := func(style draw.LineStyle, at, lo, hi vg.Length) {
		cv.StrokeLines(draw.LineStyle{Color: style.Color, Width: 1}, whisker(at, lo, hi, 2)...)
	}
	for _, a := range c.also {
		strokeLine(cv, a.style, a.lines[panel], x, y)
		for _, p := range a.lines[panel] {
			if p.max > p.min { // it is not the same for all series
				strokeWhisker(a.style, x(p.x), y(p.min), y(p.max))
			}
		}
	}
	lines := c.lines[panel]
	for s, line := range lines {
		if c.joined {
			strokeLine(cv, of(s).line, line, x, y)
		}
	}
	for s, line := range lines {
		for i, p := range line {
			if p.max > p.min {
				const apart = 2.5 // points, so that whiskers of one place are seen beside each other
				strokeWhisker(of(s).line, x(p.x)+apart*(vg.Length(s)-vg.Length(len(lines)-1)/2), y(p.min), y(p.max))
			}
			alone := !c.joined || (i == 0 || p.gap) && (i == len(line)-1 || line[i+1].gap)
			if c.marked || alone {
				of(s).marker(cv, sheet.Point(x(p.x), y(p.mean)), markerRadius)
			}
		}
	}
	for i := range c.marks {
		m := &c.marks[i]
		if m.panel >= 0 && m.panel != panel {
			continue
		}
		style, at := statedLine, cv.Max.X-markRadius-2
		if m.series >= 0 {
			style.Color = of(m.series).line.Color
		}
		if m.x >= 0 {
			at = x(m.number)
		} else {
			cv.StrokeLine2(style, cv.Min.X, y(m.y), cv.Max.X, y(m.y))
		}
		stated(cv, m.shape, style.Color, sheet.Point(at, y(m.y)), markRadius+0.8)
	}
}

// strokeLine draws a line, broken at its gaps.
func strokeLine(cv draw.Canvas, style draw.LineStyle, line []linePoint, x, y func(float64) vg.Length) {
	var parts [][]vg.Point
	for i, p := range line {
		if i == 0 || p.gap {
			parts = append(parts, nil)
		}
		last := &parts[len(parts)-1]
		*last = append(*last, sheet.Point(x(p.x), y(p.mean)))
	}
	cv.StrokeLines(style, slices.DeleteFunc(parts, func(pts []vg.Point) bool { return len(pts) < 2 })...)
}

// hairline is the part of an axis below which lines cannot be told apart: less than a line's width.
const hairline = 2e-3

// noteCoincidence says which lines lie on each other everywhere, so that one is hidden.
func (c *lineChart) noteCoincidence() {
	lo, hi := c.extent(-1)
	same := sameWithin(lo, hi, c.v.spec.LogY)
	what := "Lines"
	if !c.joined {
		what = "Points"
	}
	c.v.noteSame(what, len(c.v.series.levels), func(a, b int) bool {
		points := 0
		for _, lines := range c.lines {
			points += len(lines[a])
			if !slices.EqualFunc(lines[a], lines[b], func(p, q linePoint) bool { return p.x == q.x && same(p.mean, q.mean) }) {
				return false
			}
		}
		return points > 0
	})
}

// sameWithin tells whether two values are less than a hairline apart on an axis.
func sameWithin(lo, hi float64, log bool) func(a, b float64) bool {
	place := func(v float64) float64 { return v }
	if log {
		place = math.Log10
	}
	near := hairline * (place(hi) - place(lo))
	return func(a, b float64) bool { return math.Abs(place(a)-place(b)) <= near }
}

// noteSame names the groups of series that cannot be told apart.
func (v *view) noteSame(what string, n int, same func(a, b int) bool) {
	in := make([]bool, n)
	var groups []string
	for a := range n {
		if in[a] {
			continue
		}
		group := []string{v.series.level(v.series.levels[a])}
		for b := a + 1; b < n; b++ {
			if !in[b] && same(a, b) {
				in[b] = true
				group = append(group, v.series.level(v.series.levels[b]))
			}
		}
		if len(group) > 1 {
			groups = append(groups, andList(group))
		}
	}
	if len(groups) > 0 {
		v.notes = append(v.notes, fmt.Sprintf("%s that lie on each other: %s.", what, strings.Join(groups, "; ")))
	}
}
