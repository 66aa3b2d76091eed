// This file prints the results of a sweep as one table of a metric.

package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// maxSweepRows is the number of printed rows of a sweep, about two screens. The files contain
// all rows.
const maxSweepRows = 60

// SweepMetric returns the metric of a sweep's table. It is the requested metric, else the metric
// of the study's first figure, else the main metric. A metric that is relative to different ideal
// fabrics with equal interfaces has to be requested. filter selects the cells of the table, as in Sweep.
// SweepMetric returns an error if no cell has the requested metric.
func SweepMetric(s *result.Sweep, plots []result.Plot, requested string, filter result.NameFilter) (string, error) {
	// Wall-clock metrics and metrics of the ideal fabric can be requested, too.
	has := s.MetricNames()
	measured := maps.Clone(has)
	for i := range s.Cells {
		for name := range s.Cells[i].Reference {
			has[result.ReferencePrefix+name] = true
		}
	}
	for _, name := range result.WallMetrics {
		has[name] = true
	}
	if requested != "" {
		if !has[requested] {
			known := slices.Sorted(maps.Keys(has))
			return "", fmt.Errorf("no cell has a metric %q%s", requested,
				text.DidYouMean(requested, known,
					"there are "+strings.Join(known, ", ")))
		}
		return requested, nil
	}

	if len(plots) > 0 {
		// In figures with tiles, z is the metric.
		y := plots[0].Y
		switch plots[0].Kind {
		case "heatmap", "twists":
			y = plots[0].Z
		}
		// Rows whose references differ, although their interfaces are equal, are ranked by time.
		d := s.ReferenceDifference(y, selectedBy(s, filter))
		if has[y] && (d == nil || !d.SameInterfaces()) {
			return y, nil
		}
	}

	return s.MainOf(measured, selectedBy(s, filter)), nil
}

// selectedBy returns a function that reports whether filter selects a cell.
func selectedBy(s *result.Sweep, filter result.NameFilter) func(c *result.Cell) bool {
	return func(c *result.Cell) bool { return filter.Matches(s.NameOf(c)) }
}

// Sweep returns a sweep's table of a metric, with one row per variant and one column per policy.
// filter selects cells and must be resolved. dir is the directory of the sweep. style is the layout;
// the best value of each row is highlighted.
func Sweep(
	s *result.Sweep,
	t *result.SweepTimings,
	metric string,
	filter result.NameFilter,
	dir string,
	style text.Style,
) string {
	p := &writer{style: style}
	p.WriteString(p.emphasize(s.Name))
	if s.Title != "" {
		p.WriteString(strings.TrimPrefix(text.Wrap(s.Name+": "+s.Title, p.width(), noHang), s.Name))
	}
	p.line("")
	p.printCells(s, t, metric, filter)
	p.line("\n%s in %s. Kept in %s", text.Plural(len(s.Cells), "cell"),
		text.Roughly(t.WallS), dir)

	return p.String()
}

// printCells prints the table, followed by labels of its values.
func (p *writer) printCells(
	s *result.Sweep,
	t *result.SweepTimings,
	metric string,
	filter result.NameFilter,
) {
	policies, variants, cells := selectCells(s, filter)

	// The columns are the coordinates in which variants differ, then the policies.
	keys, common := result.Project(variants)
	if len(variants) < 2 {
		keys, common = variants[0].Keys(), nil
	}
	// A metric that is relative to different references is marked, and no value is highlighted.
	differs := s.ReferenceDifference(metric, selectedBy(s, filter))
	mark := ""
	if differs != nil {
		mark = " " + result.ReferenceMark
	}
	p.paragraph("%s%s by policy%s", metric, mark, describeCommon(common))
	heads := result.ColumnHeads(keys)

	// left has the columns that are aligned to the left, because their values are not numbers.
	var left []int
	for i, key := range keys {
		// Keys without numbers are aligned to the left.
		heads[i] = strings.ReplaceAll(heads[i], "_", " ")
		if slices.ContainsFunc(s.Axes, func(a result.Axis) bool {
			return a.Name == key && a.Numbers == nil
		}) {
			left = append(left, i)
		}
	}

	if len(keys) == 0 {
		heads, left = []string{""}, []int{0}
	}
	firstPolicy := len(heads) // index of the first policy's column
	for _, policy := range policies {
		heads = append(heads, text.Snip(policy, maxPolicyWidth))
	}
	wins := make([]int, len(heads)) // rows in which a column has the best value, by column

	// Print one row per variant. partly reports whether only some cells have labels; those are
	// marked.
	shown, _ := result.Find(metric)
	print := valueFormatter(s, t, &shown)
	notes, partly := labelNotes(s, metric)
	table := text.NewTable(heads...).Left(left...)
	for n, name := range variants {
		if n == maxSweepRows && len(variants) > maxSweepRows+1 {
			break
		}
		var row []string
		for _, key := range keys {
			row = append(row, text.Snip(name.Get(key), maxPolicyWidth))
		}
		if len(keys) == 0 {
			row = []string{""}
		}

		// best is the smallest value of the row, in column bestAt. longest is the largest value,
		// which determines the unit of the row.
		best, bestAt, longest := 0.0, -1, 0.0
		for _, policy := range policies {
			if c := cells[cellPlace{name.ID(), policy}]; c != nil {
				v, _ := c.Value(metric, t)
				longest = max(longest, math.Abs(v))
			}
		}

		for _, policy := range policies {
			c := cells[cellPlace{name.ID(), policy}]
			text := ""
			switch {
			case c == nil:
			case c.Failed != "":
				text = "failed"
			default:
				v, ok := c.Value(metric, t)
				if !ok {
					text = "-"
					break
				}
				if bestAt < 0 || v < best {
					best, bestAt = v, len(row)
				}
				text = print(v, longest)
				switch {
				case partly && c.Labels[metric] != "":
					text += "!"
				case partly && len(notes) > 0:
					// Aligned with highlighted values.
					text += " "
				}
			}

			row = append(row, text)
		}

		if bestAt >= 0 && shown.Better == result.Lower && differs == nil {
			row[bestAt] = p.emphasize(row[bestAt])
			wins[bestAt]++
		}
		table.Row(row)
	}

	// In a narrow terminal, coordinates and the policies that are best most often remain.
	var rank []int
	for i := range heads {
		rank = append(rank, i)
	}
	slices.SortStableFunc(rank[firstPolicy:], func(a, b int) int { return wins[b] - wins[a] })
	p.table(table.Rank(rank...))
	if rest := len(variants) - maxSweepRows; rest > 1 {
		p.line("... and %s more, in metrics.csv", text.Count(rest))
	}
	if differs != nil {
		p.paragraph("%s %s", result.ReferenceMark, differs)
	} else if d := s.RelativeDifference(selectedBy(s, filter)); d != nil && metric == d.Absolute {
		p.paragraph("%s", d)
	}

	for _, note := range notes {
		if note = metric + ": " + note; partly {
			note = "! " + note
		}
		p.paragraph("%s", note)
	}
}

// cellPlace is the place of a cell in the table: the ID of its variant's name, and its policy.
type cellPlace struct{ variant, policy string }

// selectCells returns the cells that pass a filter, with their policies and variants in the
// order of the sweep. A variant is the name of a cell without its policy.
func selectCells(s *result.Sweep, filter result.NameFilter) (
	policies []string,
	variants []result.Name,
	cells map[cellPlace]*result.Cell,
) {
	cells = map[cellPlace]*result.Cell{}
	seen := map[string]bool{}
	for i := range s.Cells {
		c := &s.Cells[i]
		name := s.NameOf(c)
		if !filter.Matches(name) {
			continue
		}
		if !slices.Contains(policies, c.Policy) {
			policies = append(policies, c.Policy)
		}
		name = name.Without([]string{result.PolicyKey})
		if id := name.ID(); !seen[id] {
			seen[id], variants = true, append(variants, name)
		}
		cells[cellPlace{name.ID(), c.Policy}] = c
	}
	return policies, variants, cells
}

// describeCommon describes the parts that all rows share, or returns "".
func describeCommon(common result.Name) string {
	if len(common) == 0 {
		return ""
	}
	return " (" + common.String() + ")"
}

// labelNotes returns the distinct labels of a metric, such as the reason why it is undefined.
// partly reports whether only some cells have a label, or whether labels differ.
func labelNotes(s *result.Sweep, metric string) (notes []string, partly bool) {
	for i := range s.Cells {
		c := &s.Cells[i]
		if _, ok := c.Metrics[metric]; !ok {
			continue
		}
		switch label := c.Labels[metric]; {
		case label == "":
			partly = true
		case !slices.Contains(notes, label):
			notes = append(notes, label)
		}
	}

	return notes, partly || len(notes) > 1
}

// valueFormatter returns a function that formats a metric of cells like tables of runs.
// Times use the unit of the longest time in the table. If times differ by more than
// maxUnitSpread, they use the unit of the row's longest time, maxValue. Metrics without a
// format have equal decimals in all cells, with five digits for the largest value, or
// none if all are integers.
func valueFormatter(
	s *result.Sweep,
	t *result.SweepTimings,
	m *result.Metric,
) func(v, maxValue float64) string {
	// Find the range of the values, and whether all are integers.
	minValue := math.Inf(1)
	maxValue := 0.0
	whole := true
	for i := range s.Cells {
		if x, ok := s.Cells[i].Value(m.Name, t); ok && !math.IsInf(x, 0) {
			maxValue = max(maxValue, math.Abs(x))
			whole = whole && x == math.Trunc(x)
			if x != 0 {
				minValue = min(minValue, math.Abs(x))
			}
		}
	}

	switch {
	case m.Format == result.Time || m.Format == result.Plain && m.Unit == "s":
		unit := text.UnitFor(maxValue)
		return func(v, row float64) string {
			if maxValue > maxUnitSpread*minValue {
				return text.UnitFor(row).Of(v)
			}
			return unit.Of(v)
		}

	case m.Format == result.Plain && m.Unit == "B/s":
		return func(v, _ float64) string { return text.BytesPerSecond(v) }
	case m.Format != result.Plain && m.Format != result.Fixed:
		return func(v, _ float64) string { return formatValue(v, m, nil) }
	case maxValue >= 1e9 || maxValue < 1e-4 && maxValue > 0: // too long without an exponent
		return func(v, _ float64) string { return fmt.Sprintf("%.5g", v) }
	}

	// Use five significant digits for the largest value.
	digits := 0
	for v := maxValue; !whole && digits < 9 && v < 1e4; v *= 10 {
		digits++
	}
	return func(v, _ float64) string {
		return strconv.FormatFloat(v, 'f', digits, 64)
	}
}

// maxUnitSpread is the largest ratio of times in a table that share a unit: the ratio of two
// units, such as ms and s. Smaller times would have too few digits.
const maxUnitSpread = 1e3
