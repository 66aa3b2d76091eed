// This file collects the values of cells that a chart shows, mostly in a table.

package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/plots/sheet"
	"sim/scenarios/result"
)

// measure is a function of cells that a chart can show: a metric, a bound, or a quotient of
// metrics. Its values do not yet include the scale and the offset of the plot.
type measure struct {
	name string
	// value returns the value of a cell. The second result is false if the cell has none.
	value func(c *result.Cell) (float64, bool)
}

// metricNames lists the metrics of the cells: their own in order, then wall-clock metrics, then
// metrics of the ideal fabric with their prefix.
func (v *view) metricNames() []string {
	own := v.sweep.MetricNames()
	reference := map[string]bool{}
	for i := range v.sweep.Cells {
		c := &v.sweep.Cells[i]
		for name := range c.Reference {
			reference[result.ReferencePrefix+name] = true
		}
		for name, values := range c.Samples {
			if v.kind.across && len(values) > 0 {
				own[name] = true
			}
		}
	}

	out := sortedKeys(own)
	for _, name := range result.WallMetrics {
		if !own[name] {
			out = append(out, name)
		}
	}
	return append(out, sortedKeys(reference)...)
}

// boundMetric returns the bound of a metric as a function of cells. name is "bound_METRIC". ok
// is false if the bound is stored as a metric of its own, or if no cell has it.
func (v *view) boundMetric(name string) (of func(c *result.Cell) (float64, bool), ok bool) {
	on, _ := strings.CutPrefix(name, "bound_")
	m, known := result.Find(on)
	if on == name || !known || m.BoundFormula == nil {
		return nil, false
	}
	of = func(c *result.Cell) (float64, bool) {
		return m.BoundOf(c.Metrics, c.Reference)
	}
	return of, slices.ContainsFunc(v.sweep.Cells, func(c result.Cell) bool {
		_, ok := of(&c)
		return ok
	})
}

// measure returns the measure with a name. The name is a metric, "bound_" with a metric, a
// wall-clock metric, "reference." with a metric of the ideal fabric, or the quotient of two of
// these with a slash between them.
func (v *view) measure(name string) (measure, error) {
	m := measure{name: name, value: func(c *result.Cell) (float64, bool) {
		return c.Value(name, v.times)
	}}

	// Names that are not metrics can be bounds or quotients.
	known := v.metricNames()
	if !slices.Contains(known, name) {
		if of, ok := v.boundMetric(name); ok {
			return measure{name: name, value: of}, nil
		}
		if a, b, ok := strings.Cut(name, "/"); ok {
			return v.quotient(a, b)
		}

		if !slices.ContainsFunc(v.sweep.Cells, func(c result.Cell) bool {
			return c.Failed == ""
		}) {
			return m, fmt.Errorf("no cell has a value of %s: all failed, the first "+
				"for this reason: %s", name, firstLine(v.sweep.Cells[0].Failed))
		}
		return m, unknownName("metric", name, known)
	}

	// Wall-clock metrics need timings, unless cells have them as metrics.
	own := slices.ContainsFunc(v.sweep.Cells, func(c result.Cell) bool {
		_, ok := c.Metrics[name]
		return ok || len(c.Samples[name]) > 0
	})

	if v.times == nil && !own && slices.Contains(result.WallMetrics, name) {
		return m, fmt.Errorf("%s needs the sweep's timings, which there are none of",
			name)
	}
	return m, nil
}

// quotient returns the quotient a/b of two measures. It is undefined for cells without one of
// them and for cells where b is 0.
func (v *view) quotient(a, b string) (measure, error) {
	over, err := v.measure(strings.TrimSpace(a))
	if err != nil {
		return over, err
	}
	under, err := v.measure(strings.TrimSpace(b))

	return measure{
		name: over.name + "/" + under.name,
		value: func(c *result.Cell) (float64, bool) {
			x, hasX := over.value(c)
			y, hasY := under.value(c)
			if !hasX || !hasY || y == 0 {
				return 0, false
			}
			return x / y, true
		},
	}, err
}

// applyScale applies the scale and the offset of the plot to x. Rounding errors around 0 become
// 0, so that a value that equals the offset is at the base of its bar.
func (v *view) applyScale(x float64) float64 {
	// rounding is relative to the offset; a smaller difference is a rounding error.
	const rounding = 1e-12
	y := x*cmp.Or(v.spec.Scale, 1) + v.spec.Offset
	if math.Abs(y) < rounding*math.Abs(v.spec.Offset) {
		return 0
	}
	return y
}

// cellSummary summarises the values of the cells at one position: number, mean, minimum and
// maximum.
type cellSummary struct {
	// n is the number of values; 0 if the position is empty.
	n              int
	mean, min, max float64 // of these values; min and max are the ends of the whisker
	// squares is the sum of the squared differences between the values and their mean.
	squares float64
}

// add adds a value, with a running mean and sum of squares (Welford 1962). The mean does not
// overflow.
func (s *cellSummary) add(x float64) {
	if s.n == 0 {
		s.mean, s.min, s.max = x, x, x
	}
	s.n++
	s.min, s.max = min(s.min, x), max(s.max, x)
	difference := x - s.mean
	s.mean += difference / float64(s.n)
	s.squares += difference * (x - s.mean)

	// Rounding must not move the mean out of the range.
	s.mean = min(max(s.mean, s.min), s.max)
}

// table holds a summary for each combination of panel, series and x category. Most kinds of
// charts draw a table.
type table struct {
	// cells is indexed by (panel*series + series)*columns + x.
	cells []cellSummary
	// series and columns are the numbers of series and of x categories.
	series, columns int
	// maxPerCell is the maximum number of sweep cells per summary.
	maxPerCell int
	pooled     pooledDimensions
}

// pooledDimensions finds the dimensions without a role that vary among the cells at one position
// of a chart.
type pooledDimensions struct {
	dimensions []*dimension
	varies     []bool        // indexed by dimension
	first      map[int][]int // categories of the first cell, by position; indexed by dimension
}

// newPooledDimensions returns pooledDimensions without cells.
func (v *view) newPooledDimensions() pooledDimensions {
	hidden := v.averagedDimensions()
	return pooledDimensions{dimensions: hidden, varies: make([]bool, len(hidden)), first: map[int][]int{}}
}

// add adds a cell at a position.
func (p *pooledDimensions) add(position int, c *result.Cell) {
	if len(p.dimensions) == 0 {
		return
	}
	first, given := p.first[position]
	for i, f := range p.dimensions {
		if !given {
			first = append(first, f.indexOf(c))
		} else if f.indexOf(c) != first[i] {
			p.varies[i] = true
		}
	}
	p.first[position] = first
}

// texts names the dimensions that vary.
func (p *pooledDimensions) texts() (names []string) {
	for i, f := range p.dimensions {
		if p.varies[i] {
			names = append(names, f.text)
		}
	}
	return names
}

// position returns the index of a position in cells.
func (t *table) position(panel, series, x int) int { return (panel*t.series+series)*t.columns + x }

// cell returns the summary at a position.
func (t *table) cell(panel, series, x int) *cellSummary {
	return &t.cells[t.position(panel, series, x)]
}

// allPanels stands for all panels of a chart where the index of a panel is expected.
const allPanels = -1

// means returns the means of all summaries of a panel, or of allPanels, that have cells.
func (t *table) means(panel int) []float64 {
	var out []float64
	for _, s := range t.panelCells(panel) {
		if s.n > 0 {
			out = append(out, s.mean)
		}
	}
	return out
}

// panelCells returns the summaries of a panel, or of allPanels.
func (t *table) panelCells(panel int) []cellSummary {
	if panel == allPanels {
		return t.cells
	}
	n := t.series * t.columns
	return t.cells[panel*n : (panel+1)*n]
}

// tabulate builds the table of a measure and applies the options aggregation and whiskers. It returns an error if no
// cell has a value.
func (v *view) tabulate(m measure) (*table, error) {
	t := &table{series: len(v.series.categories), columns: len(v.x.categories), pooled: v.newPooledDimensions()}
	t.cells = make([]cellSummary, len(v.panels.categories)*t.series*t.columns)
	err := v.forEachValue(m, func(c *result.Cell, y float64) {
		position := t.position(v.panels.indexOf(c), v.series.indexOf(c), v.x.indexOf(c))
		t.pooled.add(position, c)
		s := &t.cells[position]
		s.add(y)
		t.maxPerCell = max(t.maxPerCell, s.n)
	})

	for i := range t.cells {
		t.cells[i].reduce(v.spec.Aggregation)
		if v.spec.Whiskers == deviationWhiskers {
			t.cells[i].narrow()
		}
	}
	return t, err
}

// tableOf returns the measure with a name and its table.
func (v *view) tableOf(name string) (measure, *table, error) {
	m, err := v.measure(name)
	if err != nil {
		return m, nil, err
	}
	tab, err := v.tabulate(m)
	return m, tab, err
}

// reduce replaces the summary by its minimum or maximum if which is "min" or "max". Other values
// leave the summary unchanged.
func (s *cellSummary) reduce(which string) {
	switch which {
	case "min":
		s.mean, s.max = s.min, s.min
	case "max":
		s.mean, s.min = s.max, s.max
	}
}

// deviationWhiskers is the value of the option whiskers for one standard deviation.
const deviationWhiskers = "deviation"

// narrow sets the ends of the whisker to one sample standard deviation from the mean.
func (s *cellSummary) narrow() {
	if s.n > 1 {
		deviation := math.Sqrt(s.squares / float64(s.n-1))
		s.min, s.max = s.mean-deviation, s.mean+deviation
	}
}

// reductionTexts describes the values of the option aggregation.
var reductionTexts = map[string]string{
	"":     "mean",
	"mean": "mean",
	"min":  "least",
	"max":  "greatest",
}

// forEachValue calls do with the value of each cell of the chart, after scale and offset. Cells
// without a value, or without a place on a logarithmic axis, are listed in a note.
func (v *view) forEachValue(m measure, do func(c *result.Cell, y float64)) error {
	var missing []*result.Cell
	for _, c := range v.cells {
		x, ok := m.value(c)
		x = v.applyScale(x)
		if err := v.checkDrawable(m, c, x); ok && err != nil {
			return err
		}
		if !ok || v.logarithmic() && x <= 0 {
			missing = append(missing, c)
			continue
		}

		do(c, x)
	}

	return v.noteMissing(m, missing)
}

// logarithmic reports whether the metric is on a logarithmic axis.
func (v *view) logarithmic() bool {
	return v.spec.LogY || v.kind.across && v.spec.LogX
}

// checkDrawable returns an error if a value is too large to draw.
func (v *view) checkDrawable(m measure, c *result.Cell, x float64) error {
	if !drawable(x) {
		return fmt.Errorf("%s of %s is %g, which no figure can show", m.name,
			v.cellName(c), x)
	}
	return nil
}

// noteMissing adds a note that lists the cells without a value. If no cell has a value, it
// returns an error.
func (v *view) noteMissing(m measure, missing []*result.Cell) error {
	if len(missing) == 0 {
		return nil
	}
	if len(missing) == len(v.cells) {
		err := fmt.Errorf("none of the %s has a value of %s",
			text.Plural(len(missing), "cell"), m.name)
		if why := v.missingReason(m, missing[0]); why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		}
		return err
	}

	// List the first cells with their reasons.
	const maxNamed = 3
	var names []string
	for i, c := range missing {
		if i == maxNamed && len(missing) > maxNamed+1 {
			names = append(names, fmt.Sprintf("and %d more", len(missing)-maxNamed))
			break
		}

		name := v.cellName(c)
		if why := v.missingReason(m, c); why != "" {
			name += " (" + why + ")"
		}
		names = append(names, name)
	}

	have := "have"
	if len(missing) == 1 {
		have = "has"
	}
	v.notes = append(v.notes, fmt.Sprintf("%s %s no value: %s.",
		text.Plural(len(missing), "cell"), have, strings.Join(names, "; ")))
	return nil
}

// missingReason returns the reason why a cell is not drawn, shortened for a note. It returns ""
// if the reason is unknown.
func (v *view) missingReason(m measure, c *result.Cell) string {
	if x, ok := m.value(c); ok && c.Failed == "" && v.applyScale(x) <= 0 &&
		v.logarithmic() {
		return sheet.Digits(v.applyScale(x),
			3) + ", which a logarithmic axis does not have"
	}

	why := firstLine(cmp.Or(c.Failed, c.Labels[m.name]))
	const maxLength = 80 // characters
	if r := []rune(why); len(r) > maxLength {
		why = strings.TrimRight(string(r[:maxLength]), " ") + "…"
	}
	if c.Failed != "" {
		why = "failed: " + why
	}
	return why
}

// firstLine returns the first line of s without surrounding space.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return sheet.Plain(s)
}

// noteSpread adds a note that explains positions with several cells. The parameter what begins
// the sentence, such as "A bar is".
func (v *view) noteSpread(t *table, what string) {
	if t.maxPerCell < 2 {
		return
	}
	over := t.pooled.texts()
	which := reductionTexts[v.spec.Aggregation]

	// The number is exact if all positions have equally many cells.
	note := fmt.Sprintf("%s the %s of up to %d cells", what, which, t.maxPerCell)
	if !slices.ContainsFunc(t.cells, func(s cellSummary) bool {
		return s.n > 0 && s.n != t.maxPerCell
	}) {
		note = fmt.Sprintf("%s the %s of %d cells", what, which, t.maxPerCell)
	}

	if len(over) > 0 {
		note += ", over " + andList(over)
	}
	if !v.kind.tiles && which == "mean" {
		if v.spec.Whiskers == deviationWhiskers {
			note += "; whiskers reach one standard deviation down and up"
		} else {
			note += "; whiskers reach from the least to the greatest"
		}
	}
	v.notes = append(v.notes, note+".")
}
