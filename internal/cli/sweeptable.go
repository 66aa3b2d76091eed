package cli

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"sim/scenarios/result"
)

// sweepRows is the most rows of a sweep that are printed; the files hold all.
const sweepRows = 60

// printSweep prints a sweep as a table: a row a variant, a column a policy, in
// each the main metric.
func (c *command) printSweep(s *result.Sweep, t *result.SweepTimings, plots []result.Plot, dir, metric string) error {
	metric, err := sweepMetric(s, plots, metric)
	if err != nil {
		return err
	}
	var b strings.Builder
	paint := painter(c.colours(c.stdout))
	b.WriteString(paint.bold(s.Name))
	if s.Title != "" {
		b.WriteString(": " + s.Title)
	}
	fmt.Fprintf(&b, "\n%s by policy\n\n", metric)
	b.WriteString(sweepTable(s, t, metric, paint))
	fmt.Fprintf(&b, "\n%s in %s. Kept in %s\n", plural(len(s.Cells), "cell", "cells"), roughly(t.WallS), dir)
	_, err = io.WriteString(c.stdout, b.String())
	return err
}

// sweepMetric returns the metric to print: the one asked for, that of the
// study's first figure, or the main one.
func sweepMetric(s *result.Sweep, plots []result.Plot, asked string) (string, error) {
	has := map[string]bool{"solve_s": true, "play_s": true}
	for i := range s.Cells {
		for name := range s.Cells[i].Metrics {
			has[name] = true
		}
	}
	if asked != "" {
		if !has[asked] {
			known := slices.Sorted(maps.Keys(has))
			return "", usagef("no cell has a metric %q%s", asked, didYouMean(asked, known, "there are "+strings.Join(known, ", ")))
		}
		return asked, nil
	}
	if len(plots) > 0 {
		y := plots[0].Y
		switch plots[0].Kind {
		case "heatmap", "twists":
			y = plots[0].Z
		}
		if has[y] {
			return y, nil
		}
	}
	return result.MainOf(has), nil
}

// cellMetric returns a metric of a cell, or a time that it took.
func cellMetric(c *result.Cell, t *result.SweepTimings, metric string) (float64, bool) {
	took, ok := t.Cells[c.Key]
	switch {
	case metric == "solve_s" && ok:
		return took.SolveS, true
	case metric == "play_s" && ok:
		return took.PlayS, true
	}
	v, ok := c.Metrics[metric]
	return v, ok
}

func sweepTable(s *result.Sweep, t *result.SweepTimings, metric string, paint paints) string {
	var policies []string
	var order []string // variants
	type place struct{ variant, policy string }
	cells := map[place]*result.Cell{}
	at := map[string][]string{}
	for i := range s.Cells {
		c := &s.Cells[i]
		if !slices.Contains(policies, c.Policy) {
			policies = append(policies, c.Policy)
		}
		v := fmt.Sprint(c.At)
		if _, ok := at[v]; !ok {
			at[v], order = s.Place(c), append(order, v)
		}
		cells[place{v, c.Policy}] = c
	}
	head := table.Row{}
	for _, a := range s.Axes {
		head = append(head, strings.ReplaceAll(result.ShortKey(a.Name), "_", " "))
	}
	if len(s.Axes) == 0 {
		head = append(head, "")
	}
	for _, p := range policies {
		head = append(head, text.Snip(p, policyWidth, "…"))
	}
	print := alike(s, metric)
	shown, _ := result.Find(metric)
	notes, some := labelled(s, metric)
	tw := newTable(head)
	var left []int
	for a := range head[:max(1, len(s.Axes))] {
		if len(s.Axes) == 0 || s.Axes[a].Numbers == nil {
			left = append(left, a+1)
		}
	}
	alignLeft(tw, len(head), left...)
	for n, v := range order {
		if n == sweepRows && len(order) > sweepRows+1 {
			break
		}
		row := table.Row{}
		for _, label := range at[v] {
			row = append(row, text.Snip(label, policyWidth, "…"))
		}
		if len(s.Axes) == 0 {
			row = append(row, "")
		}
		best, bestAt := 0.0, -1
		for _, p := range policies {
			cell := cells[place{v, p}]
			switch {
			case cell == nil:
				row = append(row, "")
			case cell.Failed != "":
				row = append(row, "failed")
			default:
				x, ok := cellMetric(cell, t, metric)
				if !ok {
					row = append(row, "-")
					break
				}
				if bestAt < 0 || x < best {
					best, bestAt = x, len(row)
				}
				switch {
				case shown.Format == result.Wall || shown.Format == result.Class:
					row = append(row, formatted(x, &shown, nil))
				default:
					mark := ""
					switch {
					case some && cell.Labels[metric] != "":
						mark = "!"
					case some && len(notes) > 0:
						mark = " " // in line with the others
					}
					row = append(row, print(x)+mark)
				}
			}
		}
		if bestAt >= 0 && shown.Better == result.Lower {
			row[bestAt] = paint.bold(row[bestAt].(string))
		}
		tw.AppendRow(row)
	}
	out := tw.Render() + "\n"
	if len(order) > sweepRows+1 {
		out += fmt.Sprintf("... and %s more, in metrics.csv\n", count(float64(len(order)-sweepRows)))
	}
	for _, note := range notes {
		line := metric + ": " + note
		if some {
			line = "! " + line
		}
		out += wrap(line, tableWidth) + "\n"
	}
	return out
}

// labelled returns what cells that have a metric say of it, such as that it cannot be, each once,
// and whether only some say something.
func labelled(s *result.Sweep, metric string) (notes []string, some bool) {
	for i := range s.Cells {
		c := &s.Cells[i]
		if _, ok := c.Metrics[metric]; !ok {
			continue
		}
		switch label := c.Labels[metric]; {
		case label == "":
			some = true
		case !slices.Contains(notes, label):
			notes = append(notes, label)
		}
	}
	return notes, some || len(notes) > 1
}

// alike returns how to print a metric: the same decimals in every cell, so many
// that the largest has five digits; none of whole numbers.
func alike(s *result.Sweep, metric string) func(float64) string {
	most, whole := 0.0, true
	for i := range s.Cells {
		x, ok := s.Cells[i].Metrics[metric]
		if ok && !math.IsInf(x, 0) {
			most, whole = max(most, math.Abs(x)), whole && x == math.Trunc(x)
		}
	}
	if most >= 1e9 || most < 1e-4 && most > 0 {
		return func(x float64) string { return fmt.Sprintf("%.5g", x) }
	}
	digits := 0
	for v := most; !whole && digits < 9 && v < 1e4; v *= 10 {
		digits++
	}
	return func(x float64) string { return strconv.FormatFloat(x, 'f', digits, 64) }
}
