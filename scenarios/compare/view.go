// This file selects and formats the differences that a comparison shows, for all
// output formats.

package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// View selects the parts of a comparison that the Write methods print. The zero value is the
// default.
type View struct {
	// All includes equal values, all elements of long lists, and wall-clock times by row.
	All bool
	// Style is the layout of text. Failing values are highlighted.
	Style text.Style
}

// maxListedRows is the number of elements of a list that are printed by default, about one
// screen. The number of others is printed.
const maxListedRows = 50

// listsRows reports whether the differences of m are listed by row. References sums up the metrics
// of the reference.
func (c *Comparison) listsRows(m *Metric, v View) bool {
	if m.isReference && !m.MayFail && !v.All {
		return false
	}
	return v.All || !m.Wall || m.MayFail || !slices.ContainsFunc(c.Metrics, func(m Metric) bool { return !m.Wall })
}

// visibleDifferences returns the differences of a metric that a view prints.
func (c *Comparison) visibleDifferences(m *Metric, v View) []Difference {
	if !c.listsRows(m, v) {
		return nil
	}
	var out []Difference
	for _, d := range c.Differences {
		if d.Metric == m.Name && (v.All || d.Mark != Same) {
			out = append(out, d)
		}
	}
	return out
}

// failingFirst compares two elements of a list that begins with the failing ones.
func failingFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// metricsInOrder returns the metrics as they are printed: failing ones first.
func (c *Comparison) metricsInOrder() (metrics []*Metric) {
	failing := map[string]bool{}
	for i := range c.Differences {
		failing[c.Differences[i].Metric] = failing[c.Differences[i].Metric] || c.Differences[i].Fails
	}
	for i := range c.Metrics {
		metrics = append(metrics, &c.Metrics[i])
	}
	slices.SortStableFunc(metrics, func(a, b *Metric) int { return failingFirst(failing[a.Name], failing[b.Name]) })
	return metrics
}

// hasNoDifferences reports whether no value that is simulated or may fail differs.
func (c *Comparison) hasNoDifferences() bool {
	return len(c.MissingRows)+len(c.NewRows) == 0 && !slices.ContainsFunc(c.Metrics, func(m Metric) bool {
		return m.Differ > 0 && c.listsRows(&m, View{})
	})
}

// topDifferences returns at most maxListedRows of diffs, in their order. It prefers
// failing ones, then the largest changes.
func topDifferences(diffs []Difference, v View) []Difference {
	if v.All || len(diffs) <= maxListedRows {
		return diffs
	}
	order := make([]int, len(diffs))
	for i := range order {
		order[i] = i
	}
	size := func(d *Difference) float64 {
		if d.Change == nil {
			return math.Inf(1) // missing, new or from 0
		}
		return math.Abs(*d.Change)
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &diffs[a], &diffs[b]
		if x.Fails != y.Fails {
			if x.Fails {
				return -1
			}
			return 1
		}
		return cmp.Compare(size(y), size(x))
	})
	order = order[:maxListedRows]
	slices.Sort(order)
	out := make([]Difference, len(order))
	for i, at := range order {
		out[i] = diffs[at]
	}
	return out
}

// Project returns the keys of the parts in which the names of c's rows differ, with the
// policy last. common are the parts that all rows share.
func (c *Comparison) Project() (keys []string, common result.Name) {
	names := slices.Concat(c.MissingRows, c.NewRows)
	for i := range c.Differences {
		names = append(names, c.Differences[i].Row)
	}
	return result.Project(names)
}

// leftOf returns the left-aligned columns of a table: the first ones and the verdict.
func leftOf(t *text.Table, first int) []int {
	left := []int{len(t.Heads) - 1}
	for i := range first {
		left = append(left, i)
	}
	return left
}

// rankOf returns the columns of a table by importance: the first ones, the verdict, the change, the
// new and the old value.
func rankOf(t *text.Table, first int) (rank []int) {
	for i := range first {
		rank = append(rank, i)
	}
	for i := len(t.Heads) - 1; i >= first; i-- {
		rank = append(rank, i)
	}
	return rank
}

// table returns the table of a metric's differences.
func (c *Comparison) table(m *Metric, diffs []Difference, keys []string) *text.Table {
	t := text.NewTable(append(result.ColumnHeads(keys), "old", "new", "change", "verdict")...)
	t.Left(leftOf(t, len(keys))...).Rank(rankOf(t, len(keys))...)
	scale := scaleFor(m.Name, diffs)
	for i := range diffs {
		var cells []string
		for _, key := range keys {
			cells = append(cells, diffs[i].Row.Get(key))
		}
		c.valueRow(t, &diffs[i], scale, cells...)
	}
	return t
}

// singleRowTable returns the table of all metrics if the sets have only one common row.
// It returns nil otherwise, or if nothing is listed.
func (c *Comparison) singleRowTable(v View) *text.Table {
	if c.Rows != 1 {
		return nil
	}
	t := text.NewTable("metric", "better", "old", "new", "change", "verdict").Left(0, 1, 5) // metric, better and verdict
	t.Rank(rankOf(t, 1)...)
	listed := false
	for _, m := range c.metricsInOrder() {
		for _, d := range c.visibleDifferences(m, v) {
			c.valueRow(t, &d, scaleFor(m.Name, []Difference{d}), m.Name, cmp.Or(m.Better, "-"))
			listed = true
		}
	}
	if !listed {
		return nil
	}
	return t
}

// valueRow adds a difference to a table: cells, then both values, the change and the
// verdict.
func (c *Comparison) valueRow(t *text.Table, d *Difference, by scale, cells ...string) {
	w := by.differenceText(d)
	cells = append(cells, w.Old, w.New, w.Change, w.Verdict)
	if d.Fails {
		t.BoldRow(cells)
	} else {
		t.Row(cells)
	}
}

// changeText returns the relative change as text.
func (d *Difference) changeText() string {
	switch {
	case d.Old == nil || d.New == nil:
		return "-"
	case d.Change == nil:
		return "from 0"
	}
	change := text.Change(*d.Change)
	if d.P != nil {
		change += fmt.Sprintf(" (p=%.3f)", *d.P)
	}
	return change
}

// verdict returns the mark of a difference and whether it fails.
func (d *Difference) verdict() string {
	switch {
	case d.OtherReference && d.Fails:
		return "other reference, fails"
	case d.OtherReference:
		return "other reference"
	case d.Fails:
		return string(d.Mark) + ", fails"
	case d.Mark == Same:
		return ""
	}
	return string(d.Mark)
}

// heading returns the name of a metric, its direction, and the number of rows in which it
// differs.
func (m *Metric) heading() string {
	direction := ""
	if m.Better != "" {
		direction = ", " + m.Better + " is better"
	}
	return fmt.Sprintf("%s%s: differs in %s of %s", m.Name, direction, text.Count(m.Differ), text.Plural(m.Rows, "row"))
}

// meansLine returns the geometric means of a metric, or "" if there is only one row or
// all means differ only by rounding.
func (m *Metric) meansLine() string {
	if len(m.Means) == 0 || m.Means[0].Rows < 2 || !slices.ContainsFunc(m.Means, Mean.differs) {
		return ""
	}
	several := slices.ContainsFunc(m.Means[1:], func(p Mean) bool { return p.Rows > 1 })
	parts := []string{fmt.Sprintf("%s over %s", text.Change(m.Means[0].Ratio-1), text.Plural(m.Means[0].Rows, "row"))}
	for _, p := range m.Means[1:] {
		if several && p.differs() {
			parts = append(parts, p.Policy+" "+text.Change(p.Ratio-1))
		}
	}
	return "geometric mean of new/old: " + strings.Join(parts, "; ")
}

// differs reports whether a mean differs from 1 by more than rounding.
func (m Mean) differs() bool { return math.Abs(m.Ratio-1) > Rounding }

// wallTable returns the sums of wall-clock times, by metric and policy, that are not
// listed by row. Sums whose difference is noise of the machine are left out. It returns
// nil if none remain.
func (c *Comparison) wallTable(v View) *text.Table {
	t := text.NewTable("wall-clock of all rows", "policy", "old", "new", "mean change").Left(0, 1) // metric and policy
	differ := false
	for i := range c.Metrics {
		m := &c.Metrics[i]
		if !m.Wall || c.listsRows(m, v) {
			continue
		}

		// The sums of a metric are formatted like differences, with one scale.
		var sums []Difference
		for k := range m.Means {
			sums = append(sums, Difference{Old: &m.Means[k].Old, New: &m.Means[k].New})
		}
		for k, mean := range m.Means {
			if math.Abs(mean.New-mean.Old) < minWallChange {
				continue
			}
			differ = true
			number := scaleFor(m.Name, sums[k:k+1]).digitsFor(&sums[k])
			policy := mean.Policy
			if policy == "" {
				policy = "all"
			}
			t.Row(m.Name, policy, number(mean.Old), number(mean.New), text.Change(mean.Ratio-1))
		}
	}
	if !differ {
		return nil
	}
	return t
}

// Summary returns the outcome in one line, and how rows were paired.
func (c *Comparison) Summary() string {
	if c.Pairing != "" {
		return c.outcome() + "; " + c.Pairing
	}
	return c.outcome()
}

// outcome returns the numbers of differences in one line.
func (c *Comparison) outcome() string {
	count := map[Mark]int{}
	metrics, total := 0, 0
	for i := range c.Metrics {
		if m := &c.Metrics[i]; c.listsRows(m, View{}) {
			metrics++
			for _, d := range c.Differences {
				if d.Metric == m.Name {
					count[d.Mark]++
					total++
				}
			}
		}
	}
	where := fmt.Sprintf("in %s, %s", text.Plural(c.Rows, "row"), text.Plural(metrics, "metric"))
	if c.hasNoDifferences() {
		return "no differences " + where
	}
	var parts []string
	for _, mark := range []Mark{Better, Worse, Changed, Missing, New} {
		if count[mark] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count[mark], mark))
		}
	}
	line := fmt.Sprintf("%d of %d values differ %s", total-count[Same], total, where)
	if parts != nil {
		line += ": " + strings.Join(parts, ", ")
	}
	if n := len(c.MissingRows); n > 0 {
		line += "; " + text.Plural(n, "row") + " missing"
	}
	if n := len(c.NewRows); n > 0 {
		line += "; " + text.Plural(n, "row") + " new"
	}
	return line
}

// Rules states which changes are regressions.
func (c *Comparison) Rules() string {
	var simulated, timed, wall []string

	// chosen reports whether only some simulated metrics may fail, so that others may be missing.
	chosen := false
	for _, m := range c.Metrics {
		chosen = chosen || !m.Wall && !m.isRequired
		switch {
		case m.MayFail && m.fromTimings:
			timed = append(timed, m.Name)
		case m.MayFail && m.Wall:
			wall = append(wall, m.Name)
		case m.MayFail:
			simulated = append(simulated, m.Name)
		}
	}
	line, how := "a regression is a missing row or metric", " "
	if chosen {
		line, how = "a regression is a missing row", " missing or "
	}
	if simulated != nil {
		word := "worse"
		if c.FailOnChange {
			word = "changed"
		}
		line += ", or " + strings.Join(simulated, ", ") + how + word + " by more than " + share(c.FailOver)
	}
	if timed != nil {
		line += ", or " + strings.Join(timed, ", ") + how + "worse by more than " + share(*c.WallFailOver) +
			fmt.Sprintf(" and %g ms", 1e3*minWallChange)
	}
	if wall != nil {
		line += ", or " + strings.Join(wall, ", ") + how + "worse by more than " + share(*c.WallFailOver)
	}
	return line
}

// DifferenceText is a Difference as printed in tables.
type DifferenceText struct {
	Old     string `json:"old"`
	New     string `json:"new"`
	Change  string `json:"change"`
	Verdict string `json:"verdict"`
}

// DifferenceTexts returns every difference as WriteText prints it, in the order of
// Differences.
func (c *Comparison) DifferenceTexts() []DifferenceText {
	by := map[string]scale{}
	for i := range c.Metrics {
		name := c.Metrics[i].Name
		by[name] = scaleFor(name, c.visibleDifferences(&c.Metrics[i], View{All: true}))
	}
	out := make([]DifferenceText, len(c.Differences))
	for i := range c.Differences {
		d := &c.Differences[i]
		out[i] = by[d.Metric].differenceText(d)
	}
	return out
}

// differenceText formats a difference at a scale.
func (s scale) differenceText(d *Difference) DifferenceText {
	number := s.digitsFor(d)
	shown := func(v *float64) string {
		if v == nil {
			return "-"
		}
		return number(*v)
	}
	return DifferenceText{Old: shown(d.Old), New: shown(d.New), Change: d.changeText(), Verdict: d.verdict()}
}
