package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/plots/sheet"
	"sim/scenarios/result"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// linePoint is a point of a line: the mean of the cells at one place.
type linePoint struct {
	x float64
	spread
	gap bool // the line does not lead here: cells before it have no value
}

// lineChart is a chart of lines.
type lineChart struct {
	v      *view
	q      Quantity
	lines  [][][]linePoint // by panel and series
	joined bool            // points are in an order that lines may follow
	marked bool            // points have markers
	looks  []look
	marks  []placedMark
	also   []alsoLine
}

func (v *view) lines(t *result.SweepTimings) (*lattice, error) {
	l, _, err := v.pointsAndLines(t)
	return l, err
}

// pointsAndLines makes a chart of lines, or of points where nothing orders them.
func (v *view) pointsAndLines(t *result.SweepTimings) (*lattice, *lineChart, error) {
	m, err := v.measure(v.spec.Y, t)
	if err != nil {
		return nil, nil, err
	}
	c := &lineChart{v: v, looks: v.looks(v.series), marks: v.placeMarks(), joined: true}
	l := &lattice{}
	xWords := v.x.words
	if v.byMetric {
		xWords, err = c.overMetric(l, m, t)
	} else {
		err = c.overAxis(l, m)
	}
	if err != nil {
		return nil, nil, err
	}
	if err := c.addAlso(t); err != nil {
		return nil, nil, err
	}
	c.mark()
	lo, hi := c.extent(-1)
	c.q = v.quantityOf(m.name, v.spec.YLabel, lo, hi, true)
	l.yTitle = c.q.Label
	if v.spec.LogY && c.q.named {
		l.yTitle = c.q.words
	}
	l.Title, l.Subtitle = v.headings(c.q.words + " over " + xWords + v.bySeries())
	v.legend(&l.Sheet, c.looks, parts{lines: c.joined, markers: c.marked}, c.marks)
	c.alsoLegend(&l.Sheet)
	for i := range v.panels.levels {
		l.panes = append(l.panes, pane{head: v.panels.head(v.panels.levels[i]), draw: func(cv draw.Canvas, x, y func(float64) vg.Length) { c.draw(cv, i, x, y) }})
	}
	scales := func() {
		l.share(c.extent, func(lo, hi float64) *Scale { return values(v.near(c.q, lo), lo, hi, v.spec.From, v.spec.LogY, false) })
	}
	scales()
	const least = 150 // points, to follow a line
	l.setColumns(least)
	scales()
	if v.spec.Below != "" {
		if err := c.below(l, t); err != nil {
			return nil, nil, err
		}
	}
	c.noteCoincidence()
	l.Notes = v.notes
	return l, c, nil
}

// overAxis makes lines over the numbers of an axis.
func (c *lineChart) overAxis(l *lattice, m measure) error {
	v := c.v
	l.across = numbered(v.x, v.spec.XLabel, v.spec.LogX)
	t, err := v.tabulate(m)
	if err != nil {
		return err
	}
	c.lines = v.linesOf(t)
	v.noteSpread(t, "A point is")
	return nil
}

// linesOf are the lines of a table, by panel and series, in the order of the
// numbers of the axis.
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
				if cell.n == 0 {
					gap = true
					continue
				}
				lines[p][s] = append(lines[p][s], linePoint{number(x), *cell, gap})
				gap = false
			}
		}
	}
	return lines
}

// overMetric makes points of two metrics, in the order of the axis that is not
// drawn where there is one.
func (c *lineChart) overMetric(l *lattice, m measure, t *result.SweepTimings) (words string, err error) {
	v := c.v
	mx, err := v.measure(v.spec.X, t)
	if err != nil {
		return "", err
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
		if e := v.drawable(mx, cell, x); e != nil && bad == nil {
			bad = e
		}
		put(x)
		p, s := v.place(v.panels, cell), v.place(v.series, cell)
		c.lines[p][s] = append(c.lines[p][s], linePoint{x: x, spread: spread{n: 1, mean: y, min: y, max: y}})
	})
	if err != nil {
		return "", err
	}
	if bad != nil {
		return "", bad
	}
	for _, mark := range c.marks {
		if mark.x >= 0 {
			put(mark.number)
		}
	}
	if c.joined {
		v.notes = append(v.notes, "Lines follow "+hidden[0].words+", from "+sheet.Plain(hidden[0].labels[hidden[0].levels[0]])+
			" to "+sheet.Plain(hidden[0].labels[hidden[0].levels[len(hidden[0].levels)-1]])+".")
	}
	q := v.quantityOf(mx.name, v.spec.XLabel, lo, hi, false)
	l.across = measured(v.near(q, lo), lo, hi, nil, v.spec.LogX)
	return q.words, nil
}

// extent is the range of a panel's points and marks, of all for -1; lo > hi
// where there are none.
func (c *lineChart) extent(panel int) (lo, hi float64) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for p := range c.lines {
		if panel >= 0 && p != panel {
			continue
		}
		for _, line := range c.lines[p] {
			for _, pt := range line {
				lo, hi = min(lo, pt.min), max(hi, pt.max)
			}
		}
	}
	for _, m := range c.marks {
		if panel < 0 || m.panel < 0 || m.panel == panel {
			lo, hi = min(lo, m.y), max(hi, m.y)
		}
	}
	for _, a := range c.also {
		for p, line := range a.lines {
			for _, pt := range line {
				if panel < 0 || p == panel {
					lo, hi = min(lo, pt.min), max(hi, pt.max)
				}
			}
		}
	}
	return lo, hi
}

// crowded is from how many points of a panel on markers would hide the lines.
const crowded = 160

// mark decides whether points have markers.
func (c *lineChart) mark() {
	c.marked = true
	for _, lines := range c.lines {
		points := 0
		for _, line := range lines {
			points += len(line)
		}
		c.marked = c.marked && (points <= crowded || !c.joined)
	}
}

// draw draws a panel's lines, the first series lowest.
func (c *lineChart) draw(cv draw.Canvas, panel int, x, y func(float64) vg.Length) {
	of := func(s int) *look { return &c.looks[c.v.series.levels[s]] }
	c.drawAlso(cv, panel, x, y)
	for s, line := range c.lines[panel] {
		if c.joined {
			strokeLine(cv, of(s).line, line, x, y)
		}
	}
	for s, line := range c.lines[panel] {
		l := of(s)
		for i, p := range line {
			if p.max > p.min {
				const apart = 2.5 // points, so that whiskers of one place are seen beside each other
				at := x(p.x) + apart*(vg.Length(s)-vg.Length(len(c.lines[panel])-1)/2)
				c.whisker(cv, l, at, y(p.min), y(p.max))
			}
			alone := !c.joined || (i == 0 || p.gap) && (i == len(line)-1 || line[i+1].gap)
			if c.marked || alone {
				l.marker(cv, sheet.Point(x(p.x), y(p.mean)), markerRadius)
			}
		}
	}
	for i := range c.marks {
		m := &c.marks[i]
		if m.panel >= 0 && m.panel != panel {
			continue
		}
		clr := sheet.ToRGBA(sheet.Ink)
		if m.series >= 0 {
			clr = sheet.ToRGBA(of(m.series).line.Color)
		}
		at := cv.Max.X - markRadius - 2
		if m.x >= 0 {
			at = x(m.number)
		} else {
			line := statedLine
			line.Color = clr
			cv.StrokeLine2(line, cv.Min.X, y(m.y), cv.Max.X, y(m.y))
		}
		stated(cv, m.shape, clr, sheet.Point(at, y(m.y)), markRadius+0.8)
	}
}

// strokeLine draws a line, broken at its gaps.
func strokeLine(cv draw.Canvas, style draw.LineStyle, line []linePoint, x, y func(float64) vg.Length) {
	var pts []vg.Point
	flush := func() {
		if len(pts) > 1 {
			cv.StrokeLines(style, pts)
		}
		pts = nil
	}
	for _, p := range line {
		if p.gap {
			flush()
		}
		pts = append(pts, sheet.Point(x(p.x), y(p.mean)))
	}
	flush()
}

// whisker is a line from the least to the greatest in the series' colour.
func (c *lineChart) whisker(cv draw.Canvas, l *look, x, lo, hi vg.Length) {
	const half = 2
	cv.StrokeLines(draw.LineStyle{Color: l.line.Color, Width: 1},
		[]vg.Point{sheet.Point(x, lo), sheet.Point(x, hi)}, []vg.Point{sheet.Point(x-half, lo), sheet.Point(x+half, lo)}, []vg.Point{sheet.Point(x-half, hi), sheet.Point(x+half, hi)})
}

// hairline is the part of an axis below which lines cannot be told apart: less
// than a line's width.
const hairline = 2e-3

// noteCoincidence says which lines lie on each other everywhere, so that one is
// hidden.
func (c *lineChart) noteCoincidence() {
	place := (&Scale{Log: c.v.spec.LogY}).place
	lo, hi := c.extent(-1)
	near := hairline * (place(hi) - place(lo))
	same := func(a, b int) bool {
		points := 0
		for _, lines := range c.lines {
			if len(lines[a]) != len(lines[b]) {
				return false
			}
			for i, p := range lines[a] {
				q := lines[b][i]
				if p.x != q.x || !(math.Abs(place(p.mean)-place(q.mean)) <= near) {
					return false
				}
				points++
			}
		}
		return points > 0
	}
	what := "Lines"
	if !c.joined {
		what = "Points"
	}
	c.v.noteSame(what, len(c.v.series.levels), same)
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
