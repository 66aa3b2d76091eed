// This file prints the use of the chip-time of fleets, and the effects of changes on
// it.

package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sim/internal/text"
	"sim/scenarios/result"
)

// printFleet prints the use of a fleet's chip-time under each policy.
func (p *writer) printFleet(run *result.Run, row *result.Row) {
	goodput, _ := result.Find(result.Goodput)
	p.paragraph("%s turns %s of all chip-time into work that is kept.",
		p.emphasize(row.Policy), formatMean(&run.Document, row, &goodput))
	// Build one column per policy and one row per use of chip-time.
	heads := []string{"chip-time, %"}
	parts := result.PartsOf(result.ChipTime, run.Document.Rows)

	// cells has the shares of the policies, indexed by part; the last row has their sums.
	cells := make([][]string, len(parts)+1)
	for i := range run.Document.Rows {
		heads = append(heads, run.Document.Rows[i].Policy)
		var shares []float64
		for _, part := range parts {
			shares = append(shares, 100*part.Values[i])
		}
		// Round the shares so that their sum is exact.
		rounded := text.AddUp(100, shares...)
		for k, v := range append(rounded, sum(rounded)) {
			cells[k] = append(cells[k], fmt.Sprintf("%.2f", v))
		}
	}

	// Print the rows and their sum.
	t := text.NewTable(heads...)
	for k, part := range parts {
		t.Row(part.Words, cells[k])
	}
	t.Row("all", cells[len(parts)])
	p.table(t)

	if _, ok := standardError(&run.Document, row, &goodput); ok {
		p.printStandardErrors(&run.Document)
	}
}

// printStandardErrors prints the standard errors of the columns of the table of results.
func (p *writer) printStandardErrors(doc *result.Document) {
	columns := doc.Columns()
	for i, m := range columns {
		columns[i].Head, _, _ = strings.Cut(m.Head, ",\n")
	}
	p.line("\nAll values are means over seeds. Their standard errors:")
	t := text.NewTable(columnHeads("policy", columns)...)
	for i := range doc.Rows {
		cells := make([]string, len(columns))
		for k := range columns {
			cells[k], _ = standardError(doc, &doc.Rows[i], &columns[k])
		}
		t.Row(doc.Rows[i].Policy, cells)
	}
	p.table(t)
}

// Gains lists the effects of single changes for a policy, the largest first, as means over
// seeds. Changes that failed are at the end, with their reasons below the table. style is
// the layout.
func Gains(policy string, gains []result.Gain, seeds int, style text.Style) string {
	p := &writer{style: style}
	slices.SortStableFunc(gains, func(a, b result.Gain) int {
		return cmp.Or(cmp.Compare(a.Failed, b.Failed), -cmp.Compare(a.Mean, b.Mean))
	})
	p.line("\n%s", p.emphasize("What single changes would give "+policy))

	t := text.NewTable("change", "goodput,\npoints", "standard\nerror")
	for i, g := range gains {
		// Highlight the largest gain.
		mean, se, add := "-", "-", t.Row
		if g.Failed == "" {
			mean = fmt.Sprintf("%+.2f", 100*g.Mean)
			se = fmt.Sprintf("%.2f", 100*g.SE)
			if i == 0 && g.Mean > 0 {
				add = t.BoldRow
			}
		}

		add(g.Change, mean, se)
	}

	p.table(t)
	how := fmt.Sprintf("over %s", text.Plural(seeds, "seed"))
	if seeds == 1 {
		how = "with one seed; the standard error is that of means over ten parts of the time, " +
			"and too small if effects outlast a part"
	}
	p.indented("Each is simulated with the same jobs and the same failures of "+
		"parts as without it, %s.", how)
	for _, g := range gains {
		if g.Failed != "" {
			p.indented("%s: %s", g.Change, g.Failed)
		}
	}
	return p.String()
}
